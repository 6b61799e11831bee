//! The outcome of goroutines, and its receivers: [`JoinHandle`], [`JoinError`], and [`JoinFuture`],
//! a join for tasks. [`set_panic_mode`] sets the effect of a panic that no caller takes.
//!
//! Results are passed by address. Without optimisation each function that gets a value has a copy
//! of it on its stack, and goroutines' stacks are small.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::goroutine::abort_handle::AbortHandle;
use crate::goroutine::current::Goexit;
use crate::goroutine::future::wake_elsewhere;
use crate::runtime::runtime2::G;
use crate::runtime::{
    EndWaker, Ended, Limit, die_on_panic, drop_handle, end_with_run, ended, explored_number, fatal,
    fatalpanic, must_wait, nanos, outside_of_run, point, set_die_on_panic, set_end_waker, take_end_waker,
    tsan, unwind_to_run, wait_for_end_limited, when,
};

/// The handle of a goroutine. If it is dropped, the goroutine goes on, and its result is dropped.
/// Then only the output of the panic hook remains of a panic
/// ([`set_panic_mode`](crate::set_panic_mode) can end the process instead). If the drop of the
/// result panics, that is a fatal error, as with a thread, because no caller could get the panic.
///
/// ```
/// gosched::run(|| {
///     let handles: Vec<_> = (1..=10).map(|i| gosched::go(move || i * i)).collect();
///     let sum: u32 = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
///     assert_eq!(sum, 385);
/// });
/// ```
pub struct JoinHandle<T> {
    gp: &'static G,
    /// Covariant in `T`, because a handle only returns the result.
    result: PhantomData<Outcome<T>>,
}

// SAFETY: it shares only atomics with the goroutine, until that has ended; the T that it returns is
// Send.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a `&JoinHandle` only reads an atomic: whether the goroutine has ended.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

