//! Sleeping, timers, and channels that tell the time. Go's `time`, as far as it waits.
//!
//! ```
//! use std::time::Duration;
//! use gosched::chan::bounded;
//! use gosched::{select, time};
//!
//! gosched::run(|| {
//!     let (tx, rx) = bounded(0);
//!     gosched::go(move || {
//!         time::sleep(Duration::from_millis(5));
//!         tx.send("done").unwrap();
//!     });
//!     let ticks = time::tick(Duration::from_millis(1));
//!     let done = loop {
//!         select! {
//!             recv(rx) -> done => break done,
//!             recv(ticks) -> _ => {} // still working
//!         }
//!     };
//!     assert_eq!(done, Ok("done"));
//!
//!     let late = select! {
//!         recv(rx) -> _ => false,
//!         default(Duration::from_millis(1)) => true,
//!     };
//!     assert!(!late, "the sender is gone, so the channel is closed");
//! });
//! ```
//!
//! `default(timeout)` in [`select!`](crate::select) limits a wait, and so do
//! [`recv_timeout`](crate::chan::Receiver::recv_timeout) and its like. [`timeout`] limits any
//! code.
//!
//! A wait is never too short. It may be longer, because the goroutine needs a free P. A time that
//! has passed counts as now. A time beyond the end of the clock, 292 years after the machine's
//! start, counts as the end of the clock.
//!
//! A timer belongs to the P that it was set on, so a goroutine has to set it. A foreign thread
//! becomes a goroutine for that time. Before the first [`run`](crate::run), and inside
//! [`blocking`](crate::blocking), that is impossible, and these functions panic. Stopping or
//! dropping a timer works anywhere.

use std::error::Error;
use std::ffi::c_void;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::chan::{Receiver, never};
use crate::context::Context;
use crate::goroutine::Builder;
use crate::runtime::print::eprintln;
use crate::runtime::{
    self, Inherited, begin_timer, cancel_timer, end_timer, end_with_run, fire_timer, in_run, instant_now,
    must_run, must_wait, nanos, point, set_timer, throw, tsan, until, when,
};

/// Returns the time, as [`Instant::now`] does. In an [exploration](crate::explore) and in
/// [`synctest`](crate::synctest) it is the virtual time of its goroutines, which jumps when all of
/// them wait. Go's `time.Now`.
///
/// ```
/// use std::time::Duration;
///
/// gosched::explore::explore(|| {
///     let (start, hour) = (gosched::time::now(), Duration::from_secs(3600));
///     gosched::time::sleep(hour);
///     assert_eq!(gosched::time::now() - start, hour);
/// });
/// ```
pub fn now() -> Instant {
    instant_now()
}

/// Parks the running goroutine for at least `d`; its thread goes on with others. Go's `time.Sleep`.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// gosched::run(|| {
///     let (start, d) = (Instant::now(), Duration::from_millis(1));
///     gosched::time::sleep(d);
///     assert!(start.elapsed() >= d);
/// });
/// ```
///
/// # Panics
/// If it is called inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
#[track_caller]
pub fn sleep(d: Duration) {
    sleep_for(d, "time::sleep");
}

/// [`sleep`], in the name of `what`.
#[track_caller]
fn sleep_for(d: Duration, what: &str) {
    let _guest = must_wait(what);
    if in_run() {
        let _ = never::<()>().recv_timeout(d);
        return;
    }
    // SAFETY: must_wait has checked that this is a goroutine with a P, or made it one. Nothing here
    // comes from a thread-local, and a goroutine that shares thread-locals has promised to keep
    // none where it can park.
    unsafe { runtime::time_sleep_limited(nanos(d)) };
    end_with_run();
}

/// [`sleep`] until `deadline` has come.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// gosched::run(|| {
///     let mut next = Instant::now();
///     for step in 0..3 {
///         next += Duration::from_millis(1); // however long a step takes
///         gosched::time::sleep_until(next);
///         println!("step {step}");
///     }
/// });
/// ```
///
/// # Panics
/// If it is called inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
#[track_caller]
pub fn sleep_until(deadline: Instant) {
    sleep_for(until(deadline), "time::sleep_until");
}

