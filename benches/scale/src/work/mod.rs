//! The work of the goroutines: the workloads, and their parts.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | a run of a workload, and what is known of it then |
//! | `chan.rs` | a channel without a buffer, and a wait group |
//! | `spawn.rs` | goroutines made and gone: `spawn`, `skynet`, `tree` |
//! | `wake.rs` | goroutines that wake others: `pingpong`, `burst` |
//! | `wait.rs` | goroutines that wait for time, or for the network: `timers`, `echo`, `trickle` |

mod chan;
mod spawn;
mod wait;
mod wake;

use std::cell::Cell;
use std::rc::Rc;

use crate::runtime::sched::{Step, Task};
use crate::runtime::start;
use crate::sim;
use crate::sim::costs::Costs;
use crate::sim::count::{Counts, Part};
use crate::variants::{self, Variant};

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One goroutine makes others that end at once, and waits for each hundred.
    Spawn,
    /// A tree of goroutines, ten children each, whose sums come up over channels.
    Skynet,
    /// The same, with 2 µs of computing in each leaf.
    Tree,
    /// Two goroutines for each P, handing a value to and fro.
    Pairs,
    /// One pair, however many P's there are.
    Pair,
    /// One goroutine wakes 64, each of which computes for 5 µs, and waits for them.
    Burst,
    /// Eight goroutines for each P, each of which computes for 5 µs and sleeps for 100 µs.
    Timers,
    /// Sixteen connections for each P: a request comes 200 µs after the last answer, and takes 10
    /// µs, with its system calls.
    Echo,
    /// One connection for every four P's, as in `Echo`: most P's are idle.
    Trickle,
}

/// All workloads.
pub const ALL: [Work; 9] = [
    Work::Spawn,
    Work::Skynet,
    Work::Tree,
    Work::Pairs,
    Work::Pair,
    Work::Burst,
    Work::Timers,
    Work::Echo,
    Work::Trickle,
];

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The number of operations.
    pub ops: u64,
    /// The time that they took, in picoseconds.
    pub elapsed: u64,
    /// The counts of that time.
    pub counts: Counts,
    /// The number of P's.
    pub procs: u64,
}

impl Outcome {
    /// Returns the nanoseconds for each operation.
    pub fn ns_per_op(&self) -> f64 {
        self.elapsed as f64 / 1000.0 / self.ops as f64
    }

    /// Returns this part's share of the time of all P's.
    pub fn share(&self, part: Part) -> f64 {
        self.counts.time_in(part) as f64 / (self.elapsed as f64 * self.procs as f64)
    }
}

/// Notes when the operations that count begin and end.
#[derive(Clone)]
struct Meter(Rc<Cell<Option<(u64, Counts)>>>, Rc<Cell<Option<(u64, u64, Counts)>>>);

impl Meter {
    fn begin(&self) {
        self.0.set(Some((sim::time(), sim::counts())));
    }

    /// Ends the measurement after `ops` operations, and stops the machine.
    fn end(&self, ops: u64) {
        let (since, before) = self.0.take().expect("begin was called");
        self.1.set(Some((ops, sim::time() - since, sim::counts().since(&before))));
        sim::stop();
    }
}

/// Runs `ops` operations of a workload, roughly, on `procs` P's.
pub fn run(work: Work, procs: i32, ops: u64, costs: &Costs, variant: Variant) -> Outcome {
    variants::set(variant);
    let meter = Meter(Rc::default(), Rc::default());
    let task: Task = match work {
        Work::Spawn => spawn::spawn(meter.clone(), ops),
        Work::Skynet => spawn::skynet(meter.clone(), ops, spawn::MEMORY, 0),
        Work::Tree => spawn::skynet(meter.clone(), ops, spawn::MEMORY, 2_000_000),
        Work::Pairs => wake::pairs(meter.clone(), ops, procs as u64),
        Work::Pair => wake::pairs(meter.clone(), ops, 1),
        Work::Burst => wake::burst(meter.clone(), ops),
        Work::Timers => wait::timers(meter.clone(), ops, procs as u64 * 8),
        Work::Echo => wait::echo(meter.clone(), ops, procs as u64 * 16),
        Work::Trickle => wait::echo(meter.clone(), ops, (procs as u64 / 4).max(1)),
    };
    start::run(costs, procs, task);
    let (ops, elapsed, counts) = meter.1.take().expect("the workload ends");
    Outcome { ops, elapsed, counts, procs: procs as u64 }
}

/// A goroutine that waits forever.
fn rest() -> Step {
    Step::Park(None)
}
