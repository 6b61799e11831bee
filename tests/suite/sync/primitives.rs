//! Meeting points: who waits for whom, in what order, and what a panic leaves behind.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gosched::sync::{Barrier, Condvar, Mutex, Once, OnceLock, Semaphore, WaitGroup};
use gosched::{go, run, scope, yield_now};

use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::unwind;
use crate::harness::tests;

tests! {
    notify_one_wakes_who_has_waited_longest
    notify_all_wakes_all
    no_notification_is_missed
    once_runs_one_function
    a_once_lock_has_one_value
    a_barrier_has_one_leader_each_time
    a_semaphore_has_so_many_permits
    who_waits_for_permits_is_served_in_order
    who_wants_many_permits_is_not_starved
    a_wait_group_waits_for_all
}

fn notify_one_wakes_who_has_waited_longest() {
    static WOKEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    static CONDITION: Condvar = Condvar::new();
    run(|| {
        CONDITION.notify_one(); // nobody waits: it is lost
        let waiters: Vec<_> =
            (0..10).map(|i| go_until_it_waits(move || CONDITION.wait(WOKEN.lock()).push(i))).collect();
        for (i, waiter) in waiters.into_iter().enumerate() {
            assert_eq!(WOKEN.lock().len(), i);
            CONDITION.notify_one();
            waiter.join().unwrap();
        }
        assert!(WOKEN.lock().iter().copied().eq(0..10));
    });
}

fn notify_all_wakes_all() {
    static OPEN: Mutex<bool> = Mutex::new(false);
    static CONDITION: Condvar = Condvar::new();
    run(|| {
        let waiters: Vec<_> = (0..100)
            .map(|_| go_until_it_waits(|| *CONDITION.wait_while(OPEN.lock(), |open| !*open)))
            .collect();
        CONDITION.notify_all();
        waiters.iter().for_each(|waiter| assert!(!waiter.is_finished()));
        *OPEN.lock() = true;
        CONDITION.notify_all();
        waiters.into_iter().for_each(|waiter| assert!(waiter.join().unwrap()));
    });
}

fn no_notification_is_missed() {
    run(|| {
        let (turn, turned) = (Mutex::new(0), Condvar::new());
        scope(|s| {
            for me in 0..3 {
                let (turn, turned) = (&turn, &turned);
                s.go(move || {
                    for _ in 0..2000 {
                        let mut turn = turned.wait_while(turn.lock(), |turn| *turn % 3 != me);
                        *turn += 1;
                        drop(turn);
                        turned.notify_all();
                    }
                });
            }
        });
        assert_eq!(turn.into_inner(), 6000);
    });
}

fn once_runs_one_function() {
    run(|| {
        let (once, ran) = (Once::new(), AtomicUsize::new(0));
        assert!(!once.is_completed());
        scope(|s| {
            for i in 0..100 {
                let (once, ran) = (&once, &ran);
                s.go(move || {
                    let called = catch_unwind(AssertUnwindSafe(|| {
                        once.call_once(|| {
                            yield_now();
                            if i % 2 == 0 {
                                resume_unwind(Box::new("the next one's turn"));
                            }
                            ran.fetch_add(1, Ordering::Relaxed);
                        });
                    }));
                    assert!(called.is_err() || once.is_completed());
                });
            }
        });
        assert_eq!(ran.into_inner(), 1);
        once.call_once(|| unreachable!());
    });
}

fn a_once_lock_has_one_value() {
    run(|| {
        let cell = OnceLock::new();
        assert_eq!(cell.get(), None);
        unwind(|| cell.get_or_init(|| resume_unwind(Box::new(()))));
        assert_eq!(cell.get(), None, "it panicked");
        scope(|s| {
            let values: Vec<_> = (0..50)
                .map(|i| {
                    let cell = &cell;
                    s.go(move || {
                        *cell.get_or_init(|| {
                            yield_now();
                            i
                        })
                    })
                })
                .collect();
            for value in values {
                assert_eq!(Some(&value.join().unwrap()), cell.get());
            }
        });
        assert_eq!(cell.set(1000), Err(1000));
    });
    let value = Arc::new(());
    let mut cell = OnceLock::from(value.clone());
    assert_eq!(cell.get_mut(), Some(&mut value.clone()));
    assert!(cell.take().is_some() && cell.take().is_none());
    assert_eq!(Arc::strong_count(&value), 1);
    cell.set(value.clone()).unwrap();
    assert_eq!(format!("{cell:?}"), "OnceLock(())");
    drop(cell);
    assert_eq!(Arc::strong_count(&value), 1);
    assert_eq!(OnceLock::<u8>::new().into_inner(), None);
}

