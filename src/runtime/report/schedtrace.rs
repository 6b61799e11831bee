//! With `GODEBUG=schedtrace=N`, writes a line about the scheduler's state every N milliseconds, and
//! more with `scheddetail=1`. Go's `schedtrace`.
//!
//! The lines have exactly Go's fields, for tools that read Go's lines. An M whose goroutine is
//! detached, a state that Go doesn't have, has two more fields. Nothing stops for these lines, so
//! the fields are of slightly different moments. Each field is one word, so it is never half old
//! and half new.

use std::ffi::CStr;
use std::fmt::{self, Display};
use std::sync::atomic::{AtomicI64, Ordering};

use crate::runtime::arch::systemstack;
use crate::runtime::base::debug::{sched_detail, sched_trace};
use crate::runtime::base::os::nanotime;
use crate::runtime::base::print::{eprint, eprintln};
use crate::runtime::base::this::started;
use crate::runtime::data::runtime2::{G, GRUNNING, GSCAN, M, P, sched};
use crate::runtime::g::allgs::for_each_g;
use crate::runtime::g::status::readgstatus;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::thread::{ALLM, mcount};
use crate::runtime::mem::morestack_check::entry_check;
use crate::runtime::p::procs::{gomaxprocs, procs};
use crate::runtime::report::traceback::is_detached;

/// The time of the first line. Go's `starttime`.
static STARTTIME: AtomicI64 = AtomicI64::new(0);

/// The time of the last line. Go's `lasttrace`, in `sysmon`.
static LASTTRACE: AtomicI64 = AtomicI64::new(i64::MIN);

/// Calls [`schedtrace`] if a line of `GODEBUG=schedtrace` is due. Returns the time of the next
/// line, if any. Only sysmon calls this.
pub(in crate::runtime) fn schedtrace_if_due(now: i64) -> Option<i64> {
    let interval = sched_trace()?;
    let next = LASTTRACE.load(Ordering::Relaxed).saturating_add(interval);
    if next > now {
        return Some(next);
    }
    LASTTRACE.store(now, Ordering::Relaxed);
    schedtrace(sched_detail());
    Some(now + interval)
}

/// A number, or Go's `nil`.
struct OrNil<T>(Option<T>);

impl<T: Display> Display for OrNil<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(number) => number.fmt(f),
            None => f.write_str("nil"),
        }
    }
}

/// Writes the scheduler's state to stderr: a line as with `GODEBUG=schedtrace=N`, and if `detailed`
/// also one for each P, M and G, as with `scheddetail=1`. Does nothing before the first
/// [`run`](crate::run). Go's `schedtrace`, in `proc.go`.
pub fn schedtrace(detailed: bool) {
    entry_check();
    if started() {
        systemstack(|| trace(detailed));
    }
}

fn trace(detailed: bool) {
    let now = nanotime();
    let _ = STARTTIME.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    let milliseconds = (now - STARTTIME.load(Ordering::Relaxed)) / 1_000_000;

    lock(&sched().lock);
    let s = sched();
    eprint!(
        "SCHED {milliseconds}ms: gomaxprocs={} idleprocs={} threads={} spinningthreads={} needspinning={} \
         idlethreads={} runqueue={}",
        gomaxprocs(),
        s.npidle.load(Ordering::Relaxed),
        mcount(),
        s.nmspinning.load(Ordering::Relaxed),
        s.needspinning.load(Ordering::Relaxed),
        s.nmidle.get(),
        s.runqsize.load(Ordering::Relaxed),
    );
    if !detailed {
        let mut before = " [";
        for pp in &procs().allp {
            eprint!("{before}{}", pp.steal().len());
            before = " ";
        }
        eprintln!("]");
        unlock(&sched().lock);
        return;
    }
    eprintln!(
        " gcwaiting={} nmidlelocked={} stopwait={} sysmonwait={}",
        s.gcwaiting.load(Ordering::Relaxed),
        s.nmidlelocked.get(),
        s.stopwait.load(Ordering::Relaxed),
        s.sysmonwait.load(Ordering::Relaxed),
    );
    for (i, pp) in procs().allp.iter().enumerate() {
        trace_p(i, pp);
    }
    // Acquire pairs with mcommoninit.
    let mut next = ALLM.0.load(Ordering::Acquire);
    while let Some(mp) = next {
        trace_m(mp, now);
        next = mp.alllink.get();
    }
    for_each_g(trace_g);
    unlock(&sched().lock);
}

/// The numbers of dead G's of `pp`, copying and fixed.
fn gfreecnt(pp: &P) -> i32 {
    [&pp.g_free, &pp.ext.g_free_fixed, &pp.ext.g_free_thread]
        .iter()
        .map(|free| free.n.load(Ordering::Relaxed))
        .sum()
}

fn trace_p(i: usize, pp: &P) {
    eprintln!(
        "  P{i}: status={} schedtick={} syscalltick={} m={} runqsize={} gfreecnt={} timerslen={}",
        pp.status.load(Ordering::Relaxed),
        pp.schedtick.load(Ordering::Relaxed),
        pp.syscalltick.load(Ordering::Relaxed),
        OrNil(pp.m.load(Ordering::Acquire).map(|mp| mp.id.get())),
        pp.steal().len(),
        gfreecnt(pp),
        pp.num_timers.load(Ordering::Relaxed),
    );
}

fn trace_m(mp: &M, now: i64) {
    eprint!(
        "  M{}: p={} curg={} mallocing={} throwing={} preemptoff={} locks={} dying={} spinning={} blocked={} \
         lockedg={}",
        mp.id.get(),
        OrNil(mp.p.peek().map(|pp| pp.id.get())),
        OrNil(goid(mp.curg.get())),
        mp.mallocing.get(),
        mp.throwing.get(),
        preemptoff(mp).escape_debug(),
        mp.locks.get(),
        mp.dying.get(),
        mp.spinning.get(),
        mp.blocked.get(),
        OrNil(goid(mp.lockedg.get())),
    );
    let since = mp.ext.detached_since.load(Ordering::Relaxed);
    if since != 0 {
        let milliseconds = (now - since).max(0) / 1_000_000;
        eprint!(" detached={milliseconds}ms turn={}", mp.ext.turn.get().as_str());
    }
    eprintln!();
}

fn trace_g(gp: &G) {
    let id = |mp: Option<&M>| OrNil(mp.map(|mp| mp.id.get()));
    let status = readgstatus(gp);
    let detached = status & !GSCAN == GRUNNING && is_detached(gp);
    eprintln!(
        "  G{}: status={}({}) m={} lockedm={}",
        gp.goid.get(),
        status,
        if detached { "detached" } else { gp.waitreason.get().as_str() },
        id(gp.m.get()),
        id(gp.lockedm.get()),
    );
}

fn preemptoff(mp: &M) -> &str {
    let words = mp.preemptoff.get();
    // SAFETY: null, or a C string that is never freed, as `M::preemptoff` demands of the code that
    // sets it.
    let words = (!words.is_null()).then(|| unsafe { CStr::from_ptr(words) });
    words.and_then(|words| words.to_str().ok()).unwrap_or_default()
}

fn goid(gp: Option<&G>) -> Option<u64> {
    gp.map(|gp| gp.goid.get())
}
