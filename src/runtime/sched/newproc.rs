//! Making a goroutine and letting it run: Go's `newproc`. `newproc1`, which makes the G, is in
//! `g/newproc.rs`.

use std::ffi::c_void;
use std::io;

use crate::runtime::arch::systemstack;
use crate::runtime::arch::tsan;
use crate::runtime::base::fatal::{fatal, misuse, throw};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::{acquirem, releasem, started};
use crate::runtime::data::ext::{Entry, StackKind};
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::G;
use crate::runtime::g::newproc::{Maker, newproc1};
use crate::runtime::p::runq::runqput;
use crate::runtime::sched::ready::inject_runnable;
use crate::runtime::sched::wake::wakep;

/// The Rust part of `newproc`. The assembly stub calls it with its caller's pc.
///
/// # Safety
/// As [`newproc`](crate::proc::newproc), whose caller calls this.
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_newproc_from(f: Option<Entry>, arg: *mut c_void, callerpc: usize) {
    // SAFETY: as the caller says.
    unsafe { newproc_at(f, arg, callerpc) }
}

/// Makes a goroutine on a copying stack that runs `f(arg)`, made at `callerpc`, and puts it next on
/// this P. Go's `newproc`.
///
/// # Safety
/// As [`newproc`](crate::proc::newproc).
pub(crate) unsafe fn newproc_at(f: Option<Entry>, arg: *mut c_void, callerpc: usize) {
    let Some(f) = f else { fatal("go of nil func value") };
    // A copying stack may be too small for making a goroutine.
    systemstack(|| match newproc1(f, StackKind::Copying, &Maker::at(callerpc)) {
        Ok(newg) => {
            newg.sched.ctxt.set(arg);
            enqueue(newg);
        }
        Err(error) => not_made("newproc", &error),
    })
}

/// Ends the process because `newproc` or `newcoro` couldn't make a goroutine.
#[cold]
#[inline(never)]
pub(super) fn not_made(function: &str, error: &io::Error) -> ! {
    if !started() {
        misuse(format_args!("gosched_{function} called before the runtime runs: gosched_run starts it"))
    }
    eprintln!("runtime: {function}: {error}");
    throw("out of memory for a goroutine")
}

/// Makes a new G run next on this P. On a thread without a P, the G goes to the end of the global
/// queue.
#[inline(always)]
pub(crate) fn enqueue(newg: &'static G) {
    tsan::release(newg);
    let mp = acquirem();
    match mp.and_then(|mp| mp.p()) {
        Some(pp) => {
            runqput(pp.local(), newg, true);
            wakep();
        }
        None => {
            let q = GQueue::default();
            q.push_back(newg);
            inject_runnable(&q, 1);
        }
    }
    releasem(mp);
}
