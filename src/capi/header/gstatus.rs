//! What C programs see of a goroutine's state.

use crate::capi::{Goroutine, WaitReason};

/// Just allocated, or given back to the system: no goroutine. Go's `_Gidle`.
pub const GOSCHED_GIDLE: u32 = 0;
/// In a queue, to run; its stack belongs to nobody. Go's `_Grunnable`.
pub const GOSCHED_GRUNNABLE: u32 = 1;
/// Running: it owns its stack. Go's `_Grunning`.
pub const GOSCHED_GRUNNING: u32 = 2;
/// In a system call: it owns its stack, and runs nothing of the program's that counts. Go's `_Gsyscall`.
pub const GOSCHED_GSYSCALL: u32 = 3;
/// Parked, and noted by whoever will make it ready. Go's `_Gwaiting`.
pub const GOSCHED_GWAITING: u32 = 4;
/// Not in use: it has ended, or is being made. Go's `_Gdead`.
pub const GOSCHED_GDEAD: u32 = 6;
/// Its stack belongs to who has set this, and moves it. Go's `_Gcopystack`.
pub const GOSCHED_GCOPYSTACK: u32 = 8;
/// It has stopped for `gosched_suspend_g`, which hasn't come by yet. Go's `_Gpreempted`.
pub const GOSCHED_GPREEMPTED: u32 = 9;
/// Added to one of the others: its stack belongs to a scan, and the state can't change before that is over. Go's
/// `_Gscan`.
pub const GOSCHED_GSCAN: u32 = 4096;

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// The state of `g`, one of `GOSCHED_GIDLE` to `GOSCHED_GPREEMPTED`, perhaps with `GOSCHED_GSCAN`. It is that
    /// of a moment ago, unless the caller has made it so that it can't change. Go's `readgstatus`, in `proc.go`.
    ///
    /// # Safety
    /// `g` is a goroutine's address: it can be called anywhere.
    pub fn gosched_readgstatus(g: *mut Goroutine) -> u32;

    /// Changes the state of `g` from `oldval` to `newval`; waits while a scan holds it. Any other state than `oldval`
    /// ends the process, and so does one with `GOSCHED_GSCAN`. Go's `casgstatus`, in `proc.go`.
    ///
    /// # Safety
    /// The change is the caller's to make: it has parked the goroutine and found it, for example, or made it
    /// waiting.
    pub fn gosched_casgstatus(g: *mut Goroutine, oldval: u32, newval: u32);

    /// Changes the state of `g` from `oldval` to `GOSCHED_GWAITING`, and notes why, for reports. A running goroutine
    /// that does this on the scheduler's stack (`gosched_systemstack_scannable`) can be suspended and scanned by
    /// others, and by itself, until `gosched_casgstatus` makes it `GOSCHED_GRUNNING` again. Go's `casGToWaiting`,
    /// in `proc.go`.
    ///
    /// # Safety
    /// As `gosched_casgstatus`; for a running goroutine, on the scheduler's stack until it runs again. Nobody makes it
    /// ready meanwhile.
    pub fn gosched_cas_g_to_waiting(g: *mut Goroutine, oldval: u32, reason: WaitReason);

    /// Takes the stack of a goroutine that waits, or is in a queue: its state becomes `GOSCHED_GCOPYSTACK`. Returns
    /// the state that it had, which the caller sets again with `gosched_casgstatus`. Go's `casgcopystack`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// As `gosched_casgstatus`; nothing runs the goroutine meanwhile: it is in no queue.
    pub fn gosched_casgcopystack(g: *mut Goroutine) -> u32;

    /// If the state of `g` is `oldval`, adds `GOSCHED_GSCAN` to it, which keeps it from running, or from stopping,
    /// and its stack where it is; says whether it was. `newval` is `oldval + GOSCHED_GSCAN`. Go's `castogscanstatus`,
    /// in `proc.go`.
    ///
    /// # Safety
    /// On the scheduler's stack (`gosched_systemstack`), or on a thread that isn't the runtime's. Whoever sets the bit
    /// clears it there, soon, with `gosched_casfrom_gscanstatus`.
    pub fn gosched_castogscanstatus(g: *mut Goroutine, oldval: u32, newval: u32) -> bool;

    /// Takes `GOSCHED_GSCAN` from the state of `g`: `oldval` has it, `newval` is without. Go's
    /// `casfrom_Gscanstatus`, in `proc.go`.
    ///
    /// # Safety
    /// The caller has set it.
    pub fn gosched_casfrom_gscanstatus(g: *mut Goroutine, oldval: u32, newval: u32);
}