/// Calls `f`, and ends its waits when `d` is over: [`Context::run`] with a deadline. In the wait
/// that is in progress then, or in the next one, `f` unwinds to this call. But a read, a write, an
/// accept or a wait for a child that is in progress then returns an error to `f`, of which
/// [`ContextError::of`](crate::context::ContextError::of) says `DeadlineExceeded`. If `f` returns
/// that error, the result is `Ok(Err(error))`. [`Context::run`] has a table of all waits. Nobody
/// else has an equal of it for blocking code. In `async` code it is [`timeout_async`].
///
/// ```
/// use std::time::Duration;
/// use gosched::chan::{Receiver, never};
/// use gosched::time;
///
/// /// Knows nothing of limits.
/// fn first(numbers: &Receiver<u32>) -> u32 {
///     numbers.recv().unwrap()
/// }
///
/// gosched::run(|| {
///     let late = time::timeout(Duration::from_millis(1), || first(&never()));
///     assert_eq!(late, Err(time::Elapsed));
///     let in_time = time::timeout(Duration::from_secs(3600), || 6 * 7);
///     assert_eq!(in_time, Ok(42));
/// });
/// ```
///
/// # Errors
/// If `f` has unwound because `d` was over. If `f` returns, its value counts, however late it is,
/// and also if it is the error of a wait that was ended.
///
/// # Panics
/// As `f` does. If it is called inside [`blocking`](crate::blocking), or before the first
/// [`run`](crate::run).
#[track_caller]
pub fn timeout<T>(d: Duration, f: impl FnOnce() -> T) -> Result<T, Elapsed> {
    let (ctx, _cancel) = Context::background().with_timeout(d);
    ctx.run(f).map_err(|_| Elapsed)
}

/// [`timeout`] for `async` code, on any executor: waits until `future` has its result, or `d` is
/// over. The time begins with this call. When it is over, `future` is dropped. If both have come,
/// the result counts. tokio's `timeout`; Go has none.
///
/// ```
/// use std::time::Duration;
/// use gosched::chan::bounded;
/// use gosched::time::{self, Elapsed};
///
/// gosched::run(|| {
///     let (tx, rx) = bounded(1);
///     gosched::block_on(async {
///         let late = time::timeout_async(Duration::from_millis(1), rx.recv_async()).await;
///         assert_eq!(late, Err(Elapsed));
///         tx.send(7).unwrap();
///         let in_time = time::timeout_async(Duration::from_secs(3600), rx.recv_async()).await;
///         assert_eq!(in_time, Ok(Ok(7)));
///     });
/// });
/// ```
///
/// # Errors
/// The future that this returns has an error as its result if `d` was over first.
///
/// # Panics
/// If it is called inside [`blocking`](crate::blocking), or before the first [`run`](crate::run),
/// or there is no memory for its timer. The future that it returns panics as `future` does.
#[track_caller]
pub fn timeout_async<F: IntoFuture>(
    d: Duration,
    future: F,
) -> impl Future<Output = Result<F::Output, Elapsed>> {
    let timer = Receiver::of_timer("time::timeout_async", when(nanos(d)), 0);
    let future = future.into_future();
    async move {
        let (mut future, mut late) = (pin!(future), pin!(timer.recv_async()));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            Poll::Pending => late.as_mut().poll(context).map(|_| Err(Elapsed)),
        })
        .await
    }
}

/// The error of [`timeout`] and [`timeout_async`]: the time is over.
///
/// ```
/// use std::time::Duration;
/// use gosched::time::{self, Elapsed};
///
/// gosched::run(|| {
///     let slept = time::timeout(Duration::from_millis(1), || time::sleep(Duration::from_secs(3600)));
///     assert_eq!(slept.unwrap_err().to_string(), "deadline has elapsed");
///     assert_eq!(slept, Err(Elapsed));
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("deadline has elapsed")
    }
}

impl Error for Elapsed {}

/// [`ErrorKind::TimedOut`], as tokio's.
impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        io::Error::new(ErrorKind::TimedOut, elapsed)
    }
}

/// A channel that gets the time once, when `d` is over. It isn't closed then: a second receive
/// waits forever. The timer is stopped when the last receiver is dropped. Go's `time.After`.
///
/// As in Go since 1.23, the value is ready as soon as `d` is over, also for a `try_recv` and a
/// `default`, whatever the processors do. The value is the time at which `d` was over, however late
/// it is received. The channel's [capacity](Receiver::capacity) is 0.
///
/// ```
/// use std::time::Duration;
/// use gosched::chan::bounded;
/// use gosched::{select, time};
///
/// gosched::run(|| {
///     let (_tx, rx) = bounded::<u32>(0);
///     select! {
///         recv(rx) -> _ => unreachable!("nobody sends"),
///         recv(time::after(Duration::from_millis(1))) -> time => assert!(time.is_ok()),
///     }
/// });
/// ```
///
/// # Panics
/// If it is called inside [`blocking`](crate::blocking), or before the first [`run`](crate::run),
/// or there is no memory for it.
#[must_use = "dropping the channel stops its timer"]
#[track_caller]
pub fn after(d: Duration) -> Receiver<Instant> {
    Receiver::of_timer("time::after", runtime::when(nanos(d)), 0)
}

