//! [`Context`], its [`Canceler`], and the values that a context carries for a request.

use std::any::{Any, TypeId};
use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::iter;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chan::{Receiver, never};
use crate::context::scope::{Dependent, Ended, Func, Place, Scope};
use crate::context::{Cause, ContextError, JoinContextError, Waitable, With, WithMut};
use crate::goroutine::JoinHandle;
use crate::net::Limit;
use crate::runtime::{self, EndsWaits, instant_now, must_wait, point, started, unwind_to_run};

/// The limit of some work, and the values that belong to the work. Go's `context.Context`.
///
/// It is cheap to clone. All clones are the same context, and end at the same time. See the
/// [module](crate::context).
///
/// ```
/// use gosched::chan::{Receiver, bounded};
/// use gosched::context::{Context, RecvContextError};
///
/// fn sum(ctx: &Context, numbers: &Receiver<u32>) -> Result<u32, RecvContextError> {
///     let mut sum = 0;
///     loop {
///         match ctx.with(numbers).recv() {
///             Ok(n) => sum += n,
///             Err(RecvContextError::Disconnected) => return Ok(sum),
///             Err(ended) => return Err(ended),
///         }
///     }
/// }
///
/// gosched::run(|| {
///     let (tx, rx) = bounded(2);
///     tx.send(6).unwrap();
///     tx.send(7).unwrap();
///     drop(tx);
///     assert_eq!(sum(&Context::background(), &rx), Ok(13));
/// });
/// ```
#[derive(Clone, Default)]
pub struct Context {
    scope: Option<Arc<Scope>>,
    values: Option<Arc<Entry>>,
}

// It changes only once, when it ends, and gives only shared access to values.
impl UnwindSafe for Context {}
impl RefUnwindSafe for Context {}

impl Context {
    /// The context that all others are derived from: it never ends, and has no values.
    ///
    /// ```
    /// use gosched::context::Context;
    ///
    /// static ROOT: Context = Context::background();
    /// assert_eq!((ROOT.err(), ROOT.deadline()), (None, None));
    /// ```
    pub const fn background() -> Self {
        Context { scope: None, values: None }
    }

    /// Makes a context that ends when its [`Canceler`] cancels it or is dropped, or when this one
    /// ends.
    ///
    /// ```
    /// use gosched::context::{Context, ContextError};
    ///
    /// let (parent, cancel) = Context::background().with_cancel();
    /// let (child, _cancel_child) = parent.with_cancel();
    /// assert_eq!(child.err(), None);
    /// cancel.cancel();
    /// assert_eq!(child.err(), Some(ContextError::Canceled));
    /// ```
    #[must_use = "dropping the canceler cancels the context"]
    pub fn with_cancel(&self) -> (Self, Canceler) {
        self.derived(None)
    }

