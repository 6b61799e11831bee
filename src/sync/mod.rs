//! Locks and meeting points for goroutines: who waits, parks, and its thread goes on with
//! others.
//!
//! The names are std's, and `new` is `const`. There is no poisoning: `lock` returns the guard,
//! and what a panic leaves behind is whatever it was.
//!
//! A thread that is no goroutine's may use them too, once the runtime has started: it waits as a thread does.
//! Inside [`blocking`](crate::blocking) what doesn't have to wait works (`try_lock`, a free lock, dropping a
//! guard, notifying); it panics where it would.

mod barrier;
mod condvar;
mod mutex;
mod once;
mod raw_mutex;
mod rwlock;
mod semaphore;
mod wait_group;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceLock};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{Semaphore, SemaphorePermit};
pub use wait_group::WaitGroup;
