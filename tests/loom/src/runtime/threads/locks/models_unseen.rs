//! A mutex that glibc releases, where only threads are woken, while goroutines wait for it.

use std::ptr;

use libc::pthread_mutex_t;
use loom::thread;

use crate::runtime::base::os::{futexsleep, futexwakeup};
use crate::runtime::stdpark::futex::wake_queued;
use crate::runtime::stdpark::futex_table::ANY_BIT;
use crate::runtime::stdpark::gate::barrier_after_change;
use crate::runtime::stdpark::words::{Word, check, word};
use crate::runtime::threads::live::{live, set_live};
use crate::runtime::threads::locks::unseen::{
    may_be_released_by_glibc, wait_in_glibc, wait_in_glibc_unless_live,
};
use crate::runtime::threads::locks::word::{LOCKED, lock_slowly, try_lock, unlock};

/// Wakes all goroutines and threads.
pub(super) fn wake_all(addr: usize) {
    wake_queued(addr, u32::MAX, ANY_BIT);
    let word = ptr::with_exposed_provenance(addr);
    // SAFETY: words stay.
    (0..2).for_each(|_| futexwakeup(unsafe { &*word }, 1));
}

impl Word {
    fn as_mutex(self) -> *mut pthread_mutex_t {
        ptr::from_ref(self.word()).cast_mut().cast()
    }

    fn lock_in_glibc(self) {
        let sleep = |_: &_, value| {
            futexsleep(self.word(), value, -1);
            Ok::<(), ()>(())
        };
        _ = try_lock(self.word()) || lock_slowly(self.word(), sleep).is_ok();
    }

    fn unlock_in_glibc(self) {
        if unlock(self.word()) {
            futexwakeup(self.word(), 1);
        }
    }

    /// Locks the mutex as `pthread_mutex_lock` does.
    fn lock_here(self) {
        if !live() {
            return self.lock_in_glibc();
        }
        let sleep = |_: &_, value| {
            if may_be_released_by_glibc(self.addr()) {
                futexsleep(self.word(), value, -1);
            } else {
                return self.sleep(value, None);
            }
            Ok(())
        };
        _ = try_lock(self.word()) || lock_slowly(self.word(), sleep).is_ok();
    }

    /// Unlocks the mutex as `pthread_mutex_unlock` does.
    fn unlock_here(self) {
        if !live() {
            self.unlock_in_glibc();
            barrier_after_change();
            if live() {
                wake_all(self.addr());
            }
        } else if unlock(self.word()) && self.wake(1) == 0 {
            futexwakeup(self.word(), 1);
        }
    }
}

/// Returns a mutex that the model's first thread has.
fn locked() -> Word {
    let word = word();
    word.word().store(LOCKED, std::sync::atomic::Ordering::Relaxed);
    word
}

/// Locks and unlocks.
fn use_mutex(word: Word) {
    word.lock_here();
    word.unlock_here();
}

/// The unlock has begun, or not, when threads become goroutines.
#[test]
fn an_unlock() {
    check(Some(3), || {
        let word = locked();
        let other = thread::spawn(move || use_mutex(word));
        let turns_on = thread::spawn(set_live);
        word.unlock_here();
        turns_on.join().unwrap();
        other.join().unwrap();
    });
}

/// A wait for a condition in glibc has begun, or not. It releases the mutex, and doesn't return.
#[test]
fn a_wait_that_begins_early() {
    check(Some(3), || {
        let word = locked();
        let other = thread::spawn(move || use_mutex(word));
        let turns_on = thread::spawn(set_live);
        let waits = wait_in_glibc_unless_live(word.as_mutex(), || word.unlock_in_glibc());
        if waits.is_none() {
            word.unlock_here();
        }
        turns_on.join().unwrap();
        other.join().unwrap();
    });
}

/// A wait for a condition that processes share.
#[test]
fn a_wait_in_glibc() {
    check(Some(2), || {
        set_live();
        let word = locked();
        let others = [(); 2].map(|()| thread::spawn(move || use_mutex(word)));
        // SAFETY: the word is a mutex here.
        unsafe { wait_in_glibc(word.as_mutex(), || word.unlock_in_glibc()) };
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}
