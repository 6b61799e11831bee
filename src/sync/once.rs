//! [`Once`], [`OnceLock`] and [`LazyLock`].

use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::fmt;
use std::mem::{self, MaybeUninit};
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::runtime::runtime2::WaitReason;
use crate::runtime::{must_wait, point, semacquire_limited, semrelease, unwind_to_run};
use crate::sync::raw_mutex::RawMutex;

/// Runs the function of the first caller once; other callers wait for its end. Go's `sync.Once`.
///
/// If the function panics, it counts as not run, and the next caller's is run.
///
/// ```
/// use gosched::sync::Once;
///
/// static STARTED: Once = Once::new();
///
/// gosched::run(|| {
///     gosched::scope(|s| {
///         for _ in 0..10 {
///             s.go(|| STARTED.call_once(|| println!("said once")));
///         }
///     });
///     assert!(STARTED.is_completed());
/// });
/// ```
pub struct Once {
    done: AtomicBool,
    running: RawMutex,
    /// How many callers are in [`wait`](Self::wait). They sleep on `sema`.
    waiters: AtomicU32,
    sema: AtomicU32,
}

impl Once {
    /// A `Once` that has run no function.
    ///
    /// ```
    /// use gosched::sync::Once;
    ///
    /// static LOGGING: Once = Once::new();
    /// assert!(!LOGGING.is_completed());
    /// ```
    pub const fn new() -> Self {
        Once {
            done: AtomicBool::new(false),
            running: RawMutex::new(),
            waiters: AtomicU32::new(0),
            sema: AtomicU32::new(0),
        }
    }

    /// Runs `f`, unless a function has run already. When this returns, a function has run. A call
    /// on the same `Once` inside `f` is a deadlock. Go's `Do`.
    ///
    /// ```
    /// use gosched::sync::Once;
    ///
    /// let once = Once::new();
    /// let mut calls = 0;
    /// once.call_once(|| calls += 1);
    /// once.call_once(|| calls += 1);
    /// assert_eq!(calls, 1);
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run); and as `f` does.
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        let Ok(()) = self.try_call_once(|| {
            f();
            Ok::<(), Infallible>(())
        });
    }

    /// [`call_once`](Self::call_once) of a function that may fail: then it counts as not run.
    #[inline]
    #[track_caller]
    fn try_call_once<E>(&self, f: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        if self.is_completed() { Ok(()) } else { self.call_slow(f) }
    }

    #[cold]
    #[track_caller]
    fn call_slow<E>(&self, f: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        struct Unlock<'a>(&'a RawMutex);
        impl Drop for Unlock<'_> {
            fn drop(&mut self) {
                self.0.unlock();
            }
        }
        self.running.lock();
        let _unlock = Unlock(&self.running);
        if !self.is_completed() {
            f()?;
            // Release: pairs with the acquire in is_completed, after which the effects of `f` are
            // visible. SeqCst: a waiter counts itself and then looks at `done`, so one of the two
            // sees the other.
            self.done.store(true, Ordering::SeqCst);
            for _ in 0..self.waiters.load(Ordering::SeqCst) {
                semrelease(&self.sema);
            }
        }
        Ok(())
    }

    /// Waits until a function has run, and runs none. std's `Once::wait`. Go has no such function:
    /// a channel that is closed tells.
    ///
    /// ```
    /// use gosched::sync::Once;
    ///
    /// static CONNECTED: Once = Once::new();
    ///
    /// gosched::run(|| {
    ///     let logger = gosched::go(|| {
    ///         CONNECTED.wait();
    ///         assert!(CONNECTED.is_completed());
    ///     });
    ///     CONNECTED.call_once(|| println!("connecting"));
    ///     logger.join().unwrap();
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait(&self) {
        if !self.is_completed() {
            self.wait_slow("Once::wait");
        }
    }

    /// [`wait`](Self::wait) for the function that `what` names.
    #[cold]
    #[track_caller]
    fn wait_slow(&self, what: &str) {
        let _guest = must_wait(what);
        // SeqCst: see call_slow. If this caller is counted and then finds that it needn't sleep, a
        // release is left over. Nobody sleeps any more then.
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let completed = self.done.load(Ordering::SeqCst)
            || semacquire_limited(&self.sema, false, WaitReason::Semacquire, None);
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        if !completed {
            unwind_to_run();
        }
    }

    /// Whether a function has run.
    ///
    /// ```
    /// use gosched::sync::Once;
    ///
    /// let once = Once::new();
    /// once.call_once(|| assert!(!once.is_completed(), "it runs"));
    /// assert!(once.is_completed());
    /// ```
    #[inline]
    pub fn is_completed(&self) -> bool {
        point("once");
        self.done.load(Ordering::Acquire)
    }
}

