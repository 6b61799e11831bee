//! Timers.

use std::ffi::c_void;
use std::mem::offset_of;

use crate::capi::caller::{must_have_p, need, null};
use crate::runtime::{
    self, TimerFn, addtimer, deltimer, in_a_heap, modtimer, nanotime, resettimer, with_room,
};

/// A timer: Go's `timer`, in `time.go`. It begins as all zeros, `{0}`. Then its owner sets `when`,
/// `period`, `f`, `arg` and `seq` and passes it to `gosched_start_timer`, or lets
/// `gosched_mod_timer` set them. After that only the functions here change it.
///
/// A timer isn't on a copying stack. Its memory stays where it is while a heap has the timer: see
/// `gosched_timer_in_heap`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Timer {
    /// Private to the library.
    pub pp: *mut c_void,
    /// The time at which it fires, by the clock of `gosched_nanotime`: positive.
    pub when: i64,
    /// The nanoseconds from one firing to the next; 0 if it fires once.
    pub period: i64,
    /// Called when the timer fires, as `f(arg, seq)`: on the scheduler's stack, on any thread of
    /// the runtime's. It may make a goroutine, make one ready (`gosched_ready`,
    /// `gosched_semrelease`, `gosched_notify_list_notify_one`), try to send on a channel, close a
    /// channel, and set timers. It must not park, block its thread or unwind. It should be short,
    /// because goroutines wait for the processor.
    pub f: Option<unsafe extern "C" fn(arg: *mut c_void, seq: usize)>,
    /// The first argument of `f`.
    pub arg: *mut c_void,
    /// The second argument of `f`: as a rule the number of this setting, by which `f` recognizes a
    /// call that comes late.
    pub seq: usize,
    /// Private to the library.
    pub rest: [u64; 8],
}

unsafe extern "C" {
    /// Starts a new timer: `f` is called at `t->when`, and from then on every `t->period` unless
    /// that is 0. Go's `startTimer`, in `time.go`.
    ///
    /// It ends the process if `when` isn't positive, if `period` is negative, or if the timer was
    /// started before.
    ///
    /// # Safety
    /// On a goroutine, on another thread once the runtime runs, or in a timer's function; not in a
    /// function that `gosched_blocking` calls. No other caller uses `t` meanwhile. `f` may be
    /// called with its arguments on any thread.
    pub fn gosched_start_timer(t: *mut Timer);

    /// Stops a timer. Returns true if it was active; then it won't fire. Returns false if it has
    /// fired or was stopped; then its function may be running. Go's `stopTimer`, in `time.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `t` is a timer that no other caller changes meanwhile.
    pub fn gosched_stop_timer(t: *mut Timer) -> bool;

    /// Sets a timer to another time, and starts it if it isn't active. Returns whether it was
    /// active. Go's `resetTimer`, in `time.go`.
    ///
    /// # Safety
    /// As `gosched_start_timer`, except that the timer may have been started before.
    pub fn gosched_reset_timer(t: *mut Timer, when: i64) -> bool;

    /// Sets all fields of a timer, and starts it if it isn't active. Returns whether it was active.
    /// Go's `modTimer`, in `time.go`.
    ///
    /// # Safety
    /// As `gosched_reset_timer`.
    pub fn gosched_mod_timer(
        t: *mut Timer,
        when: i64,
        period: i64,
        f: Option<unsafe extern "C" fn(arg: *mut c_void, seq: usize)>,
        arg: *mut c_void,
        seq: usize,
    ) -> bool;

    /// Whether a processor's heap of timers has this timer, whose memory must stay then. A timer
    /// that is stopped leaves its heap later, when the processor looks at it, at the latest when it
    /// would have fired. So a program that makes many timers should keep the stopped ones and set
    /// them again. A timer that fires once has left its heap before its function is called. (In Go
    /// the garbage collector frees timers.)
    ///
    /// # Safety
    /// It can be called anywhere. `t` is a timer.
    pub fn gosched_timer_in_heap(t: *const Timer) -> bool;

    /// The monotonic clock, in nanoseconds. The time of a timer is compared with it. Go's
    /// `nanotime`, in `time_nofake.go`.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler.
    pub fn gosched_nanotime() -> i64;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_start_timer_impl(t: *const runtime::Timer) {
    // SAFETY: a timer that stays while a heap has it.
    let t = unsafe { need("gosched_start_timer", "t", t) };
    if t.f.get().is_none() {
        null("gosched_start_timer", "t->f");
    }
    let _guest = must_have_p("gosched_start_timer");
    with_room(|| addtimer(t))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_stop_timer_impl(t: *const runtime::Timer) -> bool {
    // SAFETY: as in gosched_start_timer_impl.
    let t = unsafe { need("gosched_stop_timer", "t", t) };
    with_room(|| deltimer(t))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_reset_timer_impl(t: *const runtime::Timer, when: i64) -> bool {
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
    t: *const runtime::Timer,
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
unsafe extern "C" fn gosched_timer_in_heap_impl(t: *const runtime::Timer) -> bool {
    // SAFETY: as in gosched_start_timer_impl.
    in_a_heap(unsafe { need("gosched_timer_in_heap", "t", t) })
}

#[unsafe(no_mangle)]
extern "C" fn gosched_nanotime_impl() -> i64 {
    with_room(nanotime)
}

// The fields that C sets are where the runtime has them. There is room for the rest, and for the
// rank of a lock in debug builds.
const _: () = {
    assert!(size_of::<Timer>() >= size_of::<runtime::Timer>());
    assert!(align_of::<Timer>() == align_of::<runtime::Timer>());
    assert!(offset_of!(Timer, pp) == offset_of!(runtime::Timer, pp));
    assert!(offset_of!(Timer, when) == offset_of!(runtime::Timer, when));
    assert!(offset_of!(Timer, period) == offset_of!(runtime::Timer, period));
    assert!(offset_of!(Timer, f) == offset_of!(runtime::Timer, f));
    assert!(offset_of!(Timer, arg) == offset_of!(runtime::Timer, arg));
    assert!(offset_of!(Timer, seq) == offset_of!(runtime::Timer, seq));
    assert!(offset_of!(Timer, rest) == offset_of!(runtime::Timer, nextwhen));
};
