//! What C programs see of timers.

use std::ffi::c_void;

/// A timer: Go's `timer`, in `time.go`. It begins as all zeros, `{0}`; then its owner sets `when`,
/// `period`, `f`, `arg` and `seq`, and passes it to `gosched_start_timer`, or lets
/// `gosched_mod_timer` set them. After that only the functions here change it.
///
/// Its memory is no copying stack, and stays, where it is, while a heap has the timer: see
/// `gosched_timer_in_heap`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Timer {
    /// The library's.
    pub pp: *mut c_void,
    /// When it fires, by the clock of `gosched_nanotime`: positive.
    pub when: i64,
    /// How many nanoseconds later it fires again, and so on; 0 if it fires once.
    pub period: i64,
    /// What is called when it fires, as `f(arg, seq)`: on the scheduler's stack, on any thread of the
    /// runtime's. It may make a goroutine, make one ready (`gosched_ready`, `gosched_semrelease`,
    /// `gosched_notify_list_notify_one`), try to send on a channel, close one, and set timers. It
    /// must not park, block its thread or unwind, and should be short: others wait for that processor.
    pub f: Option<unsafe extern "C" fn(arg: *mut c_void, seq: usize)>,
    /// For `f`.
    pub arg: *mut c_void,
    /// For `f`: as a rule the number of this setting, which tells a call that comes late.
    pub seq: usize,
    /// The library's.
    pub rest: [u64; 8],
}

unsafe extern "C" {
    /// Starts a new timer: from `t->when` on its function is called, once or each `t->period`. Go's
    /// `startTimer`, in `time.go`.
    ///
    /// It ends the process if `when` isn't positive, if `period` is negative, or if the timer was
    /// started before.
    ///
    /// # Safety
    /// On a goroutine, on another thread once the runtime runs, or in a timer's function; not in what
    /// `gosched_blocking` calls. `t` is a timer that nobody else uses meanwhile, whose function may be
    /// called with its arguments on any thread.
    pub fn gosched_start_timer(t: *mut Timer);

    /// Stops a timer; returns whether it was active, and so won't fire. If it wasn't, it has fired or
    /// was stopped, and its function may be running. Go's `stopTimer`, in `time.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `t` is a timer that nobody else changes meanwhile.
    pub fn gosched_stop_timer(t: *mut Timer) -> bool;

    /// Sets a timer to another time, and starts it if it isn't active; returns whether it was. Go's
    /// `resetTimer`, in `time.go`.
    ///
    /// # Safety
    /// As `gosched_start_timer`, but that the timer may have been started before.
    pub fn gosched_reset_timer(t: *mut Timer, when: i64) -> bool;

    /// Sets all of a timer, and starts it if it isn't active; returns whether it was. Go's `modTimer`,
    /// in `time.go`.
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

    /// Whether a processor's heap of timers has this one: then its memory must stay. One that is
    /// stopped leaves its heap later, when that processor looks at it, at the latest when it would have
    /// fired; so who makes many keeps those that are stopped, to set them again. One that has fired,
    /// once, has left before its function is called. (In Go the collector sees to that.)
    ///
    /// # Safety
    /// It can be called anywhere. `t` is a timer.
    pub fn gosched_timer_in_heap(t: *const Timer) -> bool;

    /// The monotonic clock, in nanoseconds: what the time of a timer is compared with. Go's `nanotime`,
    /// in `time_nofake.go`.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler.
    pub fn gosched_nanotime() -> i64;
}