impl Default for Once {
    fn default() -> Self {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("completed", &self.is_completed()).finish()
    }
}

/// A value that is set once.
///
/// ```
/// use gosched::sync::OnceLock;
///
/// fn words() -> &'static [String] {
///     static WORDS: OnceLock<Vec<String>> = OnceLock::new();
///     WORDS.get_or_init(|| "a b c".split(' ').map(str::to_owned).collect())
/// }
///
/// assert_eq!(words().len(), 3);
/// ```
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value moves with the cell, so another thread than the one that set it may drop it.
unsafe impl<T: Send> Send for OnceLock<T> {}
// SAFETY: threads that share the cell share the value (Sync), which another one may have set
// (Send).
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// A cell without a value.
    ///
    /// ```
    /// static PORT: gosched::sync::OnceLock<u16> = gosched::sync::OnceLock::new();
    /// assert_eq!(PORT.get(), None);
    /// ```
    pub const fn new() -> Self {
        OnceLock { once: Once::new(), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// The value, if it is set.
    ///
    /// ```
    /// use gosched::sync::OnceLock;
    ///
    /// let port = OnceLock::new();
    /// assert_eq!(port.get(), None);
    /// port.set(8080).unwrap();
    /// assert_eq!(port.get(), Some(&8080));
    /// ```
    pub fn get(&self) -> Option<&T> {
        // SAFETY: completed says that the value was written; it isn't written again while `self` is
        // shared.
        self.once.is_completed().then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// The value, if it is set.
    ///
    /// ```
    /// use gosched::sync::OnceLock;
    ///
    /// let mut names = OnceLock::from(vec!["a"]);
    /// names.get_mut().unwrap().push("b");
    /// assert_eq!(names.into_inner(), Some(vec!["a", "b"]));
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: completed says that the value was written.
        self.once.is_completed().then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// Sets the value. If another caller is setting it, waits for that first.
    ///
    /// ```
    /// use gosched::sync::OnceLock;
    ///
    /// let port = OnceLock::new();
    /// assert_eq!(port.set(8080), Ok(()));
    /// assert_eq!(port.set(9090), Err(9090));
    /// assert_eq!(port.get(), Some(&8080));
    /// ```
    ///
    /// # Errors
    /// If there is a value already: the new one is returned.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("called once"));
        value.map_or(Ok(()), Err)
    }

    /// Returns the value; if there is none, first sets it to the result of `f`. Other callers wait
    /// meanwhile. If `f` panics, there is no value, and the next caller's `f` is called.
    ///
    /// ```
    /// use gosched::sync::OnceLock;
    ///
    /// let answer = OnceLock::new();
    /// assert_eq!(answer.get_or_init(|| 6 * 7), &42);
    /// assert_eq!(answer.get_or_init(|| unreachable!("there is one")), &42);
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run); and as `f` does.
    #[track_caller]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        let Ok(value) = self.get_or_try_init(|| Ok::<T, Infallible>(f()));
        value
    }

    /// [`get_or_init`](Self::get_or_init) with a function that may fail. Then there is no value,
    /// and the next caller's function is called.
    ///
    /// ```
    /// use gosched::sync::OnceLock;
    ///
    /// let port = OnceLock::new();
    /// assert!(port.get_or_try_init(|| "eighty".parse::<u16>()).is_err());
    /// assert_eq!(port.get_or_try_init(|| "80".parse()), Ok(&80));
    /// assert_eq!(port.get_or_try_init(|| "8080".parse()), Ok(&80));
    /// ```
    ///
    /// # Errors
    /// As `f` returns it.
    ///
    /// # Panics
    /// As [`get_or_init`](Self::get_or_init).
    #[track_caller]
    pub fn get_or_try_init<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        self.once.try_call_once(|| {
            let value = f()?;
            // SAFETY: the Once runs one function at a time and none after one that has succeeded,
            // and nobody reads before that.
            unsafe { (*self.value.get()).write(value) };
            Ok(())
        })?;
        // SAFETY: try_call_once has returned without an error, so the value was written.
        Ok(unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// Waits until the value is set, and returns it.
    ///
    /// ```
    /// use gosched::sync::OnceLock;
    ///
    /// static PORT: OnceLock<u16> = OnceLock::new();
    ///
    /// gosched::run(|| {
    ///     let client = gosched::go(|| *PORT.wait());
    ///     PORT.set(8080).unwrap();
    ///     assert_eq!(client.join().unwrap(), 8080);
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait(&self) -> &T {
        if !self.once.is_completed() {
            self.once.wait_slow("OnceLock::wait");
        }
        // SAFETY: a function has run, so the value was written.
        unsafe { (*self.value.get()).assume_init_ref() }
    }

    /// Takes the value out, and leaves the cell without one.
    ///
    /// ```
    /// use gosched::sync::OnceLock;
    ///
    /// let mut port = OnceLock::from(8080);
    /// assert_eq!(port.take(), Some(8080));
    /// assert_eq!(port.take(), None);
    /// ```
    pub fn take(&mut self) -> Option<T> {
        if !self.once.is_completed() {
            return None;
        }
        self.once = Once::new();
        // SAFETY: it was completed, so the value was written; the new Once says that there is none.
        Some(unsafe { self.value.get_mut().assume_init_read() })
    }

    /// Consumes the cell, and returns the value if it is set.
    ///
    /// ```
    /// use gosched::sync::OnceLock;
    ///
    /// let name = OnceLock::from(String::from("gopher"));
    /// let owned: Option<String> = name.into_inner();
    /// assert_eq!(owned.as_deref(), Some("gopher"));
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let cell = OnceLock::new();
        let _ = cell.set(value);
        cell
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => out.field(value),
            None => out.field(&format_args!("<uninit>")),
        };
        out.finish()
    }
}

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

    /// [`force`](Self::force) to change the value. Nobody else has it, so it doesn't wait.
    ///
    /// ```
    /// use gosched::sync::LazyLock;
    ///
    /// let mut words = LazyLock::new(|| vec!["one"]);
    /// LazyLock::force_mut(&mut words).push("two");
    /// assert_eq!(*words, ["one", "two"]);
    /// ```
    ///
    /// # Panics
    /// If the function panics, or has panicked before.
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        LazyLock::force(this);
        LazyLock::get_mut(this).expect("it was forced")
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

