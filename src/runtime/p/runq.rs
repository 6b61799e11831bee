//! The run queues. Each P has one of its own, a ring that its P puts into and that any P takes
//! from. The global one is shared by all P's, under `sched.lock`.
//!
//! ```text
//!     runq   [ . . a b c d . . ]      runnext [ e ]
//!                  ^       ^
//!             runqhead   runqtail
//! ```
//!
//! - `runqtail` is written by the owner alone ([`Local`]). Its release publishes the slots before
//!   it, and the G's in them, to a thread that acquires it.
//! - `runqhead` is moved by a CAS, by the owner and by thieves ([`Steal`]). The winner of the CAS
//!   takes the slots between. A thief has copied them before, and copies again if it loses. The
//!   release of that CAS tells the owner that the copy is done. The owner acquires `runqhead`
//!   before it writes a slot again.
//! - Both count up and wrap, and their difference is the length. A thief that reads them at
//!   different times may see nonsense, which it can tell by its size.
//! - `runnext` is set by the owner and taken by anyone, by CAS. It runs next and inherits the time
//!   slice, so that a pair that hands a value to and fro runs as one.
//! - A full ring gives half of itself to the global queue.
//!
//! This file is what `loom` checks (`tests/loom`), with a ring of four.

use std::ops::Deref;
use std::ptr;

use crate::runtime::arch::prefetch;
use crate::runtime::base::debug::randomize_scheduler;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::usleep;
use crate::runtime::base::rand::cheaprandn;
use crate::runtime::base::this::{this_m, with_room};
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::{G, P, PRUNNING, RUNQ_SIZE, sched};
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::p::procs::gomaxprocs;

const LEN: u32 = RUNQ_SIZE as u32;

/// Anybody's end of a run queue.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Steal<'a>(&'a P);

/// The owner's end of a run queue, which can also do what anybody's end can. As a P isn't `Sync`,
/// it stays on its thread.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Local<'a>(Steal<'a>);

impl P {
    /// The queue, for any thread.
    #[inline(always)]
    pub(in crate::runtime) fn steal(&self) -> Steal<'_> {
        Steal(self)
    }

    /// The queue, for the owner: the M that has this P. If no M has it, the owner is the thread
    /// that took it off the idle list, was given it, holds `sched.lock`, or has stopped the world.
    #[inline(always)]
    pub(in crate::runtime) fn local(&self) -> Local<'_> {
        // Not in models: their M's have no threads.
        if cfg!(all(debug_assertions, not(loom)))
            && self.m.get().is_some_and(|mp| !this_m().is_some_and(|me| ptr::eq(me, mp)))
        {
            throw("runq: another m has this p");
        }
        Local(self.steal())
    }
}

impl Steal<'_> {
    /// Where the ring begins. Acquire pairs with [`take`](Self::take).
    #[inline(always)]
    fn head(self) -> u32 {
        self.0.runqhead.load(Ordering::Acquire)
    }

    /// Where the ring ends. Acquire pairs with [`publish`](Local::publish).
    #[inline(always)]
    fn tail(self) -> u32 {
        self.0.runqtail.load(Ordering::Acquire)
    }

    /// The G in slot `i`. `take` decides which thread gets it.
    #[inline(always)]
    fn slot(self, i: u32) -> Option<&'static G> {
        self.0.runq[(i % LEN) as usize].get()
    }

    /// The G in slot `i`, which is between head and tail, and stays there.
    fn queued(self, i: u32) -> &'static G {
        self.slot(i).unwrap_or_else(|| throw("runq: empty slot"))
    }

    /// Takes the `n` G's from `head` on, whose slots have been read. Fails if another thread was
    /// faster.
    #[inline(always)]
    fn take(self, head: u32, n: u32) -> bool {
        let new = head.wrapping_add(n);
        self.0.runqhead.compare_exchange(head, new, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// The length of the ring; roughly, if it changes now. The head is read first, so the length
    /// isn't negative.
    pub(in crate::runtime) fn len(self) -> u32 {
        let head = self.head();
        self.tail().wrapping_sub(head)
    }
}

impl<'a> Deref for Local<'a> {
    type Target = Steal<'a>;

    #[inline(always)]
    fn deref(&self) -> &Steal<'a> {
        &self.0
    }
}

