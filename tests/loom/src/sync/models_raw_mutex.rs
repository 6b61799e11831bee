//! Models of the mutex: a waiter gives up while others unlock, hand over, and wait.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::runtime::atomic::check;
use crate::runtime::{Limit, limit_comes, nothing_is_released, pass_time};
use crate::sync::raw_mutex::RawMutex;

/// A mutex, and the data that it guards: loom fails if nothing orders two threads that use them.
struct Guarded {
    mutex: RawMutex,
    count: UnsafeCell<u32>,
    /// Whether each thread holds it so long that others starve.
    for_long: bool,
}

// SAFETY: the mutex orders the accesses, which loom checks.
unsafe impl Send for Guarded {}
// SAFETY: likewise.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn new(for_long: bool) -> Arc<Self> {
        Arc::new(Guarded { mutex: RawMutex::new(), count: UnsafeCell::new(0), for_long })
    }

    /// Works with the mutex locked.
    fn work(&self) {
        // SAFETY: no other thread has the mutex.
        self.count.with_mut(|count| unsafe { *count += 1 });
        if self.for_long {
            pass_time();
        }
        self.mutex.unlock();
    }

    fn lock(&self) {
        self.mutex.lock();
        self.work();
    }

    /// Returns whether it got the mutex before the limit.
    fn lock_limited(&self) -> bool {
        let locked = self.mutex.lock_limited(Some(Limit(&())));
        if locked {
            self.work();
        }
        locked
    }
}

/// `others` threads wait while one has the mutex and one gives up. If each has it `for_long`, it
/// may be handed over.
fn one_gives_up(others: usize, bound: usize, for_long: bool) {
    check(Some(bound), move || {
        let guarded = Guarded::new(for_long);
        guarded.mutex.lock();
        let limited = {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.lock_limited())
        };
        let others: Vec<_> = (0..others)
            .map(|_| {
                let guarded = guarded.clone();
                thread::spawn(move || guarded.lock())
            })
            .collect();
        let limit = thread::spawn(limit_comes);
        guarded.work();
        limit.join().unwrap();
        let times = 1 + others.len() as u32;
        others.into_iter().for_each(|other| other.join().unwrap());
        let locked = limited.join().unwrap();
        // The mutex is as if nobody had ever come: it isn't handed over, and nobody would be woken
        // by mistake.
        assert!(guarded.mutex.try_lock() && nothing_is_released());
        // SAFETY: the mutex is locked.
        assert_eq!(guarded.count.with(|count| unsafe { *count }), times + u32::from(locked));
    });
}

#[test]
fn the_only_one_gives_up() {
    one_gives_up(0, 4, false);
}

#[test]
fn one_of_two_gives_up() {
    one_gives_up(1, 2, false);
}

#[test]
fn one_of_two_gives_up_where_they_starve() {
    one_gives_up(1, 3, true);
}
