//! Futures that want permits: they wait in turn in the same queue as goroutines, and leave nothing
//! behind.
//!
//! For a long run, set `STRESS_TIMES`, the number of storms.

use std::future::Future;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::sync::Semaphore;
use gosched::{JoinHandle, block_on, context, run, scope, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::futures::{Task, for_a_while, waits_and_calls};
use crate::harness::goroutines::{go_until_it_waits, others_ended};
use crate::harness::rng::{Rng, number};
use crate::harness::storm::turns;
use crate::harness::{run_with_procs, tests};

tests! {
    each_gets_permits_in_its_turn
    one_that_is_dropped_lets_others_by
    permits_that_came_are_given_back
    a_waker_whose_drop_panics
    a_waker_that_waits_for_who_comes_after
    a_waker_that_waits_for_who_ends_with_the_same_context
    forgotten
    those_of_a_closed_semaphore_fail
    permits_are_wanted_in_each_way
    storm_with_one_p
    storm_with_two_ps
    storm_with_eight_ps
}

pub fn each_gets_permits_in_its_turn() {
    in_any_order(|| {
        let semaphore = Arc::new(Semaphore::new(3));
        let all = block_on(semaphore.acquire_many_async(3)).unwrap();
        let mut first = Task::waits(semaphore.acquire_many_async(2));
        let wants_one = semaphore.clone();
        let second = go_until_it_waits(move || wants_one.acquire().forget());
        let mut third = Task::waits(semaphore.acquire_async());
        assert!(semaphore.try_acquire().is_none());
        drop(all);
        assert_eq!((first.times_woken(), third.times_woken()), (1, 0));
        second.join().unwrap();
        let two = first.poll().unwrap().unwrap();
        assert!(third.poll().is_none());
        drop(two);
        assert_eq!(third.times_woken(), 1);
        assert_eq!(semaphore.available_permits(), 1);
        drop(third.poll().unwrap().unwrap());
        assert_eq!(semaphore.available_permits(), 2);
    });
}

fn one_that_is_dropped_lets_others_by() {
    run(|| {
        let semaphore = Semaphore::new(2);
        let _held = semaphore.acquire();
        let many = Task::waits(semaphore.acquire_many_async(2));
        let mut one = Task::waits(semaphore.acquire_async());
        let woken = many.woken.clone();
        drop(many);
        assert_eq!(Arc::strong_count(&woken), 1, "the waker is gone");
        assert_eq!(one.times_woken(), 1);
        assert!(one.poll().unwrap().is_ok());
    });
}

fn permits_that_came_are_given_back() {
    run(|| {
        let semaphore = Semaphore::new(1);
        let all = semaphore.acquire();
        let (first, mut second) =
            (Task::waits(semaphore.acquire_async()), Task::waits(semaphore.acquire_async()));
        drop(all);
        assert_eq!((first.times_woken(), second.times_woken()), (1, 0));
        drop(first);
        assert!(second.poll().unwrap().is_ok());
        assert_eq!(semaphore.available_permits(), 1);
    });
}

fn a_waker_whose_drop_panics() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            resume_unwind(Box::new("the waker's"));
        }
    }

    run(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let mut many = Box::pin(semaphore.acquire_many_async(2));
        let waker = Waker::from(Arc::new(Panics));
        assert!(many.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        let wants_one = semaphore.clone();
        let next = go_until_it_waits(move || wants_one.acquire().forget());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(many))).is_err());
        next.join().unwrap();
    });
}

/// All waiters get their permits before the first waker is called.
pub fn a_waker_that_waits_for_who_comes_after() {
    in_any_order(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let (tx, rx) = bounded::<JoinHandle<()>>(1);
        let future = waits_and_calls(semaphore.acquire_async(), move || rx.recv().unwrap().join().unwrap());
        let acquires = semaphore.clone();
        tx.send(go_until_it_waits(move || acquires.acquire().forget())).unwrap();
        semaphore.add_permits(2);
        block_on(future).unwrap().forget();
    });
}

/// The waker's wait doesn't hold up the canceler.
pub fn a_waker_that_waits_for_who_ends_with_the_same_context() {
    in_any_order(|| {
        let (ctx, cancel) = context::Context::background().with_cancel();
        let (many, none) = (Arc::new(Semaphore::new(2)), Arc::new(Semaphore::new(0)));
        let _held = many.acquire();
        let (tx, rx) = bounded::<JoinHandle<bool>>(2);
        let waits = |semaphore: &Arc<Semaphore>, n| {
            let (ctx, semaphore) = (ctx.clone(), semaphore.clone());
            go_until_it_waits(move || ctx.with(&*semaphore).acquire_many(n).is_err())
        };
        // The order in which they end isn't specified.
        let [before, first, after] = [waits(&none, 1), waits(&many, 2), waits(&none, 1)];
        let future = waits_and_calls(many.acquire_async(), move || {
            assert!(rx.iter().all(|waits| waits.join().unwrap()));
        });
        tx.send(before).unwrap();
        tx.send(after).unwrap();
        drop(tx);
        cancel.cancel();
        assert!(first.join().unwrap());
        drop(block_on(future).unwrap());
    });
}

