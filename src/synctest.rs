//! Tests on a clock of their own: Go's `testing/synctest`, since 1.25.
//!
//! [`test()`] runs a closure, and the goroutines that it makes, in a time that stands still while one of them can run,
//! and then jumps to the next timer: a timeout of an hour is over at once, and no test has to sleep and hope.
//! [`wait`] returns when all the others wait.
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
//! It is one run of an [exploration](crate::explore), in one order, without choices at its points; what is said there
//! of time and of limits is so here.

use std::sync::Arc;

use crate::explore::in_order;
use crate::runtime::{explored_number, wait_for_others};

/// Runs `f` and the goroutines that it makes, on a clock of their own, until all have ended. Go's `synctest.Test`.
///
/// ```
/// gosched::synctest::test(|| {
///     gosched::time::sleep(std::time::Duration::from_secs(24 * 3600));
/// });
/// ```
///
/// # Panics
/// If a goroutine panics, if they wait for each other for ever, or if some do when `f` has returned, or if they go on ten
/// million times while the clock stands still: with the text of a [`Failure`](crate::explore::Failure). On a goroutine.
#[track_caller]
pub fn test<F>(f: F)
where
    F: Fn() + Send + Sync + 'static,
{
    if let Err(failure) = in_order(Arc::new(f)) {
        panic!("{failure}");
    }
}

/// Waits until all other goroutines of the [`test()`] wait: for each other, or for a time. Go's `synctest.Wait`.
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
/// Outside of a [`test()`] and of an [exploration](crate::explore), and if another goroutine waits for that already.
#[track_caller]
pub fn wait() {
    assert!(explored_number().is_some(), "gosched: synctest::wait outside of synctest::test");
    assert!(wait_for_others(), "gosched: synctest::wait, while another goroutine waits in it");
}
