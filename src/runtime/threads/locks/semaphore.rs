//! Semaphores: glibc's word of 64 bits, the value below and the number of waits above. A wait
//! sleeps while the value is 0.
//!
//! `sem_post` may be called in a signal handler: it changes the word, and the wake is left to
//! sysmon there.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use libc::sem_t;

use crate::runtime::stdpark::futex::{Deadline, wait_at_word, wake_at_word};
use crate::runtime::threads::cancel::cancellation_point;
use crate::runtime::threads::locks::Limit;

/// glibc's semaphore.
#[repr(C)]
struct Semaphore {
    data: AtomicU64,
    /// Not 0 if processes share it.
    shared: c_int,
}

/// One wait in `data`.
const WAIT: u64 = 1 << 32;

/// The largest value of a semaphore.
const MAX: u32 = c_int::MAX as u32;

impl Semaphore {
    /// # Safety
    /// `sem` is a semaphore that stays until the caller's last use of the result.
    #[inline(always)]
    unsafe fn of<'a>(sem: *mut sem_t) -> &'a Semaphore {
        // SAFETY: as the caller says.
        unsafe { &*sem.cast() }
    }

    /// Returns the word that waits sleep at.
    fn value(&self) -> &AtomicU32 {
        const { assert!(cfg!(target_endian = "little"), "the value is the first half") };
        // SAFETY: the first half of `data`, which is used by atomics only.
        unsafe { &*ptr::from_ref(&self.data).cast() }
    }

    /// Takes one, and `more` off the data, if the value isn't 0.
    #[inline(always)]
    fn take(&self, more: u64) -> bool {
        let taken = |data: u64| (data as u32 != 0).then(|| data - 1 - more);
        // Acquire pairs with the posts.
        self.data.fetch_update(Ordering::Acquire, Ordering::Relaxed, taken).is_ok()
    }

    /// Waits for a post. Returns an error as a wait does.
    ///
    /// # Safety
    /// The limit's time is one. This may unwind.
    #[cold]
    #[inline(never)]
    unsafe fn wait(&self, limit: Limit) -> Result<(), c_int> {
        // SAFETY: as the caller says.
        let limit = unsafe { limit.deadline() }?;
        loop {
            let error = self.wait_counted(limit.as_ref());
            if error != libc::ECANCELED {
                return if error == 0 { Ok(()) } else { Err(error) };
            }
            // SAFETY: as the caller says.
            unsafe { cancellation_point() };
        }
    }

    /// Waits, while the wait is counted. Returns 0 or an error.
    fn wait_counted(&self, limit: Option<&Deadline>) -> c_int {
        // A post sees the wait, or this sees the post: both change the same word. Release pairs
        // with a post in glibc, as in `word.rs`.
        self.data.fetch_add(WAIT, Ordering::Release);
        while !self.take(WAIT) {
            let error = -wait_at_word(self.value(), 0, limit, true) as c_int;
            if matches!(error, libc::ETIMEDOUT | libc::EINTR | libc::ECANCELED) {
                self.data.fetch_sub(WAIT, Ordering::Relaxed);
                return error;
            }
        }
        0
    }
}

/// Whether this semaphore's waits are ours.
///
/// # Safety
/// `sem` is a semaphore.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn is_ours(sem: *mut sem_t) -> bool {
    // SAFETY: as the caller says.
    unsafe { Semaphore::of(sem).shared == 0 }
}

/// Sets errno, and returns what a function does that has failed.
#[cold]
fn fail(error: c_int) -> c_int {
    // SAFETY: errno of this thread.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// `sem_wait`, and with a limit `sem_clockwait`.
///
/// # Safety
/// `sem` is a semaphore of ours, and the limit's time is one. This may unwind.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn wait(sem: *mut sem_t, limit: Limit) -> c_int {
    // SAFETY: as the caller says. The semaphore stays while a wait is in it.
    unsafe {
        cancellation_point();
        let sem = Semaphore::of(sem);
        if sem.take(0) {
            return 0;
        }
        sem.wait(limit).map_or_else(fail, |()| 0)
    }
}

/// `sem_post`.
///
/// # Safety
/// `sem` is a semaphore of ours.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn post(sem: *mut sem_t) -> c_int {
    // SAFETY: as the caller says. The semaphore may be gone once it has the new value.
    let sem = unsafe { Semaphore::of(sem) };
    let addr = ptr::from_ref(&sem.data).expose_provenance();
    let posted = |data: u64| (data as u32 != MAX).then(|| data + 1);
    // Release pairs with the wait that takes it.
    match sem.data.fetch_update(Ordering::Release, Ordering::Relaxed, posted) {
        Ok(data) => {
            if data >= WAIT {
                wake_at_word(addr, 1);
            }
            0
        }
        Err(_) => fail(libc::EOVERFLOW),
    }
}
