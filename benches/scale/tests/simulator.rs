//! The simulator runs to the end, does the same each time, and gives the results that a test can
//! know.

use gosched_scale::sim::costs::Costs;
use gosched_scale::sim::count::{Event, Part};
use gosched_scale::variants::{Lock, Variant};
use gosched_scale::work::{ALL, Outcome, Work, run};
use std::sync::Mutex;

/// The table of P's is a static of the scheduler's: one simulation at a time.
static ONE: Mutex<()> = Mutex::new(());

fn simulate(work: Work, procs: i32, variant: Variant) -> Outcome {
    let _one = ONE.lock();
    run(work, procs, 2000, &Costs::server(), variant)
}

#[test]
fn a_run_is_the_same_each_time() {
    for work in ALL {
        for procs in [1, 16] {
            let first = simulate(work, procs, Variant::default());
            let second = simulate(work, procs, Variant::default());
            assert!(first.ops > 0 && first.elapsed > 0, "{work:?} at {procs}: {first:?}");
            assert_eq!(first, second, "{work:?} at {procs}");
        }
    }
}

#[test]
fn more_processors_do_more() {
    let time = |procs| simulate(Work::Tree, procs, Variant::default()).elapsed;
    assert!(time(8) * 6 < time(1), "eight P's are six times as fast at least: {} and {}", time(8), time(1));
}

#[test]
fn one_p_waits_for_nobody() {
    let is = simulate(Work::Skynet, 1, Variant::default());
    assert_eq!(is.counts.of(Event::LockContended), 0);
    assert_eq!(is.counts.of(Event::Stolen), 0);
    assert_eq!(is.counts.time_in(Part::LockWait), is.counts.of(Event::Lock) * 3000, "each takes one RMW");
}

#[test]
fn every_mutex_is_one() {
    for lock in [Lock::Shipped, Lock::OneSpins, Lock::Queue] {
        let is = simulate(Work::Burst, 16, Variant { lock, ..Variant::default() });
        assert!(is.counts.of(Event::LockContended) > 0, "{lock:?}: {is:?}");
    }
}
