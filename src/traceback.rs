//! What a report says of goroutines: Go's `traceback.go`, without frames of other
//! goroutines.

use std::backtrace::Backtrace;
use std::fmt::{self, Write};
use std::sync::atomic::Ordering;

use crate::print::{Stderr, eprintln};
use crate::proc::allgs::{atomic_all_g, atomic_all_g_index};
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
    let (ptr, len) = atomic_all_g();
    for i in 0..len {
        let gp = atomic_all_g_index(ptr, i);
        let status = gp.atomicstatus.load(Ordering::Relaxed) & !GSCAN;
        if me.is_some_and(|me| std::ptr::eq(me, gp)) || status == GIDLE || status == GDEAD {
            continue;
        }
        goroutineheader(gp);
        printcreatedby(gp);
        eprintln!();
    }
}

/// Lines of a backtrace that are printed at most: two a frame.
const BACKTRACE_LINES: usize = 200;

/// Prints the calling stack, through the switch to the goroutine that it was made
/// from. It needs memory, unlike the rest of a report, so it comes last or has a
/// watchdog ([`startpanic`](crate::panic::startpanic)).
pub(crate) fn print_backtrace() {
    struct Head {
        out: Stderr,
        lines: usize,
    }
    impl Write for Head {
        fn write_str(&mut self, s: &str) -> fmt::Result {
            self.lines += s.bytes().filter(|&b| b == b'\n').count();
            self.out.write_str(s)?;
            if self.lines < BACKTRACE_LINES { Ok(()) } else { Err(fmt::Error) }
        }
    }
    let mut head = Head { out: Stderr::new(), lines: 0 };
    if write!(head, "{}", Backtrace::force_capture()).is_err() {
        let _ = head.out.write_str("\n...additional frames elided...\n");
    }
}
