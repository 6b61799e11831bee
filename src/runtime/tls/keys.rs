//! What a goroutine has for keys of `pthread_key_create`, at its end.

use std::ptr;

use crate::runtime::tls::glibc::{KEYS, KEYS_IN_BLOCK, Key, KeyData};

/// How often a thread's end looks for what keys have: `limits.h`.
const PTHREAD_DESTRUCTOR_ITERATIONS: usize = 4;

/// How many blocks of keys' values a thread can have.
pub(super) const BLOCKS: usize = KEYS / KEYS_IN_BLOCK;

/// What a thread has for keys.
pub(super) struct Keys {
    pub(super) table: *mut [*mut KeyData; BLOCKS],
    /// Whether any was used.
    pub(super) used: *mut bool,
}

impl Keys {
    /// Calls the destructors of what keys have, until none has anything, but not for ever. Says
    /// whether there was anything.
    ///
    /// # Safety
    /// As [`Glibc::run_destructors`]; the keys are those of the C library.
    pub(super) unsafe fn run_destructors(&self, keys: *const Key) -> bool {
        let mut any = false;
        for _ in 0..PTHREAD_DESTRUCTOR_ITERATIONS {
            // SAFETY: it is this thread's alone.
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

    /// Forgets what destructors have left for keys: those have had their turns. Frees the blocks
    /// but the first.
    ///
    /// # Safety
    /// As [`Glibc::run_destructors`].
    pub(super) unsafe fn forget(&self) {
        // SAFETY: as above. The blocks are from the C library's calloc, as a program may have
        // replaced it.
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
