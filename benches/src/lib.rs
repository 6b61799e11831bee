//! The same workloads on several schedulers, one program for each. This is the part that the
//! programs share: their command line, and what they print.
//!
//! `PROGRAM PROCS [WORKLOAD ...]` runs the named workloads, as far as the program has them, or all
//! that it has if none is named. Each workload prints one or more lines: name, procs, value, unit,
//! separated by tabs. The Go program, in `go/`, does the same. `cargo bench` puts all programs side
//! by side.
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
//! | `grow_cold` | the same for 1,000 simultaneous goroutines in a fresh process, each of which makes its stack grow. Runs only if it is the one workload named |
//! | `sleepers` | one goroutine that sleeps 10 ms, of 100,000 that are made one after the other |
//! | `mutex` | one lock and unlock, eight goroutines on one mutex |
//! | `syscall` | one system call that returns at once, `getppid`, entered and left like any other |
//! | `preempt_p99` | one yield, after 1 ms of work, while each P has a goroutine that spins: the 99th percentile of 500 |
//! | `parked` | one goroutine made and parked on a channel, of 1,000,000; `parked_rss` its memory, `parked_pte` its page tables, `parked_release` its wake and exit |
//! | `two_cpu` | two goroutines that only compute: their time in units of one goroutine's alone; `two_cpu_threads` the same of threads, for what the machine can do |
//! | `switch_pair` | into a coroutine and back, without a scheduler |
//! | `coroswitch` | one value from a generator, a goroutine that runs only on request: two switches; `coroswitch_pairs` the same in units of `switch_pair` |
//! | `create_run_drop` | a coroutine made on a reused stack, run to its end, dropped |
//! | `wake` | the time from when a goroutine could run until it runs, while each P has a goroutine that spins: in `wake_timer` it has slept, in `wake_thread` a thread has sent it something; of 1,000 |
//! | `pair` | one yield while, for each P, two goroutines hand a value to and fro; of 1,000 |
//! | `blocked` | a goroutine that computes while another waits in a system call: its time in units of its time alone |
//! | `threads` | the number of threads that the process has in the end, after 10,000 goroutines have each made ten system calls of 1 ms; `threads_call` is one of these calls |
//! | `idle` | the processor's time in 10 s in which all goroutines are parked: 1,000, and one more that sleeps |
//! | `echo100`, `echo2000`, `echo5000`, `echo9000` | one round trip of 64 bytes over loopback TCP, with that many clients; these are another process, the same for all servers. `..._cpu` is the server's processor time for one, `..._p99` the 99th percentile |
//! | `fanout2000` | one message to one of 2,000 WebSockets, each of which gets each message that one of them sends. Clients, `..._cpu` and `..._p99` as above |
//! | `idle_connections` | the server's memory for one silent connection, of 19,900; `..._threads` is its number of threads, `..._cpu` its processor time in 5 s. `idle_connections_later`, `echo100_later` and `echo5000_later`: a server that has no goroutine for a connection between two messages |
//! | `http100`, `http5000` | one HTTP request, of 100 or 5,000 connections that are kept alive; the clients are `wrk`'s, which must be installed. `..._cpu` and `..._p99` as above |
//! | `hyper50`, `hyper500`, `hyper50_wait`, `hyper500_wait` | one HTTP request to a server made with hyper (in Go: `net/http`), of 50 or 500 connections; in the rows with `_wait` the handler waits 5 ms. Clients, `..._cpu` and `..._p99` as above |
//! | `resp50`, `resp50_16`, `resp1000`, `resp1000_16` | one SET or GET of a Redis-like server, of 50 or 1,000 connections, each with one or 16 requests at a time; the clients are `redis-benchmark`'s, which must be installed. `..._cpu` and `..._p99` as above |
//! | `beside_...` | one tick of a ticker of 10 ms, of 500 (or of as many as the environment variable `TICKS` says): its lateness beside goroutines that keep their threads. `nothing`: there are none. `loop`, `2_loops`, `100_loops`: they compute. `c` computes in C. `drop` computes in a `Drop` as it unwinds (in Go: in a deferred function). `handler` computes in a signal's handler on the alternate stack. `sleep` sleeps in the kernel. `mutex` waits for a mutex of std (in Go: of `sync`) whose holder is parked. `pipe` writes to a full pipe. `connect` connects to a server whose backlog is full. `lookup` waits in `getaddrinfo` for a server that doesn't answer. In Go these are bare system calls, or functions of C. `..._p50`, `..._p99` and `..._max` |
//! | `hogs` | the number of processors that 100 computing goroutines use, in 2 s |
//! | `library` | 40 HTTP calls on 40 goroutines, by ureq, a library that waits in std's sockets (in Go: by net/http). The server uses threads and takes 50 ms for each call. `library_late` is the largest lateness of a ticker of 10 ms meanwhile |
//! | `wake_cpu`, `wake_cpu100` | one wake of 1,000 or 100 goroutines that sleep 1 ms and compute 5 µs in turn, for 2 s. The 1,000 have more to compute than five processors can. This row and the next ones give processor time, including the computing. `..._switches` is how often a thread of the process went to sleep (`ru_nvcsw`) for one op. `..._p99` is the 99th percentile of the lateness |
//! | `trickle_...` | one wake, each 50 to 200 µs for 2 s, of the only goroutine. `pipe`: a thread writes a byte to the pipe that the goroutine reads. `timer`: the goroutine has a timer of its own. `thread`: a thread sends on a channel (in Go: a goroutine that is locked to its thread, and sleeps in a system call). The cost of the waking thread is left out. tokio's timers have a resolution of 1 ms |
//! | `bursts` | one of 64 parked goroutines that are all made ready at once, each ms for 2 s, and compute 5 µs; `..._switches` is for all 64, `..._p99` until the last has run |
//! | `pairs_idle` | `pingpong` alone, so that all P's but one are idle: the time of a round trip, `..._cpu` the processor's, `..._switches` |
//!
//! The workloads from `wake` on take long, and run only if they are named. Those from
//! `beside_nothing` to `hogs` end the process, and so run only if no other workload is named.
//!
//! A workload called `raw_...` does the same on gosched's raw layer. Its other goroutines have
//! their own thread-locals, unless the environment variable `LEAN` is set: then they share their
//! threads'.

