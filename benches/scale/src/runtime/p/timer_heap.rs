//! Stand-in: a heap of timers for each P, under its lock. The time of the first timer can be read
//! without the lock.

use std::cmp::Reverse;
use std::ptr;

use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{G, P};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::sched::poll::wake_net_poller;
use crate::runtime::sched::ready::ready;
use crate::sim::{self, cost};

pub(crate) fn nobarrier_wake_time(pp: &P) -> i64 {
    let next = pp.timer0_when.load(Ordering::SeqCst);
    let modified = pp.timer_modified_earliest.load(Ordering::SeqCst);
    if next == 0 || (modified != 0 && modified < next) { modified } else { next }
}

/// Go's `addtimer`. Makes `gp`, which is about to park, ready at `when`.
pub(crate) fn add(pp: &'static P, gp: &'static G, when: i64) {
    lock(&pp.timers_lock);
    sim::work(cost(|costs| costs.timer));
    let number = u64::from(sim::random());
    pp.timers.heap.borrow_mut().push(Reverse((when, number, ptr::from_ref(gp).expose_provenance())));
    changed(pp);
    pp.num_timers.fetch_add(1, Ordering::SeqCst);
    unlock(&pp.timers_lock);
    wake_net_poller(when);
}

fn changed(pp: &P) {
    let heap = pp.timers.heap.borrow();
    pp.timers.len.set(heap.len());
    pp.timer0_when.store(heap.peek().map_or(0, |Reverse(first)| first.0), Ordering::SeqCst);
}

/// Go's `runtimer`. The lock is held, and dropped while a goroutine is made ready.
pub(crate) fn runtimer(pp: &'static P, now: i64) -> bool {
    let due = pp.timers.heap.borrow().peek().is_some_and(|Reverse(first)| first.0 <= now);
    if !due {
        return false;
    }
    sim::work(cost(|costs| costs.timer));
    let Some(Reverse((.., gp))) = pp.timers.heap.borrow_mut().pop() else { return false };
    changed(pp);
    pp.num_timers.fetch_sub(1, Ordering::SeqCst);
    unlock(&pp.timers_lock);
    // SAFETY: the address of a leaked G, which `add` has put there.
    ready(unsafe { &*ptr::with_exposed_provenance::<G>(gp) }, true);
    lock(&pp.timers_lock);
    true
}

pub(crate) fn adjusttimers(_: &P, _now: i64) {}

pub(crate) fn clear_deleted_timers(_: &P) {}
