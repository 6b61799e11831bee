//! A goroutine's end, as its handle sees it: a word of the G, and the slot in its page.
//!
//! The word names the waiter for the end, or says that the G has ended. `sched/goexit.rs` draws its
//! states. The slot holds the closure until the goroutine begins, and the result when it has ended.
//! Values are passed by address: without optimisation, each function that passed a value on would
//! have a copy on its stack.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;
use std::task::Waker;

use crate::runtime::data::ext::{SLOT_SIZE, Slot};
use crate::runtime::data::runtime2::G;

/// A bit beside a G or null. The G's function has returned, and its result is in the slot, but the
/// destructors of its thread-locals have yet to run.
pub(in crate::runtime) const RETURNED: usize = 4;
/// A bit beside null: the waiter's time limit has passed before it waited, so it doesn't wait. The
/// bit is never beside the waiter's G.
pub(in crate::runtime) const LATE: usize = 8;
/// A bit beside the address of an [`EndWaker`], which stands in place of a G.
pub(in crate::runtime) const FUTURE: usize = 16;
/// The bits beside a G or null.
pub(in crate::runtime) const BITS: usize = RETURNED | LATE;
/// The G has ended, and its result is in the slot.
pub(in crate::runtime) const ENDED: *mut G = ptr::without_provenance_mut(1);
/// The G has ended, its result is in the slot, and it has left its stack.
pub(in crate::runtime) const EXITED: *mut G = ptr::without_provenance_mut(2);
/// The G has no handle.
pub(in crate::runtime) const NO_HANDLE: *mut G = ptr::without_provenance_mut(3);

/// A waiter for the end that isn't a goroutine but a future. Aligned so that the bits are free.
#[repr(align(32))]
pub(crate) struct EndWaker {
    pub(crate) waker: Waker,
    /// Wakes `waker`. It is called on the goroutine that ends, after the destructors of its
    /// thread-locals.
    pub(crate) wake: fn(Waker),
}

/// Notes that a new G gets no handle.
#[inline]
pub(super) fn init_without_handle(gp: &G) {
    gp.ext.joiner.store(NO_HANDLE, Ordering::Relaxed);
}

/// Notes that a new G gets a handle.
#[inline]
pub(crate) fn init_with_handle(gp: &G) {
    gp.ext.joiner.store(ptr::null_mut(), Ordering::Relaxed);
}

/// Whether the G has no handle, or its handle was dropped: nothing will ask for the result.
#[inline]
pub(crate) fn has_no_handle(gp: &G) -> bool {
    // Acquire pairs with drop_handle.
    gp.ext.joiner.load(Ordering::Acquire) == NO_HANDLE
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

impl Slot {
    /// Whether a `V` fits into the slot; if not, it goes into a box.
    const fn fits<V>() -> bool {
        size_of::<V>() <= SLOT_SIZE && align_of::<V>() <= align_of::<Slot>()
    }

    /// Returns the slot's address. The caller knows that nobody else uses the slot: a goroutine
    /// that C has made has nothing in it.
    pub(crate) fn for_port(&self) -> *mut c_void {
        self.0.get().cast()
    }

    /// Makes a place for a value, and returns it.
    ///
    /// # Safety
    /// The slot is the caller's alone, and empty.
    #[inline(always)]
    pub(crate) unsafe fn place<V>(&self) -> *mut V {
        if !Self::fits::<V>() {
            // SAFETY: the slot is the caller's alone, and large enough for an address.
            unsafe { self.0.get().cast::<*mut V>().write(Box::into_raw(Box::<V>::new_uninit()).cast()) }
        }
        // SAFETY: there is a place.
        unsafe { self.value() }
    }

    /// Returns where the value is.
    ///
    /// # Safety
    /// The slot is the caller's alone, and has a [`place`](Self::place) for a `V`.
    #[inline(always)]
    pub(crate) unsafe fn value<V>(&self) -> *mut V {
        let slot = self.0.get().cast::<V>();
        // SAFETY: by the same rule as in `place`, which has left the box's address there.
        if Self::fits::<V>() { slot } else { unsafe { slot.cast::<*mut V>().read() } }
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// As [`value`](Self::value). The value is there, and nobody uses it any more.
    #[inline]
    pub(crate) unsafe fn take<V>(&self) -> V {
        // SAFETY: the value is there, and isn't used again.
        unsafe {
            let value = self.value::<V>().read();
            self.clear::<V>();
            value
        }
    }

    /// Empties the slot, whose value has been moved out or dropped.
    ///
    /// # Safety
    /// As [`value`](Self::value), and nobody uses the value any more.
    #[inline(always)]
    pub(crate) unsafe fn clear<V>(&self) {
        if !Self::fits::<V>() {
            // SAFETY: the box of `place`, whose value isn't to be dropped.
            drop(unsafe { Box::from_raw(self.value::<V>().cast::<std::mem::MaybeUninit<V>>()) });
        }
    }
}
