//! [`goroutine_local!`](crate::goroutine_local!): values that each goroutine has its own copy of,
//! whatever its kind.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;
use std::rc::Rc;

use crate::runtime::{Key, with_values};

/// Declares statics that have a value for each goroutine, as `thread_local!` does for threads.
///
/// ```
/// use std::cell::{Cell, RefCell};
/// use gosched::{go, goroutine_local};
///
/// goroutine_local! {
///     /// How many rows this goroutine has read.
///     static ROWS: Cell<u32> = Cell::new(0);
///     pub inherit static REQUEST: RefCell<String> = RefCell::new("none".to_string());
/// }
///
/// gosched::run(|| {
///     ROWS.set(3);
///     REQUEST.with_borrow_mut(|request| *request = "17".to_string());
///     let child = go(|| (ROWS.get(), REQUEST.with_borrow(String::clone)));
///     assert_eq!(child.join().unwrap(), (0, "17".to_string()));
///     assert_eq!(ROWS.get(), 3);
/// });
/// ```
///
/// A value is made when the goroutine first uses it, and dropped when its function has returned or
/// panicked, before [`join`](crate::JoinHandle::join) returns, and before the goroutine's
/// [thread-locals](crate#thread-locals) are dropped. A static that is declared `inherit`, of a type
/// that is `Clone + Send`, is inherited: each goroutine that the goroutine makes begins with a
/// clone of the value, if there is one at that time. That holds for goroutines of
/// [`go`](crate::go()), of a scope, of [`iter::pull`](crate::iter::pull) and of
/// [`run`](crate::run). A goroutine that a timer, the end of a context or a waker begins inherits
/// nothing. A thread that isn't a goroutine's has values, too, until it ends. A goroutine without
/// values pays nothing. (`go` makes the clone, so `go` panics in a `with_borrow_mut` of an
/// inherited `RefCell`.)
///
/// A goroutine with thread-locals of its own can also use `thread_local!`, which takes less time,
/// and has no `inherit`. A goroutine that [shares those of its
/// threads](crate::Builder::shared_locals) has only goroutine-locals of its own, and may use them
/// on both sides of a park.
///
/// Goroutines that [`proc`](crate::proc) or a C program makes can have values; they are never
/// dropped.
#[macro_export]
macro_rules! goroutine_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $type:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attr])*
        $vis static $name: $crate::GoroutineLocal<$type> = $crate::GoroutineLocal::new(|| $init);
        $($crate::goroutine_local!($($rest)*);)?
    };
    ($(#[$attr:meta])* $vis:vis inherit static $name:ident: $type:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attr])*
        $vis static $name: $crate::GoroutineLocal<$type> = $crate::GoroutineLocal::inherited(|| $init);
        $($crate::goroutine_local!($($rest)*);)?
    };
}

/// The type of the statics that [`goroutine_local!`](crate::goroutine_local!) declares: std's
/// `LocalKey`, for goroutines.
///
/// ```
/// use std::cell::Cell;
///
/// gosched::goroutine_local! {
///     static STEPS: Cell<u32> = Cell::new(0);
/// }
///
/// fn step(steps: &'static gosched::GoroutineLocal<Cell<u32>>) -> u32 {
///     steps.set(steps.get() + 1);
///     steps.get()
/// }
///
/// gosched::run(|| {
///     assert_eq!((step(&STEPS), step(&STEPS)), (1, 2));
///     assert_eq!(gosched::go(|| step(&STEPS)).join().unwrap(), 1);
/// });
/// ```
pub struct GoroutineLocal<T: 'static> {
    init: fn() -> T,
    /// Makes the value that a new goroutine gets.
    clone: Option<fn(&T) -> T>,
}

/// The goroutine is ending: its value has been dropped, or there was none and none is made any
/// more.
///
/// ```
/// use std::cell::{Cell, RefCell};
/// use gosched::chan::{Sender, bounded};
/// use gosched::{AccessError, goroutine_local};
///
/// goroutine_local! {
///     static ROWS: Cell<u32> = Cell::new(0);
/// }
///
/// thread_local! {
///     static AT_END: RefCell<Option<Tells>> = const { RefCell::new(None) };
/// }
///
/// struct Tells(Sender<Result<u32, AccessError>>);
///
/// impl Drop for Tells {
///     fn drop(&mut self) {
///         self.0.send(ROWS.try_with(Cell::get)).unwrap();
///     }
/// }
///
/// gosched::run(|| {
///     let (tx, rx) = bounded(1);
///     gosched::go(move || {
///         ROWS.set(3);
///         AT_END.set(Some(Tells(tx)));
///     });
///     let error = rx.recv().unwrap().unwrap_err();
///     assert_eq!(error.to_string(), "the goroutine-local has been dropped");
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessError(());

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the goroutine-local has been dropped")
    }
}

impl Error for AccessError {}

