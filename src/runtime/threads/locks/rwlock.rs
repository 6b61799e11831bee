//! Read-write locks.
//!
//! glibc keeps who has the lock, and its functions that don't wait take and release it. Only the
//! change of the number of readers, where there is no writer, is here. A thread that doesn't get
//! the lock queues itself at the lock's address, tries again, and sleeps. An unlock wakes all
//! readers that sleep and one writer, and each tries again. As an unlock that comes after the
//! second try finds the waiter, the waiter sleeps only while another thread has the lock.
//!
//! Where writers are preferred and no reader locks twice, readers also wait for writers that wait.
//! glibc doesn't know of these writers. They are counted in a word of the lock that glibc leaves
//! alone.
//!
//! `loom` checks this file (`tests/loom`).

use std::ffi::c_int;

use libc::pthread_rwlock_t;

use crate::runtime::arch::syscall::keeping_errno;
use crate::runtime::base::real;
use crate::runtime::data::atomic::{AtomicI32, AtomicU32, Ordering, fence};
use crate::runtime::explore::clock::now;
use crate::runtime::stdpark::futex::{Deadline, wake_queued};
use crate::runtime::stdpark::gate::barrier_after_change;
use crate::runtime::stdpark::queued::{Queued, has_queued, sleeper};
use crate::runtime::threads::locks::{Limit, me};

/// glibc's read-write lock.
#[repr(C)]
pub(super) struct RwLock {
    /// How many readers have it, above three bits that say whether writers have it or wait.
    pub(super) readers: AtomicU32,
    pub(super) state: [AtomicU32; 3],
    /// How many writers wait. glibc doesn't use this word.
    pub(super) writers: AtomicU32,
    pub(super) unused: AtomicU32,
    /// The number of the writer that has the lock; 0 if none has.
    pub(super) writer: AtomicI32,
    /// Not 0 if processes share it.
    pub(super) shared: c_int,
    pub(super) more: [u32; 4],
    pub(super) kind: c_int,
}

