//! The scheduler on a simulated machine: the files that ship, on processors with virtual clocks.
//!
//! Each M is a coroutine with a clock of its own. Each atomic access of the scheduler's is a step.
//! The M with the earliest clock makes the next step, and pays for moving the word's cache line
//! from where it lies. [`Costs`](sim::costs::Costs) has the cost of a contended mutex, a futex and
//! a system call. Nothing depends on the machine that this runs on, so two runs are the same to the
//! last count. `docs/lab/scale.md` discusses what the results are worth.
//!
//! | from the crate | what it is here |
//! | --- | --- |
//! | `sched/{schedule,wake,poll,ready}.rs` | as they ship: what an M does next |
//! | `p/{runq,procs,owner}.rs` | as they ship: what P's are kept in |
//! | `m/{startm,spinning}.rs`, `lock/{key,mutex,note}.rs` | as they ship: how M's sleep, and wake each other |
//! | all else | stand-ins, at the paths of what they stand for |
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `sim/` | the machine: clocks, cache lines, futexes, and what they cost |
//! | `runtime/` | the shipped files, and the stand-ins |
//! | `work/` | what the goroutines do |
//! | `variants.rs` | changes of the scheduler that can be tried |
//! | `calibrate.rs` | measures on this machine what can be measured on two processors |
//! | `main.rs` | prints the tables |

// The mutex imports its `Backoff` from this name.
extern crate self as crossbeam_utils;

pub mod calibrate;
#[allow(dead_code, reason = "the shipped files have more than is simulated")]
#[allow(missing_docs, reason = "the stand-ins are those of files that say it")]
mod runtime;
pub mod sim;
pub mod variants;
pub mod work;

/// Stand-in for crossbeam's: rounds of pauses, each round twice as long as the one before.
pub(crate) struct Backoff(std::cell::Cell<u32>);

impl Backoff {
    pub(crate) fn new() -> Self {
        Backoff(std::cell::Cell::new(0))
    }

    pub(crate) fn spin(&self) {
        let step = self.0.get();
        sim::pauses(1 << step.min(6));
        self.0.set(step + 1);
    }
}
