//! A thread ends itself, by `pthread_exit`.

use std::ffi::c_void;

use crate::runtime::arch::getg;
use crate::runtime::base::fatal::fatal;
use crate::runtime::threads::cancel::end_cancellation;
use crate::runtime::threads::record::{record_of, this_thread};

/// Notes the result of the running thread, if it is a goroutine that is about to end by
/// `pthread_exit`. The C library then unwinds the stack to the place that `asm/call_thread.c` has
/// registered in the goroutine's control block.
#[cold]
#[inline(never)]
pub(super) fn note_result(result: *mut c_void) {
    if let Some(gp) = this_thread() {
        end_cancellation(gp);
        record_of(gp).result.set(result);
    } else if getg().is_some_and(|gp| gp.ext.tp.get() != 0) {
        fatal("pthread_exit on a goroutine that isn't a thread: gosched::goexit ends it");
    }
}
