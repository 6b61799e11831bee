//! The order in which one P runs goroutines: Go's.

mod common;

use std::sync::Arc;

use common::{Ended, Test, run};
use gosched::sync::Mutex;
use gosched::{JoinHandle, go, yield_now};

common::tests! {
    the_last_made_runs_first
    yields_take_turns
}

/// How `main` ends in a process with one P.
fn with_one_p(test: Test, main: impl FnOnce() + Send) -> Ended {
    test.process(|| run(main)).env("GOMAXPROCS", "1").end()
}

fn the_last_made_runs_first(test: Test) {
    let ended = with_one_p(test, || {
        let order = Arc::new(Mutex::new(Vec::new()));
        let handles: Vec<JoinHandle<()>> = (0..5)
            .map(|i| {
                let order = order.clone();
                go(move || order.lock().push(i))
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        eprintln!("they ran in the order {:?}", order.lock());
    });
    ended.with("exit status: 0").says("they ran in the order [4, 0, 1, 2, 3]");
}

fn yields_take_turns(test: Test) {
    let ended = with_one_p(test, || {
        let turns = Arc::new(Mutex::new([0; 5]));
        let handles: Vec<JoinHandle<[u32; 5]>> = (0..5)
            .map(|i| {
                let turns = turns.clone();
                go(move || {
                    for _ in 0..1000 {
                        turns.lock()[i] += 1;
                        yield_now();
                    }
                    *turns.lock()
                })
            })
            .collect();
        for handle in handles {
            // Not to the turn: each 61st time the global queue comes first.
            let turns = handle.join().unwrap();
            assert!(turns.iter().all(|&turns| turns > 800), "{turns:?}");
        }
    });
    ended.with("exit status: 0");
}
