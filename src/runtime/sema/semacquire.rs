//! Semaphores that goroutines sleep on: Go's `semacquire1` and `semrelease1`.
//!
//! A semaphore is any `AtomicU32` that counts. A goroutine that finds it zero sleeps *at its
//! address*, as on a futex, and each release wakes one.
//!
//! Sleepers are kept in a table, Go's `semTable`. Addresses are hashed to one of 251 roots. Each
//! root has a lock and a balanced tree of the addresses with waiters. A node is the sudog of the
//! first waiter at an address, and the other waiters there follow it in a list.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam_utils::CachePadded;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::rand::cheaprand;
use crate::runtime::base::this::{getm, goroutine, hold_p};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{Mutex, Sudog, TraceBlockReason, WaitReason};
use crate::runtime::g::extent::ends_early;
use crate::runtime::g::sudog::{acquire_sudog, release_sudog_here};
use crate::runtime::lock::mutex::lock_ranked;
use crate::runtime::lock::rank::{LockRank, assert_rank_held};
use crate::runtime::lock::unlock;
use crate::runtime::prof::contention::{Wait, mutex_event, now_if, released};
use crate::runtime::sched::park::{goparkunlock, goyield};
use crate::runtime::sched::ready::goready;
use crate::runtime::time::fire::Limit;
use crate::runtime::time::in_run::with_limit_in_run;

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

/// [`semacquire1`] that ends with the limit, or with the run. Returns whether it has taken one. To
/// be called on a goroutine.
pub(crate) fn semacquire_limited(
    addr: &AtomicU32,
    lifo: bool,
    reason: WaitReason,
    limit: Option<Limit<'_>>,
) -> bool {
    if cansemacquire(addr) {
        return true;
    }
    if limit.is_none() && !ends_early() {
        semacquire1(addr, lifo, reason);
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
            // SeqCst: see `SemaRoot::nwait`.
            root.leave(addr, s);
            root.nwait.fetch_sub(1, Ordering::SeqCst);
        }
        unlock(&root.lock);
        sleeps.then_some(|| ready_with_time(s))
    };
    // SAFETY: the flag is written and read with the root's lock held. Only the thread that takes
    // the sudog off the queue wakes the goroutine.
    let acquired =
        unsafe { with_limit_in_run(limit, &give_up, || sleep(addr, s, lifo, reason, || gave_up.get())) };
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
        // Counts this waiter, and only then tries once more (`cansemacquire`). A release
        // (`semrelease1`) adds first, and then looks for waiters. All accesses are SeqCst, so one
        // of the two sees the other.
        root.nwait.fetch_add(1, Ordering::SeqCst);
        let acquired = cansemacquire(addr);
        if acquired || gave_up() {
            // SeqCst: see `SemaRoot::nwait`.
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
    // SeqCst: the add comes before the look at the waiters, see `sleep`.
    addr.fetch_add(1, Ordering::SeqCst);
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
        // SeqCst: see `SemaRoot::nwait`.
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
    // SeqCst: a waiter has counted itself before, see `sleep`.
    let mut v = addr.load(Ordering::SeqCst);
    while v > 0 {
        match addr.compare_exchange_weak(v, v - 1, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return true,
            Err(now) => v = now,
        }
    }
    false
}

/// The goroutines that sleep at addresses with the same hash. Go's `semaRoot`.
struct SemaRoot {
    lock: Mutex,
    /// The tree; a node's children are `prev` and `next`, its parent is `parent`, its priority
    /// is `ticket`, and its list is `waitlink`.
    treap: Link<Sudog>,
    /// The number of goroutines that sleep here; read without the lock.
    // SeqCst: pairs with the semaphore's count. See `sleep`.
    nwait: AtomicU32,
}

/// A waiter that was taken off its queue, as [`SemaRoot::dequeue`] returns it.
struct Dequeued {
    s: &'static Sudog,
    /// The time at which it was taken off, in nanoseconds; 0 unless its wait counts in the profile
    /// of mutexes.
    now: i64,
    /// The start of the wait, not yet recorded, of the last waiter behind it.
    last_since: i64,
}

// SAFETY: the lock is made to be shared, and protects the tree; `nwait` is an atomic.
unsafe impl Sync for SemaRoot {}

