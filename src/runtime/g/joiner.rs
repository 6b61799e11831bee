//! The word of a G that says who waits for its end, or that it has ended. `sched/join.rs` draws its states.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::data::runtime2::G;

/// A bit beside a G or null: the G's function has returned, and its result is in the slot, but the destructors of its
/// thread-locals have yet to run.
pub(in crate::runtime) const RETURNED: usize = 4;
/// The G has ended, and its result is in the slot.
pub(in crate::runtime) const ENDED: *mut G = ptr::without_provenance_mut(1);
/// Besides, the G has left its stack.
pub(in crate::runtime) const EXITED: *mut G = ptr::without_provenance_mut(2);
/// The G has no handle.
pub(in crate::runtime) const DETACHED: *mut G = ptr::without_provenance_mut(3);

/// Notes that a new G gets no handle.
#[inline]
pub(super) fn detach_new(gp: &G) {
    gp.ext.joiner.store(DETACHED, Ordering::Relaxed);
}

/// Notes that a new G gets a handle.
#[inline]
pub(crate) fn attach_new(gp: &G) {
    gp.ext.joiner.store(ptr::null_mut(), Ordering::Relaxed);
}

/// Whether the handle is gone: nothing will ask for the result.
#[inline]
pub(crate) fn detached(gp: &G) -> bool {
    // Acquire pairs with drop_handle.
    gp.ext.joiner.load(Ordering::Acquire) == DETACHED
}

/// Whether the G's function has returned, and its result is in the slot.
pub(in crate::runtime) fn returned(gp: &G) -> bool {
    ended(gp) || gp.ext.joiner.load(Ordering::Acquire).addr() & RETURNED != 0
}

/// Whether the goroutine has ended.
#[inline]
pub(crate) fn ended(gp: &G) -> bool {
    // Acquire pairs with announce_end: the result is there.
    let joiner = gp.ext.joiner.load(Ordering::Acquire);
    joiner == ENDED || joiner == EXITED
}
