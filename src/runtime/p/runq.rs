//! The local run queue: a ring that its P puts into and that any P takes from. And `globrunqget`, which fills
//! it from the global one.
//!
//! ```text
//!     runq   [ . . a b c d . . ]      runnext [ e ]
//!                  ^       ^
//!             runqhead   runqtail
//! ```
//!
//! - `runqtail` is written by the owner alone. Its release publishes the slots
//!   before it, and the G's in them, to whoever acquires it.
//! - `runqhead` is moved by a CAS, by the owner and by thieves. Winning it takes the
//!   slots between; a thief has copied them before, and if it loses, it copies
//!   again. The release of that CAS tells the owner, who acquires `runqhead` before
//!   it writes a slot again, that the copy is done.
//! - Both count up and wrap; their difference is the length, and a thief that reads
//!   them at different times may see nonsense, which it can tell by its size.
//! - `runnext` is set by the owner and taken by anyone, by CAS. It runs next and
//!   inherits the time slice, so that a pair that hands a value to and fro runs as
//!   one.
//! - A full ring gives half of itself to the global queue.
//!
//! This file is what `loom` checks (`tests/loom`), with a ring of four.

use crate::runtime::base::debug::randomize_scheduler;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::usleep;
use crate::runtime::base::rand::cheaprandn;
use crate::runtime::base::this::with_room;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{G, P, PRUNNING, RUNQ_SIZE, sched};
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::p::globrunq::{add_runqsize, globrunqputbatch};
use crate::runtime::p::procs::gomaxprocs;

const LEN: u32 = RUNQ_SIZE as u32;

#[inline(always)]
fn slot(i: u32) -> usize {
    (i % LEN) as usize
}

/// Whether `pp` has no G on its queue; never true by mistake. Go's `runqempty`.
pub(crate) fn runqempty(pp: &P) -> bool {
    // A G could move from runnext to the ring between the two looks. It can't without
    // the tail moving. SeqCst: wake.rs counts on it.
    loop {
        let head = pp.runqhead.load(Ordering::SeqCst);
        let tail = pp.runqtail.load(Ordering::SeqCst);
        let runnext = pp.runnext.load(Ordering::SeqCst);
        if tail == pp.runqtail.load(Ordering::SeqCst) {
            return head == tail && runnext.is_none();
        }
    }
}

/// Puts `gp` on the queue of its owner: into `runnext` if `next`, whose G moves to
/// the tail. If the ring is full, on the global queue. Go's `runqput`.
#[inline]
pub(in crate::runtime) fn runqput(pp: &P, mut gp: &'static G, mut next: bool) {
    if randomize_scheduler() && next && cheaprandn(2) == 0 {
        next = false;
    }
    if next {
        loop {
            let oldnext = pp.runnext.get();
            // Release: publishes gp to a thief. It fails only if oldnext was stolen.
            if !pp.runnext.cas(oldnext, Some(gp)) {
                continue;
            }
            match oldnext {
                None => return,
                Some(kicked) => gp = kicked,
            }
            break;
        }
    }
    loop {
        // Acquire pairs with the release of a consumer's CAS: the slots up to here
        // have been read.
        let h = pp.runqhead.load(Ordering::Acquire);
        let t = pp.runqtail.load(Ordering::Relaxed);
        if t.wrapping_sub(h) < LEN {
            pp.runq[slot(t)].set(Some(gp));
            // Release: makes the slot and its G visible with the tail.
            pp.runqtail.store(t.wrapping_add(1), Ordering::Release);
            return;
        }
        // The batch is larger than a copying stack.
        if with_room(|| runqputslow(pp, gp, h, t)) {
            return;
        }
        // A thief took some meanwhile: there is room now.
    }
}

