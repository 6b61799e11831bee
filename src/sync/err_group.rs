//! [`ErrGroup`]: Go's `golang.org/x/sync/errgroup`.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::context::{Canceler, Context};
use crate::goroutine::{Goexit, Scope, message, scope};
use crate::sync::{OwnedSemaphorePermit, Semaphore};

/// Goroutines that work for one result, and may fail: [`err_group`] makes it. A clone is the same group; with that a
/// goroutine of the group adds others:
///
/// ```
/// use std::io;
/// use gosched::context::Context;
/// use gosched::sync::{ErrGroup, err_group};
///
/// gosched::run(|| {
///     let result = err_group(&Context::background(), |group: &ErrGroup<'_, '_, io::Error>| {
///         let same = group.clone();
///         group.go(move |_ctx| {
///             same.go(|_ctx| Err(io::Error::other("the inner one fails")));
///             Ok(())
///         });
///         Ok(())
///     });
///     assert_eq!(result.unwrap_err().to_string(), "the inner one fails");
/// });
/// ```
pub struct ErrGroup<'scope, 'env: 'scope, E> {
    scope: &'scope Scope<'scope, 'env>,
    state: Arc<State<E>>,
}

/// What they share.
struct State<E> {
    ctx: Context,
    canceler: Canceler,
    /// The first failure; a panic rather than an error.
    failure: Mutex<Option<Failure<E>>>,
    /// One for each that may run at a time, if that is limited.
    slots: OnceLock<Arc<Semaphore>>,
    /// What the first error is called as the context's cause.
    cause: OnceLock<CauseOf<E>>,
}

type CauseOf<E> = Box<dyn Fn(&E) -> Box<dyn Error + Send + Sync> + Send + Sync>;

enum Failure<E> {
    Error(E),
    Panic(Box<dyn Any + Send>),
}

/// Runs `f`, which may make goroutines that borrow what lives longer than this call, waits for all of them, and returns
/// the first error, if there is one: that of a goroutine, or `f`'s. With the first error their context is canceled, which
/// is one of `ctx`'s; [`set_cause`](ErrGroup::set_cause) says with which cause. Go's
/// `errgroup.WithContext`, in a [`scope`].
///
/// ```
/// use std::num::ParseIntError;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use gosched::context::Context;
/// use gosched::sync::err_group;
///
/// fn sum(numbers: &[&str]) -> Result<u32, ParseIntError> {
///     let sum = AtomicU32::new(0);
///     err_group(&Context::background(), |group| {
///         group.set_limit(2);
///         for number in numbers {
///             group.go(|_ctx| {
///                 sum.fetch_add(number.parse()?, Ordering::Relaxed);
///                 Ok(())
///             });
///         }
///         Ok(())
///     })?;
///     Ok(sum.into_inner())
/// }
///
/// gosched::run(|| {
///     assert_eq!(sum(&["1", "2", "39"]), Ok(42));
///     assert!(sum(&["1", "two", "39"]).is_err());
/// });
/// ```
///
/// # Errors
/// The first one. What the others return is dropped.
///
/// # Panics
/// As the first goroutine has that panics, which cancels the context, too; as `f` does; and if it isn't called on a
/// goroutine, or is inside [`blocking`](crate::blocking).
#[track_caller]
pub fn err_group<'env, E, F, T>(ctx: &Context, f: F) -> Result<T, E>
where
    E: Send + 'env,
    F: for<'scope> FnOnce(&ErrGroup<'scope, 'env, E>) -> Result<T, E>,
{
    let (ctx, canceler) = ctx.with_cancel();
    let (failure, slots, cause) = (Mutex::new(None), OnceLock::new(), OnceLock::new());
    let state = Arc::new(State { ctx, canceler, failure, slots, cause });
    let value = scope(|scope| {
        let unwinding = CancelIfDropped(&state.canceler);
        let result = f(&ErrGroup { scope, state: state.clone() });
        let value = result.map_err(|error| state.fail(error)).ok();
        forget(unwinding);
        value
    });
    // Also if there is a clone left, which was forgotten.
    state.canceler.cancel();
    let failure = state.failure().take();
    match (failure, value) {
        (Some(Failure::Panic(payload)), _) => resume_unwind(payload),
        (Some(Failure::Error(error)), _) => Err(error),
        (None, Some(value)) => Ok(value),
        (None, None) => unreachable!("its error is the first failure, or there was one before"),
    }
}