/// A prime, so that no pattern of addresses favours one root.
const SEM_TAB_SIZE: usize = 251;

static SEMTABLE: [CachePadded<SemaRoot>; SEM_TAB_SIZE] = [const {
    CachePadded::new(SemaRoot { lock: Mutex::new(), treap: Link::null(), nwait: AtomicU32::new(0) })
}; SEM_TAB_SIZE];

/// The root for an address. Go's `rootFor`.
fn root_for(addr: &AtomicU32) -> &'static SemaRoot {
    &SEMTABLE[(ptr::from_ref(addr).addr() >> 3) % SEM_TAB_SIZE]
}

/// The address that a sudog waits at.
fn waits_at(s: &Sudog) -> usize {
    s.elem.load(Ordering::Relaxed).addr()
}

/// `s`'s child on the side where `addr` belongs.
fn child(s: &'static Sudog, addr: usize) -> &'static Link<Sudog> {
    if addr < waits_at(s) { &s.prev } else { &s.next }
}

fn is(link: &Link<Sudog>, s: &Sudog) -> bool {
    link.get().is_some_and(|to| ptr::eq(to, s))
}

impl SemaRoot {
    /// Queues the running goroutine, with its sudog `s`. The lock is held.
    fn queue(&'static self, addr: &AtomicU32, s: &'static Sudog, lifo: bool) {
        assert_rank_held(LockRank::ROOT);
        let (gp, _) = goroutine();
        let elem: *mut c_void = ptr::from_ref(addr).cast_mut().cast();
        s.g.set(Some(gp));
        s.elem.store(elem, Ordering::Relaxed);
        s.next.set(None);
        s.prev.set(None);
        s.waiters.set(0);

        let mut last = None;
        let mut pt = &self.treap;
        while let Some(t) = pt.get() {
            if waits_at(t) == elem.addr() {
                if lifo {
                    push_front(pt, t, s)
                } else {
                    push_back(t, s)
                }
                return;
            }
            last = Some(t);
            pt = child(t, elem.addr());
        }
        // A new leaf. The tree is ordered by address, and is a heap by ticket. The tickets are
        // random, which keeps the tree balanced on average. 0 would mean that there is no ticket.
        s.ticket.set(cheaprand() | 1);
        s.parent.set(last);
        pt.set(Some(s));
        while let Some(parent) = s.parent.get()
            && parent.ticket.get() > s.ticket.get()
        {
            if is(&parent.prev, s) {
                self.rotate_right(parent);
            } else {
                self.rotate_left(parent);
            }
        }
    }

    /// Returns the first waiter at `addr`, and the link that points to it. The lock is held.
    fn first(&'static self, addr: &AtomicU32) -> Option<(&'static Link<Sudog>, &'static Sudog)> {
        assert_rank_held(LockRank::ROOT);
        let at = ptr::from_ref(addr).addr();
        let mut ps = &self.treap;
        loop {
            let s = ps.get()?;
            if waits_at(s) == at {
                return Some((ps, s));
            }
            ps = child(s, at);
        }
    }

    /// Takes the first waiter at `addr`. The lock is held.
    fn dequeue(&'static self, addr: &AtomicU32) -> Option<Dequeued> {
        let (ps, s) = self.first(addr)?;
        let now = now_if(s.acquiretime.get());
        let mut last_since = s.acquiretime.get();
        if let Some(t) = s.waitlink.get() {
            // The second waiter becomes the tree's node.
            ps.set(Some(t));
            t.ticket.set(s.ticket.get());
            t.parent.set(s.parent.get());
            t.prev.set(s.prev.get());
            t.next.set(s.next.get());
            for child in [t.prev.get(), t.next.get()].into_iter().flatten() {
                child.parent.set(Some(t));
            }
            t.waittail.set(if t.waitlink.is_null() { None } else { s.waittail.get() });
            t.waiters.set(if s.waiters.get() > 1 { s.waiters.get() - 1 } else { s.waiters.get() });
            // The caller reports how long all of them have waited until now.
            t.acquiretime.set(now);
            if let Some(last) = s.waittail.get() {
                last_since = last.acquiretime.replace(now);
            }
            s.waitlink.set(None);
            s.waittail.set(None);
        } else {
            // The node is rotated down until it is a leaf, and can go.
            while !s.next.is_null() || !s.prev.is_null() {
                let right = match (s.prev.get(), s.next.get()) {
                    (Some(prev), Some(next)) => prev.ticket.get() < next.ticket.get(),
                    (prev, _) => prev.is_some(),
                };
                if right { self.rotate_right(s) } else { self.rotate_left(s) }
            }
            match s.parent.get() {
                Some(parent) if is(&parent.prev, s) => parent.prev.set(None),
                Some(parent) => parent.next.set(None),
                None => self.treap.set(None),
            }
        }
        s.parent.set(None);
        s.elem.store(ptr::null_mut(), Ordering::Relaxed);
        s.next.set(None);
        s.prev.set(None);
        s.ticket.set(0);
        Some(Dequeued { s, now, last_since })
    }

    /// Takes `s`, which waits at `addr`. The lock is held.
    fn leave(&'static self, addr: &AtomicU32, s: &'static Sudog) {
        let Some((_, first)) = self.first(addr) else { throw("semaRoot leave: nobody waits") };
        if ptr::eq(first, s) {
            self.dequeue(addr);
            return;
        }
        let mut before = first;
        while !is(&before.waitlink, s) {
            let Some(next) = before.waitlink.get() else { throw("semaRoot leave: not on the list") };
            before = next;
        }
        before.waitlink.set(s.waitlink.get());
        if is(&first.waittail, s) {
            first.waittail.set(if ptr::eq(before, first) { None } else { Some(before) });
        }
        first.waiters.set(first.waiters.get().saturating_sub(1));
        s.waitlink.set(None);
        s.elem.store(ptr::null_mut(), Ordering::Relaxed);
        // It may once have been the first waiter.
        s.ticket.set(0);
    }

    /// Turns `(x a (y b c))` into `(y (x a b) c)`.
    fn rotate_left(&self, x: &'static Sudog) {
        let Some(y) = x.next.get() else { throw("semaRoot rotateLeft") };
        let b = y.prev.get();
        y.prev.set(Some(x));
        x.next.set(b);
        if let Some(b) = b {
            b.parent.set(Some(x));
        }
        self.replace(x, y);
    }

    /// Turns `(y (x a b) c)` into `(x a (y b c))`.
    fn rotate_right(&self, y: &'static Sudog) {
        let Some(x) = y.prev.get() else { throw("semaRoot rotateRight") };
        let b = x.next.get();
        x.next.set(Some(y));
        y.prev.set(b);
        if let Some(b) = b {
            b.parent.set(Some(y));
        }
        self.replace(y, x);
    }

    /// Puts `up` where `down` was, above it.
    fn replace(&self, down: &'static Sudog, up: &'static Sudog) {
        let parent = down.parent.get();
        down.parent.set(Some(up));
        up.parent.set(parent);
        match parent {
            None => self.treap.set(Some(up)),
            Some(parent) if is(&parent.prev, down) => parent.prev.set(Some(up)),
            Some(parent) => parent.next.set(Some(up)),
        }
    }
}

/// Puts `s` in the place of the node `t`, which `pt` points to, with `t` first behind it.
fn push_front(pt: &Link<Sudog>, t: &'static Sudog, s: &'static Sudog) {
    pt.set(Some(s));
    s.ticket.set(t.ticket.get());
    s.acquiretime.set(t.acquiretime.get());
    s.parent.set(t.parent.get());
    s.prev.set(t.prev.get());
    s.next.set(t.next.get());
    for child in [s.prev.get(), s.next.get()].into_iter().flatten() {
        child.parent.set(Some(s));
    }
    s.waitlink.set(Some(t));
    s.waittail.set(Some(t.waittail.get().unwrap_or(t)));
    s.waiters.set(t.waiters.get().saturating_add(1));
    t.parent.set(None);
    t.prev.set(None);
    t.next.set(None);
    t.waittail.set(None);
}

/// Puts `s` at the end of the list behind the node `t`.
fn push_back(t: &'static Sudog, s: &'static Sudog) {
    t.waittail.get().unwrap_or(t).waitlink.set(Some(s));
    t.waittail.set(Some(s));
    s.waitlink.set(None);
    t.waiters.set(t.waiters.get().saturating_add(1));
}
