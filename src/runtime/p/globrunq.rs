//! The global run queue, which all P's share, under `sched.lock`: Go's `globrunqput`,
//! `globrunqputhead`, `globrunqputbatch` and `globrunqget`.

use crate::runtime::arch::prefetch;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::{G, RUNQ_SIZE, sched};
use crate::runtime::lock::assert_lock_held;
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::p::runq::{Local, runqput};

/// `sched.runqsize` changes under the lock, so no read-modify-write is needed; it is
/// read without.
fn add_runqsize(n: i32) {
    let size = sched().runqsize.load(Ordering::Relaxed);
    sched().runqsize.store(size + n, Ordering::Relaxed);
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

/// Takes all G's from the global queue. `sched.lock` is held.
pub(in crate::runtime) fn take_all() -> GQueue {
    assert_lock_held(&sched().lock);
    let all = GQueue::default();
    all.push_back_all(&sched().runq);
    sched().runqsize.store(0, Ordering::Relaxed);
    all
}
