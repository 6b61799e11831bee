//! Making goroutines of closures: `go`, `Builder`, and what such a goroutine runs.
//!
//! The slot of the G carries the closure. The maker puts the closure there (`fill`), and the
//! goroutine's function (`body`) takes it out, calls it, and leaves the result to the handle.
//!
//! A goroutine uses thread-locals of its own, or those of the thread that it runs on.

use std::any::Any;
use std::ffi::c_void;
use std::io;
use std::mem::{MaybeUninit, needs_drop};
use std::panic::Location;
use std::ptr;

use crate::goroutine::join_handle::{
    Outcome, Payload, catch_into, discard, discard_in, is_panic, lose, message, write_outcome,
};
use crate::goroutine::{JoinHandle, Scope, ScopedJoinHandle};
use crate::runtime::runtime2::{G, WaitReason};
use crate::runtime::{
    self, Inherited, Maker, Name, StackKind, call_on_begin, default_kind, drop_locals, enqueue,
    finish_goroutine, fixed_kind, has_no_handle, init_with_handle, newproc1, newproc1_parked, note_panic,
    own_locals_are_default, point, room_for, started, stop_if_asked, too_large, tsan, unwire,
    with_own_locals,
};

/// Runs `f` on a new goroutine. Go's `go` statement.
///
/// The goroutine goes on if the handle is dropped. A panic in the goroutine is printed by std's
/// hook, ends the goroutine and nothing else, and is the error of [`join`](JoinHandle::join). If
/// nobody joins the goroutine, the program goes on after a panic, unless
/// [`set_panic_mode`](crate::set_panic_mode) ends it.
///
/// The goroutine's stack never moves, and ends in a guard page. It has 256 KiB, which take memory
/// only as they are used. In a debug build, whose frames are several times as large, it has 1 MiB.
/// [`Builder::stack_size`] sets the size for one goroutine, and [`set_default_stack_size`] for all.
/// The goroutine's [thread-locals](crate#thread-locals) are on its stack, too, as a thread's are: a
/// few KiB, as a rule.
///
/// What `f` captures, and its result, are on that stack, too: without optimisation up to three
/// copies of each.
///
/// Any thread can call `go` once the runtime has started. The first call of [`run`](crate::run)
/// starts it.
///
/// ```
/// gosched::run(|| {
///     let handle = gosched::go(|| 6 * 7);
///     assert_eq!(handle.join().unwrap(), 42);
/// });
/// ```
///
/// # Panics
/// If the runtime hasn't started, or there is no memory for a goroutine; [`Builder::go`] returns
/// that as an error.
#[doc(alias = "spawn")]
#[track_caller]
#[inline]
pub fn go<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Builder::new().make(Location::caller(), &mut Some(f), Inherited::new()) {
        Ok(handle) => handle,
        Err(error) => cannot("go", &error),
    }
}

