//! Waiting for the end of a goroutine, and when its G may be used again.
//!
//! A G that has a handle isn't free when it ends: its result is in its home page. It is free
//! once it has left its stack *and* the handle is gone. `ext.joiner` says how far that is:
//!
//! ```text
//!     null ---------+--> ENDED ---------> EXITED --(handle dropped)--> free
//!      |  |         |      |
//!      |  +-> a G --+      +--(handle dropped)---> DETACHED --+
//!      |     waits                                            |
//!      +---(handle dropped)---> DETACHED ----------------- (off its stack) --> free
//! ```
//!
//! A raw goroutine has no handle and starts as DETACHED.
//!
//! One with thread-locals of its own has its result in the slot before it ends, as long as it has them: a result that
//! nobody takes may use them when it is dropped. Null, or the G that waits, has a bit for that (RETURNED). Who drops
//! the handle from then on drops the result.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::base::this::{acquirem, releasem};
use crate::runtime::data::runtime2::{G, M, TraceBlockReason, WaitReason};
use crate::runtime::g::gfree::{count_held, gfput};
use crate::runtime::g::joiner::{DETACHED, ENDED, EXITED, RETURNED, detached, ended};
use crate::runtime::p::purge::purge_as_asked;
use crate::runtime::sched::park::gopark;
use crate::runtime::sched::ready::goready;
use crate::runtime::tls::end_locals;

/// The goroutine's result is in its slot: has what is its own end, and wakes the G that waits for it. If the handle is
/// gone, calls `discard` for the result, before the thread-locals end, and returns what that does.
#[inline]
pub(crate) fn finish(gp: &G, discard: impl FnOnce() -> bool) -> bool {
    if !gp.ext.kind.get().has_own_locals() {
        return !announce_end(gp) && discard();
    }
    let announced = announce_return(gp);
    let panicked = !announced && discard();
    end_locals(gp);
    if announced {
        announce_end(gp);
    }
    panicked
}

/// The result is in its slot, and the thread-locals are still there. False if the handle is gone, and the result still
/// the caller's.
fn announce_return(gp: &G) -> bool {
    let returned = |joiner: *mut G| (joiner != DETACHED).then(|| joiner.map_addr(|addr| addr | RETURNED));
    // Release pairs with drop_handle and returned: the result is there. Acquire pairs with drop_handle.
    gp.ext.joiner.fetch_update(Ordering::AcqRel, Ordering::Acquire, returned).is_ok()
}

/// The result is in its slot, and nothing of the goroutine runs any more. False if the handle is gone, and the result
/// still the caller's, unless that has announced the return.
fn announce_end(gp: &G) -> bool {
    // Release pairs with ended: the result is there. Acquire pairs with drop_handle and joincommit.
    let joiner = gp.ext.joiner.swap(ENDED, Ordering::AcqRel);
    if joiner == DETACHED {
        gp.ext.joiner.store(DETACHED, Ordering::Relaxed);
        return false;
    }
    // SAFETY: ENDED and EXITED are only set by this and after it, and DETACHED was seen to, so it is null or
    // a G that waits, but for the bit; G's are never freed.
    if let Some(joiner) = unsafe { joiner.map_addr(|addr| addr & !RETURNED).as_ref() } {
        goready(joiner);
    }
    true
}

/// The goroutine has left its stack: frees the G, unless its handle will.
#[inline(always)]
pub(super) fn exited(mp: &'static M, gp: &'static G) {
    let pp = mp.p();
    // Release pairs with detach_ended: whoever finds EXITED may use the G again.
    if detached(gp)
        || gp.ext.joiner.compare_exchange(ENDED, EXITED, Ordering::AcqRel, Ordering::Acquire).is_err()
    {
        if gfput(pp, gp) {
            purge_as_asked(pp);
        }
    } else {
        count_held(pp, 1);
    }
}

/// The handle is being dropped. If the goroutine's function has returned, `take` is called to move or drop
/// its result.
#[inline]
pub(crate) fn drop_handle(gp: &'static G, take: impl FnOnce()) {
    // Release pairs with detached and announce_end: what was done with the handle comes before the G's reuse.
    // Acquire, if it has returned, with announce_return: the result is there.
    if ended(gp)
        || gp
            .ext
            .joiner
            .compare_exchange(ptr::null_mut(), DETACHED, Ordering::AcqRel, Ordering::Acquire)
            .is_err()
    {
        take();
        detach_ended(gp);
    }
}

/// The handle of a goroutine that has returned is gone: frees the G, unless it has yet to leave its stack.
fn detach_ended(gp: &'static G) {
    // Acquire pairs with exited: the G has left its stack.
    if gp.ext.joiner.swap(DETACHED, Ordering::AcqRel) == EXITED {
        let mp = acquirem();
        let pp = mp.and_then(|mp| mp.p());
        count_held(pp, -1);
        if gfput(pp, gp) {
            purge_as_asked(pp);
        }
        releasem(mp);
    }
}

/// Parks until `gp` has ended. The caller has its handle, and is on a goroutine.
pub(crate) fn wait_for_end(gp: &'static G) {
    while !ended(gp) {
        // SAFETY: on a goroutine, as the caller says, and a point that can park. joincommit touches neither
        // stack; if it returns false, it hasn't left this G where it would be made ready.
        unsafe {
            gopark(Some(joincommit), gp.as_ptr().cast(), WaitReason::Semacquire, TraceBlockReason::Sync, 2);
        }
    }
}

/// Leaves the parked G where the end of `target` will find it; false if `target` has ended.
unsafe extern "C" fn joincommit(gp: *mut G, target: *mut c_void) -> bool {
    // SAFETY: gopark passes what wait_for_end gave it, a G, and G's are never freed.
    let target = unsafe { &*target.cast::<G>() };
    // Release pairs with announce_end, which makes the G ready: it is seen as parked.
    let (ok, err) = (Ordering::AcqRel, Ordering::Acquire);
    match target.ext.joiner.compare_exchange(ptr::null_mut(), gp, ok, err) {
        Err(joiner) if joiner.addr() == RETURNED => {
            let waits = gp.map_addr(|addr| addr | RETURNED);
            target.ext.joiner.compare_exchange(joiner, waits, ok, err).is_ok()
        }
        swapped => swapped.is_ok(),
    }
}
