//! Aborting a goroutine: its present wait ends, and so does each later one. Go has no counterpart.
//!
//! An abort notes in the goroutine's values that it was aborted, and so each wait that begins later
//! unwinds (`g/extent.rs`). Then it ends the present wait. Where that waits, only the wait itself
//! knows:
//!
//! - At channels, and for the end of a goroutine, `g.ext.leave` is the way out. An abort calls it
//!   with the scan bit set, so the goroutine stays in its wait.
//! - Elsewhere, [`until_aborted`] leaves a [`Wait`] in `g.ext.wait`. An abort takes it while it
//!   uses it, and the goroutine can't leave its wait meanwhile.
//!
//! Waits of the raw face and of C have neither, and go on.
//!
//! An abort may come at any moment, also when the goroutine has begun a wait and hasn't parked yet.
//! So `park_m` looks whether the goroutine was aborted, once it has changed the goroutine's state
//! and called the `unlockf`, and ends the wait itself. An abort marks the goroutine, and then looks
//! for the wait. One of the two sees the other, and if both do, the second finds nothing to end.
//! That needs a total order of the mark, the state, and the place where the goroutine waits, if an
//! atomic is that place: SeqCst. A lock orders its place by itself.
//!
//! A signal ends a wait in the same way, by another mark, if the wait has noted that signals end it
//! (`m/signaled.rs`). It ends none at channels, nor for the end of a goroutine.

use std::ffi::c_void;
use std::ptr;

use crate::runtime::base::os::osyield;
use crate::runtime::base::this::{acquirem, releasem};
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{G, GDEAD, GIDLE, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL, GWAITING};
use crate::runtime::g::aborted::{is_aborted, is_at_end, is_marked, set_aborted};
use crate::runtime::g::allgs::for_each_g_race;
use crate::runtime::g::extent::can_be_aborted;
use crate::runtime::g::status::{casfrom_gscanstatus, castogscanstatus, readgstatus};
use crate::runtime::lock::cancel::{EndWait, end_waiter};
use crate::runtime::m::signaled::{is_signaled, waits_for_signals};
use crate::runtime::sched::ready::goready;

/// A wait that an abort or a signal may end. It is on the waiting goroutine's stack.
struct Wait {
    end: EndWait,
    give_up: *const (),
    by_abort: bool,
}

/// In place of a [`Wait`] that another thread uses.
const TAKEN: *mut c_void = ptr::without_provenance_mut(1);

/// Aborts the goroutine `goid`, whose G is or was `gp`. Can be called anywhere.
pub(crate) fn abort(gp: &'static G, goid: u64) {
    abort_if(gp, |gp| gp.goid.get() == goid);
}

/// Aborts the goroutines in scopes of those goroutines of which `is_meant` says so, by their goid.
/// It may miss one that enters a scope meanwhile.
pub(crate) fn abort_scopes_of(is_meant: impl Fn(u64) -> bool) {
    for_each_g_race(|gp| {
        let is_in_scope = |gp: &G| {
            let owner = gp.ext.scope_of.load(Ordering::Relaxed);
            owner != 0 && is_meant(owner)
        };
        if is_in_scope(gp) {
            abort_if(gp, is_in_scope);
        }
    });
}

/// Whether the goroutine `goid`, whose G is or was `gp`, isn't at its end.
pub(crate) fn is_alive(gp: &'static G, goid: u64) -> bool {
    let is_alive = while_it_stays(gp, |gp| gp.goid.get() == goid && !is_at_end(gp));
    end_wait_if_marked(gp);
    is_alive
}

/// Aborts `gp` if `is_meant` says so.
fn abort_if(gp: &'static G, is_meant: impl Fn(&G) -> bool) {
    while_it_stays(gp, |gp| {
        let is_meant = is_meant(gp);
        if is_meant {
            set_aborted(gp);
        }
        is_meant
    });
    end_wait_if_marked(gp);
}

/// Returns the result of `f`, which is called while `gp` can't change its state. Returns false if
/// `gp` has ended. Then the caller calls [`end_wait_if_marked`].
pub(in crate::runtime) fn while_it_stays(gp: &'static G, f: impl Fn(&'static G) -> bool) -> bool {
    loop {
        let status = readgstatus(gp);
        if status == GDEAD || status == GIDLE {
            return false;
        }
        // Not preempted, because other threads wait for the scan bit.
        let mp = acquirem();
        let stays = matches!(status, GRUNNABLE | GRUNNING | GSYSCALL | GWAITING)
            && castogscanstatus(gp, status, status | GSCAN);
        let result = stays && f(gp);
        if stays {
            casfrom_gscanstatus(gp, status | GSCAN, status);
        }
        releasem(mp);
        if stays {
            return result;
        }
        // Another thread has it, as a rule for a moment.
        osyield();
    }
}

