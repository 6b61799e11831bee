//! [`Timer`], which fires once: Go's `time.Timer`, in `time/sleep.go`.

use std::ffi::c_void;
use std::fmt;
use std::panic::Location;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chan::{Receiver, never};
use crate::goroutine::Builder;
use crate::runtime::print::eprintln;
use crate::runtime::{
    self, Inherited, begin_timer, cancel_timer, end_timer, fire_timer, must_wait, nanos, point, set_timer,
    throw, tsan, when,
};

/// An event at a time that can be changed: a channel gets the time, or a function is called. Go's
/// `time.Timer`.
///
/// It may be reset after it has fired or was stopped. After [`stop`](Self::stop) or
/// [`reset`](Self::reset) its earlier setting does nothing any more, and a time that is still in
/// the channel is gone. (Go has promised that since 1.23.) Dropping it stops it, and closes its
/// channel. The channel gets the time at which the timer was due, as with
/// [`after`](crate::time::after).
///
/// ```
/// use std::time::Duration;
/// use gosched::select;
/// use gosched::time::Timer;
///
/// gosched::run(|| {
///     let (_tx, rx) = gosched::chan::bounded::<()>(0);
///     let timer = Timer::new(Duration::from_secs(3600));
///     assert!(timer.reset(Duration::from_millis(1)));
///     select! {
///         recv(rx) -> _ => unreachable!(),
///         recv(timer.c()) -> time => drop(time.unwrap()),
///     }
///     assert!(!timer.stop(), "it has fired");
/// });
/// ```
#[must_use = "dropping the timer stops it"]
pub struct Timer {
    kind: Kind,
}

enum Kind {
    /// The channel owns the timer.
    Channel(Receiver<Instant>),
    Function {
        t: &'static runtime::Timer,
        /// The function that the timer calls, kept for it.
        f: Arc<Function>,
    },
}

struct Function {
    f: Box<dyn Fn() + Send + Sync>,
    created_at: &'static Location<'static>,
}

// Nothing panics while it is set.
impl UnwindSafe for Timer {}
impl RefUnwindSafe for Timer {}

impl Timer {
    /// A timer whose channel gets the time when `d` is over. Go's `time.NewTimer`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::time::Timer;
    ///
    /// gosched::run(|| {
    ///     let timer = Timer::new(Duration::from_millis(1));
    ///     assert!(timer.c().recv().is_ok());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it is called inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run), or there is no memory for it.
    #[track_caller]
    pub fn new(d: Duration) -> Self {
        Timer { kind: Kind::Channel(Receiver::of_timer("time::Timer::new", when(nanos(d)), 0)) }
    }

    /// Makes a timer that calls `f` on a new goroutine when `d` is over. After a
    /// [`reset`](Self::reset) it calls `f` again, perhaps while the last call still runs. Go's
    /// `time.AfterFunc`.
    ///
    /// To call a function later without the chance to stop it, [`sleep`](crate::time::sleep) in a
    /// goroutine instead. A timer that isn't kept is stopped at once, and the compiler warns of
    /// that.
    ///
    /// ```compile_fail
    /// #![deny(unused_must_use)]
    /// use std::time::Duration;
    /// use gosched::time::Timer;
    ///
    /// fn never_called() {
    ///     Timer::after_func(Duration::from_secs(1), || println!("a second later"));
    /// }
    /// ```
    ///
    /// # Panics
    /// If it is called inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn after_func(d: Duration, f: impl Fn() + Send + Sync + 'static) -> Self {
        let f = Arc::new(Function { f: Box::new(f), created_at: Location::caller() });
        let _guest = must_wait("time::Timer::after_func");
        tsan::release(Arc::as_ptr(&f));
        let t = begin_timer(when(nanos(d)), 0, go_func, Arc::as_ptr(&f).cast_mut().cast());
        Timer { kind: Kind::Function { t, f } }
    }

    /// The channel that gets the time. If the timer calls a function, the channel never has a
    /// value.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::time::Timer;
    ///
    /// gosched::run(|| {
    ///     let timer = Timer::new(Duration::from_secs(3600));
    ///     assert!(timer.c().try_recv().is_err(), "it isn't time yet");
    ///     let calls = Timer::after_func(Duration::ZERO, || println!("now"));
    ///     assert!(calls.c().try_recv().is_err(), "it has a function");
    /// });
    /// ```
    pub fn c(&self) -> &Receiver<Instant> {
        static NEVER: Receiver<Instant> = never();
        match &self.kind {
            Kind::Channel(c) => c,
            Kind::Function { .. } => &NEVER,
        }
    }

    /// Stops it. Returns true if it was set; then it does nothing any more. Returns false if it was
    /// stopped before, or has fired: its time was received, or its function was called.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::time::Timer;
    ///
    /// gosched::run(|| {
    ///     let timer = Timer::after_func(Duration::from_secs(3600), || unreachable!("it is stopped"));
    ///     assert!(timer.stop());
    ///     assert!(!timer.stop(), "it was stopped before");
    /// });
    /// ```
    pub fn stop(&self) -> bool {
        point("stop");
        match &self.kind {
            Kind::Channel(c) => c.stop_timer(),
            Kind::Function { t, .. } => cancel_timer(t),
        }
    }

    /// Sets it to fire when `d` is over, whether it was set or not. Returns the same as
    /// [`stop`](Self::stop).
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::bounded;
    /// use gosched::time::Timer;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded(0);
    ///     let timer = Timer::after_func(Duration::from_secs(3600), move || tx.send("called").unwrap());
    ///     assert!(timer.reset(Duration::from_millis(1)), "it was set");
    ///     assert_eq!(rx.recv(), Ok("called"));
    /// });
    /// ```
    ///
    /// # Panics
    /// If it is called inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn reset(&self, d: Duration) -> bool {
        point("reset");
        let _guest = must_wait("time::Timer::reset");
        match &self.kind {
            Kind::Channel(c) => c.reset_timer(when(nanos(d)), 0),
            Kind::Function { t, f } => {
                tsan::release(Arc::as_ptr(f));
                set_timer(t, when(nanos(d)), 0, go_func)
            }
        }
    }
}

/// Calls the function of a timer on a new goroutine. Go's `goFunc`, in `time/sleep.go`.
unsafe extern "C" fn go_func(t: *mut c_void, seq: usize) {
    // SAFETY: begin_timer and set_timer pass the timer itself, which is never freed.
    let t = unsafe { &*t.cast::<runtime::Timer>() };
    let function = fire_timer(t, seq, |f| {
        let f: *const Function = f.cast_const().cast();
        // SAFETY: the waiter is the pointer that after_func passed, made by Arc::as_ptr. The handle
        // drops its Arc only after it has ended the timer. That waits for the lock that fire_timer
        // holds, so the count isn't 0.
        unsafe {
            Arc::increment_strong_count(f);
            Arc::from_raw(f)
        }
    });
    let Some(function) = function else { return };
    let created_at = function.created_at;
    let call = move || {
        tsan::acquire(Arc::as_ptr(&function));
        (function.f)()
    };
    if let Err(error) = Builder::new().make(created_at, &mut Some(call), Inherited::NONE) {
        eprintln!("gosched::time::Timer::after_func: {error}");
        throw("out of memory for a goroutine");
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        match &self.kind {
            Kind::Channel(c) => c.end_timer(),
            Kind::Function { t, .. } => end_timer(t),
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Timer { .. }")
    }
}
