//! M's that keep their goroutine while they wait for a P. Such a goroutine takes its turn like one
//! in the global queue.
//!
//! There are two kinds. A *kept* goroutine ([`Turn::Kept`]) has computed for its time slice in code
//! where nobody can stop it, and waits in a signal handler. It may hold what others wait for on
//! their threads: a lock of std's, or of an allocator that isn't the C library's
//! (`sched/detach.rs`). A goroutine whose P was taken, and that needs a P for its next step, waits
//! in a function of the runtime ([`Turn::Needed`]). It holds no more than a parked goroutine, and
//! comes first every other time.
//!
//! **No thread waits forever for what a kept goroutine holds.** The waiter sleeps in the kernel:
//!
//! - If the waiter is a goroutine, its P is taken and goes to the next goroutine, at last to the
//!   kept one.
//! - If the waiter is the runtime itself, perhaps no P becomes free, so kept goroutines go on
//!   without a P. A thread that stops the world lets them go on ([`let_go`]), and meanwhile none is
//!   kept. Sysmon also lets them go on when an M that has a P stays in code of the runtime's.
//! - Any other thread may stand still, even sysmon, which takes malloc's lock when it makes a
//!   thread. So a kept goroutine goes on by itself when all threads that could give it its turn
//!   sleep ([`Stall`]). It takes no lock that it would have to wait for.
//!
//! `sched.lock` protects the list. It is served whenever a P is about to be idle, so no P is idle
//! as long as an M is on the list. The M that waited wires the P that it gets (`wirep`).

use std::ops::RangeInclusive;
use std::ptr;

use crate::runtime::base::os::{nanotime, thread_sleeps};
use crate::runtime::base::this::hold_p;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{M, P, sched};
use crate::runtime::data::turns::Turn;
use crate::runtime::embed::trace::{Event, trace, tracing};
use crate::runtime::lock::mutex::try_lock;
use crate::runtime::lock::note::{noteclear, notetsleep_internal, notewakeup};
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::m::thread::ALLM;
use crate::runtime::p::owner::{begin_slice, pidleget, wirep};
use crate::runtime::p::procs::procs;

/// The bounds of a kept goroutine's turn, in nanoseconds, if others want the P.
const TURN_NS: RangeInclusive<i64> = 500_000..=10_000_000;

/// The sleep of an M with a kept goroutine between two looks at the scheduler, in nanoseconds. In
/// models it sleeps until it is woken.
const LOOK_NS: i64 = if cfg!(loom) { -1 } else { 50 * 1000 * 1000 };

/// Waits until `mp`, this thread's M, has a P, and begins a time slice with it. Returns false,
/// without a P, if the goroutine is a kept one and isn't to be kept any longer. Called without a
/// lock held, also in a signal handler.
pub(in crate::runtime) fn wait_for_turn(mp: &'static M, turn: Turn) -> bool {
    if turn == Turn::Kept && tracing() {
        // The tracer can't be called in a signal handler, as here, and may want a lock that this
        // goroutine holds.
        return false;
    }
    // A signal that comes before the M has its P asks for nothing.
    let _held = hold_p(mp);
    while !wait_once(mp, turn) {
        if mp.ext.turn.replace(Turn::None) != Turn::Again {
            return false;
        }
    }
    true
}

/// [`wait_for_turn`], except that it also returns when another thread lets `mp` go on.
fn wait_once(mp: &'static M, turn: Turn) -> bool {
    let turns = &sched().ext.turns;
    if turn == Turn::Needed {
        lock(&sched().lock);
    } else if !try_lock(&sched().lock) {
        // The thread that holds `sched.lock` may want a lock that this goroutine holds.
        return false;
    }
    let idle = pidleget();
    let keep = idle.is_none() && (turn == Turn::Needed || may_keep(mp));
    if keep {
        turns.push(mp, turn);
    }
    if keep && turn == Turn::Needed {
        // Each scheduler looks at the list in its next round.
        procs().allp.iter().for_each(|pp| pp.preempt.store(true, Ordering::Relaxed));
    }
    unlock(&sched().lock);
    if keep && !sleep(mp, turn) {
        return false;
    }
    let Some(pp) = idle.or_else(|| mp.nextp.get()) else { return false };
    mp.nextp.set(None);
    // The goroutine has done what it was asked for.
    mp.take_asked();
    begin_slice(pp);
    if turn == Turn::Kept {
        begin_turn(pp);
    }
    wirep(mp, pp);
    if idle.is_some() {
        trace(|| Event::ProcStart(pp));
    }
    true
}

