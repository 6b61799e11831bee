//! Goroutines that keep a P that others want, in code where nobody can stop them. This file is
//! sysmon's side: how it finds such a goroutine, and what it asks the goroutine to do.
//! `sched/detach.rs` is the goroutine's side.
//!
//! The kernel counts how long each thread has been on a processor. A read of the count takes 0.3
//! µs. Where two reads are a tenth of a millisecond apart and the count is the same, the thread
//! sleeps or waits for a processor. `/proc` tells the two apart. It is asked, too, if a signal has
//! come between the reads: the signal's handler takes time on a thread that sleeps as well. If the
//! thread sleeps, its goroutine is asked to let the P go. A goroutine that computes is asked when
//! its time slice is over, and goes on when its turn comes again.
//!
//! A goroutine whose P nobody wants isn't asked, so no system call is cut short for nothing. But a
//! goroutine whose thread sleeps is also asked if no other M would notice new work.
//!
//! A signal that comes while the goroutine is in the runtime does nothing, and the goroutine is
//! asked again.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::runtime::base::debug::{detach_on, detach_torture};
use crate::runtime::base::os::{nanotime, thread_cpu_time, thread_sleeps, waits_for_kernel};
use crate::runtime::base::print::eprintln;
use crate::runtime::data::runtime2::{M, P, sched};
use crate::runtime::data::turns::Turn;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::thread::ALLM;
use crate::runtime::m::turn::{let_some_go, places, turns_waiting};
use crate::runtime::p::runq::runqempty;
use crate::runtime::p::timer_heap::nobarrier_wake_time;
use crate::runtime::preempt::ask::{Asked, ask_by_signal};
use crate::runtime::report::hogs::{Hog, may_ask};
use crate::runtime::sched::detach::limit_reached;

/// The time on no processor after which a thread is taken to sleep or wait, in nanoseconds.
const SLEEPS_NS: i64 = 100 * 1000;

/// The time that a goroutine may compute after the end of its time slice, to come to a check or to
/// notice a request, in nanoseconds.
const CHECKS_NS: i64 = 50 * 1000;

/// The time until the next look at a thread that computes while its P is wanted.
const LOOK_NS: i64 = 250 * 1000;

/// The same if nobody wants the P yet.
const IDLE_LOOK_NS: i64 = 2 * 1000 * 1000;

/// The time without a sleeping thread after which sysmon expects none, in nanoseconds.
const SELDOM_NS: i64 = 100 * 1000 * 1000;

/// The time until a goroutine is asked for the second time. It doubles each time.
const ASK_NS: i64 = 20 * 1000;

/// The number of requests after which the goroutine is taken to be in the runtime for long.
const OFTEN: u32 = 6;

/// The time slice of a goroutine that computes while the maximum number of goroutines wait for
/// their turn. It isn't endless, because the goroutine may spin until another goroutine has run.
const LONG_SLICE_NS: i64 = 1000 * 1000 * 1000;

/// The number of further requests, each after more than a millisecond, if the goroutine's thread
/// computes. The goroutine may be looking at many others in the runtime, and goroutines that are
/// kept stand still until they are let go.
const LONGER: u32 = 16;

/// The time that a goroutine may compute without a P until it has to wait for its turn.
const COMPUTES_NS: i64 = 10 * 1000 * 1000;

/// The time at which a thread was last seen to sleep.
static SLEEPER_SEEN: AtomicI64 = AtomicI64::new(i64::MIN / 2);

/// The delay after which sysmon checks whether the thread of a goroutine that has begun to run
/// sleeps. The delay is short if threads were seen to sleep lately.
pub(super) fn lag(pp: &P, now: i64) -> i64 {
    let seldom = now - SLEEPER_SEEN.load(Ordering::Relaxed) > SELDOM_NS;
    if seldom && !is_turn(pp) { IDLE_LOOK_NS } else { LOOK_NS }
}

/// The time at which the next timer of `pp` is due.
fn next_timer(pp: &P) -> i64 {
    Some(nobarrier_wake_time(pp)).filter(|&when| when != 0).unwrap_or(i64::MAX)
}

/// Whether a goroutine or a timer waits for `pp`.
pub(super) fn is_wanted(pp: &P, now: i64) -> bool {
    turns_waiting() || is_wanted_by_others(pp, now)
}

/// Whether a timer, or a goroutine that hasn't computed for long, waits for `pp`.
fn is_wanted_by_others(pp: &P, now: i64) -> bool {
    !runqempty(pp.steal()) || sched().runqsize.load(Ordering::Relaxed) != 0 || next_timer(pp) <= now
}

