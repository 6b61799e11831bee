//! Waits with a limit.

use std::ffi::c_void;
use std::ptr;

use crate::runtime::data::timer::Timer;
use crate::runtime::time::cancel::Cancellation;
use crate::runtime::time::fire::{begin_timer, end_timer, fire_timer};

/// The limit of a wait: ends the wait if nothing ended it sooner.
#[derive(Clone, Copy)]
pub(crate) enum Limit<'a> {
    /// A time.
    Time(i64),
    /// A cancellation.
    Canceled(&'a Cancellation),
}

/// Calls `sleep`, which waits until it is woken. If the limit comes first, `give_up` is called. It
/// takes the waiter out of the place where wakers find it. If the waiter was still there, `give_up`
/// returns a function that wakes it.
///
/// # Safety
/// `give_up` may be called, on any thread, before `sleep` or while `sleep` runs, but not after
/// that. The function that it returns may be called until it has woken the waiter. None of these
/// functions unwinds.
pub(crate) unsafe fn with_limit<R, G, W>(limit: Limit<'_>, give_up: &G, sleep: impl FnOnce() -> R) -> R
where
    G: Fn() -> Option<W>,
    W: FnOnce(),
{
    match limit {
        Limit::Time(when) => {
            let timer = begin_timer(when, 0, time_is_over::<G, W>, ptr::from_ref(give_up).cast_mut().cast());
            let result = sleep();
            end_timer(timer);
            result
        }
        // SAFETY: as the caller says.
        Limit::Canceled(cancellation) => unsafe { cancellation.ended_by(give_up, sleep) },
    }
}

/// The function of a [`with_limit`]'s timer.
unsafe extern "C" fn time_is_over<G: Fn() -> Option<W>, W: FnOnce()>(t: *mut c_void, seq: usize) {
    // SAFETY: a timer that begin_timer has set has itself as its argument, and is never freed.
    let t = unsafe { &*t.cast::<Timer>() };
    let wake = fire_timer(t, seq, |give_up| {
        // SAFETY: this is the `give_up` of with_limit, which keeps it until end_timer has returned.
        // fire_timer calls this only before that.
        let give_up = unsafe { &*give_up.cast::<G>() };
        give_up()
    });
    // The timer is unlocked by now: the woken goroutine locks it, to end it.
    if let Some(wake) = wake.flatten() {
        wake();
    }
}
