//! [`ErrGroup`]: Go's `golang.org/x/sync/errgroup`.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};

use crate::context::{Canceler, Context};
use crate::goroutine::{Scope, is_panic, message, scope};
use crate::sync::short_mutex::{ShortMutex, ShortMutexGuard};
use crate::sync::{OwnedSemaphorePermit, Semaphore};

/// Goroutines that work for one result, and may fail. [`err_group`] makes it. A clone is the same
/// group, with which a goroutine of the group adds others:
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

/// The state that the clones of a group share.
struct State<E> {
    ctx: Context,
    canceler: Canceler,
    /// The first failure; a panic takes the place of an error.
    failure: ShortMutex<Option<Failure<E>>>,
    /// One slot for each goroutine that may run at a time, if that is limited.
    slots: OnceLock<Arc<Semaphore>>,
    /// Makes the context's cause of the first error.
    cause: OnceLock<CauseOf<E>>,
}

type CauseOf<E> = Box<dyn Fn(&E) -> Box<dyn Error + Send + Sync> + Send + Sync>;

enum Failure<E> {
    Error(E),
    Panic(Box<dyn Any + Send>),
}

/// Runs `f`, which may make goroutines that borrow values that outlive this call, and waits for all
/// of them. Returns the first error of a goroutine or of `f`, if there is one. The first error also
/// cancels the group's context, which is derived from `ctx`; [`set_cause`](ErrGroup::set_cause)
/// sets the cause. Go's `errgroup.WithContext`, in a [`scope`].
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
/// The first error. The results of the others are dropped.
///
/// # Panics
/// If a goroutine panics, with the first panic, which cancels the context, too. If `f` panics. If
/// it isn't called on a goroutine, or is called inside [`blocking`](crate::blocking).
#[track_caller]
pub fn err_group<'env, E, F, T>(ctx: &Context, f: F) -> Result<T, E>
where
    E: Send + 'env,
    F: for<'scope> FnOnce(&ErrGroup<'scope, 'env, E>) -> Result<T, E>,
{
    let (ctx, canceler) = ctx.with_cancel();
    let (failure, slots, cause) = (ShortMutex::new(None), OnceLock::new(), OnceLock::new());
    let state = Arc::new(State { ctx, canceler, failure, slots, cause });
    let value = scope(|scope| {
        let unwinding = CancelIfDropped(&state.canceler);
        let result = f(&ErrGroup { scope, state: state.clone() });
        let value = result.map_err(|error| state.fail(error)).ok();
        forget(unwinding);
        value
    });
    // Canceled even if a clone is left that was forgotten.
    state.canceler.cancel();
    let failure = state.failure().take();
    match (failure, value) {
        (Some(Failure::Panic(payload)), _) => resume_unwind(payload),
        (Some(Failure::Error(error)), _) => Err(error),
        (None, Some(value)) => Ok(value),
        (None, None) => unreachable!("its error is the first failure, or there was one before"),
    }
}

/// Cancels the group when its closure unwinds, because the scope waits for the goroutines that
/// still run.
struct CancelIfDropped<'a>(&'a Canceler);

impl Drop for CancelIfDropped<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl<'scope, 'env, E: Send + 'env> ErrGroup<'scope, 'env, E> {
    /// Runs `f` on a new goroutine, which may borrow values that outlive the group. If the group
    /// has a [limit](Self::set_limit), and that many goroutines run, it first waits until one of
    /// them has ended. A goroutine of the group that adds others counts as running.
    ///
    /// `f` gets the group's context: a wait under it ends when another goroutine has failed.
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

    /// [`go`](Self::go) without a wait: returns false, and doesn't call `f`, if the limit is
    /// reached.
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
                Err(payload) if !is_panic(&*payload) => resume_unwind(payload),
                Err(payload) => state.panicked(payload),
            }
        });
    }

    /// Limits how many goroutines of the group run at a time to `n`. Go's `SetLimit`. With 0 no
    /// goroutine can be added: [`try_go`](Self::try_go) returns false, and [`go`](Self::go) waits
    /// forever. Without a call there is no limit, as with a negative one in Go.
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

    /// Sets the function that makes the [cause](Context::cause) of the group's context from the
    /// first error. The error itself goes to the caller of [`err_group`]. In Go the error is the
    /// cause. Without a call, the cause is that the context was canceled. After a panic, the cause
    /// is the text of the panic.
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
    /// If the function was set already.
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
    /// Records an error, and cancels the context. Panics as the function that makes the cause does;
    /// then nothing is recorded.
    fn fail(&self, error: E) {
        // If several fail at a time, one of them is the first.
        let is_late = self.failure().is_some();
        let cause = self.cause.get().filter(|_| !is_late).map(|cause| cause(&error));
        self.note(Failure::Error(error), cause);
    }

    /// Records a panic, and cancels the context.
    fn panicked(&self, payload: Box<dyn Any + Send>) {
        let cause =
            message(&*payload).map(|text| format!("a goroutine of the group has panicked: {text}").into());
        self.note(Failure::Panic(payload), cause);
    }

    /// Records a failure. The first one cancels the context, with its cause, and the others don't.
    fn note(&self, failure: Failure<E>, cause: Option<Box<dyn Error + Send + Sync>>) {
        let mut first = self.failure();
        let is_first = first.is_none();
        let worse = matches!((&*first, &failure), (None, _) | (Some(Failure::Error(_)), Failure::Panic(_)));
        // A failure that isn't kept is dropped after the lock, because its drop may run any code of
        // the program's.
        let _dropped = if worse { first.replace(failure) } else { Some(failure) };
        drop(first);
        match cause {
            _ if !is_first => {}
            Some(cause) => self.canceler.cancel_because(cause),
            None => self.canceler.cancel(),
        }
    }

    fn failure(&self) -> ShortMutexGuard<'_, Option<Failure<E>>> {
        self.failure.lock()
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
