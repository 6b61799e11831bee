//! The order in which one P runs goroutines: Go's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::sync::Mutex;
use gosched::{JoinHandle, go, proc, run, yield_now};

use crate::harness::process::Ended;
use crate::harness::{Test, tests};

tests! {
    the_last_made_runs_first
    yields_take_turns
    a_pair_does_not_starve_a_third
    an_impatient_one_does_not_starve_another
    a_full_local_queue_does_not_starve_the_global_one
}

/// Returns the end of a process that runs `main` with one P.
fn with_one_p(test: Test, main: impl FnOnce() + Send) -> Ended {
    test.process(|| run(main)).env("GOMAXPROCS", "1").end()
}

fn the_last_made_runs_first(test: Test) {
    let ended = with_one_p(test, || {
        // A goroutine that has lost its P would run beside the others.
        proc::set_detach(false);
        let order = || {
            let order = Arc::new(Mutex::new(Vec::new()));
            let handles: Vec<JoinHandle<()>> = (0..5)
                .map(|i| {
                    let order = order.clone();
                    go(move || order.lock().push(i))
                })
                .collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            order.lock().clone()
        };
        // This is the order unless a time slice ends in the middle.
        let found = (0..100).map(|_| order()).find(|order| *order == [4, 0, 1, 2, 3]);
        eprintln!("they ran in the order {:?}", found.unwrap_or_else(order));
    });
    ended.with("exit status: 0").says("they ran in the order [4, 0, 1, 2, 3]");
}

fn yields_take_turns(test: Test) {
    let ended = with_one_p(test, || {
        // A goroutine that has lost its P takes no turn before it has a P again.
        proc::set_detach(false);
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
            // Not exact to the turn: every 61st time the global queue comes first.
            let turns = handle.join().unwrap();
            assert!(turns.iter().all(|&turns| turns > 800), "{turns:?}");
        }
    });
    ended.with("exit status: 0");
}

/// Two goroutines that make each other ready are always next, within one time slice. The slice ends
/// all the same.
fn a_pair_does_not_starve_a_third(test: Test) {
    let ended = with_one_p(test, || {
        static THIRD_HAS_RUN: AtomicBool = AtomicBool::new(false);
        let (to, at_other) = bounded(0);
        let (back, from_other) = bounded(0);
        let other = go(move || at_other.iter().for_each(|i: u32| back.send(i).unwrap()));
        let one = go(move || {
            for i in 0.. {
                to.send(i).unwrap();
                assert_eq!(from_other.recv(), Ok(i));
                if THIRD_HAS_RUN.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        // These yields go to the end of the global queue, where the pair never is.
        for _ in 0..5 {
            yield_now();
        }
        THIRD_HAS_RUN.store(true, Ordering::Relaxed);
        one.join().unwrap();
        other.join().unwrap();
    });
    ended.with("exit status: 0");
}

/// A goroutine whose timer is due as soon as it waits is always next, too.
fn an_impatient_one_does_not_starve_another(test: Test) {
    let ended = with_one_p(test, || {
        static OTHER_HAS_RUN: AtomicBool = AtomicBool::new(false);
        let (_tx, rx) = bounded::<()>(0);
        let other = go(|| OTHER_HAS_RUN.store(true, Ordering::Relaxed));
        while !OTHER_HAS_RUN.load(Ordering::Relaxed) {
            assert!(rx.recv_timeout(Duration::from_nanos(1)).is_err());
        }
        other.join().unwrap();
    });
    ended.with("exit status: 0");
}

/// Goroutines that yield to the end of the P's own queue keep that queue from becoming empty.
fn a_full_local_queue_does_not_starve_the_global_one(test: Test) {
    let ended = with_one_p(test, || {
        static MAIN_HAS_RUN: AtomicBool = AtomicBool::new(false);
        let yielders: Vec<JoinHandle<()>> = (0..100)
            .map(|_| {
                go(|| {
                    while !MAIN_HAS_RUN.load(Ordering::Relaxed) {
                        // SAFETY: on a goroutine, which keeps nothing from a thread-local.
                        unsafe { proc::goyield() };
                    }
                })
            })
            .collect();
        // This yield goes to the end of the global queue.
        yield_now();
        MAIN_HAS_RUN.store(true, Ordering::Relaxed);
        yielders.into_iter().for_each(|yielder| yielder.join().unwrap());
    });
    ended.with("exit status: 0");
}
