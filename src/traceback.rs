//! What a report says of goroutines: Go's `traceback.go`, without frames of other
//! goroutines.

use std::backtrace::Backtrace;
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::print::{Stderr, eprintln};
use crate::proc::allgs::for_each_g_race;
use crate::runtime2::{
    G, GCOPYSTACK, GDEAD, GIDLE, GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL, GWAITING, WaitReason,
};

fn status_name(status: u32) -> &'static str {
    match status {
        GIDLE => "idle",
        GRUNNABLE => "runnable",
        GRUNNING => "running",
        GSYSCALL => "syscall",
        GWAITING => "waiting",
        GDEAD => "dead",
        GCOPYSTACK => "copystack",
        GPREEMPTED => "preempted",
        _ => "???",
    }
}

/// Prints a goroutine's number, state and wait reason. Go's `goroutineheader`.
pub(crate) fn goroutineheader(gp: &G) {
    let atomicstatus = gp.atomicstatus.load(Ordering::Relaxed);
    let status = match (atomicstatus & !GSCAN, gp.waitreason.get()) {
        (GWAITING, reason) if reason != WaitReason::Zero => reason.as_str(),
        (status, _) => status_name(status),
    };
    let scan = if atomicstatus & GSCAN != 0 { " (scan)" } else { "" };
    let locked = if gp.lockedm.is_null() { "" } else { ", locked to thread" };
    let name = gp.ext.name.get();
    let quote = if name.as_str().is_empty() { "" } else { "\"" };
    let space = if name.as_str().is_empty() { "" } else { " " };
    eprintln!("goroutine {}{space}{quote}{}{quote} [{status}{scan}{locked}]:", gp.goid.get(), name.as_str());
}

/// Prints who made a goroutine, and where.
pub(crate) fn printcreatedby(gp: &G) {
    if let Some(location) = gp.ext.created_at.get() {
        eprintln!("created at {location} in goroutine {}", gp.parent_goid.get());
    } else if gp.gopc.get() != 0 {
        eprintln!("created at pc {:#x} in goroutine {}", gp.gopc.get(), gp.parent_goid.get());
    }
}

/// Prints every goroutine but `me` that has begun and not ended. Takes no lock: it
/// may be that of the thread that failed. Go's `tracebackothers`.
pub(crate) fn tracebackothers(me: Option<&G>) {
    for_each_g_race(|gp| {
        let status = gp.atomicstatus.load(Ordering::Relaxed) & !GSCAN;
        if me.is_some_and(|me| std::ptr::eq(me, gp)) || status == GIDLE || status == GDEAD {
            return;
        }
        goroutineheader(gp);
        printcreatedby(gp);
        eprintln!();
    });
}

/// So many frames of a backtrace are printed at most. Go's `tracebackInnerFrames`.
const INNER_FRAMES: usize = 100;

/// Prints the calling stack, through the switch to the goroutine that it was made from, and nothing
/// can go on after that: a deep stack is cut. It needs memory, unlike the rest of a report, so it
/// comes last or has a watchdog ([`startpanic`](crate::panic::startpanic)).
pub(crate) fn print_backtrace() {
    let elided = cut_stack();
    // It ends with a newline.
    let _ = write!(Stderr::new(), "{}", Backtrace::force_capture());
    if elided {
        eprintln!("...additional frames elided...");
    }
}

/// If the calling stack has more frames than are printed, makes it end there: to walk the millions
/// that an overflow can have would take seconds. Says whether it was so.
fn cut_stack() -> bool {
    unsafe extern "C" {
        fn _Unwind_Backtrace(trace: Trace, argument: *mut c_void) -> c_int;
        fn _Unwind_GetIP(context: *mut c_void) -> usize;
        fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    }
    type Trace = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
    const GO_ON: c_int = 0;
    const STOP: c_int = 4;

    unsafe extern "C" fn trace(context: *mut c_void, frames: *mut c_void) -> c_int {
        // SAFETY: the unwinder's context, and cut_stack's count. A frame's address is the word
        // below the end of its callee's frame, but where a stack leads to another.
        unsafe {
            let frames = &mut *frames.cast::<usize>();
            *frames += 1;
            let ip = ptr::with_exposed_provenance_mut::<usize>(_Unwind_GetCFA(context) - size_of::<usize>());
            if *frames <= INNER_FRAMES || ip.read() != _Unwind_GetIP(context) {
                return GO_ON;
            }
            // Unwinders stop there.
            ip.write(0);
            STOP
        }
    }

    let mut frames = 0_usize;
    // SAFETY: `trace` gets what it expects.
    unsafe { _Unwind_Backtrace(trace, (&raw mut frames).cast()) };
    frames > INNER_FRAMES
}
