//! Making goroutines of closures: `go`, `Builder`, and what such a goroutine runs.
//!
//! The closure comes and goes by the slot of the G. The maker puts it there (`fill`), and the
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
    Outcome, Payload, catch_into, discard, discard_in, lose, message, write_outcome,
};
use crate::goroutine::{Goexit, JoinHandle, Scope, ScopedJoinHandle};
use crate::runtime::runtime2::{G, WaitReason};
use crate::runtime::{
    self, Inherited, Maker, Name, StackKind, call_on_begin, default_kind, drop_locals, enqueue,
    finish_goroutine, fixed_kind, has_no_handle, init_with_handle, newproc1, newproc1_parked, note_panic,
    own_locals_are_default, point, room_for, started, stop_if_asked, too_large, tsan, unwire,
    with_own_locals,
};

/// Runs `f` on a new goroutine. Go's `go` statement.
///
/// The goroutine goes on if the handle is dropped. A panic in it is printed by std's hook, ends the
/// goroutine and nothing else, and is the error of [`join`](JoinHandle::join); if nobody joins it,
/// the program goes on, unless [`set_panic_mode`](crate::set_panic_mode) has said otherwise.
///
/// The goroutine's stack never moves, has 256 KiB, which take memory only as they are used, and
/// ends in a guard page. In a debug build, whose frames are several times as large, it has 1 MiB.
/// [`Builder`] makes larger ones, and [`set_default_stack_size`] has all be larger. Its
/// [thread-locals](crate#thread-locals) are in there, too, as those of a thread are: a few KiB, as
/// a rule.
///
/// What `f` captures, and its result, are on that stack, too: without optimisation up to three
/// copies of each.
///
/// It can be called on any thread once the runtime has started, which the first call of
/// [`run`](crate::run) does.
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

/// Sets how large the stack of a goroutine is, with its [thread-locals](crate#thread-locals), at
/// least, if who makes it doesn't say that: of one that is made by [`go`], or by a [`Builder`]
/// without [`stack_size`](Builder::stack_size). It is called before the first [`run`](crate::run).
/// What `GOSCHED_STACK_SIZE` says goes before: with that in the environment, a program can be tried
/// with larger stacks.
///
/// Only what is used takes memory, but address space is reserved: a million stacks of 1 MiB are one
/// of the 128 TiB that a process has. And the larger the stacks are, the more page tables they
/// need. That is why the default isn't the 2 MiB of std's threads. Of 100,000 that wait, each took:
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
    /// What is to be otherwise than with [`go`].
    pub(super) special: Option<Special>,
}

/// A kind of goroutine that isn't the usual one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Special {
    /// What the stack was set to, or the size that can't be.
    pub(super) stack: Result<Option<StackKind>, usize>,
    /// Whether it is to have thread-locals of its own, if that was said.
    pub(super) own_locals: Option<bool>,
}

impl Special {
    pub(super) const NOTHING: Special = Special { stack: Ok(None), own_locals: None };

    /// The kind, where `usual` is that of one of which nothing was said but whose thread-locals it
    /// has.
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
    /// with escapes for control characters. So any text may be a name; one with a NUL, which std's
    /// `Builder` refuses, is none for a thread.
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

    /// Sets the size of the stack to at least `size` bytes, up to 1 GiB: it is rounded up to a
    /// power of two of pages. Only what is used takes memory. What it is otherwise, [`go`] says.
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
    /// - It is to have [thread-locals of its own](crate#thread-locals), and can't here
    ///   ([`Unsupported`](io::ErrorKind::Unsupported)).
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

    /// Makes a goroutine that runs the function in `f`, and takes it, and then calls `then`. Before
    /// that `f` is dropped, and so is the result if the handle is gone; otherwise the handle drops
    /// it. `then` gets the G, and is told whether `f` panicked and there was no handle to take
    /// that.
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
        // Here as in the prologue of Go's newproc: a loop of this is seldom where a signal can stop
        // it.
        stop_if_asked();
        let gp = newproc1(body::<F, T, N>, self.kind()?, &self.maker(created_at))?;
        init_with_handle(gp);
        // SAFETY: the G is new and in no queue, and runs the body of these.
        unsafe { fill(gp, f, then, inherited) };
        enqueue(gp);
        point("go");
        Ok(gp)
    }

    /// Makes a goroutine of the function in `f` that has no handle and doesn't run yet: it waits
    /// for a descriptor, and the caller, or who that passes it to, makes it ready.
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
        // SAFETY: the G is new, and nobody has it who makes it ready; it runs the body of these.
        unsafe { fill(gp, f, lose as Then, inherited) };
        Ok(gp)
    }

    /// The kind to make.
    ///
    /// # Errors
    /// If the runtime hasn't started, the stack size is too large, or it can't have thread-locals
    /// of its own here.
    #[inline(always)]
    pub(crate) fn kind(&self) -> io::Result<StackKind> {
        self.special.as_ref().map_or_else(default_kind, |special| special.kind(fixed_kind()))
    }

    /// What reports will say of where the goroutine comes from.
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
    // SAFETY: as the caller says.
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
    // SAFETY: as above.
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

/// The goroutine's function has ended, with a payload or the result at `value`: leaves that to the
/// handle, or drops it if there is none, and ends what is the goroutine's own. Says whether there
/// was a panic that nobody takes. (The same for all functions that return a `T`, and so compiled
/// once for these.)
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
        // SAFETY: as the caller says.
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

/// The goroutine's function has ended by unwinding, with this.
#[cold]
#[inline(never)]
fn note_end(payload: &(dyn Any + Send)) {
    if !payload.is::<Goexit>() {
        note_panic(message(payload));
    }
}

/// Moves the value of `from`, which is there, to `to`: by its address, since without optimisation
/// each function that a value is passed to has a copy of it on its stack.
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
