//! The global run queue, which all P's share, under `sched.lock`: Go's `globrunqput`, `globrunqputhead` and
//! `globrunqputbatch`. What is taken from it goes to a P's own queue: `globrunqget`, in `runq.rs`.

use crate::runtime::arch::prefetch;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::{G, sched};
use crate::runtime::lock::assert_lock_held;

/// `sched.runqsize` changes under the lock, so no read-modify-write is needed; it is
/// read without.
pub(super) fn add_runqsize(n: i32) {
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

/// Asks the processor for what `globrunqget` will read of a G that comes some places behind `gp`. Where
/// goroutines are many, those on the global queue have been in no cache for a while, and as each is found by the link
/// of the one before, they would come one by one, with `sched.lock` held.
#[inline(always)]
pub(super) fn fetch_ahead(gp: &G) {
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
