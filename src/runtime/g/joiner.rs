//! The word of a G that names the waiter for its end, or says that it has ended. `sched/join.rs`
//! draws its states.

use std::ptr;
use std::sync::atomic::Ordering;
use std::task::Waker;

use crate::runtime::data::runtime2::G;

/// A bit beside a G or null: the G's function has returned, and its result is in the slot, but the
/// destructors of its thread-locals have yet to run.
pub(in crate::runtime) const RETURNED: usize = 4;
/// A bit beside null: the limit of the waiter has come, and it need not wait. Beside a G it would
/// come too late.
pub(in crate::runtime) const LATE: usize = 8;
/// A bit beside the address of an [`EndWaker`], which stands in place of a G.
pub(in crate::runtime) const FUTURE: usize = 16;
/// The bits beside a G or null.
pub(in crate::runtime) const BITS: usize = RETURNED | LATE;
/// The G has ended, and its result is in the slot.
pub(in crate::runtime) const ENDED: *mut G = ptr::without_provenance_mut(1);
/// Besides, the G has left its stack.
pub(in crate::runtime) const EXITED: *mut G = ptr::without_provenance_mut(2);
/// The G has no handle.
pub(in crate::runtime) const DETACHED: *mut G = ptr::without_provenance_mut(3);

/// A waiter for the end that isn't a goroutine: a future. Aligned so that the bits are free.
#[repr(align(32))]
pub(crate) struct EndWaker {
    pub(crate) waker: Waker,
    /// Wakes `waker`. It is called on the goroutine that ends, after the destructors of its
    /// thread-locals.
    pub(crate) wake: fn(Waker),
}

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
    is_end(gp.ext.joiner.load(Ordering::Acquire))
}

/// Whether a G's word says that it has ended.
#[inline]
pub(in crate::runtime) fn is_end(joiner: *mut G) -> bool {
    joiner == ENDED || joiner == EXITED
}
