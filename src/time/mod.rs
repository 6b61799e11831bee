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
//! [`recv_timeout`](crate::chan::Receiver::recv_timeout) and its like. (There is no `timeout` for
//! any function: code in the middle of something can't be stopped from outside.)
//!
//! A wait is never too short. It may be longer, because the goroutine needs a free P. A time that
//! has passed counts as now. A time beyond the end of the clock, 292 years after the machine's
//! start, counts as the end of the clock.
//!
//! A timer belongs to the P that it was set on, so a goroutine has to set it. A foreign thread
//! becomes a goroutine for that time. Before the first [`run`](crate::run), and inside
//! [`blocking`](crate::blocking), that is impossible, and these functions panic. Stopping or
//! dropping a timer works anywhere.

// | file | what it holds |
// | --- | --- |
// | `timer.rs` | `Timer` |
// | `ticker.rs` | `Ticker`, `tick` |

mod ticker;
mod timer;

pub use ticker::{Ticker, tick};
pub use timer::Timer;

use std::time::{Duration, Instant};

use crate::chan::Receiver;
use crate::runtime::{self, instant_now, must_wait, nanos, until};

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
    let _guest = must_wait("time::sleep");
    // SAFETY: must_wait has checked that this is a goroutine with a P, or made it one. Nothing here
    // comes from a thread-local, and a goroutine that shares thread-locals has promised to keep
    // none where it can park.
    unsafe { runtime::time_sleep(nanos(d)) }
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
    let _guest = must_wait("time::sleep_until");
    // SAFETY: as in sleep.
    unsafe { runtime::time_sleep(nanos(until(deadline))) }
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
