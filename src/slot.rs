//! The slot in a goroutine's page: its closure until it runs, its result when it has.

use crate::runtime2::{SLOT_SIZE, Slot};

impl Slot {
    /// Whether a `V` fits; if it doesn't, it goes into a box.
    const fn fits<V>() -> bool {
        size_of::<V>() <= SLOT_SIZE && align_of::<V>() <= align_of::<Slot>()
    }

    /// Puts a value in.
    ///
    /// # Safety
    /// The slot is the caller's alone, and empty.
    #[inline(always)]
    pub(crate) unsafe fn put<V>(&self, value: V) {
        // SAFETY: the slot is large and aligned enough for what is written.
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
    /// The slot is the caller's alone, and a `V` is in it.
    #[inline(always)]
    pub(crate) unsafe fn take<V>(&self) -> V {
        // SAFETY: as put wrote it.
        unsafe {
            if Self::fits::<V>() {
                self.0.get().cast::<V>().read()
            } else {
                *self.0.get().cast::<Box<V>>().read()
            }
        }
    }
}
