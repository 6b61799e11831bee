//! C's locks, whose waits park the goroutine: mutexes, conditions, read-write locks, barriers,
//! semaphores, and `pthread_once`.
//!
//! An object is used by goroutines and threads at once, and by glibc's own code: before threads
//! were goroutines, in functions that aren't defined here, such as `sem_trywait`, and in waits that
//! began early. So glibc's state of an object stays right at all times:
//!
//! | kind | its state | waits and wakes |
//! | --- | --- | --- |
//! | mutex, semaphore, barrier, once | glibc's words, changed as glibc changes them | at glibc's words: goroutines in the table of futexes, threads in the kernel |
//! | condition | none | a list in the table of futexes, by the condition's address (`stdpark/queued.rs`) |
//! | read-write lock | glibc's words, changed by glibc's own functions that don't wait | the same |
//!
//! The words of a mutex, a semaphore and so on are the same in all versions of glibc since 2.25. A
//! condition's words aren't, and a read-write lock's protocol is long. These two need neither.
//!
//! - **Left to glibc**: objects that are shared by processes, and mutexes that are robust, inherit
//!   priorities or have a ceiling (`of_threads.rs`). A goroutine that waits for one keeps its
//!   thread.
//! - **A wake reads no object.** The object may be gone as soon as another thread sees that it was
//!   released.
//! - **What wakes in glibc wakes only threads.** A function of glibc's that has begun before
//!   threads were goroutines may release an object afterwards. So the caller looks again, and wakes
//!   goroutines, too ([`by_glibc`]). A wait for a condition also releases a mutex, and returns much
//!   later. While one is in glibc, goroutines wait for its mutex in the kernel (`unseen.rs`).
//! - Waits for conditions and semaphores are points at which `pthread_cancel` ends a goroutine, and
//!   a request ends them. A thread of the system that waits for a semaphore does so in glibc, where
//!   a request finds it.
//! - A signal for a goroutine that waits is handled at once (`m/signaled.rs`). Then the wait goes
//!   on. A wait for a condition returns, as if it was woken, and one for a semaphore may fail with
//!   `EINTR`.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | the running thread's number; calls of glibc's functions |
//! | `word.rs` | the word of a mutex: lock, wait, release |
//! | `mutex.rs` | mutexes |
//! | `of_threads.rs` | mutexes that are left to glibc |
//! | `unseen.rs` | mutexes that glibc may release |
//! | `cond.rs` | conditions |
//! | `rwlock.rs` | read-write locks |
//! | `barrier.rs` | barriers |
//! | `semaphore.rs` | semaphores |
//! | `once.rs` | a function that is called once |
//! | `check.rs` | whether glibc's objects are as expected |

pub(super) mod barrier;
pub(super) mod check;
pub(super) mod cond;
pub(super) mod mutex;
pub(super) mod of_threads;
pub(super) mod once;
pub(super) mod rwlock;
pub(super) mod semaphore;
mod unseen;
mod word;

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicIsize, Ordering, fence};

use libc::{clockid_t, timespec};

use crate::runtime::arch::thread_pointer;
use crate::runtime::stdpark::futex::{Deadline, wake_at_word};
use crate::runtime::stdpark::gate::barrier_after_change;
use crate::runtime::threads::live::live;

/// The offset from the thread pointer of the number by which glibc knows a thread. Set before
/// threads are goroutines.
static NUMBER_AT: AtomicIsize = AtomicIsize::new(0);

/// Returns the place of the number by which glibc knows this thread, or goroutine.
#[inline(always)]
fn own_number() -> *mut c_int {
    let at = thread_pointer().wrapping_add_signed(NUMBER_AT.load(Ordering::Relaxed));
    ptr::with_exposed_provenance_mut(at)
}

/// Returns the number by which glibc knows this thread, or goroutine.
#[inline(always)]
fn me() -> c_int {
    // SAFETY: a field of this thread's control block.
    unsafe { own_number().read() }
}

/// Makes glibc know this thread, or goroutine, by another number. Returns the one before.
fn set_own_number(number: c_int) -> c_int {
    // SAFETY: a field of this thread's control block.
    unsafe { own_number().replace(number) }
}

/// Calls a function of glibc's that changes words by read-modify-writes, and may wake waiters at
/// the words at these addresses. If threads have become goroutines meanwhile, wakes goroutines,
/// too, also if the function unwinds.
#[inline(always)]
pub(super) fn by_glibc<R>(words: &[usize], f: impl FnOnce() -> R) -> R {
    struct Wake<'a>(&'a [usize]);

    impl Drop for Wake<'_> {
        #[inline(always)]
        fn drop(&mut self) {
            // Either this sees that there are goroutines, or a goroutine that is about to wait sees
            // the change.
            barrier_after_change();
            if live() {
                wake_all(self.0);
            }
        }
    }

    let _wake = Wake(words);
    f()
}

/// [`by_glibc`] for a function whose last change is a store.
#[inline(always)]
pub(super) fn by_glibc_with_store<R>(words: &[usize], f: impl FnOnce() -> R) -> R {
    struct Fence;

    impl Drop for Fence {
        #[inline(always)]
        fn drop(&mut self) {
            fence(Ordering::SeqCst);
        }
    }

    by_glibc(words, || {
        let _fence = Fence;
        f()
    })
}

#[cold]
#[inline(never)]
fn wake_all(words: &[usize]) {
    words.iter().for_each(|&word| wake_at_word(word, u32::MAX));
}

/// When a wait ends at the latest, as the program says.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    clock: clockid_t,
    /// Null for a wait without a limit.
    time: *const timespec,
}

impl Limit {
    pub(super) const NONE: Limit = Limit { clock: libc::CLOCK_REALTIME, time: ptr::null() };

    /// A limit by the usual clock.
    #[inline(always)]
    pub(super) fn at(time: *const timespec) -> Self {
        Limit { clock: libc::CLOCK_REALTIME, time }
    }

    #[inline(always)]
    pub(super) fn by(clock: clockid_t, time: *const timespec) -> Self {
        Limit { clock, time }
    }

    /// Returns the limit, if there is one, or the error with which glibc refuses it.
    ///
    /// # Safety
    /// `time` is null, or the address of a time.
    unsafe fn deadline(self) -> Result<Option<Deadline>, c_int> {
        // SAFETY: as the caller says.
        let Some(time) = (unsafe { self.time.as_ref() }) else { return Ok(None) };
        Deadline::new(self.clock, time).map(Some).ok_or(libc::EINVAL)
    }
}
