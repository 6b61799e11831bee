//! Handing dead stack back to the kernel: the pages below the stack pointer of a goroutine that has
//! waited for a second. Otherwise a goroutine that was deep in calls once, and then waits for good,
//! would keep these pages as long as it lives.
//!
//! Sysmon goes over all goroutines, for half a millisecond at a time, and may leave off in the
//! middle of a stack. It keeps its knowledge of a goroutine in `g.waitsince`, so that a park costs
//! nothing:
//!
//! | `waitsince` | the goroutine |
//! | --- | --- |
//! | 0 | wasn't seen since it ran |
//! | even | has waited since then, as far as passes have seen |
//! | odd | the same, and its dead stack has gone back |
//!
//! A waiting goroutine stays where it is as long as its scan bit is set, and a wake waits until the
//! bit is cleared. So at most [`AT_ONCE`] goes back under one bit. Nothing below the stack pointer
//! is needed, as the goroutine has called `mcall` or `systemstack`. Places that others write to
//! while it waits, as for a message, are in the frames above.
//!
//! A pass begins a second after the last pass, or later: a hundred times as long after it as it
//! took. So passes that find nothing take a hundredth of a processor. After a pass that has
//! finished with every goroutine while no P was in use, no pass is needed until a P runs again.

use std::cell::LazyCell;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use crate::runtime::arch::{RED_ZONE, page_size};
use crate::runtime::base::debug::period;
use crate::runtime::base::os::nanotime;
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::{G, GSCAN, GWAITING, sched};
use crate::runtime::g::allgs::{atomic_all_g, atomic_all_g_index};
use crate::runtime::g::status::{casfrom_gscanstatus, castogscanstatus, readgstatus};
use crate::runtime::mem::home::home_stack;
use crate::runtime::mem::pages::Pagemap;
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::report::traceback::note_wait;

/// How long a goroutine must wait until its dead stack goes back, and the minimum time between two
/// passes, in nanoseconds, before [`period`] scales it.
const SECOND: i64 = 1_000_000_000;

/// How long one call works, in nanoseconds.
const SLICE: i64 = 500_000;

/// The pause until the next call, in multiples of the time worked: after a call that has found
/// nothing, and after a call that has handed something back.
const IN_VAIN: i64 = 100;
const IN_USE: i64 = 10;

/// How many goroutines are looked at between two looks at the clock.
const LOOKS: usize = 64;

/// How many bytes go back under one scan bit, which takes some 6 µs.
const AT_ONCE: usize = 64 << 10;

/// The pass that is in progress, or the next pass.
struct Pass {
    /// When to begin or continue the pass.
    when: AtomicI64,
    /// The index of the next goroutine.
    at: AtomicUsize,
    /// Where to continue in that goroutine's stack, and since when the goroutine waited; 0 if no
    /// stack is half done.
    rest: AtomicUsize,
    since: AtomicI64,
    /// How long the pass has worked.
    worked: AtomicI64,
    /// The total idle time of P's when the pass began.
    idle_time: AtomicI64,
    /// Whether no P was in use when the pass began, and it has finished with every goroutine so
    /// far.
    all_seen: AtomicBool,
}

/// The dead stack that is left of a goroutine which has waited since then: what is above `lo`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rest {
    lo: usize,
    since: i64,
}

/// The result of a look at a goroutine.
#[derive(PartialEq, Eq, Debug)]
enum Look {
    /// There is no more to do until the goroutine runs again.
    Seen,
    /// The same, and something was handed back.
    HandedBack,
    /// The time was over before the whole dead stack was handed back.
    Unfinished(Rest),
    /// Another pass has to look at the goroutine: it hasn't waited for a second, or another thread
    /// reads its stack.
    Again,
}