/// Moves half of a full ring and `gp` to the global queue; false if the ring isn't
/// full any more. Go's `runqputslow`.
#[cold]
#[inline(never)]
fn runqputslow(pp: &P, gp: &'static G, h: u32, t: u32) -> bool {
    let n = t.wrapping_sub(h) / 2;
    if n != LEN / 2 {
        throw("runqputslow: queue is not full");
    }
    let mut batch = [gp; RUNQ_SIZE / 2 + 1];
    for i in 0..n {
        batch[i as usize] = queued(&pp.runq[slot(h.wrapping_add(i))]);
    }
    // Release: the slots have been read.
    if pp.runqhead.compare_exchange(h, h.wrapping_add(n), Ordering::Release, Ordering::Relaxed).is_err() {
        return false;
    }
    if randomize_scheduler() {
        for i in 1..=n {
            batch.swap(i as usize, cheaprandn(i + 1) as usize);
        }
    }
    for pair in batch.windows(2) {
        pair[0].schedlink.set(Some(pair[1]));
    }
    let q = GQueue::linked(batch[0], batch[n as usize]);
    lock(&sched().lock);
    globrunqputbatch(&q, n as i32 + 1);
    unlock(&sched().lock);
    true
}

/// Puts the G's of `q` on the queue of its owner, and what doesn't fit on the global
/// queue. Go's `runqputbatch`.
pub(in crate::runtime) fn runqputbatch(pp: &P, q: &GQueue, qsize: i32) {
    // Acquire, release: as in runqput.
    let h = pp.runqhead.load(Ordering::Acquire);
    let start = pp.runqtail.load(Ordering::Relaxed);
    let mut t = start;
    while t.wrapping_sub(h) < LEN {
        let Some(gp) = q.pop() else { break };
        pp.runq[slot(t)].set(Some(gp));
        t = t.wrapping_add(1);
    }
    let n = t.wrapping_sub(start);
    if randomize_scheduler() {
        for i in 1..n {
            let a = &pp.runq[slot(start.wrapping_add(i))];
            let b = &pp.runq[slot(start.wrapping_add(cheaprandn(i + 1)))];
            let gp = a.get();
            a.set(b.get());
            b.set(gp);
        }
    }
    pp.runqtail.store(t, Ordering::Release);
    if !q.empty() {
        lock(&sched().lock);
        globrunqputbatch(q, qsize - n as i32);
        unlock(&sched().lock);
    }
}

/// Takes a G from the queue of its owner, and says whether it inherits the time
/// slice. Go's `runqget`.
#[inline]
pub(in crate::runtime) fn runqget(pp: &P) -> Option<(&'static G, bool)> {
    let next = pp.runnext.get();
    // Only the owner sets runnext to a G: if the CAS fails, a thief has it.
    if next.is_some() && pp.runnext.cas(next, None) {
        return next.map(|gp| (gp, true));
    }
    loop {
        // Acquire: as in runqput; the tail is our own.
        let h = pp.runqhead.load(Ordering::Acquire);
        let t = pp.runqtail.load(Ordering::Relaxed);
        if t == h {
            return None;
        }
        let gp = pp.runq[slot(h)].get();
        if pp.runqhead.compare_exchange(h, h.wrapping_add(1), Ordering::Release, Ordering::Relaxed).is_ok() {
            return gp.map(|gp| (gp, false));
        }
    }
}

/// Takes all G's from the queue of its owner, and says how many. Go's `runqdrain`.
pub(in crate::runtime) fn runqdrain(pp: &P) -> (GQueue, i32) {
    let q = GQueue::default();
    let mut n = 0;
    let next = pp.runnext.get();
    if let Some(gp) = next
        && pp.runnext.cas(next, None)
    {
        q.push_back(gp);
        n += 1;
    }
    loop {
        let h = pp.runqhead.load(Ordering::Acquire);
        let t = pp.runqtail.load(Ordering::Relaxed);
        let qn = t.wrapping_sub(h);
        if qn == 0 {
            return (q, n);
        }
        // Take the slots first and link their G's after: until the CAS succeeds, they
        // may belong to a thief.
        if pp.runqhead.compare_exchange(h, t, Ordering::Release, Ordering::Relaxed).is_err() {
            continue;
        }
        for i in 0..qn {
            q.push_back(queued(&pp.runq[slot(h.wrapping_add(i))]));
            n += 1;
        }
        return (q, n);
    }
}

