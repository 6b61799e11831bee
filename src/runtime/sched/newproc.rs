//! Making goroutines: Go's `newproc`, `newproc1` and `malg`. [`enqueue`], which lets a new one run,
//! is in `ready.rs`.

use std::ffi::c_void;
use std::io;
use std::panic::Location;
use std::sync::atomic::Ordering;

use crate::runtime::arch::sanitizer::goroutine_begins;
use crate::runtime::arch::{goexit_pc, systemstack};
use crate::runtime::base::fatal::{fatal, misuse, throw};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::{acquirem, releasem, started};
use crate::runtime::data::ext::{Entry, Name, StackKind};
use crate::runtime::data::runtime2::{G, GDEAD, GIDLE, GRUNNABLE, GWAITING, P, WaitReason, sched};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::allgs::{allgadd, allglen};
use crate::runtime::g::callers::save_ancestors;
use crate::runtime::g::explored::number_new;
use crate::runtime::g::gfree::{gfget, gfput};
use crate::runtime::g::proflabel::inherit_labels;
use crate::runtime::g::status::{casgstatus, next_turn, readgstatus};
use crate::runtime::mem::home::{Homes, cut_homes, home_stack};
use crate::runtime::mem::sizes::running_guard;
use crate::runtime::sched::goexit::init_without_handle;
use crate::runtime::sched::ready::enqueue;
use crate::runtime::tls;

/// How many goids a P takes from `sched.goidgen` at once.
const GOID_CACHE_BATCH: u64 = 16;

/// Bytes left free above a new G's first frame, for code that reads slightly beyond it.
const SPARE: usize = 4 * size_of::<usize>();

/// The Rust part of `newproc`. The assembly stub calls it with its caller's pc.
///
/// # Safety
/// As [`newproc`](crate::proc::newproc), whose caller calls this.
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_newproc_from(f: Option<Entry>, arg: *mut c_void, callerpc: usize) {
    // SAFETY: the caller keeps to the contract of newproc, which newproc_at shares.
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

/// The origin of a new goroutine, for reports: its name, and the place that made it, as the pc of a
/// call or as a place in the source.
pub(crate) struct Maker<'a> {
    pub(crate) name: &'a Name,
    pub(crate) created_at: Option<&'static Location<'static>>,
    pub(crate) callerpc: usize,
}

impl Maker<'_> {
    /// Returns the origin of a goroutine that a call made which returns to `callerpc`.
    pub(crate) fn at(callerpc: usize) -> Self {
        Maker { name: &Name::NONE, created_at: None, callerpc }
    }
}

/// Makes a G that will run `f(sched.ctxt)`, runnable and on no queue yet. Go's `newproc1`.
pub(crate) fn newproc1(f: Entry, kind: StackKind, maker: &Maker<'_>) -> io::Result<&'static G> {
    new_g(f, kind, maker, None)
}

/// [`newproc1`] for a G that waits at first, for this reason. Go's `newproc1` has a parameter
/// `parked` for that, since 1.23.
pub(crate) fn newproc1_parked(
    f: Entry,
    kind: StackKind,
    maker: &Maker<'_>,
    reason: WaitReason,
) -> io::Result<&'static G> {
    new_g(f, kind, maker, Some(reason))
}

