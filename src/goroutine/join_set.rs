//! [`JoinSet`]: goroutines whose results are taken as they come.

use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

use crate::chan::{Receiver, Sender, unbounded};
use crate::context::{Context, ContextError};
use crate::goroutine::{AbortHandle, Builder, JoinError, JoinHandle, cannot, goid};
use crate::runtime::{Inherited, outside_of_run};

/// Goroutines that work for one purpose. Results are taken in the order in which the goroutines
/// end. A drop aborts those that run. tokio's `JoinSet`.
///
/// A goroutine that [was aborted](JoinHandle::abort) unwinds in its present wait, or in the next,
/// and its result is a [`JoinError`] that [is aborted](JoinError::is_aborted).
///
/// ```
/// use gosched::JoinSet;
/// use gosched::chan::never;
///
/// /// The answer of the first mirror that has one.
/// fn first(mirrors: Vec<fn() -> Option<u32>>) -> Option<u32> {
///     let mut asked = JoinSet::new();
///     for mirror in mirrors {
///         asked.go(mirror);
///     }
///     while let Some(answer) = asked.join_next() {
///         if let Ok(Some(answer)) = answer {
///             return Some(answer); // the others are aborted
///         }
///     }
///     None
/// }
///
/// gosched::run(|| {
///     let mirrors: Vec<fn() -> Option<u32>> = vec![|| never().recv().ok(), || None, || Some(42)];
///     assert_eq!(first(mirrors), Some(42));
/// });
/// ```
///
/// | what is wanted | with a `JoinSet` | elsewhere |
/// | --- | --- | --- |
/// | all results, or the first panic | [`join_all`](Self::join_all) | tokio's `join_all`, Java's `allSuccessfulOrThrow` |
/// | the first success | [`join_next`](Self::join_next) until one is `Ok`, then drop the set | Java's `anySuccessfulOrThrow`, Trio's `cancel_scope.cancel()` |
/// | all, or the first error | [`err_group`](crate::sync::err_group), which also borrows | Go's `errgroup`, `try_join!`, a Trio nursery |
/// | what is there at a deadline | [`join_next_timeout`](Self::join_next_timeout), then drop the set | Java's `awaitAll` with a timeout, Trio's `move_on_after` |
/// | goroutines that borrow | [`scope`](crate::scope) | std's `thread::scope` |
pub struct JoinSet<T> {
    ctx: Context,
    /// By their ids.
    running: HashMap<u64, JoinHandle<Result<T, ContextError>>>,
    /// The ids of goroutines that have ended.
    ended: (Sender<u64>, Receiver<u64>),
}

