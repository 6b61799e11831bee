//! Making goroutines: Go's `newproc`, `newproc1` and `malg`.

use std::ffi::c_void;
use std::io;
use std::panic::Location;
use std::sync::atomic::Ordering;

use crate::arch::{goexit_pc, systemstack};
use crate::panic::{fatal, throw};
use crate::print::eprintln;
use crate::proc::allgs::{allgadd, allglen};
use crate::proc::gfree::{gfget, gfput};
use crate::proc::gqueue::GQueue;
use crate::proc::inject::inject_runnable;
use crate::proc::join::detach_new;
use crate::proc::m::{acquirem, releasem, this_p};
use crate::proc::runq::runqput;
use crate::proc::status::{casgstatus, readgstatus};
use crate::proc::trace::{Event, trace};
use crate::proc::tracking::next_turn;
use crate::proc::wake::wakep;
use crate::proflabel::inherit_labels;
use crate::runtime2::{G, GDEAD, GIDLE, GRUNNABLE, Name, P, Stack, StackKind, sched};
use crate::stack::home::{Homes, cut};
use crate::stack::{DEFAULT_ROOM, running_guard};
use crate::traceback::ancestors::save_ancestors;

/// The function of a goroutine, called with `sched.ctxt`.
pub(crate) type Entry = unsafe extern "C" fn(*mut c_void);

/// Numbers of goroutines that a P takes from `sched.goidgen` at once.
const GOID_CACHE_BATCH: u64 = 16;

/// Bytes left free above a new G's first frame, for code that reads slightly beyond it.
const SPARE: usize = 4 * size_of::<usize>();

/// Where the assembly stub of `newproc` goes on, with its caller's pc. Makes a goroutine
/// on a copying stack that runs `f(arg)`, and puts it next on this P. Go's `newproc`.
///
/// # Safety
/// As [`newproc`](crate::proc::newproc), whose caller calls this.
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_newproc_from(f: Option<Entry>, arg: *mut c_void, callerpc: usize) {
    let Some(f) = f else { fatal("go of nil func value") };
    // A copying stack may be too small for what a new one takes.
    systemstack(|| match newproc1(f, StackKind::Copying, &Maker::at(callerpc)) {
        Ok(newg) => {
            newg.sched.ctxt.set(arg);
            enqueue(newg);
        }
        Err(error) => {
            eprintln!("runtime: newproc: {error}");
            throw("out of memory for a goroutine");
        }
    })
}

/// What reports say of a new goroutine: its name, and the place that made it, as the pc of a call or as a
/// place in the source.
pub(crate) struct Maker<'a> {
    pub(crate) name: &'a Name,
    pub(crate) created_at: Option<&'static Location<'static>>,
    pub(crate) callerpc: usize,
}

impl Maker<'_> {
    /// A call that returns to `callerpc`.
    pub(crate) fn at(callerpc: usize) -> Self {
        Maker { name: &Name::NONE, created_at: None, callerpc }
    }
}

/// Makes a G that will run `f(sched.ctxt)`, runnable and on no queue yet. Go's `newproc1`.
pub(crate) fn newproc1(f: Entry, kind: StackKind, maker: &Maker<'_>) -> io::Result<&'static G> {
    let mp = acquirem();
    let pp = mp.and_then(|mp| mp.p.get());
    let newg = match gfget(pp, kind) {
        Some(newg) => newg,
        None => match malg(pp, kind) {
            Ok(newg) => newg,
            Err(error) => {
                releasem(mp);
                return Err(error);
            }
        },
    };
    if readgstatus(newg) != GDEAD {
        throw("newproc1: new g is not Gdead");
    }
    gostartcallfn(newg, f);
    newg.gopc.set(maker.callerpc);
    detach_new(newg);
    newg.ext.created_at.set(maker.created_at);
    newg.ext.name.set(*maker.name);
    let callergp = mp.and_then(|mp| mp.curg.get());
    newg.parent_goid.set(callergp.map_or(0, |callergp| callergp.goid.get()));
    if let Some(callergp) = callergp {
        inherit_labels(newg, callergp);
    }
    save_ancestors(callergp, newg);
    newg.goid.set(match pp {
        Some(pp) => next_goid(pp),
        None => sched().goidgen.fetch_add(1, Ordering::Relaxed) + 1,
    });
    // Last: from here on a report that is written meanwhile shows the goroutine.
    casgstatus(newg, GDEAD, GRUNNABLE);
    trace(|| Event::GoCreate(newg));
    releasem(mp);
    Ok(newg)
}

/// Has the G begin at the base of its stack, with a call of `f(sched.ctxt)`. Go's
/// `gostartcallfn`.
#[inline(always)]
fn gostartcallfn(newg: &'static G, f: Entry) {
    let sp = newg.stack.get().hi - SPARE;
    newg.sched.sp.set(sp);
    newg.stktopsp.set(sp);
    newg.sched.pc.set(goexit_pc());
    newg.sched.g.set(Some(newg));
    newg.sched.bp.set(0);
    newg.startpc.set(f as usize);
}

/// The next goid from the P's batch.
#[inline(always)]
fn next_goid(pp: &P) -> u64 {
    if pp.goidcache.get() == pp.goidcacheend.get() {
        let last = sched().goidgen.fetch_add(GOID_CACHE_BATCH, Ordering::Relaxed);
        pp.goidcache.set(last + 1);
        pp.goidcacheend.set(last + 1 + GOID_CACHE_BATCH);
    }
    pp.goidcache.replace(pp.goidcache.get() + 1)
}

/// Lets a new G run: next on this P, or, from a thread without one, after what is on the
/// global queue.
#[inline(always)]
pub(crate) fn enqueue(newg: &'static G) {
    match this_p() {
        Some(pp) => {
            runqput(pp, newg, true);
            wakep();
        }
        None => {
            let q = GQueue::default();
            q.push_back(newg);
            inject_runnable(&q, 1);
        }
    }
}

/// The most home pages that are cut at once.
const BATCH: usize = 32;

/// Makes a G with a stack of this kind; makes several if many are being made, and puts the
/// others on the free list. Go's `malg`, for a batch: guard pages and first touches cost less
/// by the dozen.
#[cold]
#[inline(never)]
pub(crate) fn malg(pp: Option<&P>, kind: StackKind) -> io::Result<&'static G> {
    let n = match kind {
        StackKind::Fixed(room) if room != DEFAULT_ROOM => 1,
        _ => (allglen() / 8).clamp(1, BATCH),
    };
    let homes = cut(kind, n)?;
    let first = settle(&homes, 0, kind);
    let mut batch = [first; BATCH];
    for (i, newg) in batch[..homes.count()].iter_mut().enumerate().skip(1) {
        *newg = settle(&homes, i, kind);
    }
    allgadd(&batch[..homes.count()])?;
    for gp in &batch[1..homes.count()] {
        gfput(pp, gp);
    }
    Ok(first)
}

/// Initialises the G of home page `i`, which reads as zero; it is dead.
fn settle(homes: &Homes, i: usize, kind: StackKind) -> &'static G {
    let (newg, lo) = homes.home(i);
    newg.stack.set(Stack { lo, hi: newg.as_ptr().addr() });
    newg.ext.kind.set(kind);
    newg.stackguard0.store(running_guard(newg), Ordering::Relaxed);
    newg.stackguard1.set(usize::MAX);
    newg.tracking_seq.set(next_turn());
    casgstatus(newg, GIDLE, GDEAD);
    newg
}
