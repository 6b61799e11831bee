//! `pthread_once`: glibc's word. 0 is the beginning, and bit 1 is set when all is done. While the
//! function runs, the word has bit 0, and the number of forks that led to this process above it: a
//! word with another number is of a function that runs only in a parent.

use std::ffi::c_int;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::runtime::stdpark::futex::{wait_at_word, wake_at_word};

const DONE: u32 = 2;

/// The word while the function runs in this process. Set before threads are goroutines.
pub(super) static RUNS: AtomicU32 = AtomicU32::new(0);

/// Whether all is done.
///
/// # Safety
/// `control` is a word of `pthread_once`'s.
#[inline(always)]
pub(in crate::runtime::threads) unsafe fn is_done(control: *mut c_int) -> bool {
    // SAFETY: as the caller says. Acquire pairs with the end of the function.
    unsafe { (*control.cast::<AtomicU32>()).load(Ordering::Acquire) & DONE != 0 }
}

/// `pthread_once`, if it isn't done.
///
/// # Safety
/// As the C library's.
#[inline(never)]
pub(in crate::runtime::threads) unsafe fn once(
    control: *mut c_int,
    function: unsafe extern "C-unwind" fn(),
) -> c_int {
    /// Lets others begin anew, if the function unwinds.
    struct Undo<'a>(&'a AtomicU32);

    impl Drop for Undo<'_> {
        fn drop(&mut self) {
            end(self.0, 0);
        }
    }

    fn end(word: &AtomicU32, value: u32) {
        let addr = ptr::from_ref(word).expose_provenance();
        // Release pairs with a caller that finds the word done.
        word.store(value, Ordering::Release);
        wake_at_word(addr, u32::MAX);
    }

    // SAFETY: as the caller says.
    let word = unsafe { &*control.cast::<AtomicU32>() };
    let runs = RUNS.load(Ordering::Relaxed);
    loop {
        let value = word.load(Ordering::Acquire);
        if value & DONE != 0 {
            return 0;
        }
        if value == runs {
            wait_at_word(word, runs, None, false);
        } else if word.compare_exchange(value, runs, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            break;
        }
    }
    let undo = Undo(word);
    // SAFETY: as the caller says.
    unsafe { function() };
    mem::forget(undo);
    end(word, DONE);
    0
}