impl<T, F> LazyLock<T, F> {
    /// The value if it was made. It doesn't wait. A function and not a method, as
    /// [`force`](Self::force).
    ///
    /// ```
    /// use gosched::sync::LazyLock;
    ///
    /// let word = LazyLock::new(|| "made");
    /// assert_eq!(LazyLock::get(&word), None);
    /// assert_eq!(word.len(), 4);
    /// assert_eq!(LazyLock::get(&word), Some(&"made"));
    /// ```
    pub fn get(this: &Self) -> Option<&T> {
        // SAFETY: completed says that nobody writes any more while `this` is shared.
        match this.once.is_completed().then(|| unsafe { &*this.state.get() })? {
            State::Made(value) => Some(value),
            State::Unused(_) | State::Poisoned => None,
        }
    }

    /// [`get`](Self::get) to change the value.
    ///
    /// ```
    /// use gosched::sync::LazyLock;
    ///
    /// let mut number = LazyLock::new(|| 1);
    /// assert_eq!(LazyLock::get_mut(&mut number), None);
    /// *LazyLock::force_mut(&mut number) += 1;
    /// *LazyLock::get_mut(&mut number).unwrap() += 1;
    /// assert_eq!(*number, 3);
    /// ```
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        match this.state.get_mut() {
            State::Made(value) => Some(value),
            State::Unused(_) | State::Poisoned => None,
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
        match LazyLock::get(self) {
            Some(value) => out.field(value),
            None => out.field(&format_args!("<uninit>")),
        };
        out.finish()
    }
}
