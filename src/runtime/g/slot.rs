//! The slot in a goroutine's page: it holds the closure until the goroutine begins, and the result when it
//! has ended.

use crate::runtime::data::ext::{SLOT_SIZE, Slot};

impl Slot {
    /// Whether a `V` fits into the slot; if not, it goes into a box.
    const fn fits<V>() -> bool {
        size_of::<V>() <= SLOT_SIZE && align_of::<V>() <= align_of::<Slot>()
    }

    /// Puts a value in.
    ///
    /// # Safety
    /// The slot is the caller's alone, and empty.
    #[inline(always)]
    pub(crate) unsafe fn put<V>(&self, value: V) {
        // SAFETY: the slot is the caller's alone, and large and aligned enough: `V` fits, or else a box does.
        unsafe {
            if Self::fits::<V>() {
                self.0.get().cast::<V>().write(value);
            } else {
                self.0.get().cast::<Box<V>>().write(Box::new(value));
            }
        }
    }

    /// Takes the value out.
    ///
    /// # Safety
    /// The slot is the caller's alone, and [`put`](Self::put) has put a `V` in it, which wasn't taken yet.
    #[inline(always)]
    pub(crate) unsafe fn take<V>(&self) -> V {
        // SAFETY: `put` has written a `V`, or a box with one, by the same rule, and nobody takes it again.
        unsafe {
            if Self::fits::<V>() {
                self.0.get().cast::<V>().read()
            } else {
                *self.0.get().cast::<Box<V>>().read()
            }
        }
    }
}
