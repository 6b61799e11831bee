//! Making goroutines of closures.

use std::io;
use std::panic::Location;

use crate::goroutine::body::{body, fill};
use crate::goroutine::panic_mode::lose;
use crate::goroutine::{JoinHandle, Scope, ScopedJoinHandle};
use crate::runtime::runtime2::{G, WaitReason};
use crate::runtime::{
    self, Inherited, Maker, Name, StackKind, attach_new, default_kind, enqueue, fixed_kind, newproc1,
    newproc1_parked, own_locals_are_default, point, room_for, started, stop_if_asked, too_large,
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
        attach_new(gp);
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

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}