impl<T: 'static> GoroutineLocal<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> Self {
        GoroutineLocal { init, clone: None }
    }

    #[doc(hidden)]
    pub const fn inherited(init: fn() -> T) -> Self
    where
        T: Clone + Send,
    {
        GoroutineLocal { init, clone: Some(T::clone) }
    }

    /// Calls `f` with the goroutine's value, which is made now if there is none yet.
    ///
    /// ```
    /// gosched::goroutine_local! {
    ///     static NAME: String = format!("worker {}", gosched::goid());
    /// }
    ///
    /// gosched::run(|| {
    ///     let expected = format!("worker {}", gosched::goid());
    ///     NAME.with(|name| assert_eq!(*name, expected));
    /// });
    /// ```
    ///
    /// # Panics
    /// If the value has been dropped, as [`try_with`](Self::try_with) says; and as `f` does, or the
    /// expression that makes the value.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(AccessError(())) => {
                panic!("gosched: a goroutine-local is used after it was dropped: use try_with in destructors")
            }
        }
    }

    /// [`with`](Self::with) where the value may have been dropped: in a destructor of another
    /// goroutine-local, or of a thread-local.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// gosched::goroutine_local! {
    ///     static OPEN: Cell<u32> = Cell::new(0);
    /// }
    ///
    /// struct File;
    ///
    /// impl Drop for File {
    ///     fn drop(&mut self) {
    ///         // It may be in a thread-local, which is dropped later than the count.
    ///         let _ = OPEN.try_with(|open| open.set(open.get() - 1));
    ///     }
    /// }
    ///
    /// gosched::run(|| {
    ///     OPEN.set(1);
    ///     drop(File);
    ///     assert_eq!(OPEN.get(), 0);
    /// });
    /// ```
    ///
    /// # Errors
    /// If the value has been dropped.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let value = with_values(|values| values.get(self, || Rc::new((self.init)())));
        // This count keeps the value alive while `f` runs, whatever `f` does.
        let value = value.flatten().ok_or(AccessError(()))?;
        let Some(value) = value.downcast_ref::<T>() else { unreachable!("a key has values of its type") };
        Ok(f(value))
    }
}

impl<T: 'static> Key for GoroutineLocal<T> {
    fn inherit(&self, value: &dyn Any) -> Option<Rc<dyn Any>> {
        Some(Rc::new(self.clone?(value.downcast_ref()?)))
    }
}

impl<T: 'static> GoroutineLocal<Cell<T>> {
    /// Sets the value.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// gosched::goroutine_local! {
    ///     static STEP: Cell<&'static str> = Cell::new("none");
    /// }
    ///
    /// gosched::run(|| {
    ///     STEP.set("read");
    ///     assert_eq!(STEP.get(), "read");
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`with`](Self::with), also in the methods below.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// A copy of the value.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// gosched::goroutine_local! {
    ///     static RETRIES: Cell<u32> = Cell::new(3);
    /// }
    ///
    /// gosched::run(|| {
    ///     RETRIES.set(RETRIES.get() - 1);
    ///     assert_eq!(RETRIES.get(), 2);
    ///     assert_eq!(gosched::go(|| RETRIES.get()).join().unwrap(), 3);
    /// });
    /// ```
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value, and leaves the type's default in its place.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// gosched::goroutine_local! {
    ///     static WARNINGS: Cell<Vec<String>> = Cell::new(Vec::new());
    /// }
    ///
    /// gosched::run(|| {
    ///     WARNINGS.set(vec!["it is late".to_owned()]);
    ///     assert_eq!(WARNINGS.take(), ["it is late"]);
    ///     assert!(WARNINGS.take().is_empty());
    /// });
    /// ```
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Sets the value, and returns the former one.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// gosched::goroutine_local! {
    ///     static STEP: Cell<&'static str> = Cell::new("read");
    /// }
    ///
    /// gosched::run(|| {
    ///     let before = STEP.replace("write");
    ///     assert_eq!((before, STEP.get()), ("read", "write"));
    /// });
    /// ```
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> GoroutineLocal<RefCell<T>> {
    /// Calls `f` with the value borrowed.
    ///
    /// ```
    /// use std::cell::RefCell;
    ///
    /// gosched::goroutine_local! {
    ///     static PATH: RefCell<Vec<&'static str>> = RefCell::new(vec!["root"]);
    /// }
    ///
    /// gosched::run(|| assert_eq!(PATH.with_borrow(|path| path.join("/")), "root"));
    /// ```
    ///
    /// # Panics
    /// As [`with`](Self::with), and if the value is mutably borrowed.
    #[track_caller]
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Calls `f` with the value mutably borrowed.
    ///
    /// ```
    /// use std::cell::RefCell;
    ///
    /// gosched::goroutine_local! {
    ///     static PATH: RefCell<Vec<&'static str>> = RefCell::new(vec!["root"]);
    /// }
    ///
    /// gosched::run(|| {
    ///     PATH.with_borrow_mut(|path| path.push("leaf"));
    ///     assert_eq!(PATH.with_borrow(|path| path.join("/")), "root/leaf");
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`with`](Self::with), and if the value is borrowed.
    #[track_caller]
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }
}

impl<T: 'static> fmt::Debug for GoroutineLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoroutineLocal").finish_non_exhaustive()
    }
}