/// An event at a time that can be changed: a channel gets the time, or a function is called. Go's
/// `time.Timer`.
///
/// It may be reset after it has fired or was stopped. After [`stop`](Self::stop) or
/// [`reset`](Self::reset) its earlier setting does nothing any more, and a time that is still in
/// the channel is gone. (Go has promised that since 1.23.) Dropping it stops it, and closes its
/// channel. The channel gets the time at which the timer was due, as with [`after`].
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
///         recv(timer.c()) -> time => assert!(time.is_ok()),
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
    /// To call a function later without the chance to stop it, [`sleep`] in a goroutine instead. A
    /// timer that isn't kept is stopped at once, and the compiler warns of that.
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
        let _guest = must_run("time::Timer::after_func");
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
    /// stopped before, or has fired: its time was received, or its function is being called or was.
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
        let _guest = must_run("time::Timer::reset");
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

/// A channel that gets the time again and again. Go's `time.Ticker`.
///
/// If the last tick hasn't been received when the next is due, the next is left out: a slow
/// receiver misses some. After [`stop`](Self::stop) or [`reset`](Self::reset) no tick of the
/// earlier setting comes. Dropping it stops it, and closes its channel. A tick is the time at which
/// it was due.
///
/// ```
/// use std::time::{Duration, Instant};
/// use gosched::time::Ticker;
///
/// gosched::run(|| {
///     let start = Instant::now();
///     let ticker = Ticker::new(Duration::from_millis(2));
///     assert_eq!(ticker.c().iter().take(3).count(), 3);
///     assert!(start.elapsed() >= Duration::from_millis(6));
/// });
/// ```
#[must_use = "dropping the ticker stops it"]
pub struct Ticker {
    c: Receiver<Instant>,
}

/// The nanoseconds from tick to tick. Panics if `d` is zero.
#[track_caller]
fn interval(d: Duration, what: &str) -> i64 {
    assert!(
        !d.is_zero(),
        "gosched: non-positive interval for {what}: time can't tick without passing, so give it at least a nanosecond"
    );
    nanos(d)
}

impl Ticker {
    /// A channel that gets the time when `d` is over, and then each `d`. Go's `time.NewTicker`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::time::Ticker;
    ///
    /// gosched::run(|| {
    ///     let ticker = Ticker::new(Duration::from_millis(1));
    ///     for time in ticker.c().iter().take(2) {
    ///         println!("it is {time:?}");
    ///     }
    /// });
    /// ```
    ///
    /// # Panics
    /// If `d` is zero; if it is called inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run), or there is no memory for it.
    #[track_caller]
    pub fn new(d: Duration) -> Self {
        Ticker { c: ticks(d, "Ticker::new") }
    }

    /// The channel.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::select;
    /// use gosched::time::Ticker;
    ///
    /// gosched::run(|| {
    ///     let ticker = Ticker::new(Duration::from_millis(1));
    ///     select! {
    ///         recv(ticker.c()) -> time => assert!(time.is_ok()),
    ///     }
    /// });
    /// ```
    pub fn c(&self) -> &Receiver<Instant> {
        &self.c
    }

    /// Stops it. The channel stays open: a receive waits until it is [`reset`](Self::reset).
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::time::Ticker;
    ///
    /// gosched::run(|| {
    ///     let ticker = Ticker::new(Duration::from_millis(1));
    ///     ticker.c().recv().unwrap();
    ///     ticker.stop();
    ///     assert!(ticker.c().try_recv().is_err());
    /// });
    /// ```
    pub fn stop(&self) {
        self.c.stop_timer();
    }

    /// Sets it to tick when `d` is over, and then each `d`, whether it was stopped or not.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::time::Ticker;
    ///
    /// gosched::run(|| {
    ///     let ticker = Ticker::new(Duration::from_secs(3600));
    ///     ticker.reset(Duration::from_millis(1));
    ///     assert!(ticker.c().recv().is_ok());
    /// });
    /// ```
    ///
    /// # Panics
    /// If `d` is zero; if it is called inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn reset(&self, d: Duration) {
        let period = interval(d, "Ticker::reset");
        let _guest = must_run("time::Ticker::reset");
        self.c.reset_timer(when(period), period);
    }
}

/// Returns a channel that gets the time each `d`, as a [`Ticker`]'s does, until its last receiver
/// is dropped. Go's `time.Tick`.
///
/// ```
/// use std::time::Duration;
///
/// gosched::run(|| {
///     for (second, _time) in gosched::time::tick(Duration::from_millis(1)).iter().take(3).enumerate() {
///         println!("{second}");
///     }
/// });
/// ```
///
/// # Panics
/// If `d` is zero; if it is called inside [`blocking`](crate::blocking), or before the first
/// [`run`](crate::run), or there is no memory for it.
#[must_use = "dropping the channel stops its timer"]
#[track_caller]
pub fn tick(d: Duration) -> Receiver<Instant> {
    ticks(d, "tick")
}

#[track_caller]
fn ticks(d: Duration, what: &str) -> Receiver<Instant> {
    let period = interval(d, what);
    Receiver::of_timer(&format!("time::{what}"), when(period), period)
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.c.end_timer();
    }
}

impl fmt::Debug for Ticker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Ticker { .. }")
    }
}