/// Takes half of `pp`'s queue, for any P; copies it into `batch`, a ring, from
/// `batch_head` on, and says how many. If there is none and `steal_run_next_g`,
/// takes `runnext`. Go's `runqgrab`.
fn runqgrab(pp: &P, batch: &[Link<G>; RUNQ_SIZE], batch_head: u32, steal_run_next_g: bool) -> u32 {
    loop {
        // Acquire pairs with other consumers, and with the owner's release of the tail.
        let h = pp.runqhead.load(Ordering::Acquire);
        let t = pp.runqtail.load(Ordering::Acquire);
        let n = t.wrapping_sub(h);
        let n = n - n / 2;
        if n == 0 {
            if steal_run_next_g && let Some(next) = pp.runnext.load(Ordering::Acquire) {
                if pp.status.load(Ordering::Relaxed) == PRUNNING {
                    // The owner is about to run `next`: the G that made it ready blocks,
                    // as a rule, almost at once. Taking `next` now would send it from P to
                    // P and back. A hand-over takes well under 3 µs.
                    usleep(3);
                }
                if !pp.runnext.cas(Some(next), None) {
                    continue;
                }
                batch[slot(batch_head)].set(Some(next));
                return 1;
            }
            return 0;
        }
        if n > LEN / 2 {
            continue; // head and tail of different moments
        }
        for i in 0..n {
            batch[slot(batch_head.wrapping_add(i))].set(pp.runq[slot(h.wrapping_add(i))].get());
        }
        // Release: the slots have been read.
        if pp.runqhead.compare_exchange(h, h.wrapping_add(n), Ordering::Release, Ordering::Relaxed).is_ok() {
            return n;
        }
    }
}

/// Moves half of `p2`'s queue to `pp`'s, which is empty, and returns one of them. Go's
/// `runqsteal`.
pub(in crate::runtime) fn runqsteal(pp: &P, p2: &P, steal_run_next_g: bool) -> Option<&'static G> {
    let t = pp.runqtail.load(Ordering::Relaxed);
    let n = runqgrab(p2, &pp.runq, t, steal_run_next_g);
    if n == 0 {
        return None;
    }
    let n = n - 1;
    let gp = queued(&pp.runq[slot(t.wrapping_add(n))]);
    if n == 0 {
        return Some(gp);
    }
    let h = pp.runqhead.load(Ordering::Acquire);
    if t.wrapping_sub(h) + n >= LEN {
        throw("runqsteal: runq overflow");
    }
    // Release: as in runqput; the G's may be stolen from us now.
    pp.runqtail.store(t.wrapping_add(n), Ordering::Release);
    Some(gp)
}

/// What a slot between head and tail holds.
fn queued(slot: &Link<G>) -> &'static G {
    slot.get().unwrap_or_else(|| throw("runq: empty slot"))
}

/// Takes `pp`'s share of the global queue, at most `max` unless that is 0; returns one
/// G and puts the others on `pp`'s queue. `sched.lock` is held. Go's `globrunqget`.
pub(in crate::runtime) fn globrunqget(pp: &P, max: i32) -> Option<&'static G> {
    assert_lock_held(&sched().lock);
    let size = sched().runqsize.load(Ordering::Relaxed);
    if size == 0 {
        return None;
    }
    let mut n = size.min(size / gomaxprocs() + 1);
    if max > 0 {
        n = n.min(max);
    }
    n = n.min(RUNQ_SIZE as i32 / 2);
    add_runqsize(-n);
    let gp = sched().runq.pop();
    for _ in 1..n {
        if let Some(gp1) = sched().runq.pop() {
            runqput(pp, gp1, false);
        }
    }
    gp
}
