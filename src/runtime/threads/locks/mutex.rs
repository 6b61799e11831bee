//! Mutexes: normal, recursive, checked and adaptive.
//!
//! The fields are glibc's, and so are their values. The owner's number is that of its control
//! block, which is a goroutine's own.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use libc::pthread_mutex_t;

use crate::runtime::stdpark::futex::{Deadline, wait_at_word, wait_in_kernel, wake_at_word};
use crate::runtime::threads::cancel::{cancellation_point, ends_anywhere};
use crate::runtime::threads::locks::{Limit, me, unseen, word};

/// glibc's mutex.
#[repr(C)]
pub(super) struct Mutex {
    word: AtomicU32,
    /// How often its owner has locked a recursive mutex.
    count: AtomicU32,
    /// The number of its owner; 0 if it is free.
    owner: AtomicI32,
    /// How many threads own it, or wait for a condition with it.
    users: AtomicU32,
    kind: AtomicI32,
}

/// The kinds that are ours.
const NORMAL: c_int = libc::PTHREAD_MUTEX_NORMAL;
const RECURSIVE: c_int = libc::PTHREAD_MUTEX_RECURSIVE;
const CHECKED: c_int = libc::PTHREAD_MUTEX_ERRORCHECK;
/// It spins before it waits, which pays only if the owner runs: as [`NORMAL`] here.
const ADAPTIVE: c_int = 3;

/// Bits of the kind that say whether glibc uses transactions, which these functions don't.
const ELISION: c_int = 256 | 512;

impl Mutex {
    /// # Safety
    /// `mutex` is a mutex that stays until the caller's last use of the result.
    #[inline(always)]
    unsafe fn of<'a>(mutex: *mut pthread_mutex_t) -> &'a Mutex {
        // SAFETY: as the caller says; the fields are atomic.
        unsafe { &*mutex.cast() }
    }

    #[inline(always)]
    fn kind(&self) -> c_int {
        self.kind.load(Ordering::Relaxed) & !ELISION
    }

    fn is_own(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == me()
    }

