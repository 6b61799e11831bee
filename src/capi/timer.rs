//! Timers for C: the functions that the stubs of `asm/*/entry.S` jump to. Each `unsafe` block
//! relies on what the function of the same name in `header/` asks of its caller.

use std::ffi::c_void;
use std::mem::offset_of;

use crate::capi;
use crate::capi::caller::{must_have_p, need, null};
use crate::runtime::{
    Timer, TimerFn, addtimer, deltimer, in_a_heap, modtimer, nanotime, resettimer, with_room,
};

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_start_timer_impl(t: *const Timer) {
    // SAFETY: a timer that stays while a heap has it.
    let t = unsafe { need("gosched_start_timer", "t", t) };
    if t.f.get().is_none() {
        null("gosched_start_timer", "t->f");
    }
    let _guest = must_have_p("gosched_start_timer");
    with_room(|| addtimer(t))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_stop_timer_impl(t: *const Timer) -> bool {
    // SAFETY: as in gosched_start_timer_impl.
    let t = unsafe { need("gosched_stop_timer", "t", t) };
    with_room(|| deltimer(t))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_reset_timer_impl(t: *const Timer, when: i64) -> bool {
    // SAFETY: as in gosched_start_timer_impl.
    let t = unsafe { need("gosched_reset_timer", "t", t) };
    if t.f.get().is_none() {
        null("gosched_reset_timer", "t->f");
    }
    let _guest = must_have_p("gosched_reset_timer");
    with_room(|| resettimer(t, when))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_mod_timer_impl(
    t: *const Timer,
    when: i64,
    period: i64,
    f: Option<TimerFn>,
    arg: *mut c_void,
    seq: usize,
) -> bool {
    // SAFETY: as in gosched_start_timer_impl.
    let t = unsafe { need("gosched_mod_timer", "t", t) };
    if f.is_none() {
        null("gosched_mod_timer", "f");
    }
    let _guest = must_have_p("gosched_mod_timer");
    with_room(|| modtimer(t, when, period, f, arg, seq))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_timer_in_heap_impl(t: *const Timer) -> bool {
    // SAFETY: as in gosched_start_timer_impl.
    in_a_heap(unsafe { need("gosched_timer_in_heap", "t", t) })
}

#[unsafe(no_mangle)]
extern "C" fn gosched_nanotime_impl() -> i64 {
    with_room(nanotime)
}

// What C sets is where it is in a Timer, and there is room for the rest, and the rank of a lock in
// debug builds.
const _: () = {
    use capi::Timer as C;
    assert!(size_of::<C>() >= size_of::<Timer>());
    assert!(align_of::<C>() == align_of::<Timer>());
    assert!(offset_of!(C, pp) == offset_of!(Timer, pp));
    assert!(offset_of!(C, when) == offset_of!(Timer, when));
    assert!(offset_of!(C, period) == offset_of!(Timer, period));
    assert!(offset_of!(C, f) == offset_of!(Timer, f));
    assert!(offset_of!(C, arg) == offset_of!(Timer, arg));
    assert!(offset_of!(C, seq) == offset_of!(Timer, seq));
    assert!(offset_of!(C, rest) == offset_of!(Timer, nextwhen));
};
