//! The frames of a copied stack. An unwinder can walk the copy, and can't leave it.
//!
//! As when a stack is moved, each word that looks like an address of the stack is changed to point
//! into the copy. If the address wasn't copied, the word points to the zeros behind the copy, where
//! a walk ends.

use std::io;
use std::ptr;

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::arch::Regs;
use crate::runtime::g::callers::{Pcs, callers_of};
use crate::runtime::prof::samples::{COPIED, Part};

/// How many bytes of zeros are behind each copy: as many as an unwinder may read in the outermost
/// frame.
const BEYOND: usize = 4 << 10;

/// Memory for the two parts of a sample.
pub(crate) struct Copies(MmapMut);

/// A part, and where its copy is.
struct Moved {
    part: Part,
    to: usize,
}

impl Moved {
    /// Returns the address in the copy that `word` should be, if it points to the stack.
    fn of(&self, word: usize) -> Option<usize> {
        let here = self.part.len != 0 && (self.part.from..=self.part.hi).contains(&word);
        here.then(|| self.to + (word - self.part.from).min(self.part.len))
    }
}

impl Copies {
    pub(crate) fn new() -> io::Result<Copies> {
        Ok(Copies(MmapOptions::new().len(COPIED + 2 * BEYOND).map_anon()?))
    }

    /// Fills the copies with the parts that a handler has copied. Returns the registers, changed to
    /// lead into the copies.
    ///
    /// # Safety
    /// The bytes of the parts are at `from`, aligned, one behind the other, and no thread changes
    /// them.
    pub(super) unsafe fn fill(&mut self, parts: &[Part; 2], from: usize, mut regs: Regs) -> Regs {
        let base = self.0.as_mut_ptr().expose_provenance();
        let [first, second] = *parts;
        let moved = [Moved { part: first, to: base }, Moved { part: second, to: base + first.len + BEYOND }];
        let adjust = |word: usize| moved.iter().find_map(|part| part.of(word)).unwrap_or(word);
        let mut from = from;
        for Moved { part, to } in &moved {
            for at in (0..part.len + BEYOND).step_by(size_of::<usize>()) {
                // SAFETY: an aligned word of the part, as the caller says, and one of our memory,
                // which has room for both and what is beyond.
                unsafe {
                    let inside = at < part.len;
                    let word =
                        if inside { ptr::with_exposed_provenance::<usize>(from + at).read() } else { 0 };
                    ptr::with_exposed_provenance_mut::<usize>(to + at).write(adjust(word));
                }
            }
            from += part.len;
        }
        regs.change(|word| *word = adjust(*word));
        regs
    }

    /// Returns the frames of the code that has these registers, which [`fill`](Self::fill) has
    /// returned.
    pub(super) fn callers(&self, regs: &Regs) -> Pcs {
        if !self.0.as_ptr_range().contains(&ptr::with_exposed_provenance(regs.sp)) {
            return Pcs::one(regs.pc);
        }
        // SAFETY: they lead into our memory. If a rule of the interrupted code leads elsewhere, the
        // fault ends the walk.
        unsafe { callers_of(regs) }
    }
}
