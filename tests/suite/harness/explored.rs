//! Tests whose programs pass in every order. Each runs once, as its module's test. `explore/own`
//! lists it as another test, which runs it in one schedule after the other.
//!
//! Such a program makes all its state, and reads no clock but [`gosched::time::now`]. It waits for
//! a time by a sleep, because in a schedule time stands still while a goroutine yields.

use std::sync::atomic::{AtomicBool, Ordering};

use gosched::explore::{Explorer, choose};

use super::emulator::emulator;
use super::rng::number;
use super::{Test, Tests};

/// Whether this process runs its program in many schedules.
static EXPLORES: AtomicBool = AtomicBool::new(false);

/// Whether this process has done so.
static EXPLORED: AtomicBool = AtomicBool::new(false);

/// Runs a test in a process that explores its program.
pub fn explore(test: Test, body: impl FnOnce()) {
    let process = test.process(|| {
        EXPLORES.store(true, Ordering::Relaxed);
        body();
        assert!(EXPLORED.load(Ordering::Relaxed), "it has no program that runs in any order");
    });
    process.end().with("exit status: 0");
}

pub fn explores() -> bool {
    EXPLORES.load(Ordering::Relaxed)
}

/// Returns how many schedules a program runs in, as `EXPLORE_SCHEDULES` says.
pub fn schedules() -> u64 {
    let few = cfg!(debug_assertions) || emulator().is_some();
    number("EXPLORE_SCHEDULES").unwrap_or(match Tests::said() {
        Tests::All if !few => 10_000,
        _ => 500,
    })
}

/// Calls [`gosched::run`]; or explores `main`, if the process explores.
#[track_caller]
pub fn in_any_order(program: impl Fn() + Send + Sync + 'static) {
    if explores() {
        EXPLORED.store(true, Ordering::Relaxed);
        Explorer::new().iterations(schedules()).run(program);
    } else {
        gosched::run(program);
    }
}

/// Returns how often to do something, or with how many: `few` in each of many schedules.
pub fn times(many: usize, few: usize) -> usize {
    if explores() { few } else { many }
}

/// Returns the values one after the other. In each of many schedules, returns only one, which the
/// schedule chooses.
pub fn each<T, const N: usize>(of: [T; N]) -> impl Iterator<Item = T> {
    let (skipped, taken) = if explores() { (choose(N), 1) } else { (0, N) };
    of.into_iter().skip(skipped).take(taken)
}
