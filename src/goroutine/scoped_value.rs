//! [`ScopedValue`]: a value that all code sees that a call runs.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use crate::runtime::{Bound, Extent};

/// A value that is bound during a call, and seen by all code that the call runs: at any depth, and
/// in the goroutines of its [scopes](crate::scope). Java's `ScopedValue`.
///
/// For what belongs to a request and passes through code that doesn't know it, such as the name of
/// a user. A value that code hands down itself is in a
/// [`Context`](crate::context::Context::with_value).
///
/// ```
/// use gosched::ScopedValue;
///
/// static USER: ScopedValue<String> = ScopedValue::new();
///
/// fn log(line: &str) -> String {
///     USER.with(|user| format!("{}: {line}", user.map_or("nobody", String::as_str)))
/// }
///
/// gosched::run(|| {
///     USER.bind("gopher".to_owned(), || {
///         assert_eq!(log("begins"), "gopher: begins");
///         gosched::scope(|s| {
///             s.go(|| assert_eq!(log("in a goroutine"), "gopher: in a goroutine"));
///         });
///     });
///     assert_eq!(log("ends"), "nobody: ends");
/// });
/// ```
///
/// The value is dropped when the call ends, and nobody sees it afterwards. So a goroutine sees it
/// if the call waits for its end: that is so in a [`scope`](crate::scope) and in an
/// [`err_group`](crate::sync::err_group). A goroutine of [`go`](crate::go) or of a
/// [`JoinSet`](crate::JoinSet) may outlive the call, and sees no bound values. Java draws the same
/// line: threads of a `StructuredTaskScope` see them, and threads of an executor don't.
///
/// If the goroutines can end with the call, use a scope. Otherwise bind a clone in the goroutine:
///
/// ```
/// use gosched::{JoinSet, ScopedValue};
///
/// static USER: ScopedValue<String> = ScopedValue::new();
///
/// fn audit(set: &mut JoinSet<Option<String>>) {
///     let user = USER.get().unwrap_or_default();
///     set.go(move || USER.bind(user, || USER.get())); // ends when it likes
/// }
///
/// gosched::run(|| {
///     let mut audits = JoinSet::new();
///     USER.bind("gopher".to_owned(), || audit(&mut audits));
///     assert_eq!(audits.join_all(), [Some("gopher".to_owned())]);
/// });
/// ```
pub struct ScopedValue<T> {
    /// Gives it an address that no other value has.
    address: u8,
    /// Invariant in `T`: one reference binds a value, and another sees it.
    value: PhantomData<fn(T) -> T>,
}

/// A value that is bound, and those that were bound before.
struct Binding {
    of: *const u8,
    value: Box<dyn Any + Send + Sync>,
    outer: Option<Bound>,
}

// SAFETY: the pointer is only compared.
unsafe impl Send for Binding {}
// SAFETY: the pointer is only compared.
unsafe impl Sync for Binding {}

impl<T: Send + Sync + 'static> ScopedValue<T> {
    /// Makes one that is bound nowhere: for a static.
    ///
    /// ```
    /// use gosched::ScopedValue;
    ///
    /// static ATTEMPT: ScopedValue<u32> = ScopedValue::new();
    /// assert_eq!(ATTEMPT.get(), None);
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        ScopedValue { address: 0, value: PhantomData }
    }

    /// Calls `f`, in which the value is bound to `value`. Inside it may be bound anew.
    ///
    /// ```
    /// use gosched::ScopedValue;
    ///
    /// static ATTEMPT: ScopedValue<u32> = ScopedValue::new();
    /// ATTEMPT.bind(1, || {
    ///     ATTEMPT.bind(2, || assert_eq!(ATTEMPT.get(), Some(2)));
    ///     assert_eq!(ATTEMPT.get(), Some(1));
    /// });
    /// ```
    ///
    /// # Panics
    /// As `f` does, and as the drop of `value` does.
    pub fn bind<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        let Extent { run, bound: outer } = Extent::current();
        let binding = Binding { of: &raw const self.address, value: Box::new(value), outer };
        let _entered = Extent { run, bound: Some(Arc::new(binding)) }.enter();
        f()
    }

    /// Calls `f` with the value that is bound last, if there is one.
    ///
    /// ```
    /// use gosched::ScopedValue;
    ///
    /// static USER: ScopedValue<String> = ScopedValue::new();
    /// let length = USER.bind("gopher".to_owned(), || USER.with(|user| user.map(String::len)));
    /// assert_eq!(length, Some(6));
    /// ```
    ///
    /// # Panics
    /// As `f` does.
    pub fn with<R>(&'static self, f: impl FnOnce(Option<&T>) -> R) -> R {
        let bound = Extent::current().bound;
        let mut next = bound.as_deref();
        while let Some(binding) = next.and_then(|bound| bound.downcast_ref::<Binding>()) {
            if ptr::eq(binding.of, &self.address) {
                return f(binding.value.downcast_ref());
            }
            next = binding.outer.as_deref();
        }
        f(None)
    }

    /// A clone of the value that is bound last, if there is one.
    ///
    /// ```
    /// use gosched::ScopedValue;
    ///
    /// static ATTEMPT: ScopedValue<u32> = ScopedValue::new();
    /// assert_eq!(ATTEMPT.bind(3, || ATTEMPT.get()), Some(3));
    /// ```
    pub fn get(&'static self) -> Option<T>
    where
        T: Clone,
    {
        self.with(|value| value.cloned())
    }

    /// Whether a value is bound.
    ///
    /// ```
    /// use gosched::ScopedValue;
    ///
    /// static ATTEMPT: ScopedValue<u32> = ScopedValue::new();
    /// assert!(!ATTEMPT.is_bound() && ATTEMPT.bind(3, || ATTEMPT.is_bound()));
    /// ```
    pub fn is_bound(&'static self) -> bool {
        self.with(|value| value.is_some())
    }
}

impl<T: Send + Sync + 'static> Default for ScopedValue<T> {
    fn default() -> Self {
        ScopedValue::new()
    }
}

impl<T> fmt::Debug for ScopedValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("ScopedValue { .. }")
    }
}
