//! Threads of `<threads.h>`.

use crate::runtime::base::real;
use crate::runtime::stdpark::symbols::time::sched_yield;
use crate::runtime::threads::live::live;

/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn thrd_yield() {
    // SAFETY: neither function has any conditions.
    unsafe {
        if !live() {
            return real::thrd_yield();
        }
        sched_yield();
    }
}