impl<T: Send + 'static> JoinSet<T> {
    /// Makes a set without goroutines.
    ///
    /// ```
    /// use gosched::JoinSet;
    ///
    /// gosched::run(|| assert!(JoinSet::<u32>::new().join_next().is_none()));
    /// ```
    #[must_use]
    pub fn new() -> Self {
        JoinSet::under(&Context::background())
    }

    /// Makes a set whose goroutines are aborted when `ctx` ends, too.
    ///
    /// ```
    /// use gosched::JoinSet;
    /// use gosched::chan::never;
    /// use gosched::context::Context;
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let mut set = JoinSet::under(&ctx);
    ///     set.go(|| never::<u32>().recv());
    ///     cancel.cancel();
    ///     assert!(set.join_next().unwrap().unwrap_err().is_aborted());
    /// });
    /// ```
    #[must_use]
    pub fn under(ctx: &Context) -> Self {
        JoinSet { ctx: ctx.clone(), running: HashMap::new(), ended: unbounded() }
    }

    /// Runs `f` on a new goroutine of the set. It sees no
    /// [`ScopedValue`](crate::ScopedValue) that is bound here, because it may outlive the binding.
    ///
    /// ```
    /// use gosched::JoinSet;
    /// use gosched::chan::never;
    ///
    /// gosched::run(|| {
    ///     let mut set = JoinSet::new();
    ///     let hangs = set.go(|| never::<u32>().recv());
    ///     set.go(|| Ok(7));
    ///     assert_eq!(set.join_next().unwrap().unwrap(), Ok(7));
    ///     hangs.abort();
    ///     assert!(set.join_next().unwrap().unwrap_err().is_aborted());
    ///     assert!(set.join_next().is_none());
    /// });
    /// ```
    ///
    /// # Panics
    /// If there is no memory for a goroutine, or before the first [`run`](crate::run).
    #[doc(alias = "spawn")]
    #[track_caller]
    pub fn go(&mut self, f: impl FnOnce() -> T + Send + 'static) -> AbortHandle {
        let ctx = self.ctx.clone();
        let ended = self.ended.0.clone();
        let body = move || {
            // Made here: a body that gets no goroutine ends none.
            let _ends = Ends(ended);
            ctx.run(f)
        };
        let handle = match Builder::new().make(Location::caller(), &mut Some(body), Inherited::new()) {
            Ok(handle) => handle,
            Err(error) => cannot("JoinSet::go", &error),
        };
        let abort = handle.abort_handle();
        self.running.insert(handle.goid(), handle);
        abort
    }

    /// Waits until a goroutine of the set has ended, and returns its result. Returns `None` if the
    /// set has no goroutine.
    ///
    /// ```
    /// use gosched::JoinSet;
    ///
    /// gosched::run(|| {
    ///     let mut set = JoinSet::new();
    ///     for i in 0..10 {
    ///         set.go(move || i * i);
    ///     }
    ///     let mut sum = 0;
    ///     while let Some(square) = set.join_next() {
    ///         sum += square.unwrap();
    ///     }
    ///     assert_eq!(sum, 285);
    /// });
    /// ```
    ///
    /// # Errors
    /// If the goroutine panicked, ended by [`goexit`](crate::goexit), or was aborted.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking).
    #[track_caller]
    pub fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        Some(self.join_next_with_goid()?.1)
    }

    /// [`join_next`](Self::join_next) that also returns the goroutine's id, as
    /// [`AbortHandle::goid`] does. tokio's `join_next_with_id`.
    ///
    /// ```
    /// use gosched::JoinSet;
    ///
    /// gosched::run(|| {
    ///     let mut set = JoinSet::new();
    ///     let id = set.go(|| panic!("of this one")).goid();
    ///     let (failed, result) = set.join_next_with_goid().unwrap();
    ///     assert_eq!(failed, id);
    ///     let _: gosched::JoinError = result.map(|()| ()).unwrap_err();
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`join_next`](Self::join_next).
    #[track_caller]
    pub fn join_next_with_goid(&mut self) -> Option<(u64, Result<T, JoinError>)> {
        if self.is_empty() {
            return None;
        }
        let goid = self.ended.1.recv().expect("the set keeps a sender");
        Some((goid, self.take(goid)))
    }

    /// [`join_next`](Self::join_next) without a wait: returns `None` also if all goroutines of the
    /// set run.
    ///
    /// ```
    /// use gosched::JoinSet;
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded(0);
    ///     let mut set = JoinSet::new();
    ///     set.go(move || rx.recv().unwrap());
    ///     assert!(set.try_join_next().is_none());
    ///     tx.send(7).unwrap();
    ///     assert_eq!(set.join_next().unwrap().unwrap(), 7);
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`join_next`](Self::join_next).
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        Some(self.try_join_next_with_goid()?.1)
    }

    /// [`join_next_with_goid`](Self::join_next_with_goid) without a wait. tokio's
    /// `try_join_next_with_id`.
    ///
    /// ```
    /// use gosched::JoinSet;
    ///
    /// gosched::run(|| {
    ///     let mut set = JoinSet::new();
    ///     let id = set.go(|| 7).goid();
    ///     let (ended, result) = loop {
    ///         match set.try_join_next_with_goid() {
    ///             Some(next) => break next,
    ///             None => gosched::yield_now(),
    ///         }
    ///     };
    ///     assert_eq!((ended, result.unwrap()), (id, 7));
    /// });
    /// ```
    pub fn try_join_next_with_goid(&mut self) -> Option<(u64, Result<T, JoinError>)> {
        let goid = self.ended.1.try_recv().ok()?;
        Some((goid, self.take(goid)))
    }

    /// [`join_next`](Self::join_next) with a time limit: returns `None` also if the time is over.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::JoinSet;
    /// use gosched::chan::never;
    ///
    /// gosched::run(|| {
    ///     let mut set = JoinSet::new();
    ///     set.go(|| never::<u32>().recv());
    ///     assert!(set.join_next_timeout(Duration::from_millis(1)).is_none());
    ///     assert_eq!(set.len(), 1);
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`join_next`](Self::join_next).
    ///
    /// # Panics
    /// As [`join_next`](Self::join_next).
    #[track_caller]
    pub fn join_next_timeout(&mut self, timeout: Duration) -> Option<Result<T, JoinError>> {
        if self.is_empty() {
            return None;
        }
        let goid = self.ended.1.recv_timeout(timeout).ok()?;
        Some(self.take(goid))
    }

    /// Waits until all goroutines have ended, and returns their results in the order in which they
    /// ended.
    ///
    /// ```
    /// use gosched::JoinSet;
    ///
    /// gosched::run(|| {
    ///     let mut set = JoinSet::new();
    ///     for i in 0..3 {
    ///         set.go(move || i);
    ///     }
    ///     let mut all = set.join_all();
    ///     all.sort();
    ///     assert_eq!(all, [0, 1, 2]);
    /// });
    /// ```
    ///
    /// # Panics
    /// With the panic of a goroutine; the others are aborted then. If a goroutine was aborted or
    /// ended by [`goexit`](crate::goexit). As [`join_next`](Self::join_next).
    #[track_caller]
    pub fn join_all(mut self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next() {
            match result {
                Ok(value) => all.push(value),
                Err(error) if error.is_panic() => error.resume_panic(),
                Err(error) => panic!("gosched: join_all: {error}"),
            }
        }
        all
    }

    /// [`abort_all`](Self::abort_all), and waits until all goroutines have ended. Their results are
    /// dropped.
    ///
    /// ```
    /// use gosched::JoinSet;
    /// use gosched::chan::never;
    ///
    /// gosched::run(|| {
    ///     let mut set = JoinSet::new();
    ///     set.go(|| never::<u32>().recv());
    ///     set.shutdown();
    ///     assert!(set.is_empty());
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`join_next`](Self::join_next).
    #[track_caller]
    pub fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().is_some() {}
    }

    /// Takes all goroutines out of the set. They go on, and their results are dropped. tokio's
    /// `detach_all`.
    ///
    /// ```
    /// use gosched::JoinSet;
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded(1);
    ///     let mut set = JoinSet::new();
    ///     set.go(move || tx.send(7));
    ///     set.detach_all();
    ///     assert!(set.is_empty());
    ///     assert_eq!(rx.recv(), Ok(7));
    /// });
    /// ```
    pub fn detach_all(&mut self) {
        self.running.clear();
        // What they send later has no receiver.
        self.ended = unbounded();
    }

    /// Takes the result of a goroutine that is ending.
    fn take(&mut self, goid: u64) -> Result<T, JoinError> {
        let handle = self.running.remove(&goid).expect("a goroutine ends once");
        // It is about to end, and its result would be lost if a run ended this.
        outside_of_run(|| handle.join())?.map_err(|_| JoinError::aborted())
    }
}

