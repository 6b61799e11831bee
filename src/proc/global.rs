//! The global run queue, which all P's share, under `sched.lock`: Go's `globrunqput` and
//! `globrunqget`.

use crate::atomic::Ordering;
use crate::lock::assert_lock_held;
use crate::proc::gqueue::GQueue;
use crate::proc::procs::gomaxprocs;
use crate::proc::runq::runqput;
use crate::runtime2::{G, P, RUNQ_SIZE, sched};

/// `sched.runqsize` changes under the lock, so no read-modify-write is needed; it is
/// read without.
fn add_runqsize(n: i32) {
    let size = sched().runqsize.load(Ordering::Relaxed);
    sched().runqsize.store(size + n, Ordering::Relaxed);
}

/// Puts `gp` at the tail of the global queue. `sched.lock` is held. Go's
/// `globrunqput`.
pub(crate) fn globrunqput(gp: &'static G) {
    assert_lock_held(&sched().lock);
    sched().runq.push_back(gp);
    add_runqsize(1);
}

/// Puts `gp` at the head of the global queue. `sched.lock` is held. Go's `globrunqputhead`.
pub(crate) fn globrunqputhead(gp: &'static G) {
    assert_lock_held(&sched().lock);
    sched().runq.push(gp);
    add_runqsize(1);
}

/// Puts the `n` G's of `batch` at the tail of the global queue, and empties `batch`. `sched.lock`
/// is held. Go's `globrunqputbatch`.
pub(crate) fn globrunqputbatch(batch: &GQueue, n: i32) {
    assert_lock_held(&sched().lock);
    sched().runq.push_back_all(batch);
    add_runqsize(n);
}

/// Takes `pp`'s share of the global queue, at most `max` unless that is 0; returns one
/// G and puts the others on `pp`'s queue. `sched.lock` is held. Go's `globrunqget`.
pub(crate) fn globrunqget(pp: &P, max: i32) -> Option<&'static G> {
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
