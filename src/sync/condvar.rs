//! [`Condvar`]: Go's `sync/cond.go`.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

use crate::runtime::{
    Limit, NotifyList, end_with_run, instant_now, must_wait, nanos, notify_list_add, notify_list_notify_all,
    notify_list_notify_one, notify_list_wait_limited, outside_of_run, point, unwind_to_run, when,
};
use crate::sync::MutexGuard;

/// A condition that goroutines wait for. Go's `sync.Cond`.
///
/// There are no spurious wakeups. But between a notification and the wakeup another goroutine may
/// have had the mutex, so check the condition again.
///
/// ```
/// use gosched::sync::{Condvar, Mutex};
///
/// static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// static NOT_EMPTY: Condvar = Condvar::new();
///
/// gosched::run(|| {
///     let taker = gosched::go(|| NOT_EMPTY.wait_while(QUEUE.lock(), |queue| queue.is_empty()).pop());
///     QUEUE.lock().push(7);
///     NOT_EMPTY.notify_one();
///     assert_eq!(taker.join().unwrap(), Some(7));
/// });
/// ```
pub struct Condvar {
    waiters: NotifyList,
}

// Nothing panics while the list of waiters changes.
impl UnwindSafe for Condvar {}
impl RefUnwindSafe for Condvar {}

impl Condvar {
    /// A condition without waiters.
    ///
    /// ```
    /// use gosched::sync::Condvar;
    ///
    /// static CHANGED: Condvar = Condvar::new();
    /// CHANGED.notify_all(); // nobody waits: that is nothing
    /// ```
    pub const fn new() -> Self {
        Condvar { waiters: NotifyList::new() }
    }

