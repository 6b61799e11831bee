//! A goroutine's state.

use crate::capi::caller::{need_g, wait_reason};
use crate::capi::{Goroutine, WaitReason};
use crate::runtime::runtime2::{
    G, GCOPYSTACK, GDEAD, GIDLE, GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL, GWAITING,
};
use crate::runtime::{
    cas_g_to_waiting, casfrom_gscanstatus, casgcopystack, casgstatus, castogscanstatus, readgstatus,
};

/// The G was just allocated, or was given back to the system: it isn't a goroutine. Go's `_Gidle`.
pub const GOSCHED_GIDLE: u32 = 0;
/// The goroutine is in a queue, to run; nothing owns its stack. Go's `_Grunnable`.
pub const GOSCHED_GRUNNABLE: u32 = 1;
/// The goroutine runs, and owns its stack. Go's `_Grunning`.
pub const GOSCHED_GRUNNING: u32 = 2;
/// The goroutine is in a system call and owns its stack. It runs none of the program's code that
/// counts. Go's `_Gsyscall`.
pub const GOSCHED_GSYSCALL: u32 = 3;
/// The goroutine is parked, and is recorded where the code that will make it ready finds it. Go's
/// `_Gwaiting`.
pub const GOSCHED_GWAITING: u32 = 4;
/// The goroutine isn't in use: it has ended, or is being made. Go's `_Gdead`.
pub const GOSCHED_GDEAD: u32 = 6;
/// The stack belongs to the caller that has set this state, and that moves the stack. Go's
/// `_Gcopystack`.
pub const GOSCHED_GCOPYSTACK: u32 = 8;
/// The goroutine has stopped for `gosched_suspend_g`, which hasn't noticed it yet. Go's
/// `_Gpreempted`.
pub const GOSCHED_GPREEMPTED: u32 = 9;
/// Added to one of the other states: the stack belongs to a scan, and the state can't change before
/// the scan is over. Go's `_Gscan`.
pub const GOSCHED_GSCAN: u32 = 4096;

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// The state of `g`, one of `GOSCHED_GIDLE` to `GOSCHED_GPREEMPTED`, perhaps with
    /// `GOSCHED_GSCAN`. It may have changed since, unless the caller keeps it from changing. Go's
    /// `readgstatus`, in `proc.go`.
    ///
    /// # Safety
    /// `g` is a goroutine's address: it can be called anywhere.
    pub fn gosched_readgstatus(g: *mut Goroutine) -> u32;

    /// Changes the state of `g` from `oldval` to `newval`. Waits while a scan holds the state. If
    /// the state isn't `oldval`, or if `oldval` or `newval` has `GOSCHED_GSCAN`, the process ends.
    /// Go's `casgstatus`, in `proc.go`.
    ///
    /// # Safety
    /// The caller owns the change: for example, the caller has parked the goroutine and found it,
    /// or has made it waiting.
    pub fn gosched_casgstatus(g: *mut Goroutine, oldval: u32, newval: u32);

    /// Changes the state of `g` from `oldval` to `GOSCHED_GWAITING`, and records `reason` for
    /// reports. A running goroutine that does this on the scheduler's stack
    /// (`gosched_systemstack_scannable`) can be suspended and scanned, by others and by itself,
    /// until `gosched_casgstatus` makes it `GOSCHED_GRUNNING` again. Go's `casGToWaiting`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// As `gosched_casgstatus`. A running goroutine stays on the scheduler's stack until its state
    /// is `GOSCHED_GRUNNING` again, and nothing makes it ready meanwhile.
    pub fn gosched_cas_g_to_waiting(g: *mut Goroutine, oldval: u32, reason: WaitReason);

    /// Takes the stack of a goroutine that waits or is in a queue: its state becomes
    /// `GOSCHED_GCOPYSTACK`. Returns the previous state, which the caller sets again with
    /// `gosched_casgstatus`. Go's `casgcopystack`, in `proc.go`.
    ///
    /// # Safety
    /// As `gosched_casgstatus`. Nothing runs the goroutine meanwhile: it is in no queue.
    pub fn gosched_casgcopystack(g: *mut Goroutine) -> u32;

    /// If the state of `g` is `oldval`, adds `GOSCHED_GSCAN` to it and returns true. Then the
    /// goroutine can't start to run or stop, and its stack stays where it is. Otherwise returns
    /// false. `newval` is `oldval + GOSCHED_GSCAN`. Go's `castogscanstatus`, in `proc.go`.
    ///
    /// # Safety
    /// On the scheduler's stack (`gosched_systemstack`), or on a thread that isn't the runtime's.
    /// The caller that sets the bit clears it there, soon, with `gosched_casfrom_gscanstatus`.
    pub fn gosched_castogscanstatus(g: *mut Goroutine, oldval: u32, newval: u32) -> bool;

    /// Removes `GOSCHED_GSCAN` from the state of `g`: `oldval` has the bit, `newval` doesn't. Go's
    /// `casfrom_Gscanstatus`, in `proc.go`.
    ///
    /// # Safety
    /// The caller has set the bit.
    pub fn gosched_casfrom_gscanstatus(g: *mut Goroutine, oldval: u32, newval: u32);
}

/// The states in C have the runtime's numbers, which are Go's.
const _: () = {
    assert!(GOSCHED_GIDLE == GIDLE);
    assert!(GOSCHED_GRUNNABLE == GRUNNABLE);
    assert!(GOSCHED_GRUNNING == GRUNNING);
    assert!(GOSCHED_GSYSCALL == GSYSCALL);
    assert!(GOSCHED_GWAITING == GWAITING);
    assert!(GOSCHED_GDEAD == GDEAD);
    assert!(GOSCHED_GCOPYSTACK == GCOPYSTACK);
    assert!(GOSCHED_GPREEMPTED == GPREEMPTED);
    assert!(GOSCHED_GSCAN == GSCAN);
};

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_readgstatus_impl(gp: *mut G) -> u32 {
    // SAFETY: a goroutine's address.
    readgstatus(unsafe { need_g("gosched_readgstatus", gp) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_casgstatus_impl(gp: *mut G, oldval: u32, newval: u32) {
    // SAFETY: a goroutine's address, whose state is the caller's to change.
    casgstatus(unsafe { need_g("gosched_casgstatus", gp) }, oldval, newval)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_cas_g_to_waiting_impl(gp: *mut G, oldval: u32, reason: u32) {
    let reason = wait_reason("gosched_cas_g_to_waiting", reason);
    // SAFETY: a goroutine's address, whose state is the caller's to change.
    cas_g_to_waiting(unsafe { need_g("gosched_cas_g_to_waiting", gp) }, oldval, reason)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_casgcopystack_impl(gp: *mut G) -> u32 {
    // SAFETY: a goroutine's address, whose state is the caller's to change.
    casgcopystack(unsafe { need_g("gosched_casgcopystack", gp) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_castogscanstatus_impl(gp: *mut G, oldval: u32, newval: u32) -> bool {
    // SAFETY: a goroutine's address; the caller clears the bit.
    castogscanstatus(unsafe { need_g("gosched_castogscanstatus", gp) }, oldval, newval)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_casfrom_gscanstatus_impl(gp: *mut G, oldval: u32, newval: u32) {
    // SAFETY: a goroutine's address, whose scan bit the caller has set.
    casfrom_gscanstatus(unsafe { need_g("gosched_casfrom_gscanstatus", gp) }, oldval, newval)
}