#[inline(always)]
fn new_g(f: Entry, kind: StackKind, maker: &Maker<'_>, parked: Option<WaitReason>) -> io::Result<&'static G> {
    let mp = acquirem();
    let pp = mp.and_then(|mp| mp.p());
    let dead = if kind.has_own_locals() { None } else { gfget(pp, kind) };
    let newg = match dead {
        Some(newg) => newg,
        None => match fresh(pp, kind) {
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
    init_without_handle(newg);
    newg.ext.created_at.set(maker.created_at);
    newg.ext.name.set(*maker.name);
    let callergp = mp.and_then(|mp| mp.curg.get());
    newg.parent_goid.set(callergp.map_or(0, |callergp| callergp.goid.get()));
    if let Some(callergp) = callergp {
        inherit_labels(newg, callergp);
    }
    save_ancestors(callergp, newg);
    goroutine_begins(newg, home_stack);
    number_new(newg, callergp, pp);
    newg.goid.set(match pp {
        Some(pp) => {
            let created = &pp.ext.goroutines_created;
            created.store(created.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            next_goid(pp)
        }
        None => {
            sched().ext.goroutines_created.fetch_add(1, Ordering::Relaxed);
            sched().goidgen.fetch_add(1, Ordering::Relaxed) + 1
        }
    });
    // This comes last: from here on a concurrent report shows the goroutine.
    match parked {
        None => {
            casgstatus(newg, GDEAD, GRUNNABLE);
            trace(|| Event::GoCreate(newg));
        }
        Some(reason) => {
            newg.waitreason.set(reason);
            casgstatus(newg, GDEAD, GWAITING);
            trace(|| Event::GoCreateBlocked(newg));
        }
    }
    releasem(mp);
    Ok(newg)
}

/// Returns a dead G that isn't taken as it is from the P's list: a new G, or a G whose
/// thread-locals were renewed, like a new thread's.
#[inline(never)]
fn fresh(pp: Option<&P>, kind: StackKind) -> io::Result<&'static G> {
    let StackKind::Thread(_) = kind else { return malg(pp, kind) };
    let newg = match gfget(pp, kind) {
        Some(newg) => newg,
        None => malg(pp, kind)?,
    };
    if let Err(error) = tls::renew(newg) {
        gfput(pp, newg);
        return Err(error);
    }
    Ok(newg)
}

/// Makes the G begin at the base of its stack, with a call of `f(sched.ctxt)`. Go's
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

/// Returns the next goid from the P's batch.
#[inline(always)]
fn next_goid(pp: &P) -> u64 {
    if pp.goidcache.get() == pp.goidcacheend.get() {
        let last = sched().goidgen.fetch_add(GOID_CACHE_BATCH, Ordering::Relaxed);
        pp.goidcache.set(last + 1);
        pp.goidcacheend.set(last + 1 + GOID_CACHE_BATCH);
    }
    pp.goidcache.replace(pp.goidcache.get() + 1)
}

/// The most home pages that are cut at once.
const BATCH: usize = 32;

/// The largest room of stacks that are cut together: 8 MiB, as threads of C's have.
const BATCHED_ROOM: u8 = 11;

/// Makes a G with a stack of this kind. If many are being made, makes several, and puts the others
/// on the free list, as guard pages and first touches cost less by the dozen. Go's `malg`, for a
/// batch.
#[cold]
#[inline(never)]
pub(super) fn malg(pp: Option<&P>, kind: StackKind) -> io::Result<&'static G> {
    if !started() {
        return Err(io::Error::other("the runtime hasn't started"));
    }
    let n = match kind {
        StackKind::Fixed(room) | StackKind::Thread(room) if room > BATCHED_ROOM => 1,
        _ => (allglen() / 8).clamp(1, BATCH),
    };
    let homes = cut_homes(kind, n)?;
    let first = settle(&homes, 0, kind);
    let mut batch = [first; BATCH];
    for (i, newg) in batch[..homes.count()].iter_mut().enumerate().skip(1) {
        *newg = settle(&homes, i, kind);
    }
    allgadd(&batch[..homes.count()]).inspect_err(|_| homes.hand_back())?;
    for gp in &batch[1..homes.count()] {
        gfput(pp, gp);
    }
    Ok(first)
}

/// Initialises the G of home page `i`, which reads as zero. The G is dead.
fn settle(homes: &Homes, i: usize, kind: StackKind) -> &'static G {
    let (newg, _) = homes.home(i);
    newg.ext.kind.set(kind);
    newg.stack.set(home_stack(newg));
    newg.stackguard0.store(running_guard(newg), Ordering::Relaxed);
    newg.stackguard1.set(usize::MAX);
    newg.tracking_seq.store(next_turn(), Ordering::Relaxed);
    casgstatus(newg, GIDLE, GDEAD);
    newg
}