/// Sets the default stack size, [thread-locals](crate#thread-locals) included. A goroutine gets at
/// least `size` bytes if [`go`] makes it, or a [`Builder`] without
/// [`stack_size`](Builder::stack_size). Call this before the first [`run`](crate::run).
/// `GOSCHED_STACK_SIZE` in the environment overrides it, so that a program can be tried with larger
/// stacks.
///
/// Only what is used takes memory, but address space is reserved: a million stacks of 1 MiB take
/// one of the 128 TiB that a process has. Larger stacks also need more page tables, which is why
/// the default isn't the 2 MiB of std's threads. Each of 100,000 waiting goroutines took:
///
/// | stack | memory | page tables | address space |
/// | --- | ---: | ---: | ---: |
/// | 256 KiB | 8.4 KiB | 0.5 KiB | 275 KiB |
/// | 1 MiB | 8.4 KiB | 2.0 KiB | 1,040 KiB |
/// | 2 MiB | 8.4 KiB | 4.0 KiB | 2,068 KiB |
///
/// A process that has called `mlockall` with `MCL_FUTURE` pays for the whole stack: the kernel
/// fills it when it is reserved, and 2,000 goroutines of 256 KiB take 526 MiB. With `MCL_ONFAULT`
/// besides, they take 17 MiB, as without `mlockall`. In both cases the kernel has no guard regions
/// for the process, and each goroutine takes two mappings, of which there are 65,530
/// (`vm.max_map_count`).
///
/// ```
/// gosched::set_default_stack_size(8 << 20).expect("it comes before `run`");
/// gosched::run(|| {
///     let large = gosched::go(|| std::hint::black_box([1_u8; 2 << 20]).iter().filter(|n| **n == 1).count());
///     assert_eq!(large.join().unwrap(), 2 << 20);
/// });
/// ```
///
/// # Errors
/// If the runtime has started, or `size` is more than 1 GiB
/// ([`InvalidInput`](io::ErrorKind::InvalidInput)).
pub fn set_default_stack_size(size: usize) -> io::Result<()> {
    runtime::set_default_stack_size(size)
}

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
/// - Every operation of this crate that waits is a point that can park: of a channel, a lock of
///   [`sync`](crate::sync), a join, a yield. So are [`go`](crate::go) and [`check`](crate::check),
///   the end of [`blocking`](crate::blocking), and each instruction of a function that was declared
///   [`preemptible!`](crate::preemptible). (Don't hold a `std::sync::MutexGuard` across such a
///   point, either: it has to be dropped on the thread that locked.)
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

/// Panics: `what` couldn't make a goroutine.
#[cold]
#[track_caller]
pub(crate) fn cannot(what: &str, error: &io::Error) -> ! {
    panic!("gosched::{what}: can't make a goroutine: {error}")
}

/// Makes goroutines with a name, with a stack of another size, or with the thread-locals of their
/// threads.
///
/// ```
/// gosched::run(|| {
///     let deep = gosched::Builder::new().name("deep").stack_size(64 << 20).go(|| {
///         fn depth(n: u32) -> u32 {
///             if n == 0 { 0 } else { 1 + std::hint::black_box(depth(n - 1)) }
///         }
///         depth(100_000)
///     });
///     assert_eq!(deep.unwrap().join().unwrap(), 100_000);
/// });
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder makes nothing until `go` is called"]
pub struct Builder {
    pub(super) name: Name,
    /// How the goroutine differs from those of [`go`], if it does.
    pub(super) special: Option<Special>,
}

/// A kind of goroutine that isn't the usual one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Special {
    /// The stack that was set, if any; as an error, the size that is too large.
    pub(super) stack: Result<Option<StackKind>, usize>,
    /// Whether the goroutine has thread-locals of its own, if that was set.
    pub(super) own_locals: Option<bool>,
}

impl Special {
    pub(super) const NOTHING: Special = Special { stack: Ok(None), own_locals: None };

    /// Returns the kind of goroutine to make. `usual` supplies the stack if no size was set.
    #[cold]
    pub(super) fn kind(&self, usual: StackKind) -> io::Result<StackKind> {
        if !started() {
            return default_kind();
        }
        let stack = self.stack.map_err(too_large)?;
        let kind = stack.unwrap_or(usual);
        let own_locals = self.own_locals.map_or_else(own_locals_are_default, Ok)?;
        if own_locals { with_own_locals(kind, stack.is_some()) } else { Ok(kind) }
    }
}

impl Builder {
    /// A builder of goroutines as [`go`] makes them.
    ///
    /// ```
    /// gosched::run(|| match gosched::Builder::new().go(|| 6 * 7) {
    ///     Ok(handle) => assert_eq!(handle.join().unwrap(), 42),
    ///     Err(error) => eprintln!("no room for one more: {error}"),
    /// });
    /// ```
    #[inline(always)]
    pub fn new() -> Self {
        Builder { name: Name::NONE, special: None }
    }

