//! Notes for C: the functions that the stubs of `asm/*/entry.S` jump to. Each `unsafe` block relies on what the
//! function of the same name in `header/` asks of its caller.

use crate::capi;
use crate::capi::caller::{need_goroutine, null};
use crate::runtime::runtime2::Note;
use crate::runtime::{noteclear, notetsleepg, notewakeup};

/// The note that C has passed.
///
/// # Safety
/// It is NULL, or a note that stays while it is used.
#[inline(always)]
unsafe fn note<'a>(function: &str, n: *const Note) -> &'a Note {
    // SAFETY: as the caller says.
    unsafe { n.as_ref() }.unwrap_or_else(|| null(function, "n"))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_noteclear_impl(n: *const Note) {
    // SAFETY: a note that nobody else uses now.
    noteclear(unsafe { note("gosched_noteclear", n) })
}

/// Also in a signal handler, of the program's own, on the signal's stack.
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notewakeup_impl(n: *const Note) {
    // SAFETY: a note; once its sleeper may go on only its address is used.
    notewakeup(unsafe { note("gosched_notewakeup", n) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notetsleepg_impl(n: *const Note, ns: i64) -> bool {
    need_goroutine("gosched_notetsleepg", "sleep so");
    // SAFETY: need_goroutine has returned, so this is one; the note stays where it is while this sleeps.
    unsafe { notetsleepg(note("gosched_notetsleepg", n), ns) }
}

// A Note of C has the layout of the runtime's.
const _: () = assert!(size_of::<capi::Note>() == size_of::<Note>());
const _: () = assert!(align_of::<capi::Note>() == align_of::<Note>());
