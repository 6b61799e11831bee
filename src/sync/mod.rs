//! Locks, conditions and barriers for goroutines: one that waits is parked, and its thread runs
//! others. Go's `sync`.
//!
//! The names are std's, and `new` is `const`. There is no poisoning: `lock` returns the guard, not
//! a `Result`, and the value stays as a panic has left it.
//!
//! What is given back when it is dropped can't be left behind by a panic: a [`MutexGuard`], a
//! [`SemaphorePermit`], a [`WaitGroupGuard`]. An [`OwnedSemaphorePermit`] goes where nothing can be
//! borrowed, and [`WaitGroup::go`] counts a goroutine until it has ended, however that is. Waits
//! with a limit end in `_timeout`.
//!
//! A thread that isn't a goroutine's may use them, too: once the runtime has started, it blocks
//! while it waits. Inside [`blocking`](crate::blocking), and before the runtime has started, what
//! needs no wait works (`try_lock`, a free lock, dropping a guard, notifying), and what does
//! panics.

// | file | what it holds |
// | --- | --- |
// | `mutex.rs` | `Mutex` |
// | `raw_mutex.rs` | Go's `sync.Mutex` |
// | `rwlock.rs` | `RwLock` |
// | `condvar.rs` | `Condvar` |
// | `once.rs` | `Once`, `OnceLock` |
// | `wait_group.rs` | `WaitGroup`: the count, and who waits for it |
// | `wait_group_go.rs` | `WaitGroup::go`, `WaitGroupGuard`, `wait_timeout` |
// | `semaphore.rs` | `Semaphore` |
// | `acquire_future.rs` | `acquire_async`: the same for code that is async |
// | `permit.rs` | `SemaphorePermit`, `OwnedSemaphorePermit` |
// | `barrier.rs` | `Barrier` |
// | `err_group.rs` | `err_group`, `ErrGroup` |
// | `single_flight.rs` | `SingleFlight` |

mod acquire_future;
mod barrier;
mod condvar;
mod err_group;
pub(crate) mod mutex;
mod once;
mod permit;
mod raw_mutex;
mod rwlock;
mod semaphore;
mod single_flight;
pub(crate) mod wait_group;
mod wait_group_go;

pub use acquire_future::AcquireFuture;
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use err_group::{ErrGroup, err_group};
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceLock};
pub use permit::{OwnedSemaphorePermit, SemaphorePermit};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::Semaphore;
pub use single_flight::SingleFlight;
pub use wait_group::WaitGroup;
pub use wait_group_go::WaitGroupGuard;
