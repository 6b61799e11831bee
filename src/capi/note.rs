//! Notes for C: the functions that the stubs of `asm/*/entry.S` jump to. Each `unsafe` block relies
//! on what the function of the same name in `header/` asks of its caller.

use crate::capi;
use crate::capi::caller::{need, need_goroutine};
use crate::runtime::runtime2::Note;
use crate::runtime::{noteclear, notetsleepg, notewakeup};

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_noteclear_impl(n: *const Note) {
    // SAFETY: a note that nobody else uses now.
    noteclear(unsafe { need("gosched_noteclear", "n", n) })
}

/// Also in a signal handler, of the program's own, on the signal's stack.
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notewakeup_impl(n: *const Note) {
    // SAFETY: a note; once its sleeper may go on only its address is used.
    notewakeup(unsafe { need("gosched_notewakeup", "n", n) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notetsleepg_impl(n: *const Note, ns: i64) -> bool {
    need_goroutine("gosched_notetsleepg", "sleep so");
    // SAFETY: need_goroutine has returned, so this is one; the note stays where it is while this
    // sleeps.
    unsafe { notetsleepg(need("gosched_notetsleepg", "n", n), ns) }
}

// A Note of C has the layout of the runtime's.
const _: () = assert!(size_of::<capi::Note>() == size_of::<Note>());
const _: () = assert!(align_of::<capi::Note>() == align_of::<Note>());
