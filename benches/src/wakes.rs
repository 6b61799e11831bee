//! The shared part of the workloads of wakes: they measure the processor time of a wake, and how
//! often threads sleep. Some of it is C, in `wakes.c`, because Go's program uses it too.

use std::ffi::c_int;
use std::hint::black_box;
use std::io::PipeWriter;
use std::ops::Sub;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant, SystemTime};

use crate::Args;
use crate::quantile::quantile;

/// How long each of these workloads runs.
pub const DURATION: Duration = Duration::from_secs(2);

/// The workloads of many sleeping goroutines, and how many goroutines each has. The thousand
/// compute more than five processors can; the hundred leave some of two idle.
pub const SLEEPERS: [(&str, usize); 2] = [("wake_cpu", 1_000), ("wake_cpu100", 100)];

/// How long each of these goroutines sleeps. The goroutine that wakes a [`BURST`] sleeps as long.
pub const NAP: Duration = Duration::from_millis(1);

/// The number of goroutines that become ready at once.
pub const BURST: usize = 64;

/// The number of round trips in `pairs_idle`.
pub const TRIPS: u64 = 2_000_000;

unsafe extern "C" {
    safe fn cost_of_process() -> Cost;
    safe fn cost_of_thread() -> Cost;
    safe fn pause_before(i: u64) -> u64;
    safe fn trickle_into(pipe: c_int, duration: i64) -> Cost;
}

/// The cost of threads.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Cost {
    /// Nanoseconds of processor time.
    pub cpu: f64,
    /// How often they have gone to sleep, in a futex, a poll, or any other wait.
    pub switches: f64,
}

impl Cost {
    /// Returns the cost of this process, ended threads included.
    pub fn of_process() -> Self {
        cost_of_process()
    }

    /// Returns the cost of this thread.
    pub fn of_thread() -> Self {
        cost_of_thread()
    }
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, less: Self) -> Self {
        Cost { cpu: self.cpu - less.cpu, switches: self.switches - less.switches }
    }
}

/// Prints a workload's rows: `wakes` wakes, one op for each value of `late`.
pub fn report(args: &Args, name: &str, cost: Cost, wakes: usize, late: &[f64]) {
    args.report(name, cost.cpu / wakes as f64, "ns/op");
    args.report(&format!("{name}_switches"), cost.switches / late.len() as f64, "switches");
    args.report(&format!("{name}_p99"), quantile(late, 0.99), "ns");
}

/// Prints the rows of `pairs_idle`.
pub fn report_trips(args: &Args, cost: Cost, took: Duration) {
    args.report("pairs_idle", took.as_nanos() as f64 / TRIPS as f64, "ns/op");
    args.report("pairs_idle_cpu", cost.cpu / TRIPS as f64, "ns/op");
    args.report("pairs_idle_switches", cost.switches / TRIPS as f64, "switches");
}

/// Returns how late each burst was done: when the last goroutine ran that the burst woke. Each
/// goroutine notes when it ran.
pub fn burst_lateness(begun: &[Instant], ran: &[Vec<Instant>]) -> Vec<f64> {
    let last = |burst: usize| ran.iter().map(|ran| ran[burst]).max().unwrap();
    begun.iter().enumerate().map(|(burst, &begun)| nanos(last(burst) - begun)).collect()
}

/// Returns the nanoseconds since `then`.
pub fn since(then: Instant) -> f64 {
    nanos(then.elapsed())
}

fn nanos(duration: Duration) -> f64 {
    duration.as_nanos() as f64
}

/// Returns how long to sleep before wake `i`: 50 to 200 µs.
pub fn pause(i: u64) -> Duration {
    Duration::from_nanos(pause_before(i))
}

/// The size of a stamp in bytes. A stamp is the time at which it was written.
pub const STAMP: usize = 8;

/// Writes stamps to a pipe, each after a [`pause`], for [`DURATION`]. Returns this thread's cost of
/// this.
pub fn write_stamps(pipe: PipeWriter) -> Cost {
    trickle_into(pipe.as_raw_fd(), DURATION.as_nanos() as i64)
}

/// Returns the nanoseconds since a stamp was written.
pub fn since_stamp(stamp: [u8; STAMP]) -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    now.as_nanos() as f64 - i64::from_ne_bytes(stamp) as f64
}

/// Work of a fixed number of steps. No clock bounds it, so it stays the same beside other work.
#[derive(Clone, Copy)]
pub struct Work {
    steps: u64,
}

impl Work {
    /// Makes 5 µs of work, as measured on this machine with a processor to itself.
    pub fn new() -> Self {
        const STEPS: u64 = 10_000;
        let time = || {
            let start = Instant::now();
            Work { steps: STEPS }.run();
            since(start)
        };
        let least = (0..100).map(|_| time()).fold(f64::INFINITY, f64::min);
        Work { steps: (5e3 * STEPS as f64 / least) as u64 }
    }

    /// Does the work. Each step needs the result of the step before it.
    pub fn run(self) {
        black_box(
            (0..self.steps).fold(1_u64, |x, _| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)),
        );
    }
}

impl Default for Work {
    fn default() -> Self {
        Self::new()
    }
}