fn forgotten() {
    run(|| {
        let semaphore = Semaphore::new(1);
        let one = semaphore.acquire();
        forget(Task::waits(semaphore.acquire_async()));
        drop(one);
        assert_eq!(semaphore.available_permits(), 0, "it has come to who is forgotten");
        forget(Task::waits(semaphore.acquire_async()));
    });
}

pub fn those_of_a_closed_semaphore_fail() {
    in_any_order(|| {
        let semaphore = Semaphore::new(1);
        let held = semaphore.acquire();
        let mut waits = Task::waits(semaphore.acquire_async());
        let dropped = Task::waits(semaphore.acquire_many_async(2));
        semaphore.close();
        assert_eq!((waits.times_woken(), dropped.times_woken()), (1, 1));
        assert!(waits.poll().unwrap().is_err());
        drop(dropped);
        assert_eq!(semaphore.available_permits(), 0, "it had no permits to give back");
        drop(held);
        assert!(block_on(semaphore.acquire_async()).is_err());
        assert_eq!(semaphore.available_permits(), 1);
        // One that had got its permits before the close keeps them.
        let semaphore = Semaphore::new(0);
        let (mut first, second) =
            (Task::waits(semaphore.acquire_async()), Task::waits(semaphore.acquire_async()));
        semaphore.add_permits(1);
        semaphore.close();
        drop(first.poll().unwrap().unwrap());
        drop(second);
        assert_eq!(semaphore.available_permits(), 1);
    });
}

/// A semaphore whose permits many want, in each way.
struct Wanted {
    semaphore: Semaphore,
    taken: AtomicUsize,
    /// Whether some waiters got permits, and whether some gave up.
    seen: [AtomicBool; 2],
}

impl Wanted {
    const PERMITS: usize = 5;

    fn new() -> Self {
        Wanted {
            semaphore: Semaphore::new(Self::PERMITS),
            taken: AtomicUsize::new(0),
            seen: Default::default(),
        }
    }

    /// Wants permits `turns` times, and calls `pause` while it has them.
    fn work(&self, turns: usize, mut rng: Rng, pause: fn()) {
        for _ in 0..turns {
            let n = 1 + rng.below(Self::PERMITS);
            let permit = match rng.below(4) {
                0 => Some(self.semaphore.acquire_many(n)),
                1 => Some(block_on(self.semaphore.acquire_many_async(n)).unwrap()),
                2 => self.semaphore.acquire_many_timeout(n, Duration::from_micros(rng.next() % 100)),
                _ => block_on(for_a_while(self.semaphore.acquire_many_async(n), rng.below(4)))
                    .map(Result::unwrap),
            };
            self.seen[usize::from(permit.is_none())].store(true, Ordering::Relaxed);
            if permit.is_some() {
                assert!(self.taken.fetch_add(n, Ordering::Relaxed) + n <= Self::PERMITS, "too many");
                pause();
                self.taken.fetch_sub(n, Ordering::Relaxed);
            }
        }
    }

    /// Fails unless all permits are back. Returns `seen`.
    fn end(self) -> [bool; 2] {
        assert_eq!(self.semaphore.available_permits(), Self::PERMITS);
        self.seen.map(AtomicBool::into_inner)
    }
}

pub fn permits_are_wanted_in_each_way() {
    in_any_order(|| {
        let (mut rng, wanted) = (Rng::seeded(), Wanted::new());
        scope(|s| {
            for _ in 0..times(6, 3) {
                let (rng, wanted) = (rng.fork(), &wanted);
                s.go(move || wanted.work(times(100, 3), rng, yield_now));
            }
        });
        wanted.end();
    });
}

fn storm(procs: usize) {
    let mut rng = Rng::seeded();
    run_with_procs(procs, || {
        let seen = [const { AtomicBool::new(false) }; 2];
        let all_seen = || seen.iter().all(|seen| seen.load(Ordering::Relaxed));
        for _ in turns(number("STRESS_TIMES").unwrap_or(20) as usize, all_seen) {
            let wanted = Wanted::new();
            thread::scope(|threads| {
                scope(|s| {
                    for _ in 0..6 {
                        let (rng, wanted) = (rng.fork(), &wanted);
                        s.go(move || wanted.work(100, rng, yield_now));
                    }
                    let (rng, wanted) = (rng.fork(), &wanted);
                    threads.spawn(move || wanted.work(100, rng, thread::yield_now));
                });
            });
            let found = wanted.end();
            seen.iter().zip(found).for_each(|(seen, found)| _ = seen.fetch_or(found, Ordering::Relaxed));
        }
        others_ended();
    });
}

fn storm_with_one_p() {
    storm(1);
}

fn storm_with_two_ps() {
    storm(2);
}

fn storm_with_eight_ps() {
    storm(8);
}