/// Cancels what still runs when the group's closure unwinds: its goroutines are waited for.
struct CancelIfDropped<'a>(&'a Canceler);

impl Drop for CancelIfDropped<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl<'scope, 'env, E: Send + 'env> ErrGroup<'scope, 'env, E> {
    /// Runs `f` on a new goroutine, which may borrow whatever outlives the group. If there is a
    /// [limit](Self::set_limit) and so many run, waits until one has ended: a goroutine of the group that adds others is one
    /// of those that run.
    ///
    /// `f` gets the group's context: a wait under that ends when another one has failed.
    ///
    /// ```
    /// use gosched::context::{Context, ContextError};
    /// use gosched::sync::err_group;
    ///
    /// gosched::run(|| {
    ///     let result = err_group(&Context::background(), |group| {
    ///         group.go(|ctx| ctx.done().recv().or(ctx.check())); // it ends when the other has failed
    ///         group.go(|_ctx| Err(ContextError::DeadlineExceeded));
    ///         Ok(())
    ///     });
    ///     assert_eq!(result, Err(ContextError::DeadlineExceeded));
    /// });
    /// ```
    ///
    /// # Panics
    /// If there is no memory for a goroutine.
    #[track_caller]
    pub fn go<F>(&self, f: F)
    where
        F: FnOnce(&Context) -> Result<(), E> + Send + 'scope,
    {
        let slot = self.state.slots.get().map(|slots| slots.clone().acquire_owned());
        self.start(slot, f);
    }

    /// [`go`](Self::go) that doesn't wait: false if as many run as may.
    ///
    /// ```
    /// use gosched::chan::bounded;
    /// use gosched::context::Context;
    /// use gosched::sync::err_group;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded::<()>(0);
    ///     let more = err_group(&Context::background(), |group| {
    ///         group.set_limit(1);
    ///         group.go(|_ctx| rx.recv().or(Ok(())));
    ///         let more = group.try_go(|_ctx| Ok(()));
    ///         drop(tx);
    ///         Ok::<_, std::io::Error>(more)
    ///     });
    ///     assert!(!more.unwrap(), "one runs, and no more may");
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`go`](Self::go).
    #[track_caller]
    #[must_use = "if it is false, the function isn't called"]
    pub fn try_go<F>(&self, f: F) -> bool
    where
        F: FnOnce(&Context) -> Result<(), E> + Send + 'scope,
    {
        let slot = self.state.slots.get().map(|slots| slots.clone().try_acquire_owned());
        if let Some(None) = slot {
            return false;
        }
        self.start(slot.flatten(), f);
        true
    }

    /// Runs `f` on a new goroutine, which has the slot as long as it runs.
    #[track_caller]
    fn start<F>(&self, slot: Option<OwnedSemaphorePermit>, f: F)
    where
        F: FnOnce(&Context) -> Result<(), E> + Send + 'scope,
    {
        let state = self.state.clone();
        self.scope.go(move || {
            let _slot = slot;
            match catch_unwind(AssertUnwindSafe(|| f(&state.ctx).map_err(|error| state.fail(error)))) {
                Ok(_) => {}
                Err(payload) if payload.is::<Goexit>() => resume_unwind(payload),
                Err(payload) => state.panicked(payload),
            }
        });
    }

    /// Lets no more than `n` goroutines of the group run at a time. Go's `SetLimit`. With 0 none
    /// may be added: [`try_go`](Self::try_go) is false, and [`go`](Self::go) waits for ever.
    /// Without this there is no limit, which a negative one is in Go.
    ///
    /// ```
    /// use gosched::context::Context;
    /// use gosched::sync::err_group;
    ///
    /// gosched::run(|| {
    ///     err_group(&Context::background(), |group| {
    ///         group.set_limit(2);
    ///         for page in 0..10 {
    ///             group.go(move |ctx| ctx.check().map(|()| println!("page {page}"))); // waits for one of the two
    ///         }
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// });
    /// ```
    ///
    /// # Panics
    /// If there is a limit already.
    #[track_caller]
    pub fn set_limit(&self, n: usize) {
        let set = self.state.slots.set(Arc::new(Semaphore::new(n)));
        assert!(set.is_ok(), "gosched: an ErrGroup's limit is set once");
    }

    /// Says what the [cause](Context::cause) of the group's context is when one has failed: what
    /// `cause` makes of the first error, which itself goes to the caller of [`err_group`]. In Go
    /// the cause is that error, which both have. Without this the cause is that the context was
    /// canceled; after a panic, it is the text of that.
    ///
    /// ```
    /// use std::io;
    /// use gosched::context::Context;
    /// use gosched::sync::{ErrGroup, err_group};
    ///
    /// gosched::run(|| {
    ///     let result = err_group(&Context::background(), |group: &ErrGroup<'_, '_, io::Error>| {
    ///         group.set_cause(io::Error::to_string);
    ///         group.go(|_ctx| Err(io::Error::other("the disk is full")));
    ///         let _ = group.context().done().recv(); // until one has failed
    ///         assert_eq!(group.context().cause().unwrap().to_string(), "the disk is full");
    ///         Ok(())
    ///     });
    ///     assert_eq!(result.unwrap_err().to_string(), "the disk is full");
    /// });
    /// ```
    ///
    /// # Panics
    /// If that was said already.
    #[track_caller]
    pub fn set_cause<C>(&self, cause: impl Fn(&E) -> C + Send + Sync + 'static)
    where
        C: Into<Box<dyn Error + Send + Sync>>,
    {
        let set = self.state.cause.set(Box::new(move |error| cause(error).into()));
        assert!(set.is_ok(), "gosched: an ErrGroup's cause is set once");
    }

    /// The group's context.
    ///
    /// ```
    /// use gosched::context::{Context, ContextError};
    /// use gosched::sync::err_group;
    ///
    /// gosched::run(|| {
    ///     let result = err_group(&Context::background(), |group| {
    ///         group.go(|_ctx| Err(ContextError::DeadlineExceeded));
    ///         let _ = group.context().done().recv(); // until one has failed
    ///         group.context().check()
    ///     });
    ///     assert_eq!(result, Err(ContextError::DeadlineExceeded));
    /// });
    /// ```
    pub fn context(&self) -> &Context {
        &self.state.ctx
    }
}