/// Looks at goroutines for a moment: notes since when they wait, and hands their dead stack back.
/// Returns the time of the next call; none if no call is needed until a P has run. Called by
/// sysmon; `now` is [`nanotime`].
pub(super) fn look_at_waits(now: i64) -> Option<i64> {
    static PASS: Pass = Pass {
        when: AtomicI64::new(0),
        at: AtomicUsize::new(0),
        rest: AtomicUsize::new(0),
        since: AtomicI64::new(0),
        worked: AtomicI64::new(0),
        idle_time: AtomicI64::new(0),
        all_seen: AtomicBool::new(false),
    };
    let when = PASS.when.load(Ordering::Relaxed);
    if now < when {
        return Some(when);
    }
    let from = PASS.at.load(Ordering::Relaxed);
    let mut rest = Rest { lo: PASS.rest.load(Ordering::Relaxed), since: PASS.since.load(Ordering::Relaxed) };
    if from == 0 && rest.since == 0 {
        let idle_time = sched().idle_time.load(Ordering::Relaxed);
        let has_run = PASS.idle_time.swap(idle_time, Ordering::Relaxed) != idle_time;
        // A hint, looked at again. SeqCst: see `Schedt::npidle`.
        let is_idle = sched().npidle.load(Ordering::SeqCst) == gomaxprocs();
        if is_idle && !has_run && PASS.all_seen.load(Ordering::Relaxed) {
            return None;
        }
        PASS.all_seen.store(is_idle, Ordering::Relaxed);
    }
    let (pagemap, all): (LazyCell<Pagemap>, _) = (LazyCell::new(Pagemap::open), atomic_all_g());
    let (mut at, mut pause) = (from, IN_VAIN * SLICE);
    while at < all && (at == from || !at.is_multiple_of(LOOKS) || nanotime() - now < SLICE) {
        let look = atomic_all_g_index(at).map_or(Look::Seen, |gp| check_dead_stack(gp, now, rest, &pagemap));
        rest = Rest { lo: 0, since: 0 };
        match look {
            Look::Seen => {}
            Look::HandedBack => pause = IN_USE * SLICE,
            Look::Unfinished(left) => {
                (rest, pause) = (left, IN_USE * SLICE);
                break;
            }
            Look::Again => PASS.all_seen.store(false, Ordering::Relaxed),
        }
        at += 1;
    }
    let worked = PASS.worked.load(Ordering::Relaxed) + nanotime() - now;
    let is_over = at >= all;
    let when = if is_over { now + period(SECOND).max(IN_VAIN * worked) } else { now + pause };
    PASS.when.store(when, Ordering::Relaxed);
    PASS.at.store(if is_over { 0 } else { at }, Ordering::Relaxed);
    PASS.rest.store(rest.lo, Ordering::Relaxed);
    PASS.since.store(rest.since, Ordering::Relaxed);
    PASS.worked.store(if is_over { 0 } else { worked }, Ordering::Relaxed);
    Some(when)
}

/// Notes that `gp` waits, if that wasn't noted. Hands its dead stack back once it has waited for a
/// second, unless that was done since the wait began. Continues at `rest`, if that was left of this
/// wait. `now` is the time at which the call of [`look_at_waits`] began.
fn check_dead_stack(gp: &G, now: i64, rest: Rest, pagemap: &LazyCell<Pagemap>) -> Look {
    let since = gp.waitsince.get();
    if since == 0 {
        note_wait(gp, now);
    }
    // Without the scan bit these are hints.
    match readgstatus(gp) & !GSCAN {
        GWAITING if since & 1 != 0 => return Look::Seen,
        GWAITING if !is_old(since, now) => return Look::Again,
        GWAITING => {}
        // A goroutine without a P has to take one before it waits, and then another pass follows.
        _ => return Look::Seen,
    }
    let (kind, home) = (gp.ext.kind.get(), home_stack(gp));
    // A copying stack shrinks instead. A stack that the program has provided is the program's.
    if kind == StackKind::Copying || gp.stack.get().lo != home.lo {
        return Look::Seen;
    }
    let is_left = since == rest.since && (home.lo..home.hi).contains(&rest.lo);
    let from = if is_left { rest.lo } else { home.lo };
    let mut lo = from;
    loop {
        if !castogscanstatus(gp, GWAITING, GWAITING | GSCAN) {
            return Look::Again;
        }
        let since = gp.waitsince.get();
        let mut goes_on = false;
        // If the time isn't old any more, the goroutine has run meanwhile.
        if is_old(since, now) {
            let hi = dead_end(gp);
            goes_on = lo < hi && pagemap.may_have_memory(lo..hi);
            if goes_on {
                lo = hand_back(lo..hi.min(lo + AT_ONCE));
            } else {
                gp.waitsince.set(since | 1);
            }
        }
        casfrom_gscanstatus(gp, GWAITING | GSCAN, GWAITING);
        if !goes_on {
            break;
        }
        // Without PAGEMAP_SCAN, sysmon asks for pages that were never touched, too. A room may have
        // a GiB.
        if nanotime() - now >= SLICE {
            return Look::Unfinished(Rest { lo, since });
        }
    }
    if lo == from { Look::Seen } else { Look::HandedBack }
}