/// Whether the time slice on `pp` is the turn of a goroutine that has computed for long before.
fn is_turn(pp: &P) -> bool {
    let turn = &pp.ext.last_turn;
    turn.tick.load(Ordering::Relaxed) == pp.schedtick.load(Ordering::Relaxed)
        && turn.ns.load(Ordering::Relaxed) != 0
}

/// Whether the time slice on `pp` is such a turn and has taken long enough, and others want the P.
pub(super) fn turn_is_over(pp: &P, now: i64) -> bool {
    is_turn(pp)
        && now - pp.sysmontick.schedwhen.get() >= pp.ext.last_turn.ns.load(Ordering::Relaxed)
        && is_wanted_by_others(pp, now)
}

/// Whether no M would notice new work: none spins, and no P is idle.
pub(super) fn nobody_looks() -> bool {
    // Hints: sysmon looks again. SeqCst: see `Schedt::nmspinning` and `Schedt::npidle`.
    sched().nmspinning.load(Ordering::SeqCst) + sched().npidle.load(Ordering::SeqCst) == 0
}

/// Notes that a time slice has begun on `pp`.
pub(super) fn new_slice(pp: &P) {
    pp.ext.cpu_tick.when.set(0);
    pp.ext.cpu_tick.over.set(0);
    pp.ext.cpu_tick.asked.set(0);
    pp.ext.cpu_tick.counted.set(false);
}

/// Whether the goroutine that had `pp` was asked to let it go.
pub(super) fn was_asked(pp: &P) -> bool {
    pp.ext.cpu_tick.asked.get() != 0 || detach_torture()
}

/// Looks at the goroutine that runs on `pp`, and asks it to let the P go if it should. `long` says
/// whether its time slice is over. Returns the time of the next look.
pub(super) fn look_at(pp: &'static P, long: bool, now: i64) -> i64 {
    // Acquire pairs with wirep.
    let theirs = if detach_on() { pp.m.load(Ordering::Acquire) } else { None };
    let Some(mp) = theirs else { return i64::MAX };
    if detach_torture() {
        ask_by_signal(mp, Asked::Detach, pp.schedtick.load(Ordering::Relaxed));
        return now;
    }
    let tick = &pp.ext.cpu_tick;
    let wanted = is_wanted(pp, now);
    if !wanted && !nobody_looks() {
        tick.when.set(0);
        return next_timer(pp);
    }
    let Some(cpu) = thread_cpu_time(mp.procid.load(Ordering::Relaxed)) else { return i64::MAX };
    let first = tick.when.get() == 0;
    let signals = mp.preempt_gen.load(Ordering::Relaxed);
    let signaled = tick.signals.replace(signals) != signals;
    let may_sleep = (tick.cpu.replace(cpu) == cpu || signaled) && !first;
    if may_sleep && now - tick.when.get() < SLEEPS_NS {
        return tick.when.get() + SLEEPS_NS;
    }
    // Otherwise the thread computes, or waits for a processor.
    if !may_sleep || !thread_sleeps(mp.procid.load(Ordering::Relaxed)) {
        tick.when.set(now);
        if wanted && long && !first {
            let since = tick.over.get();
            // A goroutine in its turn was asked before, and computes in code where nobody can stop
            // it: it needn't be given time to come to a check.
            let unheard = if since == 0 { is_turn(pp) } else { cpu - since >= CHECKS_NS };
            if since == 0 || unheard {
                tick.over.set(cpu);
            }
            // Asks again only when the thread has computed more: a signal waits as long as the
            // thread does.
            return if unheard { ask_hog(pp, mp, Asked::WaitForTurn, now) } else { now + SLEEPS_NS };
        }
        return match (first, wanted) {
            (true, _) => now + SLEEPS_NS,
            (false, true) => now + LOOK_NS,
            (false, false) => next_timer(pp).min(now + IDLE_LOOK_NS),
        };
    }
    SLEEPER_SEEN.store(now, Ordering::Relaxed);
    ask_hog(pp, mp, Asked::Detach, now)
}