fn a_barrier_has_one_leader_each_time() {
    const N: usize = 10;
    run(|| {
        let barrier = Barrier::new(N);
        let (arrived, leaders) = (AtomicUsize::new(0), AtomicUsize::new(0));
        scope(|s| {
            for _ in 0..N {
                s.go(|| {
                    for round in 1..=200 {
                        arrived.fetch_add(1, Ordering::Relaxed);
                        if barrier.wait().is_leader() {
                            leaders.fetch_add(1, Ordering::Relaxed);
                        }
                        assert!(arrived.load(Ordering::Relaxed) >= round * N, "it waits for all");
                        barrier.wait();
                        assert_eq!(leaders.load(Ordering::Relaxed), round);
                        barrier.wait();
                    }
                });
            }
        });
    });
    assert!(Barrier::new(1).wait().is_leader());
    assert!(Barrier::new(0).wait().is_leader());
}

fn a_semaphore_has_so_many_permits() {
    run(|| {
        let semaphore = Semaphore::new(3);
        let inside = AtomicUsize::new(0);
        scope(|s| {
            for i in 0..60 {
                let (semaphore, inside) = (&semaphore, &inside);
                s.go(move || {
                    let n = 1 + i % 3;
                    let _permit = semaphore.acquire_many(n);
                    assert!(inside.fetch_add(n, Ordering::Relaxed) + n <= 3);
                    yield_now();
                    inside.fetch_sub(n, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(semaphore.available_permits(), 3);
        unwind(|| semaphore.acquire());
        let two = semaphore.try_acquire_many(2).unwrap();
        assert!(semaphore.try_acquire_many(2).is_none());
        semaphore.try_acquire().unwrap().forget();
        assert_eq!(semaphore.available_permits(), 0);
        drop(two);
        semaphore.add_permits(5);
        assert_eq!(semaphore.available_permits(), 7);
    });
}

fn who_waits_for_permits_is_served_in_order() {
    static SEMAPHORE: Semaphore = Semaphore::new(0);
    static SERVED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    run(|| {
        // Sizes of their requests: one that wants many, before and after others.
        let sizes = [1, 5, 1, 1, 3, 1];
        let waiters: Vec<_> = sizes
            .into_iter()
            .enumerate()
            .map(|(i, n)| {
                go_until_it_waits(move || {
                    SEMAPHORE.acquire_many(n).forget();
                    SERVED.lock().push(i);
                })
            })
            .collect();
        SEMAPHORE.add_permits(4);
        while SERVED.lock().is_empty() {
            yield_now();
        }
        assert_eq!(SEMAPHORE.available_permits(), 3, "kept for the second");
        assert!(SEMAPHORE.try_acquire().is_none());
        for _ in 0..8 {
            SEMAPHORE.add_permits(1);
        }
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert_eq!(SEMAPHORE.available_permits(), 0);
        assert_eq!(SERVED.lock()[0], 0);
    });
}

fn who_wants_many_permits_is_not_starved() {
    static SEMAPHORE: Semaphore = Semaphore::new(4);
    static GOT_ALL: AtomicBool = AtomicBool::new(false);
    run(|| {
        let held = SEMAPHORE.acquire();
        let wants_all = go_until_it_waits(|| {
            let _all = SEMAPHORE.acquire_many(4);
            GOT_ALL.store(true, Ordering::Relaxed);
        });
        // Each takes another's place: without an order there would always be some in.
        let others: Vec<_> = (0..8)
            .map(|_| {
                go(|| {
                    for _ in 0..100 {
                        let _permit = SEMAPHORE.acquire();
                        assert!(GOT_ALL.load(Ordering::Relaxed));
                        yield_now();
                    }
                })
            })
            .collect();
        yield_now();
        drop(held);
        wants_all.join().unwrap();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

fn a_wait_group_waits_for_all() {
    run(|| {
        let (group, done) = (WaitGroup::new(), AtomicUsize::new(0));
        group.wait();
        for round in 1..=20 {
            group.add(50);
            scope(|s| {
                for _ in 0..50 {
                    s.go(|| {
                        yield_now();
                        done.fetch_add(1, Ordering::Relaxed);
                        group.done();
                    });
                }
                for _ in 0..3 {
                    s.go(|| {
                        group.wait();
                        assert_eq!(done.load(Ordering::Relaxed), round * 50);
                    });
                }
            });
        }
    });
}
