//! Notes: what a signal handler wakes.

use crate::capi::caller::{need, need_goroutine};
use crate::runtime::{noteclear, notetsleepg, notewakeup, runtime2};

/// An event that happens once, and that one goroutine can sleep on: Go's `note`. It begins as all
/// zeros, `{0}`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Note {
    /// Private to the library.
    pub key: u64,
}

unsafe extern "C" {
    /// Makes a note ready to be slept on again. Go's `noteclear`, in `lock_futex.go`.
    ///
    /// # Safety
    /// It can be called anywhere. No goroutine sleeps on the note, and no caller is about to wake
    /// it.
    pub fn gosched_noteclear(n: *mut Note);

    /// Wakes the goroutine that sleeps on the note, or lets a later sleep return at once. A second
    /// wakeup without `gosched_noteclear` in between ends the process. Go's `notewakeup`, in
    /// `lock_futex.go`.
    ///
    /// It uses little stack and doesn't check how much there is, because it may run on a signal's
    /// stack. A signal handler mustn't check either: `__attribute__((no_split_stack))`.
    ///
    /// # Safety
    /// It can be called anywhere, also in a signal handler. `n` is a note that isn't on a copying
    /// stack.
    // stub: UNCHECKED
    pub fn gosched_notewakeup(n: *mut Note);

    /// Sleeps on a note until it is woken, at most `ns` nanoseconds unless `ns` is negative.
    /// Returns whether the note was woken. The goroutine's thread sleeps, and other goroutines get
    /// its processor. It is for wakeups from places that can't make a goroutine ready, such as a
    /// signal handler. Go's `notetsleepg`, in `lock_futex.go`.
    ///
    /// # Safety
    /// On a goroutine. At most one goroutine at a time sleeps on a note. The note isn't on a
    /// copying stack.
    pub fn gosched_notetsleepg(n: *mut Note, ns: i64) -> bool;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_noteclear_impl(n: *const runtime2::Note) {
    // SAFETY: a note that nobody else uses now.
    noteclear(unsafe { need("gosched_noteclear", "n", n) })
}

/// Also in a signal handler, of the program's own, on the signal's stack.
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notewakeup_impl(n: *const runtime2::Note) {
    // SAFETY: a note; once its sleeper may go on only its address is used.
    notewakeup(unsafe { need("gosched_notewakeup", "n", n) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notetsleepg_impl(n: *const runtime2::Note, ns: i64) -> bool {
    need_goroutine("gosched_notetsleepg", "sleep so");
    // SAFETY: need_goroutine has returned, so this is one; the note stays where it is while this
    // sleeps.
    unsafe { notetsleepg(need("gosched_notetsleepg", "n", n), ns) }
}

// A Note of C has the layout of the runtime's.
const _: () = assert!(size_of::<Note>() == size_of::<runtime2::Note>());
const _: () = assert!(align_of::<Note>() == align_of::<runtime2::Note>());
