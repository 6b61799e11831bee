//! C's locks: all wait in the table of futexes.

pub(crate) mod models_rwlock;
mod models_unseen;
mod models_word;
#[path = "../../../../../../src/runtime/threads/locks/rwlock.rs"]
pub(crate) mod rwlock;
#[path = "../../../../../../src/runtime/threads/locks/unseen.rs"]
mod unseen;
#[path = "../../../../../../src/runtime/threads/locks/word.rs"]
mod word;

use std::ffi::c_int;

use crate::runtime::stdpark::futex::Deadline;

/// No model's thread waits for a lock that it has.
fn me() -> c_int {
    -1
}

/// Whether a wait has a limit.
#[derive(Clone, Copy)]
pub(crate) struct Limit(bool);

impl Limit {
    unsafe fn deadline(self) -> Result<Option<Deadline>, c_int> {
        Ok(self.0.then_some(Deadline))
    }
}

/// A mutex is its word.
mod mutex {
    use libc::pthread_mutex_t;

    use crate::runtime::threads::locks::models_unseen::wake_all;
    use crate::runtime::threads::locks::word::forget_waiters;

    pub(super) unsafe fn is_ours(_: *mut pthread_mutex_t) -> bool {
        true
    }

    pub(super) unsafe fn disturb_waiters(mutex: *mut pthread_mutex_t) {
        // SAFETY: a model's word.
        if forget_waiters(unsafe { &*mutex.cast() }) {
            wake_all(mutex.expose_provenance());
        }
    }
}