    /// Unlocks the guard's mutex, waits for a notification, and locks the mutex again. No
    /// notification after the unlock is missed.
    ///
    /// ```
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// gosched::run(|| {
    ///     let (ready, changed) = (Mutex::new(false), Condvar::new());
    ///     gosched::scope(|s| {
    ///         s.go(|| {
    ///             *ready.lock() = true;
    ///             changed.notify_all();
    ///         });
    ///         let mut guard = ready.lock();
    ///         while !*guard {
    ///             guard = changed.wait(guard);
    ///         }
    ///     });
    /// });
    /// ```
    ///
    /// # Panics
    /// If it is called inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let _guest = must_wait("Condvar::wait");
        match self.wait_limited(guard, None) {
            (guard, true) => guard,
            (_, false) => unwind_to_run(),
        }
    }

    /// Waits as long as `condition` is true for the value.
    ///
    /// ```
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// gosched::run(|| {
    ///     let (left, changed) = (Mutex::new(3), Condvar::new());
    ///     gosched::scope(|s| {
    ///         for _ in 0..3 {
    ///             s.go(|| {
    ///                 *left.lock() -= 1;
    ///                 changed.notify_one();
    ///             });
    ///         }
    ///         assert_eq!(*changed.wait_while(left.lock(), |left| *left > 0), 0);
    ///     });
    /// });
    /// ```
    ///
    /// # Panics
    /// If it has to wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        let mut waits = true;
        while condition(&mut *guard) {
            // If the condition became false while the run ended, the wait has succeeded.
            if !waits {
                unwind_to_run();
            }
            let _guest = must_wait("Condvar::wait");
            (guard, waits) = self.wait_limited(guard, None);
        }
        guard
    }

    /// [`wait`](Self::wait) with a time limit. The result says whether the time was over before a
    /// notification came.
    ///
    /// After such a wait [`notify_one`](Self::notify_one) may wake one goroutine more than it
    /// should.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// gosched::run(|| {
    ///     let (value, changed) = (Mutex::new(7), Condvar::new());
    ///     let (guard, result) = changed.wait_timeout(value.lock(), Duration::from_millis(1));
    ///     assert!(result.timed_out(), "nobody notifies");
    ///     assert_eq!(*guard, 7);
    /// });
    /// ```
    ///
    /// # Panics
    /// If it is called inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        let _guest = must_wait("Condvar::wait_timeout");
        let (guard, notified) = self.wait_limited(guard, Some(Limit::Time(when(nanos(timeout)))));
        if !notified {
            end_with_run();
        }
        (guard, WaitTimeoutResult(!notified))
    }

    /// [`wait`](Self::wait) with a limit, on a goroutine. Returns whether a notification came
    /// before the limit.
    pub(crate) fn wait_limited<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Option<Limit<'_>>,
    ) -> (MutexGuard<'a, T>, bool) {
        let mutex = MutexGuard::mutex(&guard);
        point("wait");
        let ticket = notify_list_add(&self.waiters);
        drop(guard);
        let notified = notify_list_wait_limited(&self.waiters, ticket, limit);
        // A waiter that was notified returns, also if its run is over by now.
        (outside_of_run(|| mutex.lock()), notified)
    }

    /// [`wait_while`](Self::wait_while) with a time limit. The result says whether the time was
    /// over while `condition` was still true.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// gosched::run(|| {
    ///     let (ready, changed) = (Mutex::new(false), Condvar::new());
    ///     let wait = || changed.wait_timeout_while(ready.lock(), Duration::from_millis(1), |ready| !*ready).1;
    ///     assert!(wait().timed_out());
    ///     *ready.lock() = true;
    ///     assert!(!wait().timed_out());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it has to wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        let start = instant_now();
        loop {
            if !condition(&mut *guard) {
                return (guard, WaitTimeoutResult(false));
            }
            let left = timeout.saturating_sub(instant_now() - start);
            if left.is_zero() {
                return (guard, WaitTimeoutResult(true));
            };
            guard = self.wait_timeout(guard, left).0;
        }
    }

    /// Wakes the goroutine that has waited longest, if any. Go's `Signal`.
    ///
    /// ```
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// gosched::run(|| {
    ///     let (jobs, added) = (Mutex::new(0), Condvar::new());
    ///     gosched::scope(|s| {
    ///         let worker = s.go(|| *added.wait_while(jobs.lock(), |jobs| *jobs == 0));
    ///         *jobs.lock() += 1;
    ///         added.notify_one(); // there is work for one
    ///         assert_eq!(worker.join().unwrap(), 1);
    ///     });
    /// });
    /// ```
    pub fn notify_one(&self) {
        point("notify_one");
        notify_list_notify_one(&self.waiters);
    }

    /// Wakes all goroutines that wait. Go's `Broadcast`.
    ///
    /// ```
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// gosched::run(|| {
    ///     let (open, changed) = (Mutex::new(false), Condvar::new());
    ///     gosched::scope(|s| {
    ///         for _ in 0..3 {
    ///             s.go(|| drop(changed.wait_while(open.lock(), |open| !*open)));
    ///         }
    ///         *open.lock() = true;
    ///         changed.notify_all(); // the gate is open for each of them
    ///     });
    /// });
    /// ```
    pub fn notify_all(&self) {
        point("notify_all");
        notify_list_notify_all(&self.waiters);
    }
}

/// How a wait with a timeout ended.
///
/// ```
/// use std::time::Duration;
/// use gosched::sync::WaitGroup;
///
/// gosched::run(|| {
///     let group = WaitGroup::new();
///     let running = group.guard();
///     assert!(group.wait_timeout(Duration::from_millis(1)).timed_out());
///     drop(running);
///     assert!(!group.wait_timeout(Duration::from_millis(1)).timed_out());
/// });
/// ```
#[must_use = "it says whether what was waited for has come"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(pub(super) bool);

impl WaitTimeoutResult {
    /// Whether the wait ended because its time was over.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::WaitGroup;
    ///
    /// let nobody = WaitGroup::new();
    /// assert!(!nobody.wait_timeout(Duration::ZERO).timed_out());
    /// ```
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Condvar { .. }")
    }
}
