//! Putting a heap of timers in order: Go's `cleantimers`, `adjusttimers` and their kin. Timers that
//! others have marked are taken out if they are deleted, and put where they belong if modified.

use std::sync::atomic::Ordering;

use crate::runtime::arch::getg;
use crate::runtime::base::os::osyield;
use crate::runtime::data::runtime2::P;
use crate::runtime::data::timer::{
    TIMER_DELETED, TIMER_DROPPED, TIMER_MODIFIED_EARLIER, TIMER_MODIFIED_LATER, TIMER_MODIFYING,
    TIMER_MOVING, TIMER_REMOVING, TIMER_WAITING, Timer, TimerWhen,
};
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::p::timers::heap::{
    VERIFY_TIMERS, check_p, doaddtimer, dodeltimer, dodeltimer0, siftup_timer, update_timer0_when,
    verify_timer_heap,
};
use crate::runtime::p::timers::timer::{bad_timer, removed};

/// Cleans up the head of the heap of `pp`, whose lock is held: the stopped timers of a program that
/// starts and stops many would fill it. Go's `cleantimers`.
pub(in crate::runtime) fn cleantimers(pp: &'static P) {
    let gp = getg();
    while let Some(first) = pp.timers.entries().first() {
        // This may take a while, and an M that holds a lock isn't preempted.
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

/// Takes out `t`, the first timer of `pp`, if it is still in state `s`, deleted or dropped.
pub(super) fn take_out_first(pp: &'static P, t: &'static Timer, s: u32) {
    if t.cas(s, TIMER_REMOVING) {
        dodeltimer0(pp);
        removed(t, s);
        pp.deleted_timers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Moves `t`, the first timer of `pp`, to where it belongs, if it is still in state `s`, one of the
/// modified ones.
pub(super) fn move_first(pp: &'static P, t: &'static Timer, s: u32) {
    if t.cas(s, TIMER_MOVING) {
        t.when.set(t.nextwhen.get());
        dodeltimer0(pp);
        doaddtimer(pp, t);
        t.settle(TIMER_MOVING, TIMER_WAITING);
    }
}

/// Moves all timers of `from` to `pp`. The world is stopped; both locks are held. Go's
/// `moveTimers`.
fn move_timers(pp: &'static P, from: &'static P) {
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
pub(in crate::runtime) fn hand_timers(pp: &'static P, from: &'static P) {
    if from.timers.len.get() == 0 {
        return;
    }
    // The only place where two of these locks are held: their order doesn't matter.
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
pub(in crate::runtime) fn adjusttimers(pp: &'static P, now: i64) {
    assert_lock_held(&pp.timers_lock);
    // Until that time modified timers can stay where they are: a program that resets timers often,
    // and seldom lets them fire, doesn't pay for each reset.
    let first = pp.timer_modified_earliest.load(Ordering::SeqCst);
    if first == 0 || first > now {
        if VERIFY_TIMERS {
            verify_timer_heap(pp);
        }
        return;
    }
    // Before the timers are looked at, as others may be modified meanwhile: modtimer takes the
    // timer (MODIFYING), notes its time here and only then gives it its new state. If this store
    // comes after the note, the loop below sees MODIFYING or that state; else the note stays. All
    // are SeqCst.
    pp.timer_modified_earliest.store(0, Ordering::SeqCst);

    // Moved timers go back when all are out, or an entry might move to where it isn't looked at.
    let mut moved = Vec::new();
    let mut i = 0;
    while let Some(entry) = pp.timers.entries().get(i) {
        let t = entry.get().timer;
        check_p(pp, t);
        match t.status.load(Ordering::SeqCst) {
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
pub(in crate::runtime) fn clear_deleted_timers(pp: &'static P) {
    assert_lock_held(&pp.timers_lock);
    // All modified timers are moved below; the store comes first for the reason that adjusttimers
    // has.
    pp.timer_modified_earliest.store(0, Ordering::SeqCst);
    let timers = pp.timers.entries();
    let mut cdel = 0;
    let mut to = 0;
    for entry in timers {
        let t = entry.get().timer;
        loop {
            match t.status.load(Ordering::SeqCst) {
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

/// Takes all timers out of the heap of `pp`, whose lock is held: their owners are gone, and touch
/// them no more.
pub(in crate::runtime) fn drop_timers(pp: &'static P) {
    while let Some(first) = pp.timers.entries().first() {
        let t = first.get().timer;
        let s = t.status.load(Ordering::Acquire);
        if matches!(s, TIMER_DELETED | TIMER_DROPPED) {
            take_out_first(pp, t, s);
        } else if t.cas(s, TIMER_REMOVING) {
            dodeltimer0(pp);
            removed(t, s);
        }
    }
    pp.timer_modified_earliest.store(0, Ordering::SeqCst);
}

/// Adds `t` to the heap that the first `to` entries make up.
fn keep(timers: &[std::cell::Cell<TimerWhen>], to: &mut usize, t: &'static Timer) {
    timers[*to].set(TimerWhen { timer: t, when: t.when.get() });
    siftup_timer(&timers[..=*to], *to);
    *to += 1;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::runtime::base::rand::cheaprandn;
    use crate::runtime::base::testing::{dies, zeroed};
    use crate::runtime::data::timer::TIMER_NO_STATUS;
    use crate::runtime::p::timers::run::{nobarrier_wake_time, runtimer};
    use crate::runtime::p::timers::timer::{acquire_timer, release_timer};

    /// A timer in the heap of `pp`.
    fn timer_at(pp: &'static P, when: i64) -> &'static Timer {
        let t = zeroed::<Timer>();
        t.when.set(when);
        t.status.store(TIMER_WAITING, Ordering::Relaxed);
        doaddtimer(pp, t);
        t
    }

    /// What another P would do to a timer of `pp`: delete it, or set it to another time.
    fn leave_word(pp: &P, t: &Timer, word: u32, when: i64) {
        t.nextwhen.set(when);
        t.status.store(word, Ordering::Relaxed);
        match word {
            TIMER_DELETED => _ = pp.deleted_timers.fetch_add(1, Ordering::Relaxed),
            TIMER_MODIFIED_EARLIER => {
                let first = pp.timer_modified_earliest.load(Ordering::Relaxed);
                let earliest = if first == 0 { when } else { first.min(when) };
                pp.timer_modified_earliest.store(earliest, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    fn random_time() -> i64 {
        1 + i64::from(cheaprandn(1_000))
    }

    /// Random timers, of which random ones are deleted and modified; returns the times of those
    /// that are left.
    fn fill(pp: &'static P) -> Vec<i64> {
        let timers: Vec<_> = (0..cheaprandn(100)).map(|_| timer_at(pp, random_time())).collect();
        let left = timers.iter().filter_map(|t| {
            let (was, when) = (t.when.get(), random_time());
            match cheaprandn(3) {
                0 => return Some(was),
                1 => {
                    leave_word(pp, t, TIMER_DELETED, 0);
                    return None;
                }
                _ if when < was => leave_word(pp, t, TIMER_MODIFIED_EARLIER, when),
                _ => leave_word(pp, t, TIMER_MODIFIED_LATER, when),
            }
            Some(when)
        });
        left.collect()
    }

    /// Runs all timers of `pp`, one after the other; returns when each was due.
    fn drain(pp: &'static P) -> Vec<i64> {
        let mut times = Vec::new();
        let mut now = 0;
        lock(&pp.timers_lock);
        loop {
            adjusttimers(pp, now);
            if runtimer(pp, now) {
                times.push(now);
                continue;
            }
            now = nobarrier_wake_time(pp);
            if now == 0 {
                break;
            }
        }
        unlock(&pp.timers_lock);
        times
    }

    #[test]
    fn timers_run_in_order_whatever_was_done_to_them() {
        for round in 0..500 {
            let (pp, heir) = (zeroed::<P>(), zeroed::<P>());
            let mut expected = fill(pp);
            let mut from = pp;
            match round % 4 {
                0 => clear_deleted_timers(pp),
                1 => cleantimers(pp),
                2 => {
                    expected.extend(fill(heir));
                    hand_timers(heir, pp);
                    assert_eq!((pp.timers.len.get(), nobarrier_wake_time(pp)), (0, 0));
                    from = heir;
                }
                _ => adjusttimers(pp, random_time()),
            }
            verify_timer_heap(from);
            expected.sort_unstable();
            assert_eq!(drain(from), expected);
            let counts = [&from.num_timers, &from.deleted_timers].map(|n| n.load(Ordering::Relaxed));
            assert_eq!((counts, nobarrier_wake_time(from)), ([0, 0], 0));
        }
    }

    #[test]
    fn a_dropped_timer_goes_back_to_the_pool() {
        let pp = zeroed::<P>();
        let acquired = |i: i64| {
            let t = acquire_timer();
            t.when.set(1 + i);
            t.status.store(TIMER_WAITING, Ordering::Relaxed);
            doaddtimer(pp, t);
            t
        };
        let timers: Vec<_> = (0..10).map(acquired).collect();
        for t in &timers {
            leave_word(pp, t, TIMER_DELETED, 0);
            release_timer(t);
            assert_eq!(t.status.load(Ordering::Relaxed), TIMER_DROPPED);
        }
        clear_deleted_timers(pp);
        // The last that came is the first that goes.
        let again: Vec<_> = timers.iter().map(|_| acquire_timer()).collect();
        assert!(again.iter().zip(timers.iter().rev()).all(|(again, t)| std::ptr::eq(*again, *t)));
        assert!(again.iter().all(|t| t.status.load(Ordering::Relaxed) == TIMER_NO_STATUS));
    }

    #[test]
    fn a_heap_out_of_order_is_noticed() {
        let report = dies(|| {
            let pp = zeroed::<P>();
            (1..=6).for_each(|when| _ = timer_at(pp, when));
            let entries = pp.timers.entries();
            entries[5].swap(&entries[1]);
            verify_timer_heap(pp);
        });
        assert!(report.starts_with("bad timer heap at 5: 1: 6, 5: 2\n"), "{report}");
        assert!(report.contains("fatal error: bad timer heap\n"), "{report}");
    }
}