/// Whether a goroutine with this `waitsince` has waited for a second, and still has its dead stack.
fn is_old(since: i64, now: i64) -> bool {
    since != 0 && since & 1 == 0 && now - since >= period(SECOND)
}

/// Returns where the dead pages of the waiting `gp` end, below its stack pointer; 0 if that points
/// to another stack.
fn dead_end(gp: &G) -> usize {
    let (stack, sp) = (gp.stack.get(), gp.sched.sp.get());
    let is_here = (stack.lo + RED_ZONE..=stack.hi).contains(&sp);
    if is_here { (sp - RED_ZONE) / page_size() * page_size() } else { 0 }
}

/// Hands back pages that nobody needs, unless the program has locked them. Returns where they end.
fn hand_back(pages: Range<usize>) -> usize {
    let start = ptr::with_exposed_provenance_mut(pages.start);
    // SAFETY: these are whole pages of a stack, below all of its frames as long as the scan bit is
    // set.
    unsafe { libc::madvise(start, pages.len(), libc::MADV_DONTNEED) };
    pages.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::mem::home::cut_homes;
    use crate::runtime::mem::stackinit;

    #[test]
    fn a_large_stack_goes_back_in_slices() {
        const NOW: i64 = 2 * SECOND;
        const SINCE: i64 = 2;
        stackinit().unwrap();
        let kind = StackKind::Fixed(8);
        let homes = cut_homes(kind, 1).unwrap();
        let (gp, _) = homes.home(0);
        gp.ext.kind.set(kind);
        let stack = home_stack(gp);
        assert!(stack.hi - stack.lo > 4 * AT_ONCE);
        gp.stack.set(stack);
        gp.sched.sp.set(stack.hi);
        gp.waitsince.set(SINCE);
        gp.atomicstatus.store(GWAITING, Ordering::Relaxed);
        let fill = || {
            // SAFETY: nobody else uses the stack.
            unsafe { ptr::with_exposed_provenance_mut::<u8>(stack.lo).write_bytes(1, stack.hi - stack.lo) }
        };
        // SAFETY: as above.
        let byte = |at: usize| unsafe { ptr::with_exposed_provenance::<u8>(at).read_volatile() };

        // By the clock, `NOW` is long ago: each call finds that its time is over.
        let (pagemap, mut rest): (LazyCell<Pagemap>, _) =
            (LazyCell::new(Pagemap::open), Rest { lo: 0, since: 0 });
        fill();
        for done in 1..=2 {
            let left = Rest { lo: stack.lo + done * AT_ONCE, since: SINCE };
            assert_eq!(check_dead_stack(gp, NOW, rest, &pagemap), Look::Unfinished(left));
            assert_eq!((byte(left.lo - 1), byte(left.lo)), (0, 1));
            rest = left;
        }
        // The goroutine has run and waits again, so nothing is done yet.
        gp.waitsince.set(SINCE + 2);
        fill();
        while let Look::Unfinished(left) = check_dead_stack(gp, NOW, rest, &pagemap) {
            rest = left;
        }
        assert_eq!(
            (gp.waitsince.get(), byte(stack.lo), byte(stack.hi - page_size() - RED_ZONE)),
            (SINCE + 3, 0, 0)
        );
    }
}
