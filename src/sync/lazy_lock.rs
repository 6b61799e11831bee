//! [`LazyLock`].

use std::cell::UnsafeCell;
use std::fmt;
use std::mem;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::sync::Once;

/// A value that is made when it is first used. std's `LazyLock`: here a goroutine that comes while
/// another one makes the value is parked. Go's `sync.OnceValue`.
///
/// ```
/// use std::collections::HashMap;
/// use gosched::sync::LazyLock;
///
/// static PORTS: LazyLock<HashMap<&str, u16>> = LazyLock::new(|| HashMap::from([("http", 80)]));
///
/// gosched::run(|| {
///     gosched::scope(|s| {
///         for _ in 0..10 {
///             s.go(|| assert_eq!(PORTS["http"], 80)); // made once
///         }
///     });
/// });
/// ```
///
/// If the function that makes the value panics, the `LazyLock` is poisoned: that use and all later
/// ones panic. (Not so an [`OnceLock`](crate::sync::OnceLock), which calls the next function.)
///
/// A use of the value inside of the function that makes it is a deadlock.
pub struct LazyLock<T, F = fn() -> T> {
    /// Completed if `state` is `Made`.
    once: Once,
    state: UnsafeCell<State<T, F>>,
}

enum State<T, F> {
    /// The function was not called.
    Unused(F),
    /// The function runs, or has panicked.
    Poisoned,
    Made(T),
}

// SAFETY: threads that share it share the value (Sync), which any of them may make from the
// function, and another one drops (both Send).
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}

impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that `f` makes at its first use.
    ///
    /// ```
    /// use gosched::sync::LazyLock;
    ///
    /// static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| "a b c".split(' ').collect());
    /// assert_eq!(WORDS.len(), 3);
    /// ```
    pub const fn new(f: F) -> Self {
        LazyLock { once: Once::new(), state: UnsafeCell::new(State::Unused(f)) }
    }

    /// Makes the value, unless it is made already, and returns it. A dereference does the same.
    ///
    /// ```
    /// use gosched::sync::LazyLock;
    ///
    /// let answer = LazyLock::new(|| 6 * 7);
    /// assert_eq!(LazyLock::force(&answer), &42);
    /// assert_eq!(&*answer, &42);
    /// ```
    ///
    /// # Panics
    /// As the function does that makes the value, and if that function has panicked before. If it
    /// must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[inline]
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        this.once.call_once(|| this.make());
        // SAFETY: call_once has returned, so no function runs or will run, and nobody writes while
        // `this` is shared.
        match unsafe { &*this.state.get() } {
            State::Made(value) => value,
            State::Unused(_) | State::Poisoned => unreachable!("the function has run"),
        }
    }

    /// Makes the value. Called by `once`.
    #[cold]
    fn make(&self) {
        let state = self.state.get();
        // SAFETY: `once` runs one function at a time and none after it, and nobody reads before
        // that. The reference ends here: the function below may be any code.
        match mem::replace(unsafe { &mut *state }, State::Poisoned) {
            State::Unused(f) => {
                let value = f();
                // SAFETY: as above. What is overwritten, `Poisoned`, has nothing to drop.
                unsafe { state.write(State::Made(value)) };
            }
            State::Poisoned => panic!("gosched: a LazyLock is poisoned: its function has panicked"),
            State::Made(_) => unreachable!("it is completed then"),
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    /// [`force`](Self::force).
    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    /// One that makes the default value.
    fn default() -> Self {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    /// Doesn't make the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_tuple("LazyLock");
        // SAFETY: completed says that nobody writes any more.
        let state = self.once.is_completed().then(|| unsafe { &*self.state.get() });
        match state {
            Some(State::Made(value)) => out.field(value),
            _ => out.field(&format_args!("<uninit>")),
        };
        out.finish()
    }
}