    /// [`with_cancel`](Self::with_cancel), but the context also ends at `deadline`, with
    /// [`ContextError::DeadlineExceeded`].
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use gosched::context::Context;
    ///
    /// gosched::run(|| {
    ///     let deadline = Instant::now() + Duration::from_secs(60);
    ///     let (ctx, _cancel) = Context::background().with_deadline(deadline);
    ///     assert_eq!(ctx.deadline(), Some(deadline));
    /// });
    /// ```
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking), and before the first [`run`](crate::run), where no
    /// timer can be set.
    #[track_caller]
    #[must_use = "dropping the canceler cancels the context"]
    pub fn with_deadline(&self, deadline: Instant) -> (Self, Canceler) {
        self.derived(Some(deadline))
    }

    /// [`with_deadline`](Self::with_deadline), `timeout` from now.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::{Context, ContextError};
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
    ///     assert_eq!(ctx.sleep(Duration::from_secs(3600)), Err(ContextError::DeadlineExceeded));
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`with_deadline`](Self::with_deadline).
    #[track_caller]
    #[must_use = "dropping the canceler cancels the context"]
    pub fn with_timeout(&self, timeout: Duration) -> (Self, Canceler) {
        // A time that no clock can show is no deadline.
        self.derived(instant_now().checked_add(timeout))
    }

    #[track_caller]
    fn derived(&self, deadline: Option<Instant>) -> (Self, Canceler) {
        let scope = Scope::new(self.scope.as_ref(), deadline);
        let canceler = Canceler(scope.clone());
        (Context { scope: Some(scope), values: self.values.clone() }, canceler)
    }

    /// Makes a context with one more value, which ends when this one does. Use it for values of a
    /// request that pass through code that doesn't know them, such as the name of a user. A
    /// function's own input should be an argument.
    ///
    /// ```
    /// use gosched::context::{Context, Key};
    ///
    /// enum User {}
    /// impl Key for User {
    ///     type Value = String;
    /// }
    ///
    /// let ctx = Context::background().with_value::<User>("gopher".into());
    /// assert_eq!(ctx.value::<User>().unwrap(), "gopher");
    /// ```
    pub fn with_value<K: Key>(&self, value: K::Value) -> Self {
        let entry = Entry::new::<K>(value, self.values.clone());
        Context { scope: self.scope.clone(), values: Some(Arc::new(entry)) }
    }

    /// The last value that was added with this key, to this context or to one that it was derived
    /// from.
    ///
    /// ```
    /// use gosched::context::{Context, Key};
    ///
    /// enum Attempt {}
    /// impl Key for Attempt {
    ///     type Value = u32;
    /// }
    ///
    /// let first = Context::background().with_value::<Attempt>(1);
    /// let second = first.with_value::<Attempt>(2);
    /// assert_eq!((first.value::<Attempt>(), second.value::<Attempt>()), (Some(&1), Some(&2)));
    /// ```
    pub fn value<K: Key>(&self) -> Option<&K::Value> {
        self.values.as_ref()?.find::<K>()
    }

    /// Makes a context with these values that never ends: for work that must be done even after the
    /// end.
    ///
    /// ```
    /// use gosched::context::Context;
    ///
    /// let (ctx, cancel) = Context::background().with_cancel();
    /// let goes_on = ctx.without_cancel(); // to write down how it has ended
    /// cancel.cancel();
    /// assert!(ctx.err().is_some() && goes_on.err().is_none());
    /// ```
    pub fn without_cancel(&self) -> Self {
        Context { scope: None, values: self.values.clone() }
    }

    /// Calls `f` on a new goroutine when this context ends, or at once if it has ended. Dropping
    /// the result [stops](AfterFunc::stop) that.
    ///
    /// ```
    /// use gosched::chan::bounded;
    /// use gosched::context::Context;
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let (tx, rx) = bounded(1);
    ///     let _notes = ctx.after_func(move || tx.send("over").unwrap());
    ///     cancel.cancel();
    ///     assert_eq!(rx.recv(), Ok("over"));
    /// });
    /// ```
    ///
    /// # Panics
    /// Before the first [`run`](crate::run), where there can't be goroutines.
    #[track_caller]
    pub fn after_func(&self, f: impl FnOnce() + Send + 'static) -> AfterFunc {
        assert!(started(), "gosched::context::Context::after_func called before the first gosched::run");
        let Some(scope) = &self.scope else { return AfterFunc(None) };
        let func = Func { f: Box::new(f), created_at: Location::caller() };
        match scope.add(Dependent::Func(func)) {
            Ok(place) => AfterFunc(Some(place)),
            Err((dependent, _)) => {
                if let Dependent::Func(func) = dependent {
                    func.start();
                }
                AfterFunc(None)
            }
        }
    }

    /// A channel that is closed when the context has ended. As an arm of a
    /// [`select!`](crate::select) it ends the wait. It never has a value.
    ///
    /// ```
    /// use gosched::chan::bounded;
    /// use gosched::context::Context;
    /// use gosched::select;
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let (_tx, rx) = bounded::<u32>(0);
    ///     gosched::go(move || cancel.cancel());
    ///     select! {
    ///         recv(rx) -> _ => unreachable!(),
    ///         recv(ctx.done()) -> _ => assert!(ctx.err().is_some()),
    ///     }
    /// });
    /// ```
    pub fn done(&self) -> &Receiver<()> {
        static NEVER: Receiver<()> = never();
        self.scope.as_ref().map_or(&NEVER, |scope| scope.done())
    }

    /// Returns why the context has ended, or `None` if it hasn't.
    pub fn err(&self) -> Option<ContextError> {
        point("context");
        Some(self.scope.as_ref()?.ended()?.error)
    }

    /// Returns the [cause](Canceler::cancel_because) that was given for its end, or else what
    /// [`err`](Self::err) returns. `None` if it hasn't ended.
    ///
    /// ```
    /// use gosched::context::Context;
    ///
    /// let (ctx, cancel) = Context::background().with_cancel();
    /// assert!(ctx.cause().is_none());
    /// cancel.cancel_because("there is no disk left");
    /// assert_eq!(ctx.cause().unwrap().to_string(), "there is no disk left");
    /// ```
    pub fn cause(&self) -> Option<Cause> {
        let ended = self.scope.as_ref()?.ended()?;
        Some(ended.cause.clone().unwrap_or_else(|| Arc::new(ended.error)))
    }

    /// The time at which it ends at the latest, if there is one.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::Context;
    ///
    /// gosched::run(|| {
    ///     let (outer, _cancel) = Context::background().with_timeout(Duration::from_secs(1));
    ///     let (inner, _cancel_inner) = outer.with_timeout(Duration::from_secs(60));
    ///     assert_eq!(inner.deadline(), outer.deadline());
    /// });
    /// ```
    pub fn deadline(&self) -> Option<Instant> {
        self.scope.as_ref()?.deadline()
    }

    /// Returns an error if the context has ended: for loops, and before long work.
    ///
    /// ```
    /// use gosched::context::{Context, ContextError};
    ///
    /// fn squares(ctx: &Context, numbers: &[u32]) -> Result<Vec<u32>, ContextError> {
    ///     numbers.iter().map(|n| ctx.check().map(|()| n * n)).collect()
    /// }
    ///
    /// let (ctx, cancel) = Context::background().with_cancel();
    /// assert_eq!(squares(&ctx, &[1, 2, 3]), Ok(vec![1, 4, 9]));
    /// cancel.cancel();
    /// assert_eq!(squares(&ctx, &[1, 2, 3]), Err(ContextError::Canceled));
    /// ```
    ///
    /// # Errors
    /// What [`err`](Self::err) returns.
    pub fn check(&self) -> Result<(), ContextError> {
        self.err().map_or(Ok(()), Err)
    }

    /// Returns a view of `on`, or of the value that it points to, whose waits end with this
    /// context: see [`With`].
    ///
    /// ```
    /// use gosched::context::Context;
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let slots = Semaphore::new(1);
    ///     assert!(ctx.with(&slots).acquire().is_ok());
    ///     cancel.cancel();
    ///     assert!(ctx.with(&slots).acquire().is_err());
    /// });
    /// ```
    pub fn with<'c, 'a, T: Waitable + ?Sized>(&'c self, on: &'a T) -> With<'c, 'a, T::On> {
        With::new(self, on.waits_on())
    }

    /// [`with`](Self::with) for waits that change `on`: see [`WithMut`].
    pub fn with_mut<'a, T: ?Sized>(&'a self, on: &'a mut T) -> WithMut<'a, T> {
        WithMut::new(self, on)
    }

    /// [`time::sleep`](crate::time::sleep) that ends with this context.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::{Context, ContextError};
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     assert_eq!(ctx.sleep(Duration::from_millis(1)), Ok(()));
    ///     gosched::go(move || cancel.cancel());
    ///     assert_eq!(ctx.sleep(Duration::from_secs(3600)), Err(ContextError::Canceled));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the context has ended before `d` was over.
    ///
    /// # Panics
    /// If it is called inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn sleep(&self, d: Duration) -> Result<(), ContextError> {
        let _guest = must_wait("context::Context::sleep");
        // No value is ever sent: the channel is closed, or the time is over.
        let _ = self.done().recv_timeout(d);
        self.check()
    }

    /// [`JoinHandle::join`] that ends with this context.
    ///
    /// ```
    /// use gosched::context::{Context, ContextError, JoinContextError};
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     assert_eq!(ctx.join(gosched::go(|| 7)).unwrap(), 7);
    ///     let inner = ctx.clone();
    ///     let slow = gosched::go(move || inner.done().recv().is_err());
    ///     cancel.cancel();
    ///     match ctx.join(slow) {
    ///         Err(JoinContextError::Ended(slow, ContextError::Canceled)) => assert!(slow.join().unwrap()),
    ///         other => panic!("{other:?}"),
    ///     }
    /// });
    /// ```
    ///
    /// # Errors
    /// If the goroutine has panicked, or ended by [`goexit`](crate::goexit); or if the context has
    /// ended: then the goroutine goes on, and its handle is in the error.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn join<T>(&self, handle: JoinHandle<T>) -> Result<T, JoinContextError<T>> {
        if let Some(error) = self.err() {
            return Err(JoinContextError::Ended(handle, error));
        }
        if let Some(scope) = self.scope()
            && !handle.is_finished()
        {
            let _guest = must_wait("context::Context::join");
            if !handle.wait_limited(Some(runtime::Limit::Canceled(scope.waits()))) {
                let error = self.err().unwrap_or_else(|| unwind_to_run());
                return Err(JoinContextError::Ended(handle, error));
            }
        }
        handle.join().map_err(JoinContextError::Failed)
    }

    /// The scope, if it can end.
    pub(super) fn scope(&self) -> Option<&Arc<Scope>> {
        self.scope.as_ref()
    }

    /// The limit of an operation of a descriptor, unless this context has ended.
    pub(super) fn begin(&self) -> io::Result<Limit<'_>> {
        self.check()?;
        Ok(self.scope().map_or_else(Limit::default, |scope| Limit::canceled_by(scope.waits())))
    }

    /// Converts the result of an operation that had this limit: a canceled one has ended as by a
    /// deadline, and becomes the context's error.
    pub(super) fn end<R>(&self, result: io::Result<R>) -> io::Result<R> {
        result.map_err(|error| match self.err() {
            Some(ended) if error.kind() == ErrorKind::TimedOut => ended.into(),
            _ => error,
        })
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Context");
        debug.field("err", &self.err()).field("deadline", &self.deadline()).finish_non_exhaustive()
    }
}

