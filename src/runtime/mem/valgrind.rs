//! Requests to valgrind about stacks. On a processor each request is a dozen instructions without
//! an effect.
//!
//! Valgrind derives from the stack pointer which memory is in use: memory that a call pushes is
//! new, and memory below is unused. If valgrind doesn't know the stacks, a switch between them
//! looks like one call or return with a large frame.

use std::sync::Mutex;

use crate::runtime::arch::valgrind_request;
use crate::runtime::data::runtime2::Stack;

/// `VG_USERREQ__STACK_REGISTER`. The answer is a number other than 0, which is the main thread's
/// stack.
const STACK_REGISTER: usize = 0x1501;
const STACK_DEREGISTER: usize = 0x1502;

/// Memcheck's requests have its two letters: `VG_USERREQ__MAKE_MEM_DEFINED`. Other tools ignore
/// them.
const MAKE_MEM_DEFINED: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16 | 2;

/// Marks memory from `lo` to `hi` as defined, in a stack that is about to move, or in its new
/// place. The new place counts as unused until the stack pointer is there. And a word with padding,
/// which is compared with addresses when it is moved, would arrive as wholly uninitialised.
pub(in crate::runtime) fn make_defined(lo: usize, hi: usize) {
    valgrind_request(&[MAKE_MEM_DEFINED, lo, hi - lo, 0, 0, 0]);
}

/// Registers a stack. Returns its number; 0 without valgrind.
pub(super) fn register(s: Stack) -> usize {
    valgrind_request(&[STACK_REGISTER, s.lo, s.hi - 1, 0, 0, 0])
}

/// Stacks that may be unmapped, by their lower ends, and their numbers.
static MAPPED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// [`register`], for a stack that may be unmapped.
pub(super) fn register_mapped(s: Stack) {
    let id = register(s);
    if id != 0 {
        MAPPED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((s.lo, id));
    }
}

/// Undoes [`register_mapped`].
pub(super) fn deregister(s: Stack) {
    let mut mapped = MAPPED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(i) = mapped.iter().position(|&(lo, _)| lo == s.lo) {
        let (_, id) = mapped.swap_remove(i);
        valgrind_request(&[STACK_DEREGISTER, id, 0, 0, 0, 0]);
    }
}