impl<T> JoinSet<T> {
    /// Aborts all goroutines of the set. Their results can still be taken.
    ///
    /// ```
    /// use gosched::JoinSet;
    /// use gosched::chan::never;
    ///
    /// gosched::run(|| {
    ///     let mut set = JoinSet::new();
    ///     for _ in 0..3 {
    ///         set.go(|| never::<u32>().recv());
    ///     }
    ///     set.abort_all();
    ///     while let Some(result) = set.join_next() {
    ///         assert!(result.unwrap_err().is_aborted());
    ///     }
    /// });
    /// ```
    pub fn abort_all(&mut self) {
        self.running.values().for_each(JoinHandle::abort);
    }

    /// How many goroutines have results that weren't taken, ended ones included.
    ///
    /// ```
    /// use gosched::JoinSet;
    ///
    /// gosched::run(|| {
    ///     let mut set = JoinSet::new();
    ///     set.go(|| 7);
    ///     assert_eq!(set.len(), 1);
    /// });
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// Whether [`len`](Self::len) is 0.
    ///
    /// ```
    /// assert!(gosched::JoinSet::<u32>::new().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T: Send + 'static> Default for JoinSet<T> {
    fn default() -> Self {
        JoinSet::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.running.len()).finish_non_exhaustive()
    }
}

/// Tells the set that the running goroutine is ending.
struct Ends(Sender<u64>);

impl Drop for Ends {
    fn drop(&mut self) {
        // The set may be gone. An abort must not unwind from here, or the result would be leaked.
        let _ = outside_of_run(|| self.0.send(goid()));
    }
}