/// Cancels a [`Context`](crate::context::Context) when it is asked to, and when it is dropped. So
/// the work under a context doesn't outlive by much the function that began it.
/// (`let (ctx, _) = ..` drops the canceler at once: name it `_cancel`.)
///
/// It may be shared, and used anywhere, also in [`blocking`](crate::blocking) and on threads that
/// aren't goroutines'. If the context has ended already, that is no error.
///
/// ```
/// use gosched::context::{Canceler, Context};
///
/// struct Service {
///     _cancel: Canceler, // what works for it ends with it
/// }
///
/// let (ctx, cancel) = Context::background().with_cancel();
/// drop(Service { _cancel: cancel });
/// assert!(ctx.err().is_some());
/// ```
#[must_use = "dropping it cancels the context"]
pub struct Canceler(Arc<Scope>);

// As for a context.
impl UnwindSafe for Canceler {}
impl RefUnwindSafe for Canceler {}

impl Canceler {
    /// Cancels the context, and all that were derived from it: their waits end with
    /// [`ContextError::Canceled`]. Go's `CancelFunc`.
    ///
    /// ```
    /// use gosched::context::{Context, ContextError};
    ///
    /// let (ctx, cancel) = Context::background().with_cancel();
    /// assert_eq!(ctx.check(), Ok(()));
    /// cancel.cancel();
    /// assert_eq!(ctx.check(), Err(ContextError::Canceled));
    /// ```
    pub fn cancel(&self) {
        point("cancel");
        self.0.end(Ended { error: ContextError::Canceled, cause: None });
    }