impl Local<'_> {
    /// [`tail`](Steal::tail) for the owner, which has written it.
    #[inline(always)]
    fn own_tail(self) -> u32 {
        self.0.0.runqtail.load(Ordering::Relaxed)
    }

    /// Puts `gp` into slot `i`, which lies between the tail and the head of the next round.
    #[inline(always)]
    fn set_slot(self, i: u32, gp: Option<&'static G>) {
        self.0.0.runq[(i % LEN) as usize].set(gp);
    }

    /// The ring ends at `tail` now.
    #[inline(always)]
    fn publish(self, tail: u32) {
        self.0.0.runqtail.store(tail, Ordering::Release);
    }

    /// [`runqempty`] for the owner, which needs no second look.
    #[inline(always)]
    pub(in crate::runtime) fn is_empty(self) -> bool {
        let pp = self.0.0;
        pp.runnext.is_null() && pp.runqhead.load(Ordering::Relaxed) == self.own_tail()
    }

    /// Takes the G in `runnext`. Only the owner sets that to one: if the CAS fails, a thief has it.
    #[inline(always)]
    pub(in crate::runtime) fn take_next(self) -> Option<&'static G> {
        let next = self.0.0.runnext.get()?;
        self.0.0.runnext.cas(Some(next), None).then_some(next)
    }

    /// Takes the G at the tail, in a stopped world, where there are no thieves.
    pub(in crate::runtime) fn take_last(self) -> Option<&'static G> {
        let t = self.own_tail();
        if t == self.head() {
            return None;
        }
        self.publish(t.wrapping_sub(1));
        Some(self.queued(t.wrapping_sub(1)))
    }
}

/// Whether `pp` has no G on its queue; never true by mistake. Go's `runqempty`.
pub(in crate::runtime) fn runqempty(Steal(pp): Steal<'_>) -> bool {
    // A G could move from runnext to the ring between the two looks. It can't without the tail
    // moving. SeqCst: an M calls this after it has decremented `nmspinning`, and a submitter puts
    // its work here before it reads that: see `sched/wake.rs`.
    loop {
        let head = pp.runqhead.load(Ordering::SeqCst);
        let tail = pp.runqtail.load(Ordering::SeqCst);
        let runnext = pp.runnext.load(Ordering::SeqCst);
        if tail == pp.runqtail.load(Ordering::SeqCst) {
            return head == tail && runnext.is_none();
        }
    }
}

/// Puts `gp` on the queue of its owner. With `next`, `gp` goes into `runnext`, and the G that was
/// there moves to the tail. If the ring is full, the G goes on the global queue. Go's `runqput`.
///
/// Inlined, as callers know `next`.
#[inline(always)]
pub(in crate::runtime) fn runqput(local: Local<'_>, gp: &'static G, next: bool) {
    if next { put_next(local, gp) } else { put_last(local, gp) }
}

fn put_next(local: Local<'_>, gp: &'static G) {
    if randomize_scheduler() && cheaprandn(2) == 0 {
        return put_last(local, gp);
    }
    let Steal(pp) = *local;
    let kicked = loop {
        let oldnext = pp.runnext.get();
        // Release: publishes gp to a thief. It fails only if oldnext was stolen.
        if pp.runnext.cas(oldnext, Some(gp)) {
            break oldnext;
        }
    };
    if let Some(kicked) = kicked {
        put_last(local, kicked);
    }
}

fn put_last(local: Local<'_>, gp: &'static G) {
    let h = local.head();
    let t = local.own_tail();
    if t.wrapping_sub(h) >= LEN {
        return put_where_it_is_full(local, gp, h, t);
    }
    local.set_slot(t, Some(gp));
    local.publish(t.wrapping_add(1));
}

#[cold]
#[inline(never)]
fn put_where_it_is_full(local: Local<'_>, gp: &'static G, h: u32, t: u32) {
    // The batch is larger than a copying stack.
    if !with_room(|| runqputslow(local, gp, h, t)) {
        // A thief took some meanwhile: there is room now.
        put_last(local, gp);
    }
}