pub mod deep;
pub mod echo;
pub mod fanout;
pub mod foreign;
pub mod http;
pub mod machine;
pub mod median;
pub mod quantile;
pub mod resp;
pub mod wakes;

use std::env;
use std::fs;
use std::process::exit;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// A program's command line.
pub struct Args {
    /// The number of threads that run at once: `GOMAXPROCS`, or the scheduler's name for it.
    pub procs: usize,
    workloads: Vec<String>,
}

impl Args {
    /// Parses this program's command line. Ends the program if the number of procs is missing.
    pub fn parse() -> Self {
        let mut words = std::env::args().skip(1);
        let Some(procs) = words.next().and_then(|word| word.parse().ok()).filter(|&procs| procs > 0) else {
            eprintln!("usage: PROGRAM PROCS [WORKLOAD ...]");
            exit(2)
        };
        Args { procs, workloads: words.collect() }
    }

    /// Returns whether to run this workload.
    pub fn wants(&self, workload: &str) -> bool {
        self.workloads.is_empty() || self.names(workload)
    }

    /// Returns whether this workload was named: for those that take long.
    pub fn names(&self, workload: &str) -> bool {
        self.workloads.iter().any(|wanted| wanted == workload)
    }

    /// Returns whether to run this workload, and no other.
    pub fn is_only(&self, workload: &str) -> bool {
        self.workloads == [workload]
    }

    /// Runs `f(ops)`, if the workload is wanted: first with a tenth of the ops to warm up, then
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

/// Returns how many ticks the workloads `beside_...` wait for: 500, unless the environment variable
/// `TICKS` is set.
pub fn ticks() -> usize {
    env::var("TICKS").map_or(500, |ticks| ticks.parse().expect("TICKS is a number"))
}

/// Returns the bytes of this process's memory of one kind, which is a line of `/proc/self/status`:
/// `VmRSS`, `VmPTE`.
pub fn memory(kind: &str) -> f64 {
    status(kind) * 1024.0
}

/// Returns how many threads this process has.
pub fn threads() -> f64 {
    status("Threads")
}

/// Returns the number in a line of `/proc/self/status`.
fn status(kind: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(kind)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Returns how many nanoseconds the threads of this process have run, ended threads included.
pub fn cpu_time() -> f64 {
    let ran = clock_gettime(ClockId::ProcessCPUTime);
    ran.tv_sec as f64 * 1e9 + ran.tv_nsec as f64
}
