//! Tests on a clock of their own: Go's `testing/synctest`, since 1.25.
//!
//! [`test()`] runs a closure, and the goroutines that it makes, on a clock that stands still while
//! one of them can run. When none can run, the clock jumps to the next timer. So a timeout of an
//! hour is over at once, and a test needs no real sleep. [`wait`] returns when all other goroutines
//! wait.
//!
//! ```
//! use gosched::{chan, synctest, time};
//! use std::time::Duration;
//!
//! synctest::test(|| {
//!     let (tx, rx) = chan::bounded(0);
//!     gosched::go(move || {
//!         time::sleep(Duration::from_secs(5));
//!         tx.send("late").unwrap();
//!     });
//!     let start = time::now();
//!     assert!(rx.recv_timeout(Duration::from_secs(3)).is_err());
//!     assert_eq!(rx.recv(), Ok("late"));
//!     assert_eq!(time::now() - start, Duration::from_secs(5));
//! });
//! ```
//!
//! A test is one run of an [exploration](crate::explore), in one order, without choices at its
//! points. The rules for time and limits on the exploration's page also hold here.

use std::sync::Arc;

use crate::explore::in_order;
use crate::runtime::{explored_number, wait_for_others};

/// Runs `f` and the goroutines that it makes, on a clock of their own, until all have ended. Go's
/// `synctest.Test`.
///
/// ```
/// gosched::synctest::test(|| {
///     gosched::time::sleep(std::time::Duration::from_secs(24 * 3600));
/// });
/// ```
///
/// # Panics
/// With the text of a [`Failure`](crate::explore::Failure): if a goroutine panics, if the
/// goroutines wait for each other forever, if some are left when `f` has returned, or if they take
/// ten million steps while the clock stands still. Also if it is called on a goroutine.
#[track_caller]
pub fn test<F>(f: F)
where
    F: Fn() + Send + Sync + 'static,
{
    if let Err(failure) = in_order(Arc::new(f)) {
        panic!("{failure}");
    }
}

/// Waits until all other goroutines of the [`test()`] wait, for each other or for a time. Go's
/// `synctest.Wait`.
///
/// ```
/// use gosched::synctest;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::sync::Arc;
///
/// synctest::test(|| {
///     let ran = Arc::new(AtomicBool::new(false));
///     let run = ran.clone();
///     gosched::go(move || run.store(true, Ordering::Relaxed));
///     synctest::wait();
///     assert!(ran.load(Ordering::Relaxed));
/// });
/// ```
///
/// # Panics
/// Outside of a [`test()`] and of an [exploration](crate::explore), and if another goroutine is in
/// `wait` already.
#[track_caller]
pub fn wait() {
    assert!(explored_number().is_some(), "gosched: synctest::wait outside of synctest::test");
    assert!(wait_for_others(), "gosched: synctest::wait, while another goroutine waits in it");
}
