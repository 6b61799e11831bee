//! A goroutine's values for keys of `pthread_key_create`, at its end.

use std::ptr;

use crate::runtime::tls::glibc::{KEYS, KEYS_IN_BLOCK, Key, KeyData};

/// How many times the end of a thread looks for values of keys: `limits.h`.
const PTHREAD_DESTRUCTOR_ITERATIONS: usize = 4;

/// The maximum number of blocks of keys' values of a thread.
pub(super) const BLOCKS: usize = KEYS / KEYS_IN_BLOCK;

/// A thread's values for keys.
pub(super) struct Keys {
    pub(super) table: *mut [*mut KeyData; BLOCKS],
    /// Whether any key was used.
    pub(super) used: *mut bool,
}

impl Keys {
    /// Calls the destructors of the keys' values until there are no values, or
    /// [`PTHREAD_DESTRUCTOR_ITERATIONS`] times. Returns whether there were any values.
    ///
    /// # Safety
    /// As [`Glibc::run_destructors`]; the keys are the C library's.
    pub(super) unsafe fn run_destructors(&self, keys: *const Key) -> bool {
        let mut any = false;
        for _ in 0..PTHREAD_DESTRUCTOR_ITERATIONS {
            // SAFETY: only this thread uses it.
            if !unsafe { self.used.replace(false) } {
                break;
            }
            any = true;
            for n in 0..KEYS {
                // SAFETY: as above. A destructor may use a key whose block isn't there yet.
                let block = unsafe { (*self.table)[n / KEYS_IN_BLOCK] };
                if block.is_null() {
                    continue;
                }
                // SAFETY: as above. A key may be deleted meanwhile, which changes its number.
                let (data, key) =
                    unsafe { (&mut *block.add(n % KEYS_IN_BLOCK), keys.add(n).read_volatile()) };
                let value = std::mem::replace(&mut data.data, ptr::null_mut());
                let Key { seq, destructor: Some(destructor) } = key else { continue };
                if !value.is_null() && seq == data.seq {
                    // SAFETY: the key was made with this destructor, for such values.
                    unsafe { destructor(value) };
                }
            }
        }
        any
    }

    /// Forgets the values that destructors have left for keys: the destructors have had their
    /// turns. Frees all blocks but the first.
    ///
    /// # Safety
    /// As [`Glibc::run_destructors`].
    pub(super) unsafe fn forget(&self) {
        // SAFETY: as above. The blocks are from calloc: the C library's, or the one that the
        // program has in its place.
        unsafe {
            let [first, others @ ..] = &mut *self.table;
            ptr::write_bytes(*first, 0, KEYS_IN_BLOCK);
            for block in others {
                libc::free(std::mem::replace(block, ptr::null_mut()).cast());
            }
            self.used.write(false);
        }
    }
}