/// One reader in `readers`, and the bits below.
const READER: u32 = 8;
const FLAGS: u32 = READER - 1;
/// More readers than there can be.
const MANY_READERS: u32 = 1 << 30;

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`: readers wait for waiting writers.
pub(super) const PREFERS_WRITERS: c_int = 2;

/// What a thread wants to do; also the bits with which it queues itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime::threads) enum How {
    Read = 1,
    Write = 2,
}

impl RwLock {
    /// # Safety
    /// `lock` is a lock that stays until the caller's last use of the result.
    #[inline(always)]
    unsafe fn of<'a>(lock: *mut pthread_rwlock_t) -> &'a RwLock {
        // SAFETY: as the caller says.
        unsafe { &*lock.cast() }
    }

    /// Becomes one more reader, if there is no writer. Otherwise glibc's function decides.
    #[inline(always)]
    fn try_read(&self) -> bool {
        let readers = self.readers.load(Ordering::Relaxed);
        readers & FLAGS == 0
            && readers < MANY_READERS
            // Acquire pairs with the last writer.
            && self
                .readers
                .compare_exchange(readers, readers + READER, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Ends the reading of this thread, if there is no writer.
    #[inline(always)]
    fn try_unlock(&self) -> bool {
        let readers = self.readers.load(Ordering::Relaxed);
        readers & FLAGS == 0
            // Release pairs with the next writer.
            && self
                .readers
                .compare_exchange(readers, readers.wrapping_sub(READER), Ordering::Release, Ordering::Relaxed)
                .is_ok()
    }

    /// Whether readers wait because a writer waits.
    #[inline(always)]
    fn is_for_writers(&self) -> bool {
        // SeqCst: a reader has queued itself before, or the last writer that leaves wakes it.
        self.kind == PREFERS_WRITERS && self.writers.load(Ordering::SeqCst) != 0
    }
}

/// Whether this lock's waits are ours.
///
/// # Safety
/// `lock` is a read-write lock.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn is_ours(lock: *mut pthread_rwlock_t) -> bool {
    // SAFETY: as the caller says.
    unsafe { RwLock::of(lock).shared == 0 }
}

/// Takes the lock, if that is possible at once: `pthread_rwlock_tryrdlock` and
/// `pthread_rwlock_trywrlock`.
///
/// # Safety
/// `lock` is a lock of ours.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn try_lock(lock: *mut pthread_rwlock_t, how: How) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        match how {
            How::Read if RwLock::of(lock).is_for_writers() => libc::EBUSY,
            How::Read if RwLock::of(lock).try_read() => 0,
            How::Read => real::pthread_rwlock_tryrdlock(lock),
            How::Write => real::pthread_rwlock_trywrlock(lock),
        }
    }
}

/// Takes the lock: `pthread_rwlock_rdlock`, and with a limit `pthread_rwlock_clockrdlock` and so
/// on.
///
/// # Safety
/// `lock` is a lock of ours, and the limit's time is one.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn lock(lock: *mut pthread_rwlock_t, how: How, limit: Limit) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        match try_lock(lock, how) {
            libc::EBUSY => wait(lock, how, limit),
            result => result,
        }
    }
}

/// # Safety
/// As [`lock`].
#[cold]
#[inline(never)]
unsafe fn wait(lock: *mut pthread_rwlock_t, how: How, limit: Limit) -> c_int {
    // SAFETY: as the caller says. The lock stays while a thread waits for it.
    let this = unsafe { RwLock::of(lock) };
    if this.writer.load(Ordering::Relaxed) == me() {
        return libc::EDEADLK;
    }
    // SAFETY: as the caller says.
    let limit = match unsafe { limit.deadline() } {
        Ok(limit) => limit,
        Err(error) => return error,
    };
    let until = limit.as_ref().map(Deadline::until);
    if how == How::Write {
        this.writers.fetch_add(1, Ordering::SeqCst);
    }
    // SAFETY: as the caller says.
    let result = keeping_errno(|| unsafe { wait_in_line(lock, how, until) });
    if how == How::Write
        && this.writers.fetch_sub(1, Ordering::SeqCst) == 1
        && result != 0
        && this.kind == PREFERS_WRITERS
    {
        // Readers may have waited for this writer alone.
        wake_queued(lock.expose_provenance(), u32::MAX, How::Read as u32);
    }
    result
}

/// Queues itself, tries, and sleeps, again and again.
///
/// # Safety
/// As [`lock`].
unsafe fn wait_in_line(lock: *mut pthread_rwlock_t, how: How, until: Option<i64>) -> c_int {
    loop {
        let waiter = Queued::new(sleeper(until), lock.expose_provenance(), how as u32);
        // SAFETY: the waiter sleeps or leaves below. The lock is one of ours, as the caller says.
        unsafe {
            waiter.queue();
            // Pairs with unlock: either the unlock sees that this one is queued, or the second try
            // sees the lock released.
            fence(Ordering::SeqCst);
            let result = try_lock(lock, how);
            if result != libc::EBUSY {
                // If an unlock has woken this one, it has woken all readers. A writer wakes the
                // next when it unlocks.
                waiter.leave();
                return result;
            }
            let was_woken = waiter.sleep(until, false);
            // Also after the time: a signal's handler may have run for long.
            let result = try_lock(lock, how);
            if result != libc::EBUSY {
                return result;
            }
            if !was_woken && until.is_some_and(|until| until <= now()) {
                return libc::ETIMEDOUT;
            }
        }
    }
}

/// `pthread_rwlock_unlock`.
///
/// # Safety
/// `lock` is a lock of ours, which this thread has.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn unlock(lock: *mut pthread_rwlock_t) -> c_int {
    let addr = lock.expose_provenance();
    // SAFETY: as the caller says. The lock may be gone once it is released.
    unsafe {
        let is_for_writers = RwLock::of(lock).is_for_writers();
        if !RwLock::of(lock).try_unlock() {
            real::pthread_rwlock_unlock(lock);
        }
        // Either this finds a waiter, or the waiter's second try finds the lock released.
        barrier_after_change();
        if has_queued(addr) {
            wake(addr, is_for_writers);
        }
        0
    }
}

/// Wakes those that may get the lock.
#[cold]
#[inline(never)]
fn wake(addr: usize, is_for_writers: bool) {
    // If writers wait and are preferred, the last of them wakes the readers, when it unlocks or
    // gives up.
    if !is_for_writers {
        wake_queued(addr, u32::MAX, How::Read as u32);
    }
    wake_queued(addr, 1, How::Write as u32);
}