    /// Names the goroutine, for reports and the messages of panics; these show the first 31 bytes,
    /// with escapes for control characters. So any text may be a name, even with a NUL, which std's
    /// `Builder` refuses for a thread.
    ///
    /// It isn't the name of [`std::thread::current`]. Only std can set that, for a thread that it
    /// starts: where goroutines have [thread-locals of their own](crate#thread-locals), it is
    /// `None` in all of them.
    ///
    /// ```
    /// use gosched::Builder;
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded::<()>(0);
    ///     let reader = Builder::new().name("reader").go(move || rx.recv()).unwrap();
    ///     let mut report = Vec::new();
    ///     gosched::dump_goroutines(&mut report).unwrap();
    ///     assert!(String::from_utf8_lossy(&report).contains(r#""reader""#));
    ///     drop(tx);
    ///     reader.join().unwrap().unwrap_err();
    /// });
    /// ```
    pub fn name(self, name: &str) -> Self {
        Builder { name: Name::new(name), ..self }
    }

    /// Sets the size of the stack to at least `size` bytes, up to 1 GiB. The size is rounded up to
    /// a power of two of pages. Only what is used takes memory. [`go`] says what the default is.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let large = gosched::Builder::new().stack_size(8 << 20);
    ///     let handle = large.go(|| std::hint::black_box([1_u8; 2 << 20]).iter().filter(|n| **n == 1).count());
    ///     assert_eq!(handle.unwrap().join().unwrap(), 2 << 20);
    /// });
    /// ```
    pub fn stack_size(self, size: usize) -> Self {
        let stack = room_for(size).map(Some).ok_or(size);
        Builder { special: Some(Special { stack, ..self.special.unwrap_or(Special::NOTHING) }), ..self }
    }