/// Ends the wait of `gp` if `gp` was aborted, or has got a signal, and waits. Called where the
/// thread that has marked `gp` may have come too early to do this, or may have found the scan bit
/// set.
#[inline(always)]
pub(in crate::runtime) fn end_wait_if_marked(gp: &'static G) {
    if is_marked(gp) {
        end_wait(gp);
    }
}

/// [`end_wait_if_marked`] of all goroutines.
#[cfg(pthreads)]
pub(in crate::runtime) fn end_waits_of_marked() {
    for_each_g_race(end_wait_if_marked);
}

/// Ends the wait of `gp`, if `gp` was aborted, or has got a signal, and waits.
#[cold]
#[inline(never)]
fn end_wait(gp: &'static G) {
    // Not preempted, because other threads wait for the scan bit, and for a wait that is taken.
    let mp = acquirem();
    if leave(gp) {
        goready(gp);
    }
    give_up(gp);
    releasem(mp);
}

/// Calls [`leave`](crate::runtime2::GExt::leave) of `gp`, if it waits. Returns the result.
fn leave(gp: &'static G) -> bool {
    // SeqCst, also if it fails: if another thread has set the scan bit, it looks for the mark
    // after it has cleared the bit.
    while !castogscanstatus(gp, GWAITING, GWAITING | GSCAN) {
        if readgstatus(gp) != GWAITING {
            return false;
        }
    }
    let left = is_aborted(gp) && gp.ext.leave.get().is_some_and(|leave| leave(gp));
    casfrom_gscanstatus(gp, GWAITING | GSCAN, GWAITING);
    left
}

/// Ends the wait that `gp` has noted.
fn give_up(gp: &'static G) {
    loop {
        let wait = gp.ext.wait.load(Ordering::Acquire);
        if wait.is_null() {
            return;
        }
        // Acquire and release pair with the goroutine's, and with those of other aborts.
        let take = || gp.ext.wait.compare_exchange(wait, TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        if wait == TAKEN || take().is_err() {
            // Another thread's attempt may have come before the park, and then it ends nothing.
            osyield();
            continue;
        }
        let give_back = || gp.ext.wait.store(wait, Ordering::Release);
        // SAFETY: the goroutine can't leave the wait before it is given back.
        let Wait { end, give_up, by_abort } = unsafe { &*wait.cast::<Wait>() };
        // Otherwise the mark was another goroutine's, or of a signal for an earlier wait.
        if *by_abort && is_aborted(gp) || is_signaled(gp) {
            // SAFETY: `end` belongs to its `give_up`.
            unsafe { end(*give_up, &give_back) };
        } else {
            give_back();
        }
        return;
    }
}

/// Calls `sleep`, which waits until it is woken, and ends the wait if the goroutine is aborted, or
/// gets a signal in a wait that signals end: see `with_limit`, in `time/fire.rs`. `gp` runs here.
///
/// # Safety
/// As there. `give_up` may be called several times, by one thread after the other.
pub(in crate::runtime) unsafe fn until_aborted<R, Give, W>(
    gp: &G,
    give_up: &Give,
    sleep: impl FnOnce() -> R,
) -> R
where
    Give: Fn() -> Option<W>,
    W: FnOnce(),
{
    // SAFETY: as the caller says.
    unsafe { until_ended(gp, can_be_aborted(gp), give_up, sleep) }
}

/// [`until_aborted`] where no abort ends the wait unless `by_abort`.
///
/// # Safety
/// As [`until_aborted`].
pub(in crate::runtime) unsafe fn until_ended<R, Give, W>(
    gp: &G,
    by_abort: bool,
    give_up: &Give,
    sleep: impl FnOnce() -> R,
) -> R
where
    Give: Fn() -> Option<W>,
    W: FnOnce(),
{
    if !by_abort && !waits_for_signals(gp) {
        return sleep();
    }
    let wait = Wait { end: end_waiter::<Give, W>, give_up: ptr::from_ref(give_up).cast(), by_abort };
    let wait = ptr::from_ref(&wait).cast_mut().cast::<c_void>();
    // Release: a thread that takes it sees what is in it.
    gp.ext.wait.store(wait, Ordering::Release);
    let result = sleep();
    // Acquire pairs with the release of a thread that has used it.
    while gp.ext.wait.compare_exchange(wait, ptr::null_mut(), Ordering::Acquire, Ordering::Relaxed).is_err() {
        osyield();
    }
    result
}
