//! The data of a stack's move: Go's `adjustinfo`.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::runtime::data::cell::Cell;
use crate::runtime::data::runtime2::Stack;

/// A move of a stack. Go's `adjustinfo`.
#[derive(Debug)]
#[repr(C)]
pub struct AdjustInfo {
    /// Where the stack was.
    pub old: Stack,
    /// The distance that is added to an address of the old stack, wrapping.
    pub delta: usize,
    /// The end of the highest place in the new stack to which a sudog points; 0 if there is none.
    /// Go's `sghi`.
    pub(in crate::runtime) sghi: Cell<usize>,
}

impl AdjustInfo {
    pub(in crate::runtime) fn new(old: Stack, new: Stack) -> Self {
        AdjustInfo { old, delta: new.hi.wrapping_sub(old.hi), sghi: Cell::new(0) }
    }

    /// Returns the new address of the data at `p`: in the new stack if `p` is in the old stack,
    /// otherwise `p`.
    #[inline(always)]
    pub fn moved(&self, p: usize) -> usize {
        // One comparison and no branch, as this is called for each word of a stack.
        let inside = p.wrapping_sub(self.old.lo) < self.old.hi - self.old.lo;
        p.wrapping_add(if inside { self.delta } else { 0 })
    }

    /// If the word at `vpp` points into the old stack, makes it point into the new stack. Go's
    /// `adjustpointer`.
    ///
    /// # Safety
    /// `vpp` is an aligned word, which nobody else reads or writes meanwhile.
    #[inline(always)]
    pub unsafe fn adjustpointer(&self, vpp: *mut usize) {
        // SAFETY: the word is aligned and ours alone, as the caller says.
        unsafe {
            vpp.write(self.moved(vpp.read()));
        }
    }

    /// [`adjustpointer`](Self::adjustpointer) for each word of the new stack from `from` to `to`.
    /// Go's `adjustpointers`.
    ///
    /// # Safety
    /// These are aligned words of the G's memory. Nobody uses them meanwhile, except a sender below
    /// `sghi`.
    pub(in crate::runtime) unsafe fn adjustpointers(&self, from: usize, to: usize) {
        let racy = self.sghi.get().clamp(from, to);
        // SAFETY: aligned words of the G's memory, and from `sghi` on ours alone, as the caller
        // says.
        unsafe {
            self.adjust_received(from, racy);
            for word in (racy..to).step_by(size_of::<usize>()) {
                self.adjustpointer(ptr::with_exposed_provenance_mut(word));
            }
        }
    }

    /// Copies `n` bytes to the new stack, and adjusts each word on the way: a second pass over the
    /// stack would take as long as the copy.
    ///
    /// # Safety
    /// Both places have `n` bytes of aligned words of the G's memory, which nobody else uses.
    pub(in crate::runtime) unsafe fn copy_adjusted(&self, from: usize, to: usize, n: usize) {
        let from = ptr::with_exposed_provenance::<usize>(from);
        let to = ptr::with_exposed_provenance_mut::<usize>(to);
        for i in 0..n / size_of::<usize>() {
            // SAFETY: both have a word `i`, aligned and ours alone, as the caller says.
            unsafe { to.add(i).write(self.moved(from.add(i).read())) }
        }
    }

    /// [`adjustpointers`](Self::adjustpointers) where a sender may write at the same time.
    ///
    /// # Safety
    /// These are aligned words of the G's memory, which only such a sender uses meanwhile.
    pub(in crate::runtime) unsafe fn adjust_received(&self, from: usize, to: usize) {
        for word in (from..to).step_by(size_of::<usize>()) {
            // SAFETY: an aligned word that is there, as the caller says. A sender's plain stores at
            // the same time are a race, as in Go: the processor does each before or after the
            // compare-and-swap, and either way the value stays.
            let word = unsafe { AtomicUsize::from_ptr(ptr::with_exposed_provenance_mut(word)) };
            let p = word.load(Ordering::Relaxed);
            if self.moved(p) != p {
                // If this fails, a value was received meanwhile, and the value is no address in
                // this stack.
                let _ = word.compare_exchange(p, self.moved(p), Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }
}
