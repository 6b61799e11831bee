//! Putting a heap in order that others have left word in: deleted timers are taken out, modified
//! ones are put where they belong.

use std::sync::atomic::Ordering;

use crate::arch::getg;
use crate::lock::{assert_lock_held, lock, unlock};
use crate::os::osyield;
use crate::runtime2::P;
use crate::time::heap::*;
use crate::time::timer::*;

/// Cleans up the head of the heap of `pp`, whose lock is held: a program that starts and stops timers
/// would otherwise fill it. Go's `cleantimers`.
pub(crate) fn cleantimers(pp: &'static P) {
    let gp = getg();
    while let Some(first) = pp.timers.entries().first() {
        // This may take a while, and with a lock nobody is preempted.
        if gp.is_some_and(|gp| gp.preempt_stop.load(Ordering::Relaxed)) {
            return;
        }
        let t = first.get().timer;
        check_p(pp, t);
        match t.status.load(Ordering::Acquire) {
            s @ (TIMER_DELETED | TIMER_DROPPED) => {
                take_out_first(pp, t, s);
            }
            s @ (TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER) => {
                move_first(pp, t, s);
            }
            _ => return,
        }
    }
}

/// Takes `t` out, the first of the heap of `pp`, if it is still in state `s`, deleted or dropped.
pub(crate) fn take_out_first(pp: &'static P, t: &'static Timer, s: u32) {
    if t.cas(s, TIMER_REMOVING) {
        dodeltimer0(pp);
        removed(t, s);
        pp.deleted_timers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Moves `t`, the first of the heap of `pp`, to where it belongs, if it is still in state `s`, one of
/// the modified ones.
pub(crate) fn move_first(pp: &'static P, t: &'static Timer, s: u32) {
    if t.cas(s, TIMER_MOVING) {
        t.when.set(t.nextwhen.get());
        dodeltimer0(pp);
        doaddtimer(pp, t);
        t.settle(TIMER_MOVING, TIMER_WAITING);
    }
}

/// Moves all timers of `from` to `pp`. The world is stopped; both locks are held. Go's `moveTimers`.
pub(crate) fn move_timers(pp: &'static P, from: &'static P) {
    for entry in from.timers.entries() {
        let t = entry.get().timer;
        loop {
            match t.status.load(Ordering::Acquire) {
                s @ (TIMER_WAITING | TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER) => {
                    if t.cas(s, TIMER_MOVING) {
                        if s != TIMER_WAITING {
                            t.when.set(t.nextwhen.get());
                        }
                        t.pp.set(None);
                        doaddtimer(pp, t);
                        t.settle(TIMER_MOVING, TIMER_WAITING);
                        break;
                    }
                }
                s @ (TIMER_DELETED | TIMER_DROPPED) => {
                    if t.cas(s, TIMER_REMOVING) {
                        t.pp.set(None);
                        removed(t, s);
                        break;
                    }
                }
                TIMER_MODIFYING => osyield(),
                _ => bad_timer(),
            }
        }
    }
}

/// Gives all timers of `from`, a P that goes, to `pp`. The world is stopped.
pub(crate) fn hand_timers(pp: &'static P, from: &'static P) {
    if from.timers.len.get() == 0 {
        return;
    }
    // The only place where somebody holds two of these locks.
    lock(&pp.timers_lock);
    lock(&from.timers_lock);
    move_timers(pp, from);
    from.timers.truncate(0);
    from.num_timers.store(0, Ordering::SeqCst);
    from.deleted_timers.store(0, Ordering::SeqCst);
    from.timer0_when.store(0, Ordering::SeqCst);
    from.timer_modified_earliest.store(0, Ordering::SeqCst);
    unlock(&from.timers_lock);
    unlock(&pp.timers_lock);
}

/// If a timer of `pp` was to be moved to a time that has come, puts all modified timers where they
/// belong, and takes the deleted ones out. The lock is held. Go's `adjusttimers`.
pub(crate) fn adjusttimers(pp: &'static P, now: i64) {
    assert_lock_held(&pp.timers_lock);
    // Until then they can stay: a program that sets timers to and fro, which seldom fire, shall not
    // pay for it each time.
    let first = pp.timer_modified_earliest.load(Ordering::SeqCst);
    if first == 0 || first > now {
        if VERIFY_TIMERS {
            verify_timer_heap(pp);
        }
        return;
    }
    // Before they are looked at: new ones may come meanwhile.
    pp.timer_modified_earliest.store(0, Ordering::SeqCst);

    // They go back when all are out, or an entry that has moved might not be looked at.
    let mut moved = Vec::new();
    let mut i = 0;
    while let Some(entry) = pp.timers.entries().get(i) {
        let t = entry.get().timer;
        check_p(pp, t);
        match t.status.load(Ordering::Acquire) {
            TIMER_WAITING => i += 1,
            s @ (TIMER_DELETED | TIMER_DROPPED) => {
                if t.cas(s, TIMER_REMOVING) {
                    i = dodeltimer(pp, i);
                    removed(t, s);
                    pp.deleted_timers.fetch_sub(1, Ordering::SeqCst);
                }
            }
            s @ (TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER) => {
                if t.cas(s, TIMER_MOVING) {
                    t.when.set(t.nextwhen.get());
                    i = dodeltimer(pp, i);
                    moved.push(t);
                }
            }
            TIMER_MODIFYING => osyield(),
            _ => bad_timer(),
        }
    }
    add_adjusted_timers(pp, &moved);
    if VERIFY_TIMERS {
        verify_timer_heap(pp);
    }
}

/// Puts timers that are being moved back into the heap of `pp`, whose lock is held. Go's
/// `addAdjustedTimers`.
fn add_adjusted_timers(pp: &'static P, moved: &[&'static Timer]) {
    for t in moved {
        doaddtimer(pp, t);
        t.settle(TIMER_MOVING, TIMER_WAITING);
    }
}

/// Takes all deleted timers out of the heap of `pp`, whose lock is held: a program may start many
/// timers for a late time, and stop them. Go's `clearDeletedTimers`.
pub(crate) fn clear_deleted_timers(pp: &'static P) {
    assert_lock_held(&pp.timers_lock);
    // All modified ones are moved; those that are modified meanwhile will be noted after this.
    pp.timer_modified_earliest.store(0, Ordering::SeqCst);
    let timers = pp.timers.entries();
    let mut cdel = 0;
    let mut to = 0;
    for entry in timers {
        let t = entry.get().timer;
        loop {
            match t.status.load(Ordering::Acquire) {
                TIMER_WAITING => {
                    keep(timers, &mut to, t);
                    break;
                }
                s @ (TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER) => {
                    if t.cas(s, TIMER_MOVING) {
                        t.when.set(t.nextwhen.get());
                        keep(timers, &mut to, t);
                        t.settle(TIMER_MOVING, TIMER_WAITING);
                        break;
                    }
                }
                s @ (TIMER_DELETED | TIMER_DROPPED) => {
                    if t.cas(s, TIMER_REMOVING) {
                        t.pp.set(None);
                        cdel += 1;
                        removed(t, s);
                        break;
                    }
                }
                TIMER_MODIFYING => osyield(),
                _ => bad_timer(),
            }
        }
    }
    pp.deleted_timers.fetch_sub(cdel, Ordering::SeqCst);
    pp.num_timers.fetch_sub(cdel, Ordering::SeqCst);
    pp.timers.truncate(to);
    update_timer0_when(pp);
    if VERIFY_TIMERS {
        verify_timer_heap(pp);
    }
}

/// Adds `t` to the heap that the first `to` entries are.
fn keep(timers: &[std::cell::Cell<TimerWhen>], to: &mut usize, t: &'static Timer) {
    timers[*to].set(TimerWhen { timer: t, when: t.when.get() });
    siftup_timer(&timers[..=*to], *to);
    *to += 1;
}
