//! The same workloads on several schedulers, one program for each. This is the part that the programs
//! share: their command line, and what they print.
//!
//! `PROGRAM PROCS [WORKLOAD ...]` runs those of the named workloads that it has; if none is named, all
//! that it has. Each workload prints a line or more: name, procs, value, unit, separated by tabs. The
//! Go program, in `go/`, does the same; `cargo bench` puts all of them side by side.
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
//! | `idle_connections` | what one connection on which nothing is said takes of a server's memory, of 19,900; `..._threads` how many threads it has, `..._cpu` its processor's time in 5 s |
//! | `http100`, `http5000` | one HTTP request, of 100 or 5,000 connections that are kept alive; the clients are `wrk`'s, which must be there. `..._cpu` and `..._p99` likewise |
//!
//! The workloads from `wake` on take long, and are only run if they are named.
//!
//! A workload called `raw_...` does the same on gosched's raw layer.

pub mod deep;
pub mod echo;
pub mod http;
pub mod machine;
pub mod median;
pub mod quantile;

use std::fs;
use std::process::exit;
use std::time::Instant;

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

    /// Runs `f(ops)`, if the workload is to be run: with a tenth of the ops to warm up, and then timed.
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

/// Bytes of this process's memory of one kind, which is a line of `/proc/self/status`: `VmRSS`, `VmPTE`.
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

/// How many nanoseconds the threads of this process have run.
pub fn cpu_time() -> f64 {
    let ran = |task: fs::DirEntry| -> Option<f64> {
        // None if the thread has ended meanwhile.
        let line = fs::read_to_string(task.path().join("schedstat")).ok()?;
        line.split_whitespace().next()?.parse().ok()
    };
    fs::read_dir("/proc/self/task").unwrap().filter_map(|task| ran(task.ok()?)).sum()
}
