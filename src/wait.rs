//! What a caller needs that has to wait: to be a goroutine, or to become one for that time.

use crate::arch::getg;
use crate::proc::boot::started;
use crate::proc::extram::Guest;
use crate::proc::park::on_goroutine;

/// Lets the caller park while the result lives: nothing is needed on a goroutine, and a thread that isn't
/// ours is made one. Panics where neither can be.
#[inline(always)]
#[track_caller]
pub(crate) fn must_wait(what: &str) -> Option<Guest> {
    if on_goroutine() { None } else { Some(become_goroutine(what)) }
}

/// [`must_wait`] for C: makes a goroutine of a thread that isn't ours; none where nothing can wait, and on a
/// goroutine, which needs nothing.
#[cold]
#[inline(never)]
pub(crate) fn guest() -> Option<Guest> {
    if getg().is_none() && started() { Guest::new().ok() } else { None }
}

/// Calls `f` as [`must_wait`] lets it. For what is at the end of a function that is to be inlined, and that
/// hardly ever comes here.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn as_goroutine<R>(what: &str, f: impl FnOnce() -> R) -> R {
    let _guest = must_wait(what);
    f()
}

/// Whether the caller is inside [`blocking`](crate::blocking), or on g0: nothing can wait there.
pub(crate) fn in_blocking() -> bool {
    getg().is_some() && !on_goroutine()
}

#[cold]
#[inline(never)]
#[track_caller]
fn become_goroutine(what: &str) -> Guest {
    if let Some(gp) = getg() {
        let place = if gp.syscallsp.get() != 0 { "gosched::blocking" } else { "gosched::proc::systemstack" };
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
