//! M's that keep their goroutine while they wait for a P. Such a goroutine takes its turn like one
//! in the global queue.
//!
//! There are two kinds. A goroutine that has computed for its time slice in code where nobody can
//! stop it waits in a signal handler ([`Turn::Kept`]). It may hold what others wait for on their
//! threads: a lock of std's, or of an allocator that isn't the C library's (`sched/detach.rs`). A
//! goroutine whose P was taken, and that needs a P for what it does next, waits in a function of
//! the runtime ([`Turn::Needed`]), and holds no more than one that has parked. It comes first,
//! every other time.
//!
//! **Nobody waits for ever for what a kept goroutine holds.** The waiter sleeps in the kernel:
//!
//! - If the waiter is a goroutine, its P is taken and goes to the next goroutine, at last to the
//!   kept one.
//! - If the waiter is the runtime itself, no P may become free, so kept goroutines go on without
//!   one. A thread that stops the world lets them go on ([`let_go`]), and meanwhile none is kept.
//!   Sysmon does so too when an M that has a P stays in code of the runtime's.
//! - Any other thread may stand still, even sysmon, which takes malloc's lock when it makes a
//!   thread. So a kept goroutine goes on by itself when the threads sleep that could give it its
//!   turn ([`Stall`]). It takes no lock that it would have to wait for.
//!
//! `sched.lock` protects the list. It is served whenever a P is about to be idle, so no P is idle
//! as long as an M is on the list. The M that waited wires the P that it gets.

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

/// How long an M that keeps its goroutine sleeps between two looks at the scheduler, in
/// nanoseconds. In models it sleeps until it is woken.
const LOOK_NS: i64 = if cfg!(loom) { -1 } else { 50 * 1000 * 1000 };

/// Waits until `mp`, this thread's M, has a P, with which a time slice begins. Returns without a P
/// if the goroutine is only kept, and isn't to be kept any longer. Called where no lock is held, in
/// a signal handler, too.
pub(in crate::runtime) fn wait_for_turn(mp: &'static M, turn: Turn) -> bool {
    if turn == Turn::Kept && tracing() {
        // The tracer can't be called here, in a signal handler, and may want what this goroutine
        // holds.
        return false;
    }
    // Until the M has its P, a signal that comes asks for nothing.
    let _held = hold_p(mp);
    while !wait_once(mp, turn) {
        if mp.ext.turn.replace(Turn::None) != Turn::Again {
            return false;
        }
    }
    true
}

