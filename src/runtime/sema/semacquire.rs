//! Semaphores that goroutines sleep on: Go's `semacquire1` and `semrelease1`.
//!
//! A semaphore is any `AtomicU32` that counts. A goroutine that finds it zero sleeps *at its
//! address*, as on a futex, and each release wakes one. Sleepers are kept in a table of trees
//! (`root.rs`).

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{getm, goroutine, hold_p};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::runtime2::{Sudog, TraceBlockReason, WaitReason};
use crate::runtime::g::sudog::{acquire_sudog, release_sudog_here};
use crate::runtime::lock::mutex::lock_ranked;
use crate::runtime::lock::rank::LockRank;
use crate::runtime::lock::unlock;
use crate::runtime::prof::contention::{Wait, mutex_event, released};
use crate::runtime::sched::gosched::goyield;
use crate::runtime::sched::park::goparkunlock;
use crate::runtime::sched::ready::goready;
use crate::runtime::sema::root::{Dequeued, root_for, waits_at};
use crate::runtime::time::fire::{Limit, with_limit};

/// Makes the goroutine of `s` ready. Go's `readyWithTime`.
pub(super) fn ready_with_time(s: &Sudog) {
    released(s);
    let Some(gp) = s.g.get() else { throw("sudog without a g") };
    goready(gp);
}

/// Takes one from the semaphore, and sleeps until that is possible. Go's `semacquire`.
pub(crate) fn semacquire(addr: &AtomicU32) {
    semacquire1(addr, false, WaitReason::Semacquire);
}

/// [`semacquire`]. With `lifo`, the caller is put before all other sleepers. Go's `semacquire1`.
#[inline(never)]
pub(crate) fn semacquire1(addr: &AtomicU32, lifo: bool, reason: WaitReason) {
    if cansemacquire(addr) {
        return;
    }
    let s = waiter();
    let wait = Wait::begin_at_sema(s, reason.is_mutex_wait());
    sleep(addr, s, lifo, reason, || false);
    end_wait(wait, s);
}

/// [`semacquire1`] with a limit. Returns whether it has taken one. To be called on a goroutine.
pub(crate) fn semacquire_limited(addr: &AtomicU32, lifo: bool, reason: WaitReason, limit: Limit<'_>) -> bool {
    if cansemacquire(addr) {
        return true;
    }
    let s = waiter();
    let wait = Wait::begin_at_sema(s, reason.is_mutex_wait());
    let root = root_for(addr);
    let gave_up = Cell::new(false);
    let give_up = || {
        lock_ranked(&root.lock, LockRank::ROOT);
        gave_up.set(true);
        // If not, a release has taken the sudog, or the sleep hasn't begun.
        let sleeps = waits_at(s) == ptr::from_ref(addr).addr();
        if sleeps {
            root.leave(addr, s);
            root.nwait.fetch_sub(1, Ordering::SeqCst);
        }
        unlock(&root.lock);
        sleeps.then_some(|| ready_with_time(s))
    };
    // SAFETY: the flag is written and read with the root's lock held. Only the thread that takes
    // the sudog off the queue wakes the goroutine.
    let acquired = unsafe { with_limit(limit, &give_up, || sleep(addr, s, lifo, reason, || gave_up.get())) };
    end_wait(wait, s);
    acquired
}

/// Makes a sudog, which is on no queue, for the running goroutine.
fn waiter() -> &'static Sudog {
    let (_, mp) = goroutine();
    let held = hold_p(mp);
    let s = acquire_sudog(mp);
    drop(held);
    s.ticket.set(0);
    s
}

/// Ends the wait of `s`, which is on no queue.
#[cfg_attr(feature = "pprof", inline(never))]
pub(super) fn end_wait(wait: Wait, s: &'static Sudog) {
    let releasetime = s.releasetime.get();
    release_sudog_here(s);
    wait.end(releasetime);
}

/// Sleeps until it can take one from the semaphore, or until `gave_up`, which is called with the
/// root's lock held. Returns whether it has taken one.
fn sleep(
    addr: &AtomicU32,
    s: &'static Sudog,
    lifo: bool,
    reason: WaitReason,
    gave_up: impl Fn() -> bool,
) -> bool {
    let root = root_for(addr);
    loop {
        lock_ranked(&root.lock, LockRank::ROOT);
        // Counts this waiter, and only then tries once more. A release adds first, and then looks
        // for waiters. All accesses are SeqCst, so one of the two sees the other.
        root.nwait.fetch_add(1, Ordering::SeqCst);
        let acquired = cansemacquire(addr);
        if acquired || gave_up() {
            root.nwait.fetch_sub(1, Ordering::SeqCst);
            unlock(&root.lock);
            return acquired;
        }
        root.queue(addr, s, lifo);
        goparkunlock(&root.lock, reason, TraceBlockReason::Sync, 4);
        if s.ticket.get() != 0 || cansemacquire(addr) {
            return true;
        }
    }
}

/// Adds one to the semaphore, and wakes a waiter. Go's `semrelease`.
pub(crate) fn semrelease(addr: &AtomicU32) {
    semrelease1(addr, false);
}

/// [`semrelease`]. With `handoff`, the first waiter gets the added unit and this P directly. Go's
/// `semrelease1`.
#[inline(never)]
pub(crate) fn semrelease1(addr: &AtomicU32, handoff: bool) {
    let root = root_for(addr);
    addr.fetch_add(1, Ordering::SeqCst);
    // After the add: see semacquire1.
    if root.nwait.load(Ordering::SeqCst) == 0 {
        return;
    }
    lock_ranked(&root.lock, LockRank::ROOT);
    if root.nwait.load(Ordering::SeqCst) == 0 {
        // The last waiter has acquired it by itself.
        unlock(&root.lock);
        return;
    }
    let s = root.dequeue(addr);
    if s.is_some() {
        root.nwait.fetch_sub(1, Ordering::SeqCst);
    }
    unlock(&root.lock);
    let Some(Dequeued { s, now, last_since }) = s else { return };
    let since = s.acquiretime.get();
    if since != 0 {
        mutex_event(waited(now - since, now - last_since, s.waiters.get()));
    }
    if s.ticket.get() != 0 {
        throw("corrupted semaphore ticket");
    }
    let handed = handoff && cansemacquire(addr);
    if handed {
        s.ticket.set(1);
    }
    ready_with_time(s);
    if handed && crate::runtime::base::this::on_goroutine() && getm().locks.get() == 0 {
        // The waiter is next on this P, and runs in this time slice. Only if it has acquired the
        // semaphore: otherwise another goroutine might take the semaphore meanwhile, and the switch
        // would be in vain.
        // SAFETY: on a goroutine, as just checked. Nothing here comes from a thread-local, and the
        // callers' code may park here, as at any point that can park.
        unsafe { goyield() };
    }
}

/// The estimated total wait of the goroutines that an unlock wakes or keeps waiting, since the
/// unlock before. The waits of the first and the last waiter are known. Each waiter in between is
/// taken to have waited for the average of these two.
fn waited(first: i64, last: i64, waiters: u16) -> i64 {
    if waiters == 0 { first } else { first + (last + first) / 2 * i64::from(waiters) }
}

/// Takes one from the semaphore, unless it is zero. Go's `cansemacquire`.
#[inline(always)]
pub(crate) fn cansemacquire(addr: &AtomicU32) -> bool {
    let mut v = addr.load(Ordering::SeqCst);
    while v > 0 {
        match addr.compare_exchange_weak(v, v - 1, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return true,
            Err(now) => v = now,
        }
    }
    false
}
