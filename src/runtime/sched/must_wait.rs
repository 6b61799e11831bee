//! Only a goroutine can wait: a thread that isn't one of the runtime's is made a goroutine for that
//! time, with an extra M (`sched/extram.rs`).
//!
//! Nothing of the program's is called meanwhile, neither a closure nor a destructor: it could keep
//! what is the goroutine's, a lock of its thread for example, after the goroutine is gone.

use crate::runtime::arch::getg;
use crate::runtime::base::this::{on_goroutine, started};
use crate::runtime::sched::extram::Guest;

/// Lets the caller park while the result lives. On a goroutine nothing is needed, and the result is
/// none; a thread that isn't the runtime's is made a goroutine.
///
/// # Panics
/// Inside [`blocking`](crate::blocking), on g0, before the first [`run`](crate::run), and if the
/// thread can't be made a goroutine, as there is no memory. `what` is the operation that the
/// message names.
#[inline(always)]
#[track_caller]
pub(crate) fn must_wait(what: &str) -> Option<Guest> {
    if on_goroutine() { None } else { Some(become_goroutine(what)) }
}

/// [`must_wait`] for C, which has no panics: none on a goroutine, and none where nothing can wait.
#[cold]
#[inline(never)]
pub(crate) fn guest() -> Option<Guest> {
    if getg().is_none() && started() { Guest::new().ok() } else { None }
}

/// Calls `f` while it can wait: see [`must_wait`]. Not inlined, for the cold end of a function that
/// is.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn as_goroutine<R>(what: &str, f: impl FnOnce() -> R) -> R {
    let _guest = must_wait(what);
    f()
}

/// Where the caller is, if it is on a thread of the runtime's but can't park: inside
/// [`blocking`](crate::blocking), or on g0.
pub(crate) fn where_nothing_parks() -> Option<&'static str> {
    let gp = getg().filter(|_| !on_goroutine())?;
    Some(if gp.syscallsp.get() != 0 { "gosched::blocking" } else { "gosched::proc::systemstack" })
}

#[cold]
#[inline(never)]
#[track_caller]
fn become_goroutine(what: &str) -> Guest {
    if let Some(place) = where_nothing_parks() {
        panic!("gosched: {what} would have to wait, which nothing can inside {place}: do it outside");
    }
    assert!(
        started(),
        "gosched: {what} would have to wait, and nobody could end that before the first gosched::run: \
         use it inside, or afterwards"
    );
    Guest::new().unwrap_or_else(|error| {
        panic!("gosched: {what} would have to wait, and this thread can't be made a goroutine: {error}")
    })
}
