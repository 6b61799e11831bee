//! The same workloads on several schedulers, one program for each. This is the part that the
//! programs share: their command line, and what they print.
//!
//! `PROGRAM PROCS [WORKLOAD ...]` runs those of the named workloads that it has; if none is named,
//! all that it has. Each workload prints a line or more: name, procs, value, unit, separated by
//! tabs. The Go program, in `go/`, does the same; `cargo bench` puts all of them side by side.
//!
//! | workload | what one op is |
//! | --- | --- |
//! | `gosched` | one yield; two goroutines yield in turn |
//! | `spawn` | one goroutine made, run and gone; waited for in batches of 100 |
//! | `spawn_wait` | the same, waited for one at a time |
//! | `pingpong` | a round trip over two unbuffered channels |
//! | `bufchan` | one value through a channel of 128 |
//! | `select4` | one receive by a select over four unbuffered channels, a sender behind each |
//! | `skynet` | a tree of 1,111,111 goroutines, ten children each, sums coming up over unbuffered channels |
//! | `fib` | fib(27), a goroutine and a buffered channel for each call above fib(11) |
//! | `grow` | one goroutine that recurses 300 frames of 128 bytes or more, from the smallest stack there is, waited for one at a time; schedulers that keep grown stacks may use them |
//! | `grow_cold` | the same, of 1,000 that are there at once, in a fresh process: every one makes its stack grow. Only run if it is the one workload named |
//! | `sleepers` | one goroutine that sleeps 10 ms, of 100,000 that are made one after the other |
//! | `mutex` | one lock and unlock, eight goroutines on one mutex |
//! | `syscall` | one system call that is back at once, `getppid`, entered and left as any |
//! | `preempt_p99` | one yield, after 1 ms of work, while each P has a goroutine that spins: the 99th percentile of 500 |
//! | `parked` | one goroutine made and parked on a channel, of 1,000,000; `parked_rss` its memory, `parked_pte` its page tables, `parked_release` its wake and exit |
//! | `two_cpu` | two goroutines that only compute: their time in units of one's alone; `two_cpu_threads` the same of threads, which is what the machine can do |
//! | `switch_pair` | into a coroutine and back, without a scheduler |
//! | `coroswitch` | one value from a generator, a goroutine that runs only when it is asked: two switches; `coroswitch_pairs` the same in units of `switch_pair` |
//! | `create_run_drop` | a coroutine made on a stack that is used again, run to its end, dropped |
//! | `wake` | from when a goroutine could run until it does, while each P has one that spins: `wake_timer` has slept, `wake_thread` was sent something by a thread; of 1,000 |
//! | `pair` | one yield while, for each P, two goroutines hand a value to and fro; of 1,000 |
//! | `blocked` | a goroutine that computes while another waits in a system call: its time in units of what it takes alone |
//! | `threads` | how many threads the process has in the end, of 10,000 goroutines that each make ten system calls of 1 ms; `threads_call` is one of those |
//! | `idle` | the processor's time in 10 s in which all goroutines are parked, 1,000 and one that sleeps |
//! | `echo100`, `echo5000` | one round trip of 64 bytes over loopback TCP, with 100 or 5,000 clients; they are another process, the same for all. `..._cpu` what the server needs of the processor for one, `..._p99` the 99th percentile |
//! | `idle_connections` | what one connection on which nothing is said takes of a server's memory, of 19,900; `..._threads` how many threads it has, `..._cpu` its processor's time in 5 s. `idle_connections_later`, `echo100_later` and `echo5000_later`: a server that has no goroutine for a connection between two messages |
//! | `http100`, `http5000` | one HTTP request, of 100 or 5,000 connections that are kept alive; the clients are `wrk`'s, which must be there. `..._cpu` and `..._p99` likewise |
//! | `beside_...` | one tick of a ticker of 10 ms, of 500 (or of as many as the environment variable `TICKS` says): how late it is beside goroutines that keep their threads. `nothing`: there are none. `loop`, `2_loops`, `100_loops`: they compute. `c` computes in C. `drop` computes in a `Drop` as it unwinds (in Go: in a deferred function). `handler` computes in a signal's handler on the alternate stack. `sleep` sleeps in the kernel. `mutex` waits for a mutex of std (in Go: of `sync`) whose holder is parked. `pipe` writes to a full pipe. `connect` connects to a server whose backlog is full. `lookup` waits in `getaddrinfo` for a server that doesn't answer. In Go these are bare system calls, or C's functions. `..._p50`, `..._p99` and `..._max` |
//! | `hogs` | how many processors 100 goroutines that compute take, for 2 s |
//! | `library` | 40 HTTP calls on 40 goroutines, by ureq, a library that waits in std's sockets (in Go: by net/http). The server uses threads and takes 50 ms for each call. `library_late` is how late a ticker of 10 ms is meanwhile, at most |
//! | `wake_cpu`, `wake_cpu100` | one wake of 1,000 or 100 goroutines that sleep 1 ms and compute 5 µs in turn, for 2 s. The 1,000 have more to compute than five processors can. This row and the next ones are the processor's time, with what is computed. `..._switches` is how often a thread of the process went to sleep (`ru_nvcsw`) for one op. `..._p99` is the 99th percentile of how late it was |
//! | `trickle_...` | one wake, each 50 to 200 µs for 2 s, of a goroutine that is alone. `pipe`: a thread writes a byte to the pipe that the goroutine reads. `timer`: the goroutine has a timer of its own. `thread`: a thread sends on a channel (in Go: a goroutine that is locked to its thread, and sleeps in a system call). What the thread that wakes costs is left out. tokio's timers have a resolution of 1 ms |
//! | `bursts` | one of 64 parked goroutines that are all made ready at once, each ms for 2 s, and compute 5 µs; `..._switches` is for all 64, `..._p99` until the last has run |
//! | `pairs_idle` | `pingpong` alone, so that all P's but one are idle: the time of a round trip, `..._cpu` the processor's, `..._switches` |
//!
//! The workloads from `wake` on take long, and only run if they are named. Those from
//! `beside_nothing` to `hogs` end the process, and so only run if no other workload is named.
//!
//! A workload called `raw_...` does the same on gosched's raw layer. Its other goroutines have
//! their own thread-locals, unless the environment variable `LEAN` is set: then they share their
//! threads'.

