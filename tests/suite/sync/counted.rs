//! Counts kept by owners: goroutines of a wait group, guards, and permits that keep their
//! semaphore.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::context::{AcquireContextError, Context};
use gosched::sync::{Semaphore, WaitGroup};
use gosched::{block_on, blocking, go, goexit, run, scope, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::panics;
use crate::harness::rng::Rng;
use crate::harness::storm::turns;
use crate::harness::tests;

tests! {
    a_group_counts_its_goroutines_until_they_end
    a_group_that_waits_is_not_kept_by_a_panic
    a_guard_counts_off_in_a_panic
    a_wait_for_a_group_ends_in_time
    waits_for_a_group_with_and_without_a_limit
    many_wait_for_a_group_with_limits
    a_group_is_not_waited_for_where_nothing_waits
    permits_are_split_and_merged
    owned_permits_go_anywhere
    owned_permits_wait_and_give_up
    one_that_wants_more_than_there_are_holds_up_nobody
    one_whose_permits_are_forgotten_holds_up_nobody
    a_close_ends_all_waits
    a_close_and_a_limit_and_permits_at_once
    a_closed_semaphore_refuses_in_each_way
}

pub fn a_close_ends_all_waits() {
    in_any_order(|| {
        let slots = Arc::new(Semaphore::new(1));
        let held = slots.acquire();
        let wait = |f: fn(&Arc<Semaphore>) -> bool| {
            let slots = slots.clone();
            go_until_it_waits(move || f(&slots))
        };
        let waits = [
            wait(|slots| slots.acquire_unless_closed().is_err()),
            wait(|slots| slots.acquire_many_unless_closed(7).is_err()),
            wait(|slots| slots.acquire_timeout(LONG).is_none()),
            wait(|slots| slots.clone().acquire_owned_unless_closed().is_err()),
            wait(|slots| {
                let (ctx, _cancel) = Context::background().with_cancel();
                ctx.with(slots).acquire().map(drop) == Err(AcquireContextError::Closed)
            }),
            wait(|slots| {
                Context::background().with(slots).acquire().map(drop) == Err(AcquireContextError::Closed)
            }),
            wait(|slots| panics(|| drop(slots.acquire())).contains("closed")),
        ];
        slots.close();
        slots.close();
        for waits in waits {
            assert!(waits.join().unwrap());
        }
        drop(held);
        assert_eq!(slots.available_permits(), 1);
        slots.add_permits(1);
        assert_eq!(slots.available_permits(), 2);
    });
}

/// Whatever comes first, no permit is lost, and all waits end.
pub fn a_close_and_a_limit_and_permits_at_once() {
    in_any_order(|| {
        for _ in 0..times(100, 1) {
            let slots = Semaphore::new(0);
            let (ctx, cancel) = Context::background().with_cancel();
            scope(|s| {
                s.go(|| slots.close());
                s.go(|| slots.add_permits(1));
                s.go(move || cancel.cancel());
                s.go(|| drop(ctx.with(&slots).acquire()));
                s.go(|| drop(slots.acquire_timeout(Duration::from_nanos(1))));
                s.go(|| drop(slots.acquire_unless_closed()));
            });
            assert_eq!(slots.available_permits(), 1);
        }
    });
}

/// Also where nothing may wait, and if permits are free.
fn a_closed_semaphore_refuses_in_each_way() {
    let refuses = || {
        let slots = Arc::new(Semaphore::new(2));
        slots.close();
        assert!(slots.is_closed());
        assert!(slots.try_acquire().is_none() && slots.acquire_timeout(LONG).is_none());
        assert!(slots.clone().try_acquire_owned().is_none());
        assert!(slots.clone().acquire_owned_timeout(LONG).is_none());
        assert!(slots.acquire_unless_closed().is_err());
        assert!(slots.clone().acquire_many_owned_unless_closed(2).is_err());
        let (ctx, _cancel) = Context::background().with_cancel();
        assert_eq!(ctx.with(&slots).acquire().map(drop), Err(AcquireContextError::Closed));
        let message = panics(|| drop(slots.acquire()));
        assert!(
            message.contains("the semaphore is closed; acquire_unless_closed returns an error"),
            "{message}"
        );
        assert!(panics(|| drop(slots.clone().acquire_owned())).contains("closed"));
        assert_eq!(slots.available_permits(), 2);
    };
    run(|| {
        refuses();
        blocking(refuses);
    });
    thread::spawn(refuses).join().unwrap();
}

const LONG: Duration = Duration::from_secs(3600);

fn one_that_wants_more_than_there_are_holds_up_nobody() {
    run(|| {
        let slots: &Semaphore = Box::leak(Box::new(Semaphore::new(2)));
        let greedy = go_until_it_waits(|| slots.acquire_many(3));
        let (one, two) = (slots.acquire(), slots.try_acquire().unwrap());
        let behind = go_until_it_waits(|| slots.acquire());
        drop(one);
        drop(behind.join().unwrap());
        drop(block_on(slots.acquire_async()).unwrap());
        // When permits are added, its turn has come, and nobody passes it.
        slots.add_permits(1);
        assert!(slots.try_acquire().is_none());
        drop(two);
        drop(greedy.join().unwrap());
        let greedy = go_until_it_waits(|| slots.acquire_many(4));
        assert!(slots.try_acquire().is_none(), "more may come");
        slots.add_permits(1);
        drop(greedy.join().unwrap());
        assert_eq!(slots.available_permits(), 4);
    });
}

fn one_whose_permits_are_forgotten_holds_up_nobody() {
    run(|| {
        let slots: &Semaphore = Box::leak(Box::new(Semaphore::new(3)));
        let one = slots.acquire();
        let greedy = go_until_it_waits(|| slots.acquire_many(3));
        let behind = go_until_it_waits(|| slots.acquire_many(2));
        one.forget();
        drop(behind.join().unwrap());
        slots.add_permits(1);
        drop(greedy.join().unwrap());
        assert_eq!(slots.available_permits(), 3);
    });
}

pub fn a_group_counts_its_goroutines_until_they_end() {
    in_any_order(|| {
        let (group, done) = (Arc::new(WaitGroup::new()), Arc::new(AtomicUsize::new(0)));
        let (rounds, crowd) = (times(20, 2), times(50, 3));
        for round in 1..=rounds {
            for _ in 0..crowd {
                let done = done.clone();
                group.go(move || {
                    yield_now();
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
            group.wait();
            assert_eq!(done.load(Ordering::Relaxed), round * crowd);
        }
        assert_eq!(group.go(|| "result").join().unwrap(), "result");
        group.wait();
        // The goroutines keep the group only while they run: until they end, which is after they
        // have counted off.
        while Arc::strong_count(&group) > 1 {
            yield_now();
        }
    });
}

fn a_group_that_waits_is_not_kept_by_a_panic() {
    run(|| {
        let group = Arc::new(WaitGroup::new());
        group.go(|| panic!("expected"));
        group.go(|| goexit());
        group.go(|| yield_now());
        group.wait();
    });
}

fn a_guard_counts_off_in_a_panic() {
    static GROUP: WaitGroup = WaitGroup::new();
    run(|| {
        let ended = AtomicBool::new(false);
        for _ in 0..10 {
            let guard = GROUP.guard();
            go(move || {
                let _guard = guard;
                yield_now();
                panic!("expected");
            });
        }
        scope(|s| {
            let guard = GROUP.guard();
            s.go(|| {
                let guard = guard;
                yield_now();
                ended.store(true, Ordering::Relaxed);
                drop(guard);
            });
            GROUP.wait();
            assert!(ended.load(Ordering::Relaxed));
        });
        assert_eq!(format!("{GROUP:?}"), "WaitGroup { count: 0, waiters: 0 }");
    });
}

fn a_wait_for_a_group_ends_in_time() {
    static GROUP: WaitGroup = WaitGroup::new();
    run(|| {
        assert!(!GROUP.wait_timeout(Duration::ZERO).timed_out(), "the count is 0");
        GROUP.add(1);
        assert!(GROUP.wait_timeout(Duration::ZERO).timed_out());
        let start = Instant::now();
        assert!(GROUP.wait_timeout(Duration::from_millis(2)).timed_out());
        assert!(start.elapsed() >= Duration::from_millis(2));
        // The waiter has left: others may add again without affecting it.
        GROUP.done();
        GROUP.add(1);
        let waiter = go_until_it_waits(|| GROUP.wait_timeout(Duration::from_secs(3600)));
        GROUP.done();
        assert!(!waiter.join().unwrap().timed_out());
        GROUP.wait();
        GROUP.add(1);
        let thread = thread::spawn(|| GROUP.wait_timeout(Duration::from_secs(3600)));
        GROUP.done();
        assert!(!thread.join().unwrap().timed_out());
    });
}

pub fn waits_for_a_group_with_and_without_a_limit() {
    in_any_order(|| {
        let group: &WaitGroup = Box::leak(Box::default());
        for _ in 0..times(100, 1) {
            group.add(2);
            let without = [(); 3].map(|()| go_until_it_waits(|| group.wait()));
            let with = [(); 3].map(|()| go_until_it_waits(|| group.wait_timeout(Duration::from_secs(3600))));
            group.done();
            assert!(group.wait_timeout(Duration::from_nanos(1)).timed_out());
            group.done();
            without.into_iter().for_each(|waiter| waiter.join().unwrap());
            assert!(with.map(|waiter| waiter.join().unwrap()).iter().all(|ended| !ended.timed_out()));
        }
    });
}

pub fn many_wait_for_a_group_with_limits() {
    in_any_order(|| {
        let mut rng = Rng::seeded();
        for _ in turns(times(if cfg!(debug_assertions) { 200 } else { 2_000 }, 1), || true) {
            let (group, done) = (WaitGroup::new(), AtomicUsize::new(0));
            group.add(3);
            scope(|s| {
                for _ in 0..4 {
                    let (mut rng, group, done) = (rng.fork(), &group, &done);
                    s.go(move || {
                        while group.wait_timeout(Duration::from_nanos(rng.below(20_000) as u64)).timed_out() {
                        }
                        assert_eq!(done.load(Ordering::Relaxed), 3);
                    });
                }
                for i in 0..3 {
                    let (group, done) = (&group, &done);
                    s.go(move || {
                        (0..i).for_each(|_| yield_now());
                        done.fetch_add(1, Ordering::Relaxed);
                        group.done();
                    });
                }
                group.wait();
            });
            assert_eq!(format!("{group:?}"), "WaitGroup { count: 0, waiters: 0 }");
        }
    });
}

fn a_group_is_not_waited_for_where_nothing_waits() {
    run(|| {
        let group = WaitGroup::new();
        group.add(1);
        let message = blocking(|| panics(|| group.wait_timeout(Duration::from_secs(1))));
        assert!(message.contains("WaitGroup::wait_timeout would have to wait"), "{message}");
        assert!(blocking(|| group.wait_timeout(Duration::ZERO)).timed_out());
    });
}

fn permits_are_split_and_merged() {
    let (semaphore, other) = (Arc::new(Semaphore::new(5)), Arc::new(Semaphore::new(1)));
    let mut permits = semaphore.acquire_many(4);
    assert!(permits.split(5).is_none());
    let mut part = permits.split(3).unwrap();
    assert!(ptr::eq(part.semaphore(), &*semaphore));
    assert_eq!((permits.num_permits(), part.num_permits(), semaphore.available_permits()), (1, 3, 1));
    drop(permits);
    assert_eq!(semaphore.available_permits(), 2);
    part.merge(semaphore.acquire());
    assert_eq!((part.num_permits(), semaphore.available_permits()), (4, 1));
    let message = panics(|| part.merge(other.acquire()));
    assert_eq!(message, "gosched: merge: the permits are of another Semaphore");
    assert_eq!((part.num_permits(), other.available_permits()), (4, 1));
    drop(part);
    assert_eq!(semaphore.available_permits(), 5);

    let mut permits = semaphore.clone().acquire_many_owned(4);
    assert!(permits.split(5).is_none());
    let mut part = permits.split(4).unwrap();
    assert!(Arc::ptr_eq(part.semaphore(), &semaphore));
    assert_eq!((permits.num_permits(), part.num_permits(), semaphore.available_permits()), (0, 4, 1));
    permits.merge(part.split(1).unwrap());
    part.merge(permits);
    let message = panics(|| part.merge(other.clone().acquire_owned()));
    assert_eq!(message, "gosched: merge: the permits are of another Semaphore");
    assert_eq!((part.num_permits(), other.available_permits()), (4, 1));
    drop(part);
    assert_eq!((semaphore.available_permits(), Arc::strong_count(&semaphore)), (5, 1));
}

fn owned_permits_go_anywhere() {
    run(|| {
        let (semaphore, inside) = (Arc::new(Semaphore::new(3)), Arc::new(AtomicUsize::new(0)));
        let goroutines: Vec<_> = (0..60)
            .map(|i| {
                let n = 1 + i % 3;
                let (permit, inside) = (semaphore.clone().acquire_many_owned(n), inside.clone());
                go(move || {
                    let _permit = permit;
                    assert!(inside.fetch_add(n, Ordering::Relaxed) + n <= 3);
                    yield_now();
                    inside.fetch_sub(n, Ordering::Relaxed);
                })
            })
            .collect();
        goroutines.into_iter().for_each(|goroutine| goroutine.join().unwrap());
        assert_eq!((semaphore.available_permits(), Arc::strong_count(&semaphore)), (3, 1));
        let permit = semaphore.clone().acquire_owned();
        let another = permit;
        thread::spawn(move || drop(another)).join().unwrap();
        semaphore.clone().try_acquire_owned().unwrap().forget();
        assert_eq!((semaphore.available_permits(), Arc::strong_count(&semaphore)), (2, 1));
        let last = semaphore.acquire_many_owned(2);
        assert_eq!(format!("{last:?}"), "OwnedSemaphorePermit { permits: 2 }");
    });
}

pub fn owned_permits_wait_and_give_up() {
    in_any_order(|| {
        let semaphore = Arc::new(Semaphore::new(2));
        let held = semaphore.clone().try_acquire_many_owned(2).unwrap();
        assert!(semaphore.clone().try_acquire_owned().is_none());
        assert!(semaphore.clone().try_acquire_many_owned(1).is_none());
        assert!(semaphore.clone().acquire_owned_timeout(Duration::from_millis(1)).is_none());
        assert!(semaphore.clone().acquire_many_owned_timeout(2, Duration::from_nanos(1)).is_none());
        let waiter = {
            let semaphore = semaphore.clone();
            go_until_it_waits(move || semaphore.acquire_many_owned_timeout(2, Duration::from_secs(3600)))
        };
        drop(held);
        let permit = waiter.join().unwrap().expect("two permits");
        assert_eq!((semaphore.available_permits(), Arc::strong_count(&semaphore)), (0, 2));
        drop(permit);
        assert_eq!((semaphore.available_permits(), Arc::strong_count(&semaphore)), (2, 1));
    });
}