impl<E> State<E> {
    /// Notes an error, and has the others end. Panics as the function that names the cause does,
    /// with nothing noted.
    fn fail(&self, error: E) {
        // Of several that fail at a time one is the first.
        let is_late = self.failure().is_some();
        let cause = self.cause.get().filter(|_| !is_late).map(|cause| cause(&error));
        self.note(Failure::Error(error), cause);
    }

    /// Notes a panic, and has the others end.
    fn panicked(&self, payload: Box<dyn Any + Send>) {
        let cause =
            message(&*payload).map(|text| format!("a goroutine of the group has panicked: {text}").into());
        self.note(Failure::Panic(payload), cause);
    }

    /// Notes a failure. The first one cancels the context, with its cause, and the others don't.
    fn note(&self, failure: Failure<E>, cause: Option<Box<dyn Error + Send + Sync>>) {
        let mut first = self.failure();
        let is_first = first.is_none();
        let worse = matches!((&*first, &failure), (None, _) | (Some(Failure::Error(_)), Failure::Panic(_)));
        // What isn't kept is dropped after the lock: that may be anything of the program's.
        let _dropped = if worse { first.replace(failure) } else { Some(failure) };
        drop(first);
        match cause {
            _ if !is_first => {}
            Some(cause) => self.canceler.cancel_because(cause),
            None => self.canceler.cancel(),
        }
    }

    fn failure(&self) -> MutexGuard<'_, Option<Failure<E>>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> Clone for ErrGroup<'_, '_, E> {
    fn clone(&self) -> Self {
        ErrGroup { scope: self.scope, state: self.state.clone() }
    }
}

impl<E> fmt::Debug for ErrGroup<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrGroup").field("ctx", &self.state.ctx).finish_non_exhaustive()
    }
}