// As std's. The result doesn't change after the goroutine has ended.
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// The handle of a new goroutine.
    ///
    /// # Safety
    /// [`Builder::spawn`](crate::Builder) made `gp` with a result of type `T`, and it has no other
    /// handle.
    #[inline(always)]
    pub(crate) unsafe fn new(gp: &'static G) -> Self {
        JoinHandle { gp, result: PhantomData }
    }

    /// Waits until the goroutine has ended, and returns its result.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let parsed = gosched::go(|| "42".parse::<u32>().unwrap());
    ///     assert_eq!(parsed.join().unwrap(), 42);
    ///
    ///     let failed = gosched::go(|| "forty-two".parse::<u32>().unwrap());
    ///     assert!(failed.join().is_err());
    /// });
    /// ```
    ///
    /// # Errors
    /// If it panicked, or ended by [`goexit`](crate::goexit).
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn join(self) -> Result<T, JoinError> {
        point("join");
        if !ended(self.gp) {
            let _guest = must_wait("join");
            if !self.wait_limited(None) {
                unwind_to_run();
            }
        }
        let mut outcome = MaybeUninit::uninit();
        // SAFETY: a place for the outcome, which is the handle's, and moved.
        self.consume(|slot| unsafe { ptr::copy_nonoverlapping(slot, outcome.as_mut_ptr(), 1) });
        // SAFETY: the goroutine has ended, so consume has called the closure.
        unsafe { outcome.assume_init_read() }.map_err(|payload| JoinError { payload })
    }

    /// [`join`](Self::join) with a time limit. When the time is over, the handle is in the error,
    /// and the goroutine goes on. With a context it is
    /// [`Context::join`](crate::context::Context::join).
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded::<u32>(0);
    ///     let handle = gosched::go(move || rx.recv());
    ///     let handle = handle.join_timeout(Duration::from_millis(1)).unwrap_err();
    ///     tx.send(7).unwrap();
    ///     assert_eq!(handle.join().unwrap(), Ok(7));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the goroutine hasn't ended when `timeout` is over.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn join_timeout(self, timeout: Duration) -> Result<Result<T, JoinError>, Self> {
        if !ended(self.gp) && !timeout.is_zero() {
            let _guest = must_wait("join_timeout");
            if !self.wait_limited(Some(Limit::Time(when(nanos(timeout))))) {
                end_with_run();
            }
        }
        if ended(self.gp) { Ok(self.join()) } else { Err(self) }
    }

    /// Waits until the goroutine has ended, or the limit has come, or the end of the run.
    /// Returns whether the goroutine has ended. On a goroutine.
    #[inline(always)]
    pub(crate) fn wait_limited(&self, limit: Option<Limit<'_>>) -> bool {
        wait_for_end_limited(self.gp, limit)
    }

    /// The goroutine.
    fn goroutine(&self) -> &'static G {
        self.gp
    }

    /// Whether the goroutine has ended.
    ///
    /// ```
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded::<()>(0);
    ///     let handle = gosched::go(move || rx.recv());
    ///     assert!(!handle.is_finished(), "it waits for a value");
    ///     drop(tx);
    ///     while !handle.is_finished() {
    ///         gosched::yield_now();
    ///     }
    /// });
    /// ```
    pub fn is_finished(&self) -> bool {
        point("is_finished");
        ended(self.gp)
    }

    /// Aborts the goroutine: its present wait ends, and so does each later one. In that wait the
    /// goroutine unwinds, as a panic does but without a message. Its destructors run, and its
    /// result is a [`JoinError`] that [is aborted](JoinError::is_aborted). Has no effect on a
    /// goroutine that has ended. Go has no counterpart; it is tokio's `abort`.
    ///
    /// ```
    /// use gosched::chan::never;
    ///
    /// gosched::run(|| {
    ///     let hangs = gosched::go(|| never::<u32>().recv());
    ///     hangs.abort();
    ///     assert!(hangs.join().unwrap_err().is_aborted());
    /// });
    /// ```
    ///
    /// - The waits are those that a context's [run](crate::context::Context::run) ends, and end in
    ///   the same way. What doesn't wait goes on, also a loop of [`yield_now`](crate::yield_now).
    ///   So a goroutine that returns without another wait has its result.
    /// - [`shield`](crate::shield) holds the end back, and so does unwinding. A destructor that is
    ///   called as its value goes out of scope, and waits, unwinds like any other code.
    /// - While the goroutine asks a generator of [`iter::pull`](crate::iter::pull) for a value, it
    ///   goes on.
    /// - Goroutines of its [scopes](crate::scope) are aborted, too, and it waits for them. Those of
    ///   `go` aren't.
    pub fn abort(&self) {
        self.abort_handle().abort();
    }

    /// A handle that only aborts the goroutine, and can be kept when this one is joined. tokio's
    /// `abort_handle`.
    ///
    /// ```
    /// use gosched::chan::never;
    ///
    /// gosched::run(|| {
    ///     let hangs = gosched::go(|| never::<u32>().recv());
    ///     let abort = hangs.abort_handle();
    ///     gosched::go(move || abort.abort());
    ///     assert!(hangs.join().unwrap_err().is_aborted());
    /// });
    /// ```
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle::new(self.gp)
    }

    /// The goroutine's id, as [`goid`](crate::goid) returns it in the goroutine. tokio's `id`.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let handle = gosched::go(gosched::goid);
    ///     let id = handle.goid();
    ///     assert_eq!(handle.join().unwrap(), id);
    /// });
    /// ```
    pub fn goid(&self) -> u64 {
        self.gp.goid.get()
    }

    /// Gives up the handle; if the goroutine has ended, `take` moves or drops its outcome.
    #[inline(always)]
    pub(super) fn consume(self, take: impl FnOnce(*mut Outcome<T>)) {
        let gp = self.gp;
        std::mem::forget(self);
        release(gp, take);
    }
}