/// Moves half of a full ring and `gp` to the global queue; false if the ring isn't
/// full any more. Go's `runqputslow`.
#[cold]
#[inline(never)]
fn runqputslow(local: Local<'_>, gp: &'static G, h: u32, t: u32) -> bool {
    let n = t.wrapping_sub(h) / 2;
    if n != LEN / 2 {
        throw("runqputslow: queue is not full");
    }
    let mut batch = [gp; RUNQ_SIZE / 2 + 1];
    for i in 0..n {
        batch[i as usize] = local.queued(h.wrapping_add(i));
    }
    if !local.take(h, n) {
        return false;
    }
    if randomize_scheduler() {
        for i in 1..=n {
            batch.swap(i as usize, cheaprandn(i + 1) as usize);
        }
    }
    let q = GQueue::linked(&batch);
    lock(&sched().lock);
    globrunqputbatch(&q, n as i32 + 1);
    unlock(&sched().lock);
    true
}

/// Puts the G's of `q` on the queue of its owner, and what doesn't fit on the global
/// queue. Go's `runqputbatch`.
pub(in crate::runtime) fn runqputbatch(local: Local<'_>, q: &GQueue, qsize: i32) {
    let h = local.head();
    let start = local.own_tail();
    let mut t = start;
    while t.wrapping_sub(h) < LEN {
        let Some(gp) = q.pop() else { break };
        local.set_slot(t, Some(gp));
        t = t.wrapping_add(1);
    }
    let n = t.wrapping_sub(start);
    if randomize_scheduler() {
        for i in 1..n {
            let (a, b) = (start.wrapping_add(i), start.wrapping_add(cheaprandn(i + 1)));
            let gp = local.slot(a);
            local.set_slot(a, local.slot(b));
            local.set_slot(b, gp);
        }
    }
    local.publish(t);
    if !q.empty() {
        lock(&sched().lock);
        globrunqputbatch(q, qsize - n as i32);
        unlock(&sched().lock);
    }
}

/// Takes a G from the queue of its owner, and says whether it inherits the time
/// slice. Go's `runqget`.
#[inline]
pub(in crate::runtime) fn runqget(local: Local<'_>) -> Option<(&'static G, bool)> {
    if let Some(next) = local.take_next() {
        return Some((next, true));
    }
    loop {
        let h = local.head();
        let t = local.own_tail();
        if t == h {
            return None;
        }
        let gp = local.slot(h);
        if local.take(h, 1) {
            return gp.map(|gp| (gp, false));
        }
    }
}

/// Takes all G's from the queue of its owner, and says how many. Go's `runqdrain`.
pub(in crate::runtime) fn runqdrain(local: Local<'_>) -> (GQueue, i32) {
    let q = GQueue::default();
    let mut n = 0;
    if let Some(gp) = local.take_next() {
        q.push_back(gp);
        n += 1;
    }
    loop {
        let h = local.head();
        let t = local.own_tail();
        let qn = t.wrapping_sub(h);
        if qn == 0 {
            return (q, n);
        }
        // Take the slots first and link their G's after: until the CAS succeeds, they
        // may belong to a thief.
        if !local.take(h, qn) {
            continue;
        }
        for i in 0..qn {
            q.push_back(local.queued(h.wrapping_add(i)));
            n += 1;
        }
        return (q, n);
    }
}