/// [`wait_for_turn`], except that it returns when `mp` is let go on.
fn wait_once(mp: &'static M, turn: Turn) -> bool {
    let turns = &sched().ext.turns;
    if turn == Turn::Needed {
        lock(&sched().lock);
    } else if !try_lock(&sched().lock) {
        // The thread that holds the lock may want what this goroutine holds.
        return false;
    }
    let idle = pidleget();
    let keep = idle.is_none() && (turn == Turn::Needed || may_keep(mp));
    if keep {
        turns.push(mp, turn);
    }
    if keep && turn == Turn::Needed {
        // Each scheduler looks here in its next round.
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

/// Whether a goroutine may be kept now, that of `mp` for example. `sched.lock` is held.
fn may_keep(mp: &M) -> bool {
    let suspended = mp.curg.get().is_some_and(|gp| gp.preempt_stop.load(Ordering::Relaxed));
    !suspended && !sched().gcwaiting.load(Ordering::SeqCst)
}

/// The time slice on `pp`, the caller's, is the turn of a goroutine that was kept. If others want
/// the P, the turn takes as long as they had the P since the turn before. So goroutines that
/// compute for moments don't wait long for one that always computes.
fn begin_turn(pp: &P) {
    let turn = &pp.ext.last_turn;
    let others = nanotime() - turn.ended.load(Ordering::Relaxed);
    turn.ns.store(others.clamp(*TURN_NS.start(), *TURN_NS.end()), Ordering::Relaxed);
    turn.tick.store(pp.schedtick.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Sleeps until another thread wakes `mp`, which is on the list. A kept goroutine leaves the list
/// by itself where the scheduler stands still, because what it holds may be what all wait for,
/// sysmon too. Says whether it was woken.
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

/// Whether an M waits for its turn. Without the lock it is a hint.
#[inline(always)]
pub(in crate::runtime) fn turns_waiting() -> bool {
    sched().ext.turns.len.load(Ordering::Relaxed) != 0
}

/// Whether an M waits that needs a P: it lost its own through no fault, and comes before all
/// others. A hint.
pub(in crate::runtime) fn turn_needed() -> bool {
    sched().ext.turns.needed.load(Ordering::Relaxed) != 0
}

/// Whether an M's turn comes before what is in the global queue. M's and the queue alternate, where
/// there are both.
pub(in crate::runtime) fn turn_before_queue() -> bool {
    turns_waiting() && (sched().runqsize.load(Ordering::Relaxed) == 0 || every_other_time())
}

/// Whether the turn of an M that needs a P comes before what is in the queues: every other time.
pub(in crate::runtime) fn need_before_queues() -> bool {
    turn_needed() && every_other_time()
}

fn every_other_time() -> bool {
    sched().ext.turns.was_last.fetch_xor(1, Ordering::Relaxed) == 0
}

/// Takes the M whose turn it is off the list. The caller gives it a P. `sched.lock` is held.
pub(in crate::runtime) fn take_turn() -> Option<&'static M> {
    assert_lock_held(&sched().lock);
    sched().ext.turns.pop()
}

/// Gives `pp`, which is nobody's, to an M that [`take_turn`] has returned.
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

/// Lets kept goroutines go on without a P, as long as the world is stopped. A goroutine that comes
/// too late to be of use is kept again, as otherwise all of them would compute at once.
/// `sched.lock` is held.
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

/// [`let_go`] of one goroutine, if it is kept and the lock is free. The lock isn't waited for here:
/// the caller may have set the scan bit of a goroutine, for which others wait with the lock.
pub(in crate::runtime) fn let_one_go(one: &M) {
    if one.ext.detached_since.load(Ordering::Relaxed) == 0 || !try_lock(&sched().lock) {
        return;
    }
    sched().ext.turns.take_kept(|_, mp| ptr::eq(mp, one), |mp| notewakeup(&mp.park));
    unlock(&sched().lock);
}

/// Whether the scheduler stands still, as seen by an M that waits for its turn with a goroutine
/// that it keeps from going on.
///
/// The clock doesn't tell: where a machine has much else to do, nothing may go on for long, and if
/// those who are kept went on for that, there would be all the more to do. So what counts is
/// whether the threads sleep that could have a time slice begin: those that have a P or are about
/// to, and sysmon.
///
/// They may sleep for another reason, as where a machine waits for its disk. So not all who are
/// kept go on: at first one, then two, four, and so on. A hundred that compute at once would keep
/// the processors from sysmon, which alone can have them wait again.
struct Stall {
    /// How many time slices have begun.
    slices: u32,
    /// How often sysmon has looked.
    rounds: u32,
    /// In how many looks in succession it stood still.
    stood: u32,
}

impl Stall {
    /// Begins to watch.
    fn new() -> Self {
        Stall { slices: slices_begun(), rounds: sched().ext.turns.rounds.load(Ordering::Relaxed), stood: 0 }
    }

    /// Looks once more: if no time slice has begun on any P since the last look, and none is about
    /// to, how many of those who are kept may go on; else 0.
    fn look(&mut self) -> usize {
        let now = Stall::new();
        let same = |field: fn(&Stall) -> u32| field(self) == field(&now);
        // Without sysmon no slice ends of one that computes.
        let stands = same(|stall| stall.slices)
            && thread_sleeps(sched().ext.turns.sysmon.load(Ordering::Relaxed))
            && (same(|stall| stall.rounds) || who_have_a_p_sleep());
        *self = Stall { stood: if stands { self.stood + 1 } else { 0 }, ..now };
        places(self.stood)
    }
}

/// How many time slices have begun, on all P's.
pub(super) fn slices_begun() -> u32 {
    procs().allp.iter().map(|pp| pp.schedtick.load(Ordering::Relaxed)).fold(0, u32::wrapping_add)
}

/// How many may go on after `looks` in succession, or when they were asked that often, in vain.
pub(in crate::runtime) fn places(looks: u32) -> usize {
    looks.checked_sub(1).map_or(0, |before| 1 << before.min(31))
}

/// Whether all threads sleep that have a P, or are given one.
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