    /// Adds to a field that only the owner changes.
    #[inline(always)]
    fn add(field: &AtomicU32, more: u32) {
        field.store(field.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    /// Notes that this thread has locked it.
    #[inline(always)]
    fn note_owner(&self) {
        self.owner.store(me(), Ordering::Relaxed);
    }

    /// Releases it, and wakes one that waits. It may be gone afterwards.
    #[inline(always)]
    fn release(&self) {
        let addr = self.addr();
        self.owner.store(0, Ordering::Relaxed);
        if word::unlock(&self.word) {
            wake_at_word(addr, 1);
        }
    }

    #[inline(always)]
    fn addr(&self) -> usize {
        ptr::from_ref(&self.word).expose_provenance()
    }

    /// Waits until this thread has the word. If `is_point`, fails with `ECANCELED` when the thread
    /// was canceled.
    fn lock_word(&self, limit: Option<&Deadline>, is_point: bool) -> Result<(), c_int> {
        word::lock_slowly(&self.word, |word, value| {
            let result = if unseen::may_be_released_by_glibc(self.addr()) {
                wait_in_kernel(word, value, limit)
            } else {
                wait_at_word(word, value, limit, is_point)
            };
            match -result as c_int {
                error @ (libc::ETIMEDOUT | libc::ECANCELED) => Err(error),
                _ => Ok(()),
            }
        })
    }

    /// Locks it once more if this thread has it, or waits for it, at a cancellation point if
    /// `is_point`. Returns whether this is a new user.
    ///
    /// # Safety
    /// The limit's time is one.
    #[inline(always)]
    unsafe fn lock(&self, limit: Limit, is_point: bool) -> Result<bool, c_int> {
        let kind = self.kind();
        if matches!(kind, RECURSIVE | CHECKED) && self.is_own() {
            if kind == CHECKED {
                return Err(libc::EDEADLK);
            }
            if self.count.load(Ordering::Relaxed) == u32::MAX {
                return Err(libc::EAGAIN);
            }
            Self::add(&self.count, 1);
            return Ok(false);
        }
        if !word::try_lock(&self.word) {
            // SAFETY: as the caller says.
            let limit = unsafe { limit.deadline() }?;
            self.lock_word(limit.as_ref(), is_point)?;
        }
        self.note_owner();
        if kind == RECURSIVE {
            self.count.store(1, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// Unlocks it, and counts `users` fewer if that releases the word. Returns 0 or an error.
    #[inline(always)]
    fn unlock(&self, users: u32) -> c_int {
        match self.leave() {
            Ok(true) => {
                Self::add(&self.users, users.wrapping_neg());
                self.release();
                0
            }
            Ok(false) => 0,
            Err(error) => error,
        }
    }

    /// Returns whether this thread is to release the word, and not only to count.
    #[inline(always)]
    fn leave(&self) -> Result<bool, c_int> {
        let kind = self.kind();
        if matches!(kind, RECURSIVE | CHECKED) {
            if !self.is_own() || kind == CHECKED && self.word.load(Ordering::Relaxed) == word::FREE {
                return Err(libc::EPERM);
            }
            if kind == RECURSIVE {
                Self::add(&self.count, 1_u32.wrapping_neg());
                return Ok(self.count.load(Ordering::Relaxed) == 0);
            }
        }
        Ok(true)
    }
}

/// Whether this mutex's waits are ours. The others are glibc's.
///
/// # Safety
/// `mutex` is a mutex.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn is_ours(mutex: *mut pthread_mutex_t) -> bool {
    // SAFETY: as the caller says.
    (0..=ADAPTIVE).contains(&unsafe { Mutex::of(mutex) }.kind())
}

/// `pthread_mutex_lock`, and with a limit `pthread_mutex_clocklock`.
///
/// # Safety
/// `mutex` is a mutex of ours, and the limit's time is one.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn lock(mutex: *mut pthread_mutex_t, limit: Limit) -> c_int {
    // SAFETY: as the caller says. The mutex stays: this thread is about to have it.
    unsafe {
        let this = Mutex::of(mutex);
        if matches!(this.kind(), NORMAL | ADAPTIVE) && word::try_lock(&this.word) {
            this.note_owner();
            Mutex::add(&this.users, 1);
            return 0;
        }
        lock_or_wait(mutex, limit)
    }
}

/// A separate function, so that the fast way saves no registers.
///
/// # Safety
/// As [`lock`].
#[inline(never)]
unsafe fn lock_or_wait(mutex: *mut pthread_mutex_t, limit: Limit) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let this = Mutex::of(mutex);
        loop {
            match this.lock(limit, ends_anywhere()) {
                Ok(is_user) => {
                    Mutex::add(&this.users, is_user.into());
                    return 0;
                }
                Err(libc::ECANCELED) => cancellation_point(),
                Err(error) => return error,
            }
        }
    }
}

/// `pthread_mutex_unlock`.
///
/// # Safety
/// `mutex` is a mutex of ours.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as the caller says. The mutex stays until it is released.
    unsafe {
        let this = Mutex::of(mutex);
        if !matches!(this.kind(), NORMAL | ADAPTIVE) {
            return unlock_checked(mutex);
        }
        Mutex::add(&this.users, 1_u32.wrapping_neg());
        this.release();
        0
    }
}

/// # Safety
/// As [`unlock`].
#[inline(never)]
unsafe fn unlock_checked(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as in unlock.
    unsafe { Mutex::of(mutex) }.unlock(1)
}

/// Releases a mutex for a wait for a condition: the thread stays its user.
///
/// # Safety
/// As [`unlock`].
pub(super) unsafe fn unlock_for_wait(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as in unlock.
    unsafe { Mutex::of(mutex) }.unlock(0)
}

/// Takes the mutex again after a wait for a condition.
///
/// # Safety
/// As [`lock`].
pub(super) unsafe fn lock_after_wait(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: as in lock.
    unsafe { Mutex::of(mutex).lock(Limit::NONE, false) }.err().unwrap_or(0)
}

/// Makes those that wait for the mutex look anew how to wait.
///
/// # Safety
/// `mutex` is a mutex of ours.
pub(super) unsafe fn disturb_waiters(mutex: *mut pthread_mutex_t) {
    // SAFETY: as the caller says.
    let mutex = unsafe { Mutex::of(mutex) };
    // A waiter that hasn't gone to sleep yet finds another value.
    if word::forget_waiters(&mutex.word) {
        wake_at_word(mutex.addr(), u32::MAX);
    }
}
