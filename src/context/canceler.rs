//! What ends a context, and what its end begins.

use std::error::Error;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::context::ContextError;
use crate::context::scope::{Ended, Place, Scope};
use crate::runtime::point;

/// Cancels a [`Context`](crate::context::Context): when it is asked to, and when it is dropped. So
/// nothing that works under the context outlives by much what has begun it. (`let (ctx, _) = ..`
/// drops it at once: name it `_cancel`.)
///
/// It may be shared, and used anywhere, also in [`blocking`](crate::blocking) and on threads that
/// aren't goroutines'. That the context has ended already is no error.
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
pub struct Canceler(pub(super) Arc<Scope>);

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

    /// [`cancel`](Self::cancel) that says why: [`Context::cause`](crate::context::Context::cause)
    /// returns that. Go's `CancelCauseFunc`.
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
pub struct AfterFunc(pub(super) Option<Place>);

impl AfterFunc {
    /// Sees to it that the function isn't called; false if it has been, or is being, or this was
    /// done before.
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