/// Whether the goroutine of `mp` may be kept now. `sched.lock` is held.
fn may_keep(mp: &M) -> bool {
    let suspended = mp.curg.get().is_some_and(|gp| gp.preempt_stop.load(Ordering::Relaxed));
    // SeqCst: see `Schedt::gcwaiting`.
    !suspended && !sched().gcwaiting.load(Ordering::SeqCst)
}

/// Begins the turn of a kept goroutine, with the time slice on `pp`, the caller's P. If others want
/// the P, the turn takes as long as they had the P since the last turn. So goroutines that compute
/// for moments don't wait long for a goroutine that always computes.
fn begin_turn(pp: &P) {
    let turn = &pp.ext.last_turn;
    let others = nanotime() - turn.ended.load(Ordering::Relaxed);
    turn.ns.store(others.clamp(*TURN_NS.start(), *TURN_NS.end()), Ordering::Relaxed);
    turn.tick.store(pp.schedtick.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Sleeps until another thread wakes `mp`, which is on the list. If the scheduler stands still, a
/// kept goroutine leaves the list by itself, because all threads, sysmon too, may wait for what it
/// holds. Returns whether `mp` was woken.
fn sleep(mp: &'static M, turn: Turn) -> bool {
    let mut stall = Stall::new();
    let ns = if turn == Turn::Needed { -1 } else { LOOK_NS };
    while !notetsleep_internal(&mp.park, ns, None) {
        let count = stall.look();
        if count != 0 && try_lock(&sched().lock) {
            let mut left = false;
            let may_leave = |earlier, one: &M| ptr::eq(one, mp) && earlier < count;
            sched().ext.turns.take_kept(may_leave, |_| left = true);
            unlock(&sched().lock);
            if left {
                return false;
            }
        }
    }
    noteclear(&mp.park);
    true
}

/// Whether an M waits for its turn. Without the lock the answer is a hint.
#[inline(always)]
pub(in crate::runtime) fn turns_waiting() -> bool {
    sched().ext.turns.len.load(Ordering::Relaxed) != 0
}

/// Whether an M that needs a P waits ([`Turn::Needed`]): its P was taken, and it comes before all
/// others. A hint.
pub(in crate::runtime) fn turn_needed() -> bool {
    sched().ext.turns.needed.load(Ordering::Relaxed) != 0
}

/// Whether an M's turn comes before the global queue's. If both have something, they alternate.
pub(in crate::runtime) fn turn_before_queue() -> bool {
    turns_waiting() && (sched().runqsize.load(Ordering::Relaxed) == 0 || every_other_time())
}

/// Whether the turn of an M that needs a P comes before the queues, which it does every other time.
pub(in crate::runtime) fn need_before_queues() -> bool {
    turn_needed() && every_other_time()
}

fn every_other_time() -> bool {
    sched().ext.turns.was_last.fetch_xor(1, Ordering::Relaxed) == 0
}

/// Takes the M whose turn it is off the list. The caller gives that M a P. `sched.lock` is held.
pub(in crate::runtime) fn take_turn() -> Option<&'static M> {
    assert_lock_held(&sched().lock);
    sched().ext.turns.pop()
}

/// Gives `pp`, which no M has, to an M that [`take_turn`] has returned.
pub(in crate::runtime) fn give_turn(mp: &M, pp: &'static P) {
    trace(|| Event::ProcTurn(pp, mp));
    mp.nextp.set(Some(pp));
    notewakeup(&mp.park);
}

/// Gives idle P's to M's that wait. Called after a P was put on the idle list. `sched.lock` is
/// held.
pub(in crate::runtime) fn serve_turns() {
    while turns_waiting()
        && let Some(pp) = pidleget()
        && let Some(mp) = take_turn()
    {
        give_turn(mp, pp);
    }
}

/// Lets kept goroutines go on without a P, as long as the world is stopped. A goroutine that wakes
/// after that is kept again, as otherwise all of them would compute at once. `sched.lock` is held.
pub(in crate::runtime) fn let_go() {
    assert_lock_held(&sched().lock);
    let wake = |mp: &M| {
        mp.ext.turn.set(Turn::Again);
        notewakeup(&mp.park);
    };
    sched().ext.turns.take_kept(|_, _| true, wake);
}

/// Lets the first `count` kept goroutines go on without a P, for a while.
pub(in crate::runtime) fn let_some_go(count: usize) {
    lock(&sched().lock);
    sched().ext.turns.take_kept(|earlier, _| earlier < count, |mp| notewakeup(&mp.park));
    unlock(&sched().lock);
}

/// Lets the goroutine of `one` go on without a P, if it is kept and `sched.lock` is free. This
/// doesn't wait for the lock: the caller may have set a goroutine's scan bit, and a thread may hold
/// the lock while it waits for that bit.
pub(in crate::runtime) fn let_one_go(one: &M) {
    if one.ext.detached_since.load(Ordering::Relaxed) == 0 || !try_lock(&sched().lock) {
        return;
    }
    sched().ext.turns.take_kept(|_, mp| ptr::eq(mp, one), |mp| notewakeup(&mp.park));
    unlock(&sched().lock);
}

/// Whether the scheduler stands still, as seen by an M that waits for its turn with a kept
/// goroutine.
///
/// The clock doesn't tell. On a busy machine nothing may go on for long, and if kept goroutines
/// went on then, the machine would have even more to do. So this asks whether all threads that
/// could begin a time slice sleep: those that have a P or are about to get one, and sysmon.
///
/// They may sleep for another reason, such as a slow disk. So not all kept goroutines go on: at
/// first one, then two, four, and so on. A hundred that compute at once would keep the processors
/// from sysmon, and only sysmon can make them wait again.
struct Stall {
    /// How many time slices have begun.
    slices: u32,
    /// How many rounds sysmon has made.
    rounds: u32,
    /// In how many successive looks the scheduler stood still.
    stood: u32,
}

impl Stall {
    /// Begins to watch.
    fn new() -> Self {
        Stall { slices: slices_begun(), rounds: sched().ext.turns.rounds.load(Ordering::Relaxed), stood: 0 }
    }

    /// Looks once more. If no time slice has begun on any P since the last look, and none is about
    /// to, returns how many kept goroutines may go on; otherwise 0.
    fn look(&mut self) -> usize {
        let now = Stall::new();
        let same = |field: fn(&Stall) -> u32| field(self) == field(&now);
        // Without sysmon, the slice of a goroutine that computes doesn't end.
        let stands = same(|stall| stall.slices)
            && thread_sleeps(sched().ext.turns.sysmon.load(Ordering::Relaxed))
            && (same(|stall| stall.rounds) || who_have_a_p_sleep());
        *self = Stall { stood: if stands { self.stood + 1 } else { 0 }, ..now };
        places(self.stood)
    }
}

/// Returns how many time slices have begun, on all P's.
pub(super) fn slices_begun() -> u32 {
    procs().allp.iter().map(|pp| pp.schedtick.load(Ordering::Relaxed)).fold(0, u32::wrapping_add)
}

/// Returns how many may go on after `looks` looks in succession, or after that many requests, were
/// in vain.
pub(in crate::runtime) fn places(looks: u32) -> usize {
    looks.checked_sub(1).map_or(0, |before| 1 << before.min(31))
}

/// Whether all threads that have a P, or are being given one, sleep.
fn who_have_a_p_sleep() -> bool {
    // Acquire pairs with allocm. An M stays on the list.
    let first = ALLM.0.load(Ordering::Acquire);
    let mut have_one = std::iter::successors(first, |mp| mp.alllink.get())
        .filter(|mp: &&M| !mp.p.is_null() || !mp.nextp.is_null());
    sched().ext.turns.starting.load(Ordering::Relaxed) <= 0
        && have_one.all(|mp| thread_sleeps(mp.procid.load(Ordering::Relaxed)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::places;

    #[test]
    fn more_go_on_the_longer_it_stands_still() {
        assert_eq!([0, 1, 2, 3, 8].map(places), [0, 1, 2, 4, 128]);
        assert!(places(u32::MAX) > 1_000_000);
    }
}