/// Gives up the only handle of `gp`, whose result is a `T`.
#[inline(always)]
fn release<T>(gp: &'static G, take: impl FnOnce(*mut Outcome<T>)) {
    // SAFETY: drop_handle calls this once, if the goroutine ended while it had the handle. Then the
    // outcome is in its slot, and only the handle may use it. `take` moves or drops it.
    drop_handle(gp, || unsafe {
        take(gp.ext.slot.value());
        gp.ext.slot.clear::<Outcome<T>>();
    });
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it is there, and the handle's.
        release(self.gp, |slot: *mut Outcome<T>| lose(self.gp, unsafe { discard_in(slot) }));
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("goid", &self.gp.goid.get()).finish_non_exhaustive()
    }
}

/// Why a goroutine has no result: it panicked, or called [`goexit`](crate::goexit).
///
/// ```
/// gosched::run(|| {
///     let handle = gosched::go(|| [1, 2, 3].iter().position(|n| *n == 4).expect("there is a 4"));
///     let error = handle.join().unwrap_err();
///     assert_eq!(error.to_string(), "goroutine panicked: there is a 4");
/// });
/// ```
pub struct JoinError {
    payload: Payload,
}

// SAFETY: a shared error reads only the type's name of the payload, and its text if it is a string,
// which may be shared.
unsafe impl Sync for JoinError {}

impl JoinError {
    /// The error of a goroutine that ended with its run.
    pub(super) fn aborted() -> Self {
        JoinError { payload: Box::new(Ended) }
    }

    /// Whether the goroutine panicked.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let error = gosched::go(|| assert_eq!(6 * 9, 42)).join().unwrap_err();
    ///     assert!(error.is_panic() && !error.is_goexit());
    /// });
    /// ```
    pub fn is_panic(&self) -> bool {
        is_panic(&*self.payload)
    }

    /// Whether the goroutine ended by [`goexit`](crate::goexit).
    ///
    /// ```
    /// gosched::run(|| {
    ///     let handle = gosched::go(|| {
    ///         gosched::goexit();
    ///     });
    ///     assert!(handle.join().unwrap_err().is_goexit());
    /// });
    /// ```
    pub fn is_goexit(&self) -> bool {
        self.payload.is::<Goexit>()
    }

    /// Whether the goroutine [was aborted](JoinHandle::abort), or ended with a
    /// [run](crate::context::Context::run) of a context, as goroutines of a
    /// [`scope`](crate::scope) in a run do.
    ///
    /// ```
    /// use gosched::chan::never;
    /// use gosched::context::{Context, ContextError};
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let result = ctx.run(|| {
    ///         gosched::scope(|s| {
    ///             let waits = s.go(|| never::<()>().recv());
    ///             cancel.cancel();
    ///             gosched::shield(|| assert!(waits.join().unwrap_err().is_aborted()));
    ///         });
    ///     });
    ///     assert_eq!(result, Err(ContextError::Canceled));
    /// });
    /// ```
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.payload.is::<Ended>()
    }

    /// The payload of the panic.
    ///
    /// ```
    /// use std::panic::panic_any;
    ///
    /// gosched::run(|| {
    ///     let handle = gosched::go(|| {
    ///         panic_any(404_u16);
    ///     });
    ///     let payload = handle.join().unwrap_err().into_panic();
    ///     assert_eq!(payload.downcast_ref::<u16>(), Some(&404));
    /// });
    /// ```
    ///
    /// # Panics
    /// If the goroutine ended by [`goexit`](crate::goexit), or with its run.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        let how = if self.is_goexit() { "ended by goexit" } else { "was aborted" };
        assert!(self.is_panic(), "gosched: the goroutine didn't panic, but {how}");
        self.payload
    }

