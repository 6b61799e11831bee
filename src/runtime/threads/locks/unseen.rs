//! Mutexes that glibc may release, and then wake only threads: those of waits for conditions in
//! glibc. Such a wait has begun before threads were goroutines, or is for a condition that
//! processes share.
//!
//! Each such wait is counted by the address of its mutex. As long as there is one, goroutines wait
//! for the mutex in the kernel. A goroutine has made the mutex's word 2 before it looks at the
//! count, and a wait is counted before glibc releases the mutex.
//!
//! `loom` checks this file (`tests/loom`).

use libc::pthread_mutex_t;

use crate::runtime::data::atomic::{AtomicU32, Ordering, fence};
use crate::runtime::threads::live::live;
use crate::runtime::threads::locks::mutex::{disturb_waiters, is_ours};

const COUNTS: usize = 256;

/// How many waits with mutexes of the same hash are in glibc.
static WAITS: [AtomicU32; COUNTS] = [const { AtomicU32::new(0) }; COUNTS];

fn waits(mutex: usize) -> &'static AtomicU32 {
    &WAITS[(mutex >> 3 ^ mutex >> 11) % COUNTS]
}

/// Whether glibc may release the mutex at this address. The caller has changed its word before.
pub(super) fn may_be_released_by_glibc(mutex: usize) -> bool {
    // Pairs with the fence in `wait_in_glibc`.
    fence(Ordering::SeqCst);
    waits(mutex).load(Ordering::Relaxed) != 0
}

/// A wait that is counted.
struct Counted(&'static AtomicU32);

impl Counted {
    fn new(mutex: *mut pthread_mutex_t) -> Self {
        let waits = waits(mutex.expose_provenance());
        waits.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `may_be_released_by_glibc`.
        fence(Ordering::SeqCst);
        Counted(waits)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Calls `wait`, a function of glibc's that releases the mutex and takes it again, and that unwinds
/// if the thread is cancelled.
///
/// # Safety
/// `mutex` is a mutex that this thread has.
pub(super) unsafe fn wait_in_glibc<R>(mutex: *mut pthread_mutex_t, wait: impl FnOnce() -> R) -> R {
    let _counted = Counted::new(mutex);
    // SAFETY: as the caller says.
    unsafe {
        if is_ours(mutex) {
            disturb_waiters(mutex);
        }
    }
    wait()
}

/// Does the same, unless threads are goroutines. Returns none if they are, and hasn't called the
/// function. If they become goroutines later, the wait is counted already.
pub(super) fn wait_in_glibc_unless_live<R>(
    mutex: *mut pthread_mutex_t,
    wait: impl FnOnce() -> R,
) -> Option<R> {
    let _counted = Counted::new(mutex);
    (!live()).then(wait)
}
