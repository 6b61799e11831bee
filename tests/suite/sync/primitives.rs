//! Meeting points: which goroutine waits for which, in what order, and what a panic leaves behind.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gosched::sync::{Barrier, Condvar, Mutex, Once, OnceLock, Semaphore, WaitGroup};
use gosched::{go, scope, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::unwind;
use crate::harness::tests;

tests! {
    notify_one_wakes_who_has_waited_longest
    notify_one_wakes_another_for_each_that_left
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

pub fn notify_one_wakes_who_has_waited_longest() {
    in_any_order(|| {
        let (woken, condition): &(Mutex<Vec<usize>>, Condvar) = Box::leak(Box::default());
        let n = times(10, 4);
        condition.notify_one(); // nobody waits, so the notification is lost
        let waiters: Vec<_> =
            (0..n).map(|i| go_until_it_waits(move || condition.wait(woken.lock()).push(i))).collect();
        for (i, waiter) in waiters.into_iter().enumerate() {
            assert_eq!(woken.lock().len(), i);
            condition.notify_one();
            waiter.join().unwrap();
        }
        assert!(woken.lock().iter().copied().eq(0..n));
    });
}

/// Three goroutines wait in turn, and the first has left without a notification. Two notifications
/// go to the other two.
pub fn notify_one_wakes_another_for_each_that_left() {
    in_any_order(|| {
        let (woken, condition): &(Mutex<usize>, Condvar) = Box::leak(Box::default());
        let (guard, result) = condition.wait_timeout(woken.lock(), Duration::from_millis(1));
        assert!(result.timed_out());
        drop(guard);
        let waiters: Vec<_> =
            (0..2).map(|_| go_until_it_waits(|| *condition.wait(woken.lock()) += 1)).collect();
        for waiter in waiters {
            condition.notify_one();
            waiter.join().unwrap();
        }
        assert_eq!(*woken.lock(), 2);
    });
}

pub fn notify_all_wakes_all() {
    in_any_order(|| {
        let (open, condition): &(Mutex<bool>, Condvar) = Box::leak(Box::default());
        let waiters: Vec<_> = (0..times(100, 3))
            .map(|_| go_until_it_waits(|| *condition.wait_while(open.lock(), |open| !*open)))
            .collect();
        condition.notify_all();
        waiters.iter().for_each(|waiter| assert!(!waiter.is_finished()));
        *open.lock() = true;
        condition.notify_all();
        waiters.into_iter().for_each(|waiter| assert!(waiter.join().unwrap()));
    });
}

pub fn no_notification_is_missed() {
    in_any_order(|| {
        let (turn, turned, rounds) = (Mutex::new(0), Condvar::new(), times(2000, 2));
        scope(|s| {
            for me in 0..3 {
                let (turn, turned) = (&turn, &turned);
                s.go(move || {
                    for _ in 0..rounds {
                        let mut turn = turned.wait_while(turn.lock(), |turn| *turn % 3 != me);
                        *turn += 1;
                        drop(turn);
                        turned.notify_all();
                    }
                });
            }
        });
        assert_eq!(turn.into_inner(), 3 * rounds);
    });
}

pub fn once_runs_one_function() {
    in_any_order(|| {
        let (once, ran) = (Once::new(), AtomicUsize::new(0));
        assert!(!once.is_completed());
        scope(|s| {
            for i in 0..times(100, 4) {
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

pub fn a_once_lock_has_one_value() {
    in_any_order(|| {
        let cell = OnceLock::new();
        assert_eq!(cell.get(), None);
        unwind(|| cell.get_or_init(|| resume_unwind(Box::new(()))));
        assert_eq!(cell.get(), None, "it panicked");
        scope(|s| {
            let values: Vec<_> = (0..times(50, 3))
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

pub fn a_barrier_has_one_leader_each_time() {
    in_any_order(|| {
        let (n, rounds) = (times(10, 3), times(200, 2));
        let barrier = Barrier::new(n);
        let (arrived, leaders) = (AtomicUsize::new(0), AtomicUsize::new(0));
        scope(|s| {
            for _ in 0..n {
                s.go(|| {
                    for round in 1..=rounds {
                        arrived.fetch_add(1, Ordering::Relaxed);
                        if barrier.wait().is_leader() {
                            leaders.fetch_add(1, Ordering::Relaxed);
                        }
                        assert!(arrived.load(Ordering::Relaxed) >= round * n, "it waits for all");
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

pub fn a_semaphore_has_so_many_permits() {
    in_any_order(|| {
        let semaphore = Semaphore::new(3);
        let inside = AtomicUsize::new(0);
        scope(|s| {
            for i in 0..times(60, 4) {
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

pub fn who_waits_for_permits_is_served_in_order() {
    in_any_order(|| {
        let semaphore: &Semaphore = Box::leak(Box::new(Semaphore::new(0)));
        let served: &Mutex<Vec<usize>> = Box::leak(Box::default());
        // The sizes of the requests: one goroutine wants many permits, before and after others.
        let sizes = [1, 5, 1, 1, 3, 1];
        let waiters: Vec<_> = sizes
            .into_iter()
            .enumerate()
            .map(|(i, n)| {
                go_until_it_waits(move || {
                    semaphore.acquire_many(n).forget();
                    served.lock().push(i);
                })
            })
            .collect();
        semaphore.add_permits(4);
        while served.lock().is_empty() {
            yield_now();
        }
        assert_eq!(semaphore.available_permits(), 3, "kept for the second");
        assert!(semaphore.try_acquire().is_none());
        for _ in 0..8 {
            semaphore.add_permits(1);
        }
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert_eq!(semaphore.available_permits(), 0);
        assert_eq!(served.lock()[0], 0);
    });
}

pub fn who_wants_many_permits_is_not_starved() {
    in_any_order(|| {
        let (semaphore, got_all) = &*Box::leak(Box::new((Semaphore::new(4), AtomicBool::new(false))));
        let n = times(100, 2);
        let held = semaphore.acquire();
        let wants_all = go_until_it_waits(|| {
            let _all = semaphore.acquire_many(4);
            got_all.store(true, Ordering::Relaxed);
        });
        // Each goroutine takes another's place. Without an order, some would always be inside.
        let others: Vec<_> = (0..times(8, 3))
            .map(|_| {
                go(move || {
                    for _ in 0..n {
                        let _permit = semaphore.acquire();
                        assert!(got_all.load(Ordering::Relaxed));
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

pub fn a_wait_group_waits_for_all() {
    in_any_order(|| {
        let (group, done) = (WaitGroup::new(), AtomicUsize::new(0));
        let (rounds, crowd) = (times(20, 2), times(50, 3));
        group.wait();
        for round in 1..=rounds {
            group.add(crowd as u32);
            scope(|s| {
                for _ in 0..crowd {
                    s.go(|| {
                        yield_now();
                        done.fetch_add(1, Ordering::Relaxed);
                        group.done();
                    });
                }
                for _ in 0..3 {
                    s.go(|| {
                        group.wait();
                        assert_eq!(done.load(Ordering::Relaxed), round * crowd);
                    });
                }
            });
        }
    });
}
