//! Locks, conditions and barriers for goroutines. A goroutine that waits is parked, and its thread
//! runs others. Go's `sync`.
//!
//! The names are std's, and `new` is `const`. There is no poisoning, except of a [`LazyLock`]:
//! `lock` returns the guard, not a `Result`, and the value stays as a panic has left it.
//!
//! A [`MutexGuard`], a [`SemaphorePermit`] and a [`WaitGroupGuard`] give back what they hold when
//! they are dropped, so also after a panic. An [`OwnedSemaphorePermit`] and an [`OwnedMutexGuard`]
//! can go where nothing can be borrowed. [`WaitGroup::go`] counts a goroutine until it has ended,
//! in whatever way it ends. Waits with a limit end in `_timeout`.
//!
//! A thread that isn't a goroutine's may use them, too: once the runtime has started, it blocks
//! while it waits. Inside [`blocking`](crate::blocking), and before the runtime has started,
//! operations that need no wait work (`try_lock`, a free lock, dropping a guard, notifying), and an
//! operation that has to wait panics.

// | file | what it holds |
// | --- | --- |
// | `mutex.rs` | `Mutex` |
// | `guards.rs` | guards that keep their lock, and guards of a part of a value |
// | `owned_mapped.rs` | guards of a part of a value that keep their lock |
// | `raw_mutex.rs` | Go's `sync.Mutex` |
// | `rwlock.rs` | `RwLock` |
// | `raw_rwlock.rs` | Go's `sync.RWMutex` |
// | `condvar.rs` | `Condvar` |
// | `once.rs` | `Once`, `OnceLock`, `LazyLock` |
// | `wait_group.rs` | `WaitGroup`: the count and its waiters |
// | `wait_group_go.rs` | `WaitGroup::go`, `WaitGroupGuard`, `wait_timeout` |
// | `semaphore.rs` | `Semaphore`; `acquire_async`: the same for code that is async |
// | `permit.rs` | `SemaphorePermit`, `OwnedSemaphorePermit` |
// | `notify.rs` | `Notify`, `NotifiedFuture` |
// | `wait_queue.rs` | `Waiter`, `ToWake`, `WaitQueue`: a queue of goroutines and futures |
// | `pool.rs` | `Pool`, `Pooled` |
// | `rate_limiter.rs` | `RateLimiter` |
// | `barrier.rs` | `Barrier` |
// | `err_group.rs` | `err_group`, `ErrGroup` |
// | `short_mutex.rs` | the lock of a value that a few instructions change |
// | `single_flight.rs` | `SingleFlight` |
// | `sometimes.rs` | `Sometimes` |

mod barrier;
mod condvar;
mod err_group;
mod guards;
pub(crate) mod mutex;
mod notify;
mod once;
mod owned_mapped;
mod permit;
mod pool;
mod rate_limiter;
mod raw_mutex;
mod raw_rwlock;
mod rwlock;
mod semaphore;
pub(crate) mod short_mutex;
mod single_flight;
mod sometimes;
pub(crate) mod wait_group;
mod wait_group_go;
mod wait_queue;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use err_group::{ErrGroup, err_group};
pub use guards::{
    MappedMutexGuard, MappedRwLockWriteGuard, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
};
pub use mutex::{Mutex, MutexGuard};
pub use notify::{NotifiedFuture, Notify};
pub use once::{LazyLock, Once, OnceLock};
pub use owned_mapped::{OwnedMappedMutexGuard, OwnedMappedRwLockReadGuard, OwnedMappedRwLockWriteGuard};
pub use permit::{OwnedSemaphorePermit, SemaphorePermit};
pub use pool::{Pool, PoolError, Pooled};
pub use rate_limiter::{BurstError, RateLimiter, Reservation};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{AcquireError, AcquireFuture, Semaphore};
pub use single_flight::SingleFlight;
pub use sometimes::Sometimes;
pub use wait_group::WaitGroup;
pub use wait_group_go::WaitGroupGuard;
