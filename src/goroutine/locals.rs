//! Whose thread-locals a goroutine has: its own, or those of whatever thread it is on.

use std::io;

use crate::goroutine::Builder;
use crate::goroutine::spawn::Special;
use crate::runtime;

/// Has goroutines share the thread-locals of the threads that they run on, unless their [`Builder`] wants
/// [their own](Builder::own_locals): those that are made by [`go`](crate::go()), in a scope, by
/// [`iter::pull`](crate::iter::pull), and [`run`](crate::run)'s. It is called before the first `run`.
///
/// For programs that have goroutines by the million, and know what these run: a parked one takes 4 KiB, half as much,
/// and a switch is shorter. And for those on systems where goroutines can't have thread-locals of their own: there
/// [`Builder::run`] says [`Unsupported`](io::ErrorKind::Unsupported), and works after this.
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
/// The caller promises of all that such goroutines run, libraries included, what the compiler can't check:
///
/// - **No function reaches a thread-local on both sides of a point that can park**, and keeps nothing of one across it.
///   A goroutine that parks may go on on another thread, whose thread-locals are others. And to the compiler a
///   thread-local has one address for as long as a function runs: it may find that out once, and use it after the
///   function has parked, as in the loop below. That counts for what a function is after inlining, also from other
///   crates: a generator of random numbers, a log's context, an allocator's cache. What helps is `#[inline(never)]` on
///   a function around the use.
/// - A point that can park is every operation of this crate that waits: of a channel, a lock of
///   [`sync`](crate::sync), a join, a yield. It is also [`go`](crate::go) and
///   [`check`](crate::check), the end of [`blocking`](crate::blocking), and each instruction of a
///   function that was declared [`preemptible!`](crate::preemptible). (Don't hold a
///   `std::sync::MutexGuard` across such a point, either: it has to be dropped on the thread that
///   locked.)
/// - **Code that isn't Rust touches the pages of its stack in order**, as rustc's code does, so that an overflow hits
///   the guard page. Where the kernel has no guard regions (before Linux 6.13) and the process has no mappings left, a
///   line on stderr says so, and further stacks have no guard page: an overflow is noticed at the next switch, and may
///   have overwritten anything by then. With `GOSCHED_GUARD=strict` such a goroutine isn't made, which is an error.
/// - Signal handlers that are installed while goroutines run have `SA_ONSTACK`. (Those that were installed before are
///   changed to have it.)
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
    /// Has the goroutine share the thread-locals of the threads that it runs on. It takes 4 KiB while it is parked, half as
    /// much as one with its own.
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
    /// As for [`set_default_shared_locals`], of what this goroutine runs.
    pub unsafe fn shared_locals(self) -> Self {
        self.locals(false)
    }

    /// Gives the goroutine thread-locals of its own, [as is usual](crate#thread-locals), also after
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
