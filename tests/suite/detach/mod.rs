//! Goroutines that lose their P at any point.

#[cfg(target_arch = "x86_64")]
mod each_instruction;
pub mod ends;
mod ledgers;
mod off;
#[cfg(target_arch = "x86_64")]
mod operations;
mod progress;
mod scenarios;
#[cfg(target_arch = "x86_64")]
pub mod stepper;
mod stopping;
mod storms;
#[cfg(target_arch = "x86_64")]
mod trace;

use std::sync::atomic::Ordering;

use gosched::{proc, run};

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    #[cfg(target_arch = "x86_64")]
    each_instruction::TESTS,
    ends::TESTS,
    ledgers::TESTS,
    off::TESTS,
    progress::TESTS,
    stopping::TESTS,
    storms::TESTS,
];

/// Returns how often goroutines have lost their P.
pub fn detachments() -> u64 {
    // SAFETY: there is one schedt, which is never freed, and these fields are atomics.
    unsafe { (*proc::sched()).ext.detachments.iter().map(|count| count.load(Ordering::Relaxed)).sum() }
}

/// Fails unless `main` ends well with `procs` P's and these settings.
fn ends_well(test: Test, procs: &str, godebug: &str, main: impl FnOnce() + Send) {
    let process = test.process(|| run(main));
    process.env("GOMAXPROCS", procs).env("GODEBUG", godebug).end().with("exit status: 0");
}