/// Takes half of a queue, for any P; copies it into `batch`, that P's own ring, from
/// `batch_head` on, and says how many. If there is none and `steal_run_next_g`,
/// takes `runnext`. Go's `runqgrab`.
fn runqgrab(from: Steal<'_>, batch: Local<'_>, batch_head: u32, steal_run_next_g: bool) -> u32 {
    loop {
        let h = from.head();
        let t = from.tail();
        let n = t.wrapping_sub(h);
        let n = n - n / 2;
        if n == 0 {
            let Steal(pp) = from;
            if steal_run_next_g && let Some(next) = pp.runnext.load(Ordering::Acquire) {
                if pp.status.load(Ordering::Relaxed) == PRUNNING {
                    // The owner is about to run `next`: the G that made it ready blocks,
                    // as a rule, almost at once. Taking `next` now would send it from P to
                    // P and back. A hand-over takes well under 3 µs.
                    let stops = next.tracking_seq.load(Ordering::Relaxed);
                    usleep(3);
                    if next.tracking_seq.load(Ordering::Relaxed) != stops {
                        // It has run meanwhile, and is there again: two G's make each other ready.
                        // The owner runs it next this time, too.
                        return 0;
                    }
                }
                if !pp.runnext.cas(Some(next), None) {
                    continue;
                }
                batch.set_slot(batch_head, Some(next));
                return 1;
            }
            return 0;
        }
        if n > LEN / 2 {
            continue; // head and tail of different moments
        }
        for i in 0..n {
            batch.set_slot(batch_head.wrapping_add(i), from.slot(h.wrapping_add(i)));
        }
        if from.take(h, n) {
            return n;
        }
    }
}

/// Moves half of another P's queue to that of its owner, which is empty, and returns one of them.
/// Go's `runqsteal`.
pub(in crate::runtime) fn runqsteal(
    local: Local<'_>,
    from: Steal<'_>,
    steal_run_next_g: bool,
) -> Option<&'static G> {
    let t = local.own_tail();
    let n = runqgrab(from, local, t, steal_run_next_g);
    if n == 0 {
        return None;
    }
    let n = n - 1;
    let gp = local.queued(t.wrapping_add(n));
    if n == 0 {
        return Some(gp);
    }
    let h = local.head();
    if t.wrapping_sub(h) + n >= LEN {
        throw("runqsteal: runq overflow");
    }
    // They may be stolen from us now.
    local.publish(t.wrapping_add(n));
    Some(gp)
}

/// Puts `gp` at the tail of the global queue. `sched.lock` is held. Go's
/// `globrunqput`.
pub(in crate::runtime) fn globrunqput(gp: &'static G) {
    assert_lock_held(&sched().lock);
    sched().runq.push_back(gp);
    add_runqsize(1);
}

/// Puts `gp` at the head of the global queue. `sched.lock` is held. Go's `globrunqputhead`.
pub(in crate::runtime) fn globrunqputhead(gp: &'static G) {
    assert_lock_held(&sched().lock);
    sched().runq.push(gp);
    add_runqsize(1);
}

/// Puts the `n` G's of `batch` at the tail of the global queue, and empties `batch`. `sched.lock`
/// is held. Go's `globrunqputbatch`.
pub(in crate::runtime) fn globrunqputbatch(batch: &GQueue, n: i32) {
    assert_lock_held(&sched().lock);
    sched().runq.push_back_all(batch);
    add_runqsize(n);
}

/// Takes a P's share of the global queue, at most `max` unless that is 0; returns one
/// G and puts the others on the P's queue. `sched.lock` is held. Go's `globrunqget`.
pub(in crate::runtime) fn globrunqget(local: Local<'_>, max: i32) -> Option<&'static G> {
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
            fetch_ahead(gp1);
            runqput(local, gp1, false);
        }
    }
    gp
}

/// Takes all G's from the global queue. `sched.lock` is held.
pub(in crate::runtime) fn take_all() -> GQueue {
    assert_lock_held(&sched().lock);
    let all = GQueue::default();
    all.push_back_all(&sched().runq);
    sched().runqsize.store(0, Ordering::Relaxed);
    all
}

/// Asks the processor for what [`globrunqget`] will read of a G that comes some places behind `gp`.
/// Where goroutines are many, those on the global queue have been in no cache for a while, and as
/// each is found by the link of the one before, they would come one by one, with `sched.lock` held.
#[inline(always)]
fn fetch_ahead(gp: &G) {
    if let Some(far) = gp.ext.ahead.get() {
        prefetch(&raw const far.schedlink);
        prefetch(&raw const far.ext.ahead);
    }
}

/// `sched.runqsize` changes under the lock, so no read-modify-write is needed; it is
/// read without.
fn add_runqsize(n: i32) {
    let size = sched().runqsize.load(Ordering::Relaxed);
    sched().runqsize.store(size + n, Ordering::Relaxed);
}