    /// [`cancel`](Self::cancel) with a cause, which
    /// [`Context::cause`](crate::context::Context::cause) returns. Go's `CancelCauseFunc`.
    ///
    /// ```
    /// use gosched::context::{Context, ContextError};
    ///
    /// let (ctx, cancel) = Context::background().with_cancel();
    /// cancel.cancel_because("the client has gone");
    /// assert_eq!(ctx.err(), Some(ContextError::Canceled));
    /// assert_eq!(ctx.cause().unwrap().to_string(), "the client has gone");
    /// ```
    pub fn cancel_because(&self, cause: impl Into<Box<dyn Error + Send + Sync>>) {
        point("cancel");
        self.0.end(Ended { error: ContextError::Canceled, cause: Some(Arc::from(cause.into())) });
    }
}

impl Drop for Canceler {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl fmt::Debug for Canceler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceler").field("canceled", &self.0.ended().is_some()).finish()
    }
}

/// A function that is to be called when a context ends:
/// [`Context::after_func`](crate::context::Context::after_func) makes it. If it is dropped before
/// that, the function isn't called.
///
/// ```
/// use gosched::context::Context;
///
/// gosched::run(|| {
///     let (ctx, cancel) = Context::background().with_cancel();
///     drop(ctx.after_func(|| unreachable!("it is dropped")));
///     cancel.cancel();
/// });
/// ```
#[must_use = "dropping it is `stop`"]
pub struct AfterFunc(Option<Place>);