    /// Panics with the payload of the goroutine's panic.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let outer = gosched::go(|| {
    ///         let inner = gosched::go(|| panic!("of the inner one"));
    ///         inner.join().unwrap_or_else(|error| error.resume_panic());
    ///     });
    ///     let error = outer.join().unwrap_err();
    ///     assert_eq!(error.to_string(), "goroutine panicked: of the inner one");
    /// });
    /// ```
    ///
    /// # Panics
    /// Always.
    #[track_caller]
    pub fn resume_panic(self) -> ! {
        resume_unwind(self.into_panic())
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match message(&*self.payload) {
            _ if self.is_goexit() => f.write_str("goroutine ended by goexit"),
            _ if self.is_aborted() => f.write_str("goroutine was aborted"),
            Some(message) => write!(f, "goroutine panicked: {message}"),
            None => f.write_str("goroutine panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}

/// The future of a [`JoinHandle`]: ready with the goroutine's result when it has ended. It may be
/// polled by any runtime, and on any thread.
///
/// If it is dropped, the goroutine goes on, as with the handle.
///
/// ```
/// use gosched::{JoinFuture, block_on, go};
///
/// gosched::run(|| {
///     let answer: JoinFuture<u32> = go(|| 6 * 7).into_future();
///     assert_eq!(block_on(answer).unwrap(), 42);
/// });
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct JoinFuture<T> {
    /// None once it was ready.
    handle: Option<JoinHandle<T>>,
}

/// Waits for the goroutine in `async` code.
///
/// ```
/// use gosched::{block_on, go};
///
/// gosched::run(|| {
///     let sum = block_on(async {
///         let (a, b) = (go(|| 6 * 7), go(|| 6 + 7));
///         a.await.unwrap() + b.await.unwrap()
///     });
///     assert_eq!(sum, 55);
/// });
/// ```
impl<T> IntoFuture for JoinHandle<T> {
    type Output = Result<T, JoinError>;
    type IntoFuture = JoinFuture<T>;

    fn into_future(self) -> JoinFuture<T> {
        JoinFuture { handle: Some(self) }
    }
}

impl<T> Future for JoinFuture<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let handle = &mut self.get_mut().handle;
        let gp = handle.as_ref().expect("a JoinFuture is polled after it was ready").goroutine();
        drop(take_end_waker(gp));
        if !ended(gp)
            && set_end_waker(gp, EndWaker { waker: tsan::clone_waker(context.waker()), wake: wake_elsewhere })
        {
            return Poll::Pending;
        }
        match handle.take() {
            Some(handle) => Poll::Ready(handle.join()),
            None => unreachable!("it was there"),
        }
    }
}

// Nothing in it is pinned.
impl<T> Unpin for JoinFuture<T> {}

impl<T> Drop for JoinFuture<T> {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            drop(take_end_waker(handle.goroutine()));
        }
    }
}

impl<T> fmt::Debug for JoinFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JoinFuture").field(&self.handle).finish()
    }
}

/// The effect of a goroutine's panic that no caller takes: the goroutine's handle was dropped, and
/// no scope waits for the goroutine.
///
/// ```
/// use gosched::PanicMode;
///
/// // As in Go, while it is developed; in production the requests that others make go on.
/// gosched::set_panic_mode(if cfg!(debug_assertions) { PanicMode::Die } else { PanicMode::GoOn });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PanicMode {
    /// The program goes on. Only the output of the panic hook remains.
    #[default]
    GoOn,
    /// The process ends, with a report and status 2, when the goroutine has unwound, or when its
    /// handle is dropped, as in Go.
    Die,
}

