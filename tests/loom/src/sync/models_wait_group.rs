//! Models of the wait group: a goroutine that has waited, asleep or not, sees the work done.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::runtime::atomic::check;
use crate::runtime::{limit_comes, limit_is_an_abort, nothing_is_released, notify_list_wait};
use crate::sync::wait_group::WaitGroup;

/// A group, and the work for which its waiters wait: loom fails if nothing orders a worker's access
/// before a waiter's.
struct Guarded {
    group: WaitGroup,
    done: [UnsafeCell<bool>; 2],
}

// SAFETY: the group orders the accesses, which loom checks.
unsafe impl Send for Guarded {}
// SAFETY: likewise.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn new() -> Arc<Self> {
        Arc::new(Guarded { group: WaitGroup::new(), done: [false; 2].map(UnsafeCell::new) })
    }

    fn work(&self, i: usize) {
        // SAFETY: no other worker uses this cell, and a thread that reads it has waited.
        self.done[i].with_mut(|done| unsafe { *done = true });
        self.group.done();
    }

    fn wait(&self, n: usize) {
        self.group.wait();
        self.look(n);
    }

    /// `wait` with a time limit, which never ends.
    fn wait_timed(&self, n: usize) {
        while let Some(number) = self.group.announce() {
            notify_list_wait(self.group.timed(), number);
        }
        self.look(n);
    }

    fn look(&self, n: usize) {
        for done in &self.done[..n] {
            // SAFETY: the work is done.
            assert!(done.with(|done| unsafe { *done }));
        }
    }
}

#[test]
fn two_wait_for_one() {
    check(Some(2), || {
        let guarded = Guarded::new();
        guarded.group.add(1);
        let waiters = [(); 2].map(|()| {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.wait(1))
        });
        guarded.work(0);
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

/// One goroutine waits for two others, by `wait`.
fn for_two(wait: fn(&Guarded, usize)) {
    check(Some(2), move || {
        let guarded = Guarded::new();
        guarded.group.add(2);
        let workers = [0, 1].map(|i| {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.work(i))
        });
        wait(&guarded, 2);
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn one_waits_for_two() {
    for_two(Guarded::wait);
}

#[test]
fn one_waits_with_a_limit_for_two() {
    for_two(Guarded::wait_timed);
}

#[test]
fn one_waits_with_a_limit_and_one_without() {
    check(Some(2), || {
        let guarded = Guarded::new();
        guarded.group.add(1);
        let waiter = {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.wait_timed(1))
        };
        let worker = {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.work(0))
        };
        guarded.wait(1);
        waiter.join().unwrap();
        worker.join().unwrap();
    });
}

/// One `done` too many panics. It puts the count back, and nobody waits for that count.
fn one_done_too_many(wait: fn(&Guarded, usize)) {
    check(Some(2), move || {
        let guarded = Guarded::new();
        let worker = {
            let guarded = guarded.clone();
            thread::spawn(move || catch_unwind(AssertUnwindSafe(|| guarded.group.done())).is_err())
        };
        wait(&guarded, 0);
        assert!(worker.join().unwrap(), "it is refused");
    });
}

#[test]
fn one_waits_beside_a_done_too_many() {
    one_done_too_many(Guarded::wait);
}

#[test]
fn one_waits_with_a_limit_beside_a_done_too_many() {
    one_done_too_many(Guarded::wait_timed);
}

/// The `done` that counts wakes the waiter, even while the surplus `done` has lowered the count,
/// too.
#[test]
fn one_of_two_is_too_many() {
    check(Some(2), || {
        let guarded = Guarded::new();
        guarded.group.add(1);
        let workers = [(); 2].map(|()| {
            let guarded = guarded.clone();
            thread::spawn(move || catch_unwind(AssertUnwindSafe(|| guarded.group.done())).is_err())
        });
        guarded.wait(0);
        let refused = workers.map(|worker| worker.join().unwrap());
        assert_eq!(refused.into_iter().filter(|refused| *refused).count(), 1);
    });
}

/// The count reaches 0 twice. The flag that the first time clears belongs to a waiter for the
/// second time.
#[test]
fn one_waits_with_a_limit_while_others_add() {
    check(Some(2), || {
        let guarded = Guarded::new();
        guarded.group.add(1);
        let waiter = {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.wait_timed(1))
        };
        guarded.work(0);
        guarded.group.add(1);
        guarded.group.done();
        waiter.join().unwrap();
    });
}

/// An abort ends the wait, or comes too late. Neither leaves a waiter that is counted, or a release
/// that nobody takes.
#[test]
fn one_is_aborted_as_the_count_becomes_0() {
    check(Some(2), || {
        limit_is_an_abort();
        let guarded = Guarded::new();
        guarded.group.add(1);
        let worker = {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.work(0))
        };
        let aborter = thread::spawn(limit_comes);
        if guarded.group.wait_until_end() {
            guarded.look(1);
        }
        worker.join().unwrap();
        aborter.join().unwrap();
        assert!(nothing_is_released());
        guarded.group.add(1);
        guarded.group.done();
        assert!(nothing_is_released());
    });
}
