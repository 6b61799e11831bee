//! Points: where an exploration may have another goroutine go on. Elsewhere a point is one load.

use crate::runtime::arch::mcall;
use crate::runtime::arch::sanitizer::unseen;
use crate::runtime::base::this::{getm, hold, this_m, whoami, with_room};
use crate::runtime::data::runtime2::{G, GRUNNABLE, GRUNNING};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::explore::next::{chosen_value, is_over, put_back, stays};
use crate::runtime::explore::story::{tell_of, tells};
use crate::runtime::g::explored::{exploring, is_explored};
use crate::runtime::g::status::casgstatus;
use crate::runtime::m::turn::turn_needed;
use crate::runtime::p::stop::asked_to_stop;
use crate::runtime::sched::detach::hold_with_p;
use crate::runtime::sched::disable::user_disabled;
use crate::runtime::sched::schedule::{dropg, execute, schedule};

/// Before the operation `what`: in an exploration, others may go on first. Where a goroutine can
/// park.
#[inline(always)]
pub(crate) fn point(what: &'static str) {
    if exploring() {
        explored_point(what);
    }
}

#[cold]
#[inline(never)]
fn explored_point(what: &'static str) {
    let (Some(gp), Some(mp)) = whoami() else { return };
    // With a lock held it can't leave. And one that unwinds would be bound to its thread.
    if !is_explored(gp) || mp.locks.get() != 0 || std::thread::panicking() {
        return;
    }
    let held = hold(mp);
    let Some(pp) = held.p() else { return };
    let goes_on = unseen(|| with_room(|| stays(gp, pp)));
    drop(held);
    if !goes_on {
        // SAFETY: on a goroutine that holds no lock; point_m has put it where it is found again.
        unsafe { mcall(point_m) }
    }
    let _held = hold(getm());
    if tells() {
        unseen(|| with_room(|| tell_of(gp, what)));
    }
}

/// Leaves a goroutine at a point.
unsafe extern "C" fn point_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    let mp = getm();
    casgstatus(gp, GRUNNING, GRUNNABLE);
    trace(|| Event::GoPreempt(gp));
    dropg(mp, gp);
    let others_come_first = mp.p().is_none_or(asked_to_stop) || turn_needed();
    let at_once = !others_come_first && mp.lockedg.get().is_none() && !user_disabled();
    match put_back(gp, at_once) {
        // SAFETY: on g0 of `mp`, which has its P; the run had the goroutine, which isn't locked to
        // an M.
        Some(chosen) => unsafe { execute(mp, chosen, false) },
        // SAFETY: on g0 of `mp`; dropg has taken its goroutine.
        None => unsafe { schedule(mp) },
    }
}

/// Whether an exploration chooses what this goroutine does at random elsewhere.
#[inline(always)]
pub(crate) fn chooses() -> bool {
    exploring() && explored_here()
}

#[cold]
#[inline(never)]
fn explored_here() -> bool {
    this_m().is_some_and(|mp| !mp.p.is_null() && mp.curg.get().is_some_and(is_explored))
}

/// Whether what is made here is a program's that is explored: its operations are points.
pub(crate) fn makes_points() -> bool {
    chooses()
}

/// [`value`] for the program, where a goroutine can park. It may ask again and again until it likes
/// the answer: one whose run is over gets none.
#[cold]
pub(crate) fn value_for_program(n: usize) -> usize {
    // One that was stuck has lost its P, and may have no part in the exploration any more.
    let (gp, mp, held) = hold_with_p();
    if !is_explored(gp) {
        return 0;
    }
    let (value, over) = unseen(|| with_room(|| (chosen_value(n), is_over())));
    drop(held);
    if over && mp.locks.get() == 0 && !std::thread::panicking() {
        // SAFETY: as in explored_point; it never goes on.
        unsafe { mcall(point_m) }
    }
    value
}

/// A number below `n`, as the exploration says, if [`chooses`] says that there is one.
#[cold]
pub(crate) fn value(n: usize) -> usize {
    let Some(mp) = this_m() else { return 0 };
    let _held = hold(mp);
    unseen(|| with_room(|| chosen_value(n)))
}
