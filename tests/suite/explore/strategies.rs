//! The promises of the strategies.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as StdMutex};

use gosched::explore::{Explorer, FailureKind, Strategy};
use gosched::go;
use gosched::sync::Mutex;

use crate::harness::tests;

tests! {
    exhaustive_sees_every_order_once
    exhaustive_finds_what_takes_two_interrupts_with_two
    random_orders_are_all_seen
    pct_finds_a_bug_of_depth_two_as_often_as_it_promises
    pct_of_any_depth_runs
    seeds_are_schedules
}

const ALL: [Strategy; 3] = [Strategy::Random, Strategy::Pct { depth: 3 }, Strategy::Mixed];

/// Returns the orders in which three goroutines take a lock.
fn orders(explorer: &Explorer) -> (u64, Vec<[usize; 3]>) {
    let seen = Arc::new(StdMutex::new(Vec::new()));
    let each = seen.clone();
    let schedules = explorer.check(move || {
        let order = Arc::new(Mutex::new(Vec::new()));
        let handles = [0, 1, 2].map(|i| {
            let order = order.clone();
            go(move || order.lock().push(i))
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        let order = order.lock().clone().try_into().unwrap();
        each.lock().unwrap().push(order);
    });
    let seen = seen.lock().unwrap().clone();
    (schedules.unwrap(), seen)
}

fn exhaustive_sees_every_order_once() {
    let explorer = Explorer::new().iterations(1_000_000);
    let (schedules, seen) = orders(&explorer.clone().strategy(Strategy::Exhaustive { preemptions: 2 }));
    assert!(schedules < 1_000_000, "it ends");
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>().len(), 6);
    let (fewer, _) = orders(&explorer.strategy(Strategy::Exhaustive { preemptions: 0 }));
    assert!(fewer < schedules);
}

fn exhaustive_finds_what_takes_two_interrupts_with_two() {
    // The main goroutine must be interrupted after the first lock and after the second.
    let program = || {
        let state = Arc::new(Mutex::new((0, 0)));
        let other = state.clone();
        let handle = go(move || {
            let first = *other.lock();
            let second = *other.lock();
            assert!(first != (1, 0) || second != (2, 0), "between both");
        });
        state.lock().0 = 1;
        state.lock().0 = 2;
        state.lock().1 = 1;
        handle.join().unwrap();
    };
    let find = |preemptions| {
        Explorer::new().iterations(1_000_000).strategy(Strategy::Exhaustive { preemptions }).check(program)
    };
    assert!(find(0).is_ok());
    assert_eq!(find(3).unwrap_err().kind(), FailureKind::Panic);
}

fn random_orders_are_all_seen() {
    for strategy in ALL {
        let (_, seen) = orders(&Explorer::new().iterations(1_000).strategy(strategy));
        assert_eq!(seen.into_iter().collect::<BTreeSet<_>>().len(), 6, "{strategy:?}");
    }
}

fn pct_finds_a_bug_of_depth_two_as_often_as_it_promises() {
    // One of two goroutines must be interrupted at one of its eight steps, and nowhere else.
    let program = || {
        let state = Arc::new(Mutex::new(0));
        let other = state.clone();
        let handle = go(move || {
            for step in 1..=4 {
                *other.lock() = step;
            }
        });
        assert_ne!(*state.lock(), 2);
        handle.join().unwrap();
    };
    let found = (0..300).filter(|&seed| {
        let explorer = Explorer::new().seed(seed).iterations(1).strategy(Strategy::Pct { depth: 2 });
        // The first run has no change of priorities, because the length of a run isn't known yet.
        explorer.iterations(2).check(program).is_err()
    });
    // 1 / (n k), with 2 goroutines and some 14 steps.
    assert!(found.count() >= 300 / 28);
}

fn pct_of_any_depth_runs() {
    for depth in [0, 1, u32::MAX] {
        orders(&Explorer::new().iterations(10).strategy(Strategy::Pct { depth }));
    }
}

fn seeds_are_schedules() {
    for strategy in ALL {
        let run = |seed| orders(&Explorer::new().iterations(50).seed(seed).strategy(strategy)).1;
        assert_eq!(run(1), run(1), "{strategy:?}");
        assert_ne!(run(1), run(2), "{strategy:?}");
    }
}