    /// Makes the goroutine, and runs `f` on it.
    ///
    /// ```
    /// use std::io::ErrorKind;
    ///
    /// gosched::run(|| {
    ///     let builder = gosched::Builder::new().name("answer");
    ///     assert_eq!(builder.go(|| 6 * 7)?.join().unwrap(), 42);
    ///
    ///     let error = builder.stack_size(2 << 30).go(|| ()).unwrap_err();
    ///     assert_eq!(error.kind(), ErrorKind::InvalidInput);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// - The runtime hasn't started.
    /// - There is no memory or address space for a stack
    ///   ([`OutOfMemory`](io::ErrorKind::OutOfMemory), or what the kernel says).
    /// - The kernel has no mapping left for the guard page
    ///   ([`OutOfMemory`](io::ErrorKind::OutOfMemory)).
    /// - The stack size is more than 1 GiB ([`InvalidInput`](io::ErrorKind::InvalidInput)).
    /// - The goroutine is to have [thread-locals of its own](crate#thread-locals), which don't work
    ///   here ([`Unsupported`](io::ErrorKind::Unsupported)).
    #[doc(alias = "spawn")]
    #[track_caller]
    #[inline]
    pub fn go<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.make(Location::caller(), &mut Some(f), Inherited::new())
    }

    /// [`go`](Self::go) for a goroutine of the crate's own, which inherits nothing: it may never
    /// end, and is made where nothing of the program's is to run.
    ///
    /// # Errors
    /// As [`go`](Self::go).
    #[track_caller]
    pub(crate) fn go_alone<F>(self, f: F) -> io::Result<JoinHandle<()>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.make(Location::caller(), &mut Some(f), Inherited::NONE)
    }

    /// Makes a goroutine of the function in `f`.
    ///
    /// # Errors
    /// As [`go`](Self::go).
    #[inline(always)]
    pub(crate) fn make<F, T>(
        self,
        created_at: &'static Location<'static>,
        f: &mut Option<F>,
        inherited: Inherited,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: F, T and the closure are 'static, and the one handle is made below.
        let gp = unsafe { self.make_goroutine(created_at, f, lose, inherited) }?;
        // SAFETY: spawn made the G with a T for a result; this is its only handle.
        Ok(unsafe { JoinHandle::new(gp) })
    }

    /// Makes a goroutine of a scope: see [`scope`](crate::scope).
    ///
    /// ```
    /// gosched::run(|| {
    ///     let text = String::from("a bc def");
    ///     gosched::scope(|s| {
    ///         let counter = gosched::Builder::new().name("counter");
    ///         let words = counter.go_scoped(s, || text.split(' ').count()).expect("there is memory");
    ///         assert_eq!(words.join().unwrap(), 3);
    ///     });
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`go`](Self::go).
    #[track_caller]
    pub fn go_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        scope.make_goroutine(self, Location::caller(), &mut Some(f))
    }

    /// Takes the function out of `f`, and makes a goroutine that runs it and then calls `then`. The
    /// function is dropped before that call, and so is the result if the handle is gone; otherwise
    /// the handle drops the result. `then` gets the G, and whether the function panicked with no
    /// handle to take the panic.
    ///
    /// # Safety
    /// What `F` and `T` borrow lives until `then` is called, and what the handle's `T` borrows
    /// until the handle is dropped; what `N` borrows lives until `then` returns. The caller makes
    /// exactly one handle of the G.
    #[inline(always)]
    pub(crate) unsafe fn make_goroutine<F, T, N>(
        self,
        created_at: &'static Location<'static>,
        f: &mut Option<F>,
        then: N,
        inherited: Inherited,
    ) -> io::Result<&'static G>
    where
        F: FnOnce() -> T + Send,
        T: Send,
        N: FnOnce(&'static G, bool) + Send,
    {
        // A check, as in the prologue of Go's newproc: a signal can seldom stop a loop of such
        // calls.
        stop_if_asked();
        let gp = newproc1(body::<F, T, N>, self.kind()?, &self.maker(created_at))?;
        init_with_handle(gp);
        // SAFETY: the G is new and in no queue, and runs the body of these.
        unsafe { fill(gp, f, then, inherited) };
        enqueue(gp);
        point("go");
        Ok(gp)
    }

    /// Makes a goroutine of the function in `f` that has no handle and doesn't run yet. It waits
    /// for a descriptor, and the caller, or code that the caller passes it to, makes it ready.
    ///
    /// # Errors
    /// As [`go`](Self::go).
    pub(crate) fn make_waiting<F>(
        self,
        created_at: &'static Location<'static>,
        f: &mut Option<F>,
        inherited: Inherited,
    ) -> io::Result<&'static G>
    where
        F: FnOnce() + Send + 'static,
    {
        type Then = fn(&'static G, bool);
        let maker = self.maker(created_at);
        let gp = newproc1_parked(body::<F, (), Then>, self.kind()?, &maker, WaitReason::IOWait)?;
        // SAFETY: the G is new, and no code that makes it ready has it yet; it runs the body of
        // these.
        unsafe { fill(gp, f, lose as Then, inherited) };
        Ok(gp)
    }

    /// The kind to make.
    ///
    /// # Errors
    /// If the runtime hasn't started, the stack size is too large, or goroutines can't have
    /// thread-locals of their own here.
    #[inline(always)]
    pub(crate) fn kind(&self) -> io::Result<StackKind> {
        self.special.as_ref().map_or_else(default_kind, |special| special.kind(fixed_kind()))
    }

    /// What reports will say about the goroutine's origin.
    #[inline(always)]
    pub(crate) fn maker(&self, created_at: &'static Location<'static>) -> Maker<'_> {
        Maker { name: &self.name, created_at: Some(created_at), callerpc: 0 }
    }
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

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

/// Gives a new G what its body takes: the function in `f`, and `then`.
///
/// # Safety
/// The caller has made the G, for `body::<F, T, N>` with any `T`, and it can't run yet: its slot is
/// empty, and the caller's alone.
#[inline(always)]
unsafe fn fill<F, N>(gp: &G, f: &mut Option<F>, then: N, inherited: Inherited) {
    inherited.give(gp);
    // SAFETY: the caller says that the slot is empty and its own, and a body for `F` and `N` takes
    // both out.
    unsafe {
        tsan::ignore_accesses(|| {
            let place = gp.ext.slot.place::<(F, N)>();
            move_out(f, &raw mut (*place).0);
            ptr::write(&raw mut (*place).1, then);
        });
    }
    gp.sched.ctxt.set(gp.as_ptr().cast());
}

/// The function of a goroutine that [`fill`] was called for.
unsafe extern "C" fn body<F, T, N>(gp: *mut c_void)
where
    F: FnOnce() -> T,
    N: FnOnce(&'static G, bool),
{
    // SAFETY: fill has set the argument to the G itself, and G's are never freed.
    let gp: &'static G = unsafe { &*gp.cast::<G>() };
    // SAFETY: fill put an (F, N) there, and nobody else uses the slot before its end. Both are
    // moved out, once.
    let both = unsafe { gp.ext.slot.value::<(F, N)>() };
    // SAFETY: `fill` put both there, and this is moved out once.
    let then = unsafe { ptr::read(&raw const (*both).1) };
    let mut value = MaybeUninit::<T>::uninit();
    let payload = catch_into(&mut value, || {
        // SAFETY: as above; nobody looks there afterwards.
        let f = unsafe {
            let f = ptr::read(&raw const (*both).0);
            gp.ext.slot.clear::<(F, N)>();
            f
        };
        call_on_begin(gp);
        f()
    });
    // As a rule nobody has the handle, and there is nothing to drop.
    let panicked = if payload.is_none() && !needs_drop::<T>() && has_no_handle(gp) {
        unwire(gp);
        drop_locals(gp);
        false
    } else {
        // SAFETY: the function has ended; the slot is empty.
        unsafe { deliver_outcome(gp, payload, value.as_mut_ptr()) }
    };
    then(gp, panicked);
}

/// Ends a goroutine whose function has ended with a payload, or with the result at `value`. Leaves
/// the payload or result to the handle, or drops it if there is no handle, and ends the goroutine's
/// locals. Returns whether there was a panic that nobody takes. (This is the same for all functions
/// that return a `T`, and so is compiled once for them.)
///
/// # Safety
/// There is a payload or a result, and the slot is empty. `gp` is the caller.
#[inline(never)]
unsafe fn deliver_outcome<T>(gp: &'static G, payload: Option<Payload>, value: *mut T) -> bool {
    if let Some(payload) = payload.as_deref() {
        note_end(payload);
    }
    unwire(gp);
    if has_no_handle(gp) {
        // SAFETY: the caller says that there is a payload or a result.
        let panicked = unsafe { discard(payload, value) };
        drop_locals(gp);
        return panicked;
    }
    // SAFETY: as the caller says; nobody else uses the slot before the goroutine's end.
    unsafe { write_outcome(gp.ext.slot.place(), payload, value) };
    // If the handle was dropped after the look at `has_no_handle`, nobody takes the result.
    // SAFETY: the outcome is as it was put there, and is this goroutine's, as finish_goroutine
    // says.
    finish_goroutine(gp, || unsafe {
        let panicked = discard_in(gp.ext.slot.value::<Outcome<T>>());
        gp.ext.slot.clear::<Outcome<T>>();
        panicked
    })
}

/// Notes that the goroutine's function has ended by unwinding with `payload`.
#[cold]
#[inline(never)]
fn note_end(payload: &(dyn Any + Send)) {
    if is_panic(payload) {
        note_panic(message(payload));
    }
}

/// Moves the value of `from`, which has one, to `to`. It goes by address, since without
/// optimisation each function that takes a value has a copy of the value on its stack.
///
/// # Safety
/// `to` is a place for a `V`.
#[inline]
pub(crate) unsafe fn move_out<V>(from: &mut Option<V>, to: *mut V) {
    let Some(value) = from else { unreachable!("a value is moved once") };
    // SAFETY: `to` is a place for a `V`, as the caller says. The value is moved: `from` is
    // overwritten, and doesn't drop it.
    unsafe {
        ptr::copy_nonoverlapping(value, to, 1);
        ptr::write(from, None);
    }
}
