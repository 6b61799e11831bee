//! [`Ticker`] and [`tick`], which fire again and again: Go's `time/tick.go`.

use std::fmt;
use std::time::{Duration, Instant};

use crate::chan::Receiver;
use crate::runtime::{must_wait, nanos, when};

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
        let _guest = must_wait("time::Ticker::reset");
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
