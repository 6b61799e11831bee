//! Making goroutines of closures.

use std::ffi::c_void;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use crate::goroutine::join_handle::{Outcome, drop_outcome};
use crate::goroutine::panic_mode::lose;
use crate::goroutine::{JoinHandle, Scope, ScopedJoinHandle};
use crate::runtime::runtime2::G;
use crate::runtime::{
    DEFAULT_ROOM, Maker, Name, StackKind, announce_end, attach_new, detached, enqueue, newproc1, room_for,
    started, unwire,
};

/// Runs `f` on a new goroutine. Go's `go` statement.
///
/// The goroutine goes on if the handle is dropped. A panic in it is printed by std's hook, ends the
/// goroutine and nothing else, and is the error of [`join`](JoinHandle::join); if nobody joins it, the
/// program goes on, unless [`set_panic_mode`](crate::set_panic_mode) has said otherwise.
///
/// The goroutine's stack never moves, has 256 KiB, which take memory only as they are used, and ends in
/// a guard page. [`Builder`] makes larger ones.
///
/// It can be called on any thread once the runtime has started, which the first call of
/// [`run`](crate::run) does.
///
/// ```
/// // SAFETY: no thread-local is kept across a point that can park.
/// unsafe {
///     gosched::run(|| {
///         let handle = gosched::go(|| 6 * 7);
///         assert_eq!(handle.join().unwrap(), 42);
///     })
/// }
/// ```
///
/// # Panics
/// If the runtime hasn't started, or there is no memory for a goroutine; [`Builder::go`] returns
/// that as an error.
#[track_caller]
#[inline]
pub fn go<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Builder::new().go(f) {
        Ok(handle) => handle,
        Err(error) => cannot("go", &error),
    }
}

/// Panics: `what` couldn't make a goroutine.
#[cold]
#[track_caller]
pub(crate) fn cannot(what: &str, error: &io::Error) -> ! {
    panic!("gosched::{what}: can't make a goroutine: {error}")
}

/// Makes goroutines with a name, or with a stack of another size.
///
/// ```
/// // SAFETY: no thread-local is kept across a point that can park.
/// unsafe {
///     gosched::run(|| {
///         let deep = gosched::Builder::new().name("deep").stack_size(64 << 20).go(|| {
///             fn depth(n: u32) -> u32 {
///                 if n == 0 { 0 } else { 1 + std::hint::black_box(depth(n - 1)) }
///             }
///             depth(100_000)
///         });
///         assert_eq!(deep.unwrap().join().unwrap(), 100_000);
///     })
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder makes nothing until `go` is called"]
pub struct Builder {
    name: Name,
    stack: Result<StackKind, usize>,
}

impl Builder {
    /// A builder of goroutines as [`go`] makes them.
    #[inline(always)]
    pub fn new() -> Self {
        Builder { name: Name::NONE, stack: Ok(StackKind::Fixed(DEFAULT_ROOM)) }
    }

    /// Names the goroutine, for reports and the messages of panics; these show the first 31 bytes, with
    /// escapes for control characters.
    pub fn name(self, name: &str) -> Self {
        Builder { name: Name::new(name), ..self }
    }

    /// Sets the size of the stack to at least `size` bytes, up to 1 GiB: it is rounded up to a power of two
    /// of pages. Only what is used takes memory.
    pub fn stack_size(self, size: usize) -> Self {
        Builder { stack: room_for(size).ok_or(size), ..self }
    }

    /// Makes the goroutine, and runs `f` on it.
    ///
    /// # Errors
    /// - The runtime hasn't started.
    /// - There is no memory or address space for a stack
    ///   ([`OutOfMemory`](io::ErrorKind::OutOfMemory), or what the kernel says).
    /// - With `GOSCHED_GUARD=strict`: the kernel has no mapping left for the guard page.
    /// - The stack size is more than 1 GiB ([`InvalidInput`](io::ErrorKind::InvalidInput)).
    #[track_caller]
    #[inline]
    pub fn go<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: F, T and the closure are 'static, and the one handle is made below.
        let gp = unsafe { self.spawn(Location::caller(), f, lose) }?;
        // SAFETY: spawn made the G with a T for a result; this is its only handle.
        Ok(unsafe { JoinHandle::new(gp) })
    }

    /// Makes a goroutine of a scope: see [`scope`](crate::scope).
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
        scope.spawn(self, Location::caller(), f)
    }

    /// Makes a goroutine that runs `f` and then calls `then`. Before that `f` is dropped, and so is the
    /// result if the handle is gone; otherwise the handle drops it. `then` gets the G, and is told whether `f`
    /// panicked and there was no handle to take that.
    ///
    /// # Safety
    /// What `F` and `T` borrow lives until `then` is called, and what the handle's `T` borrows until the
    /// handle is dropped; what `N` borrows lives until `then` returns. The caller makes exactly one handle of
    /// the G.
    #[inline(always)]
    pub(crate) unsafe fn spawn<F, T, N>(
        self,
        created_at: &'static Location<'static>,
        f: F,
        then: N,
    ) -> io::Result<&'static G>
    where
        F: FnOnce() -> T + Send,
        T: Send,
        N: FnOnce(&'static G, bool) + Send,
    {
        let gp = newproc1(body::<F, T, N>, self.kind()?, &self.maker(created_at))?;
        attach_new(gp);
        // SAFETY: the G is new and in no queue: its slot is empty, and this function's alone.
        unsafe { gp.ext.slot.put((f, then)) };
        gp.sched.ctxt.set(gp.as_ptr().cast());
        enqueue(gp);
        Ok(gp)
    }

    /// The kind of stack to make.
    ///
    /// # Errors
    /// If the runtime hasn't started, or the stack size is too large.
    #[inline(always)]
    pub(crate) fn kind(&self) -> io::Result<StackKind> {
        if !started() {
            return Err(not_running());
        }
        self.stack.map_err(too_large)
    }

    /// What reports will say of where the goroutine comes from.
    #[inline(always)]
    pub(crate) fn maker(&self, created_at: &'static Location<'static>) -> Maker<'_> {
        Maker { name: &self.name, created_at: Some(created_at), callerpc: 0 }
    }
}

#[cold]
fn not_running() -> io::Error {
    io::Error::other("the runtime isn't running: the first call of gosched::run starts it")
}

#[cold]
fn too_large(size: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("a stack can't have {size} bytes: 1 GiB is the limit"),
    )
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

/// The function of a goroutine that [`Builder::spawn`] made.
unsafe extern "C" fn body<F, T, N>(gp: *mut c_void)
where
    F: FnOnce() -> T,
    N: FnOnce(&'static G, bool),
{
    // SAFETY: spawn has set the argument to the G itself, and G's are never freed.
    let gp: &'static G = unsafe { &*gp.cast::<G>() };
    // SAFETY: spawn put an (F, N) there, and nobody else uses the slot before announce_end.
    let (f, then) = unsafe { gp.ext.slot.take::<(F, N)>() };
    let outcome: Outcome<T> = catch_unwind(AssertUnwindSafe(f));
    unwire(gp);
    if detached(gp) {
        return then(gp, drop_outcome(outcome));
    }
    // SAFETY: the slot is empty since take, and nobody else uses it before announce_end.
    unsafe { gp.ext.slot.put(outcome) };
    if announce_end(gp) {
        then(gp, false);
    } else {
        // The handle was dropped after the look at `detached`, so nobody takes the result.
        // SAFETY: the outcome is as it was put there, and announce_end says that it is this goroutine's.
        then(gp, drop_outcome(unsafe { gp.ext.slot.take::<Outcome<T>>() }));
    }
}
