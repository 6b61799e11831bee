//! The slot in a goroutine's page: it holds the closure until the goroutine begins, and the result
//! when it has ended.
//!
//! Values go in and out by their address: without optimisation, each function that passed them on
//! would have a copy on its stack.

use std::ffi::c_void;

use crate::runtime::data::ext::{SLOT_SIZE, Slot};

impl Slot {
    /// Whether a `V` fits into the slot; if not, it goes into a box.
    const fn fits<V>() -> bool {
        size_of::<V>() <= SLOT_SIZE && align_of::<V>() <= align_of::<Slot>()
    }

    /// The slot's address. The caller knows that nobody else uses the slot: a goroutine that C has
    /// made has nothing in it.
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

    /// Where the value is.
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
    /// As [`value`](Self::value), which is there, and nobody uses it any more.
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
