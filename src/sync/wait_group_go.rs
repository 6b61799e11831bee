//! The rest of [`WaitGroup`]: goroutines that are counted, a guard, and a wait with a limit.

use std::fmt;
use std::mem::forget;
use std::sync::Arc;
use std::time::Duration;

use crate::goroutine::{Builder, JoinHandle, cannot};
use crate::runtime::{Limit, end_with_run, must_wait, nanos, notify_list_wait_limited, when};
use crate::sync::{WaitGroup, WaitTimeoutResult};

/// One unit of the count of a [`WaitGroup`]. Dropping it is [`done`](WaitGroup::done), also during
/// a panic. [`WaitGroup::guard`] makes it.
///
/// ```
/// use gosched::sync::{WaitGroup, WaitGroupGuard};
///
/// struct Request<'a> {
///     _running: WaitGroupGuard<'a>,
/// }
///
/// let group = WaitGroup::new();
/// let request = Request { _running: group.guard() };
/// drop(request);
/// group.wait();
/// ```
#[must_use = "dropping the guard is `done`"]
pub struct WaitGroupGuard<'a>(&'a WaitGroup);

impl WaitGroup {
    /// Runs `f` on a new goroutine, as [`go`](crate::go()) does, and counts it until it has ended.
    /// The end may be a panic or [`goexit`](crate::goexit), so [`wait`](Self::wait) doesn't wait
    /// for ever. Go's `Go`, since 1.25.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gosched::sync::WaitGroup;
    ///
    /// gosched::run(|| {
    ///     let group = Arc::new(WaitGroup::new());
    ///     let sum = group.go(|| 1 + 1);
    ///     group.go(|| panic!("the others are waited for all the same"));
    ///     group.wait();
    ///     assert_eq!(sum.join().unwrap(), 2);
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`add`](Self::add) of 1, and as [`go`](crate::go()).
    #[track_caller]
    pub fn go<F, T>(self: &Arc<Self>, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // Counted off again if no goroutine is made, also if the clone of a value that it would
        // inherit panics.
        let counted = self.guard();
        let group = self.clone();
        let made = Builder::new().go(move || {
            let _counted = WaitGroupGuard(&group);
            f()
        });
        match made {
            Ok(handle) => {
                forget(counted);
                handle
            }
            Err(error) => cannot("sync::WaitGroup::go", &error),
        }
    }

    /// [`add`](Self::add) of 1, and returns a guard that calls [`done`](Self::done) when it is
    /// dropped. The counted work owns the guard, so that a panic or an early return counts it off
    /// as well.
    ///
    /// ```
    /// use gosched::sync::WaitGroup;
    ///
    /// static REQUESTS: WaitGroup = WaitGroup::new();
    ///
    /// gosched::run(|| {
    ///     let request = REQUESTS.guard();
    ///     gosched::go(move || {
    ///         let _request = request;
    ///         panic!("it is counted off all the same");
    ///     });
    ///     REQUESTS.wait();
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`add`](Self::add).
    #[track_caller]
    pub fn guard(&self) -> WaitGroupGuard<'_> {
        self.add(1);
        WaitGroupGuard(self)
    }

    /// [`wait`](Self::wait) with a time limit. The result says whether the time was over while the
    /// count wasn't 0.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::WaitGroup;
    ///
    /// gosched::run(|| {
    ///     let group = WaitGroup::new();
    ///     let _running = group.guard();
    ///     if group.wait_timeout(Duration::from_millis(1)).timed_out() {
    ///         println!("not all have ended");
    ///     }
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait_timeout(&self, timeout: Duration) -> WaitTimeoutResult {
        if self.is_done() || timeout.is_zero() {
            return WaitTimeoutResult(!self.is_done());
        }
        let _guest = must_wait("WaitGroup::wait_timeout");
        let done = self.wait_limited(Some(Limit::Time(when(nanos(timeout)))));
        if !done {
            end_with_run();
        }
        WaitTimeoutResult(!done)
    }

    /// [`wait`](Self::wait) with a limit, on a goroutine. Returns whether the count was 0 before
    /// the limit.
    pub(crate) fn wait_limited(&self, limit: Option<Limit<'_>>) -> bool {
        // In a loop, because others may have added after the count came to 0.
        while let Some(number) = self.announce() {
            if !notify_list_wait_limited(self.timed(), number, limit) {
                return self.is_done();
            }
        }
        true
    }
}

impl Drop for WaitGroupGuard<'_> {
    fn drop(&mut self) {
        self.0.done();
    }
}

impl fmt::Debug for WaitGroupGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WaitGroupGuard").field(self.0).finish()
    }
}