pub mod deep;
pub mod echo;
pub mod foreign;
pub mod http;
pub mod machine;
pub mod median;
pub mod quantile;
pub mod wakes;

use std::env;
use std::fs;
use std::process::exit;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// A program's command line.
pub struct Args {
    /// How many threads run at once: `GOMAXPROCS`, or what the scheduler calls it.
    pub procs: usize,
    workloads: Vec<String>,
}

impl Args {
    /// Parses this program's command line; ends the program if there is no number of procs.
    pub fn parse() -> Self {
        let mut words = std::env::args().skip(1);
        let Some(procs) = words.next().and_then(|word| word.parse().ok()).filter(|&procs| procs > 0) else {
            eprintln!("usage: PROGRAM PROCS [WORKLOAD ...]");
            exit(2)
        };
        Args { procs, workloads: words.collect() }
    }

    /// Whether this workload is to be run.
    pub fn wants(&self, workload: &str) -> bool {
        self.workloads.is_empty() || self.names(workload)
    }

    /// Whether this workload was named: for those that take long.
    pub fn names(&self, workload: &str) -> bool {
        self.workloads.iter().any(|wanted| wanted == workload)
    }

    /// Whether this workload, and no other, is to be run.
    pub fn is_only(&self, workload: &str) -> bool {
        self.workloads == [workload]
    }

    /// Runs `f(ops)`, if the workload is to be run: first with a tenth of the ops to warm up, then
    /// timed.
    pub fn timed(&self, workload: &str, ops: u64, mut f: impl FnMut(u64)) {
        if !self.wants(workload) {
            return;
        }
        f(ops.div_ceil(10));
        let start = Instant::now();
        f(ops);
        self.report(workload, start.elapsed().as_nanos() as f64 / ops as f64, "ns/op");
    }

    /// Prints a line of the output.
    pub fn report(&self, name: &str, value: f64, unit: &str) {
        println!("{name}\t{}\t{value:.3}\t{unit}", self.procs);
    }
}

/// How many ticks the workloads `beside_...` wait for: 500, unless the environment variable `TICKS`
/// is set.
pub fn ticks() -> usize {
    env::var("TICKS").map_or(500, |ticks| ticks.parse().expect("TICKS is a number"))
}

/// Bytes of this process's memory of one kind, which is a line of `/proc/self/status`: `VmRSS`,
/// `VmPTE`.
pub fn memory(kind: &str) -> f64 {
    status(kind) * 1024.0
}

/// How many threads this process has.
pub fn threads() -> f64 {
    status("Threads")
}

/// The number in a line of `/proc/self/status`.
fn status(kind: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(kind)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How many nanoseconds the threads of this process have run, ended threads included.
pub fn cpu_time() -> f64 {
    let ran = clock_gettime(ClockId::ProcessCPUTime);
    ran.tv_sec as f64 * 1e9 + ran.tv_nsec as f64
}