/// Asks the goroutine of `mp`, which has `pp`. Returns the time of the next look.
fn ask_hog(pp: &'static P, mp: &'static M, what: Asked, now: i64) -> i64 {
    if what == Asked::WaitForTurn
        && let Some(look_again) = long_slice(pp, now)
    {
        return look_again;
    }
    // A goroutine in the C library doesn't wait for its turn there. It will soon be elsewhere.
    let spared = what == Asked::WaitForTurn && was_spared(mp);
    // After `often` requests the goroutine is in the runtime for long. It may wait for a lock that
    // a goroutine which waits for its turn holds. If its thread computes, it doesn't wait in the
    // kernel but may spin, so it is given longer, but not forever.
    let often = if what == Asked::Detach { OFTEN } else { OFTEN + LONGER };
    let may_go = places((pp.ext.cpu_tick.asked.get() + 1).saturating_sub(often));
    if may_go != 0 && !spared && turns_waiting() && !waits_for_kernel(mp.procid.load(Ordering::Relaxed)) {
        let_some_go(may_go);
    }
    if !was_told_of(pp, mp, what, now) {
        return now + ASK_NS;
    }
    let tick = &pp.ext.cpu_tick;
    ask_by_signal(mp, what, pp.sysmontick.schedtick.get());
    if spared {
        return now + ASK_NS;
    }
    let asked = tick.asked.get();
    tick.asked.set(asked.saturating_add(1));
    if asked >= OFTEN {
        // A signal seems to be on its way, but the program may have taken it, or installed its own
        // handler for a while. So another is sent. One too many does no harm.
        mp.signal_not_sent();
    }
    now + (ASK_NS << asked.min(OFTEN))
}

/// Whether the goroutine of `mp` was asked to wait for its turn, and was in the C library.
fn was_spared(mp: &M) -> bool {
    mp.ext.spared.load(Ordering::Relaxed) != 0
}

/// Whether the goroutine of `mp` may be asked. With `GODEBUG=hogs=1` it must be reported first.
fn was_told_of(pp: &'static P, mp: &'static M, what: Asked, now: i64) -> bool {
    let Some(gp) = mp.curg.get() else { return true };
    let sleeps = what == Asked::Detach;
    let slice = now - pp.sysmontick.schedwhen.get();
    let counted = &pp.ext.cpu_tick.counted;
    let hog = Hog { gp, mp, pp, schedtick: pp.sysmontick.schedtick.get(), sleeps, slice };
    let may_ask = may_ask(hog, !counted.get());
    counted.set(may_ask || counted.get());
    may_ask
}

/// If the maximum number of goroutines wait for their turn, the goroutine on `pp` has a longer
/// slice: returns its end. Prints a message the first time.
fn long_slice(pp: &P, now: i64) -> Option<i64> {
    static SAID: AtomicBool = AtomicBool::new(false);
    let max = limit_reached()?;
    if !SAID.swap(true, Ordering::Relaxed) {
        eprintln!(
            "gosched: {max} goroutines that compute wait for their turn, each on a thread of its own: others \
             that compute keep their processor for a second at a time (gosched::set_max_detached)"
        );
    }
    Some(pp.sysmontick.schedwhen.get() + LONG_SLICE_NS).filter(|&end| now < end)
}

/// Makes goroutines that compute without a P wait for their turn. Returns the time of the next
/// look.
pub(super) fn look_at_detached(now: i64) -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(0);
    if sched().ext.ndetached.load(Ordering::Relaxed) == 0 || !detach_on() {
        return i64::MAX;
    }
    let next = NEXT.load(Ordering::Relaxed);
    if now < next {
        return next;
    }
    let mut pause = COMPUTES_NS;
    // Acquire pairs with allocm. An M stays on the list.
    let mut each = ALLM.0.load(Ordering::Acquire);
    while let Some(mp) = each {
        each = mp.alllink.get();
        if mp.ext.detached_since.load(Ordering::Relaxed) == 0 || waits_for_turn(mp) {
            continue;
        }
        let Some(cpu) = thread_cpu_time(mp.procid.load(Ordering::Relaxed)) else { continue };
        let spared = was_spared(mp) && !thread_sleeps(mp.procid.load(Ordering::Relaxed));
        if spared {
            pause = ASK_NS;
        }
        if spared || cpu - mp.ext.cpu_seen.load(Ordering::Relaxed) >= COMPUTES_NS {
            mp.ext.cpu_seen.store(cpu, Ordering::Relaxed);
            // The lock isn't held: the handler tries to take it at once, and if it isn't free the
            // goroutine goes on.
            ask_by_signal(mp, Asked::WaitForTurn, 0);
        }
    }
    // Thousands of such goroutines take at most a tenth of sysmon's time.
    let next = now + pause.max(10 * (nanotime() - now));
    NEXT.store(next, Ordering::Relaxed);
    next
}

fn waits_for_turn(mp: &M) -> bool {
    lock(&sched().lock);
    let turn = mp.ext.turn.get();
    unlock(&sched().lock);
    turn != Turn::None
}
