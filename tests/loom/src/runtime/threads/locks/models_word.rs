//! The word of a mutex: one at a time has it, and no waiter is forgotten.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use crate::runtime::stdpark::words::{Word, check, word};
use crate::runtime::threads::locks::word::{lock_slowly, try_lock, unlock};
use crate::runtime::time::modify::{LATER, time_comes_for_good};

/// What the mutex protects.
struct Count(UnsafeCell<u32>);

// SAFETY: loom checks this.
unsafe impl Sync for Count {}
// SAFETY: the same.
unsafe impl Send for Count {}

impl Word {
    /// Locks the mutex. Returns false if the time ends the wait.
    fn lock(self, until: Option<i64>) -> bool {
        try_lock(self.word()) || lock_slowly(self.word(), |_, value| self.sleep(value, until)).is_ok()
    }

    fn unlock(self) {
        if unlock(self.word()) {
            self.wake(1);
        }
    }
}

/// Adds to the count with the mutex locked.
fn add(word: Word, count: &Count, until: Option<i64>) -> u32 {
    if !word.lock(until) {
        return 0;
    }
    // SAFETY: loom checks that this has it alone.
    count.0.with_mut(|count| unsafe { *count += 1 });
    word.unlock();
    1
}

fn check_adds(bound: Option<usize>, limits: &'static [Option<i64>]) {
    check(bound, move || {
        let (word, count) = (word(), Arc::new(Count(UnsafeCell::new(0))));
        let adders: Vec<_> = limits
            .iter()
            .map(|&until| {
                let count = count.clone();
                thread::spawn(move || add(word, &count, until))
            })
            .collect();
        let added = add(word, &count, None);
        time_comes_for_good();
        let all = adders.into_iter().map(|adder| adder.join().unwrap()).sum::<u32>() + added;
        // SAFETY: all others have ended.
        assert_eq!(count.0.with(|count| unsafe { *count }), all);
    });
}

#[test]
fn one_waits_for_another() {
    check_adds(None, &[None]);
}

#[test]
fn two_wait_for_one() {
    check_adds(Some(3), &[None, None]);
}

#[test]
fn one_gives_up_and_one_waits() {
    check_adds(Some(2), &[Some(LATER), None]);
}