impl AfterFunc {
    /// Ensures that the function isn't called. Returns false if it was or is being called, or if
    /// this was called before.
    ///
    /// ```
    /// use gosched::context::Context;
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_cancel();
    ///     let says = ctx.after_func(|| unreachable!("it is stopped"));
    ///     assert!(says.stop());
    ///     assert!(!says.stop(), "this was done before");
    /// });
    /// ```
    pub fn stop(&self) -> bool {
        self.0.as_ref().is_some_and(Place::remove)
    }
}

impl Drop for AfterFunc {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for AfterFunc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("AfterFunc { .. }")
    }
}

/// Names a value that a [`Context`](crate::context::Context) may have. A key is a type of the
/// program's own that serves only as a name. Code that can't name the type can't reach the value.
///
/// ```
/// use gosched::context::{Context, Key};
///
/// enum RequestId {}
/// impl Key for RequestId {
///     type Value = u64;
/// }
///
/// fn log(ctx: &Context, line: &str) -> String {
///     ctx.value::<RequestId>().map_or(line.to_owned(), |id| format!("{id}: {line}"))
/// }
///
/// let ctx = Context::background().with_value::<RequestId>(17);
/// assert_eq!(log(&ctx, "begins"), "17: begins");
/// ```
pub trait Key: 'static {
    /// The type of the value.
    type Value: Send + Sync + 'static;
}

/// A value, and the values that were there before.
struct Entry {
    key: TypeId,
    value: Box<dyn Any + Send + Sync>,
    before: Option<Arc<Entry>>,
}

impl Entry {
    fn new<K: Key>(value: K::Value, before: Option<Arc<Entry>>) -> Self {
        Entry { key: TypeId::of::<K>(), value: Box::new(value), before }
    }

    /// The value of this key that was added last.
    fn find<K: Key>(&self) -> Option<&K::Value> {
        let found = iter::successors(Some(self), |entry| entry.before.as_deref());
        found.into_iter().find(|entry| entry.key == TypeId::of::<K>())?.value.downcast_ref()
    }
}

impl Drop for Entry {
    /// Drops the entries in a loop: there may be more of them than a recursion has stack for.
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut entry) = before.and_then(Arc::into_inner) {
            before = entry.before.take();
        }
    }
}