/// Sets the effect of a panic that no caller takes. `GODEBUG=dieonpanic=1` sets it to
/// [`PanicMode::Die`] when the runtime starts, and `dieonpanic=0` to [`PanicMode::GoOn`]. The last
/// setting counts.
///
/// The report names the goroutine. The goroutine's stack is unwound by then; the message of the
/// panic, before the report, shows it with `RUST_BACKTRACE=1`. The stacks of the other goroutines
/// follow if `GOTRACEBACK` asks for them ([`Traceback::All`](crate::Traceback)).
///
/// A panic is taken by a join of the goroutine, even if the caller ignores the error. It is also
/// taken by the [`scope`](crate::scope) of a scoped goroutine, which panics, and by a
/// `catch_unwind` in the goroutine.
///
/// ```
/// gosched::set_panic_mode(gosched::PanicMode::Die);
/// gosched::run(|| {
///     let handle = gosched::go(|| assert_eq!(6 * 9, 42));
///     assert!(handle.join().is_err()); // now it is taken; a dropped handle would have ended the process
/// });
/// ```
pub fn set_panic_mode(mode: PanicMode) {
    set_die_on_panic(mode == PanicMode::Die);
}

/// Records that the result of `gp` is lost. `panicked` says whether the result was a panic, which
/// no caller took.
#[inline(always)]
pub(super) fn lose(gp: &'static G, panicked: bool) {
    if panicked {
        lose_panic(gp);
    }
}

#[cold]
#[inline(never)]
fn lose_panic(gp: &'static G) {
    if die_on_panic() && explored_number().is_none() {
        fatalpanic(gp);
    }
}

/// The payload of a goroutine's panic.
pub(super) type Payload = Box<dyn Any + Send>;

/// The outcome of a goroutine: its result, or the payload of its panic.
pub(super) type Outcome<T> = Result<T, Payload>;

/// Whether this is the payload of a panic, and not of a `goexit` or the end of a run.
pub(crate) fn is_panic(payload: &(dyn Any + Send)) -> bool {
    !payload.is::<Goexit>() && !payload.is::<Ended>()
}

/// The message of a panic, if its payload is a string, as with `panic!`.
pub(crate) fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Calls `f`, and returns the payload of its panic. If `f` didn't panic, its result is in `value`.
#[inline(always)]
pub(crate) fn catch_into<T>(value: &mut MaybeUninit<T>, f: impl FnOnce() -> T) -> Option<Payload> {
    let place = value.as_mut_ptr();
    // SAFETY: a place for the result, which outlives the call.
    catch_unwind(AssertUnwindSafe(|| unsafe { ptr::write(place, f()) })).err()
}

/// Writes the outcome to `place`; without a payload, it is the result at `value`, which is moved.
///
/// # Safety
/// `place` is one for an outcome, and there is a payload or a result.
#[inline]
pub(super) unsafe fn write_outcome<T>(place: *mut Outcome<T>, payload: Option<Payload>, value: *const T) {
    // SAFETY: there is a place, and a result unless there is a payload, as the caller says.
    unsafe {
        place.write(match payload {
            Some(payload) => Err(payload),
            None => Ok(value.read()),
        });
    }
}

/// Drops the payload or, without one, the result at `value`, which no caller takes. Returns whether
/// it was a panic.
///
/// # Safety
/// There is a payload or a result.
pub(super) unsafe fn discard<T>(payload: Option<Payload>, value: *mut T) -> bool {
    let panicked = payload.as_deref().is_some_and(is_panic);
    let drop_it = move || match payload {
        Some(payload) => drop(payload),
        // SAFETY: there is a result, as the caller says, and nobody uses it afterwards.
        None => unsafe { ptr::drop_in_place(value) },
    };
    // The end of the run that the caller is in must not be taken for a panic.
    if catch_unwind(AssertUnwindSafe(|| outside_of_run(drop_it))).is_err() {
        fatal("a goroutine's result panicked when it was dropped");
    }
    panicked
}

/// [`discard`] of an outcome as [`write_outcome`] has written it.
///
/// # Safety
/// The outcome is there, and nobody uses it afterwards.
pub(super) unsafe fn discard_in<T>(place: *mut Outcome<T>) -> bool {
    // SAFETY: it is there, as the caller says, and isn't used again.
    unsafe {
        match &mut *place {
            Ok(value) => discard(None, value),
            Err(payload) => discard::<T>(Some(ptr::read(payload)), ptr::null_mut()),
        }
    }
}
