//! Locks and meeting points for goroutines: who waits, parks, and its thread goes on with
//! others.
//!
//! The names are std's, and `new` is `const`. There is no poisoning: `lock` returns the guard,
//! and what a panic leaves behind is whatever it was.
//!
//! What waits, waits on a goroutine. A thread that isn't one may use whatever doesn't have to
//! wait (`try_lock`, a free lock, dropping a guard, notifying); it panics where it would.

mod barrier;
mod condvar;
mod mutex;
mod once;
mod raw_mutex;
mod rwlock;
mod semaphore;
mod wait_group;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::Condvar;
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceLock};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{Semaphore, SemaphorePermit};
pub use wait_group::WaitGroup;

use crate::proc::park::on_goroutine;

/// Panics where `what` has to wait and there is no goroutine to park.
#[inline(always)]
#[track_caller]
pub(crate) fn must_wait(what: &str) {
    if !on_goroutine() {
        cannot_wait(what);
    }
}

#[cold]
#[track_caller]
fn cannot_wait(what: &str) -> ! {
    panic!(
        "gosched: {what} would have to wait, and this thread isn't a goroutine's: use it inside gosched::run"
    )
}
