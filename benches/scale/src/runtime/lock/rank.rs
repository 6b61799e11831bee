//! Stand-in for the ranks of locks, with the counts of the scheduler's lock.

use std::mem;
use std::ptr;

use crate::runtime::base::this::{Held, held, hold_p};
use crate::runtime::data::runtime2::{M, Mutex, sched};
use crate::runtime::lock::others;
use crate::sim::count::{Event, Part};
use crate::sim::{count, set_part};

pub(crate) struct LockRank;

pub(crate) fn get_lock_rank(_: &Mutex) -> LockRank {
    LockRank
}

fn is_scheds(l: &Mutex) -> bool {
    ptr::eq(l, &raw const sched().lock)
}

pub(crate) fn lock_with_rank(mp: Option<&'static M>, l: &Mutex, _: LockRank) {
    let Some(mp) = mp else { unreachable!("each thread has an M") };
    mem::forget(hold_p(mp));
    if !is_scheds(l) {
        return others::lock(l);
    }
    count(Event::Lock);
    mp.part.set(Some(set_part(Part::LockWait)));
    if l.key.locked.peek() != 0 {
        count(Event::LockContended);
    }
    others::lock(l);
    set_part(Part::LockHeld);
}

pub(crate) fn try_lock_with_rank(_: Option<&'static M>, _: &Mutex) -> bool {
    unreachable!("nobody only tries")
}

pub(crate) fn unlock_with_rank(mp: Option<&'static M>, l: &Mutex) -> Option<Held> {
    others::unlock(l);
    let mp = mp?;
    if is_scheds(l)
        && let Some(part) = mp.part.take()
    {
        set_part(part);
    }
    Some(held(mp))
}

pub(crate) fn assert_lock_held(l: &Mutex) {
    assert!(l.key.locked.peek() != 0);
}
