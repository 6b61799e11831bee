//! Which thread-locals a goroutine uses: its own, or those of the thread that it runs on.

use std::io;

use crate::goroutine::Builder;
use crate::goroutine::spawn::Special;
use crate::runtime;

/// Makes goroutines share the thread-locals of the threads that they run on, unless their
/// [`Builder`] asks for [their own](Builder::own_locals). It applies to goroutines made by
/// [`go`](crate::go()), in a scope, by [`iter::pull`](crate::iter::pull), and by
/// [`run`](crate::run). It must be called before the first `run`.
///
/// It is for programs that have goroutines by the million, and know what code these run: a parked
/// goroutine takes 4 KiB, half as much, and a switch is shorter. It is also for systems where
/// goroutines can't have thread-locals of their own. There [`Builder::run`] returns
/// [`Unsupported`](io::ErrorKind::Unsupported), but succeeds after this call.
///
/// ```
/// // SAFETY: no goroutine of this program uses a thread-local.
/// unsafe { gosched::set_default_shared_locals() }.expect("it comes before `run`");
/// let sum: u32 = gosched::run(|| {
///     let handles: Vec<_> = (1..=10).map(|i| gosched::go(move || i * i)).collect();
///     handles.into_iter().map(|handle| handle.join().unwrap()).sum()
/// });
/// assert_eq!(sum, 385);
/// ```
///
/// # Safety
/// The caller promises the following for all code that such goroutines run, libraries included. The
/// compiler can't check it:
///
/// - **No function uses a thread-local both before and after a point that can park**, or keeps a
///   reference to one across such a point. A goroutine that parks may go on on another thread,
///   which has other thread-locals. But the compiler assumes that a thread-local has one address
///   while a function runs: it may compute the address once, and use it after the function has
///   parked, as in the loop below. The rule applies to functions after inlining, also of code from
///   other crates: a generator of random numbers, a log's context, an allocator's cache. The remedy
///   is `#[inline(never)]` on a function around the use.
/// - A point that can park is every operation of this crate that waits: of a channel, a lock of
///   [`sync`](crate::sync), a join, a yield. It is also [`go`](crate::go) and
///   [`check`](crate::check), the end of [`blocking`](crate::blocking), and each instruction of a
///   function that was declared [`preemptible!`](crate::preemptible). (Don't hold a
///   `std::sync::MutexGuard` across such a point, either: it has to be dropped on the thread that
///   locked.)
/// - **Code that isn't Rust touches the pages of its stack in order**, as rustc's code does, so
///   that an overflow hits the guard page. If the kernel has no guard regions (before Linux 6.13)
///   and the process has no mappings left, further stacks have no guard page, and a line on stderr
///   says so. An overflow of such a stack is noticed at the next switch, and may have overwritten
///   any memory by then. With `GOSCHED_GUARD=strict` such a goroutine isn't made, which is an
///   error.
/// - Signal handlers that are installed while goroutines run have `SA_ONSTACK`. (Handlers that were
///   installed before are changed to have it.)
///
/// ```
/// use std::cell::RefCell;
///
/// thread_local! {
///     static SEEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
/// }
///
/// #[inline(never)] // Without this a release build crashes.
/// fn note(n: u64) {
///     SEEN.with(|seen| seen.borrow_mut().push(n));
/// }
///
/// // SAFETY: `note` parks nowhere, and isn't inlined where something does.
/// unsafe { gosched::set_default_shared_locals() }.expect("it comes before `run`");
/// gosched::run(|| {
///     for n in 0..1000 {
///         note(n);
///         gosched::yield_now();
///     }
/// });
/// ```
///
/// # Errors
/// If the runtime has started.
pub unsafe fn set_default_shared_locals() -> io::Result<()> {
    runtime::set_default_shared_locals()
}

impl Builder {
    /// Makes the goroutine share the thread-locals of the threads that it runs on. While it is
    /// parked it takes 4 KiB, half as much as a goroutine with its own.
    ///
    /// ```
    /// // SAFETY: the goroutine uses no thread-local.
    /// let lean = unsafe { gosched::Builder::new().shared_locals() };
    /// gosched::run(|| {
    ///     let handle = lean.go(|| 6 * 7);
    ///     assert_eq!(handle.unwrap().join().unwrap(), 42);
    /// });
    /// ```
    ///
    /// # Safety
    /// As for [`set_default_shared_locals`], for the code that this goroutine runs.
    pub unsafe fn shared_locals(self) -> Self {
        self.locals(false)
    }

    /// Gives the goroutine thread-locals of its own, [the default](crate#thread-locals), also after
    /// [`set_default_shared_locals`].
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// thread_local! {
    ///     static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// }
    ///
    /// gosched::run(|| {
    ///     let handle = gosched::Builder::new().own_locals().go(|| {
    ///         DEPTH.set(1);
    ///         gosched::yield_now();
    ///         DEPTH.get()
    ///     });
    ///     assert_eq!(handle.unwrap().join().unwrap(), 1);
    ///     assert_eq!(DEPTH.get(), 0);
    /// });
    /// ```
    pub fn own_locals(self) -> Self {
        self.locals(true)
    }

    fn locals(self, own: bool) -> Self {
        let special = Special { own_locals: Some(own), ..self.special.unwrap_or(Special::NOTHING) };
        Builder { special: Some(special), ..self }
    }
}
