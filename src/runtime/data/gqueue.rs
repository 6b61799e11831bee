//! Lists of G's, linked through `schedlink`: Go's `gQueue` and `gList`. A G is on one list at most.

use std::iter;

use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::G;

/// Each G has a hint at the G this many places behind it, so that the cache misses of this many G's
/// overlap.
const AHEAD: usize = 12;

/// A queue of G's. Go's `gQueue`.
#[repr(C)]
#[derive(Default)]
pub struct GQueue {
    head: Link<G>,
    tail: Link<G>,
}

impl GQueue {
    /// Returns a queue of `batch`. Each G has a hint at a later G of the batch, and keeps the hint
    /// when it has left the queue.
    pub fn linked(batch: &[&'static G]) -> Self {
        for pair in batch.windows(2) {
            pair[0].schedlink.set(Some(pair[1]));
        }
        for far in batch.windows(AHEAD + 1) {
            far[0].ext.ahead.set(Some(far[AHEAD]));
        }
        let q = GQueue::default();
        q.head.set(batch.first().copied());
        q.tail.set(batch.last().copied());
        q
    }

    /// Whether the queue is empty.
    pub fn empty(&self) -> bool {
        self.head.is_null()
    }

    /// Adds `gp` at the head.
    pub fn push(&self, gp: &'static G) {
        gp.schedlink.set(self.head.get());
        self.head.set(Some(gp));
        if self.tail.is_null() {
            self.tail.set(Some(gp));
        }
    }

    /// Adds `gp` at the tail. Go's `pushBack`.
    #[inline]
    pub fn push_back(&self, gp: &'static G) {
        gp.schedlink.set(None);
        match self.tail.get() {
            Some(tail) => tail.schedlink.set(Some(gp)),
            None => self.head.set(Some(gp)),
        }
        self.tail.set(Some(gp));
    }

    /// Moves all of `q` to the tail. Go's `pushBackAll`.
    pub fn push_back_all(&self, q: &GQueue) {
        let Some(q_tail) = q.tail.get() else { return };
        q_tail.schedlink.set(None);
        match self.tail.get() {
            Some(tail) => tail.schedlink.set(q.head.get()),
            None => self.head.set(q.head.get()),
        }
        self.tail.set(Some(q_tail));
        q.clear();
    }

    /// Calls `f` with each G.
    pub(in crate::runtime) fn each(&self, f: impl FnMut(&'static G)) {
        iter::successors(self.head.get(), |gp| gp.schedlink.get()).for_each(f);
    }

    /// Takes the head.
    #[inline]
    pub fn pop(&self) -> Option<&'static G> {
        let gp = self.head.get()?;
        let next = gp.schedlink.get();
        self.head.set(next);
        if next.is_none() {
            self.tail.set(None);
        }
        Some(gp)
    }

    /// Takes all G's, as a list. Go's `popList`.
    pub fn pop_list(&self) -> GList {
        let list = GList::default();
        list.head.set(self.head.get());
        self.clear();
        list
    }

    fn clear(&self) {
        self.head.set(None);
        self.tail.set(None);
    }
}

/// A stack of G's. Go's `gList`.
#[repr(C)]
#[derive(Default)]
pub struct GList {
    head: Link<G>,
}

impl GList {
    /// Whether the list is empty.
    pub fn empty(&self) -> bool {
        self.head.is_null()
    }

    /// Adds `gp`.
    #[inline]
    pub fn push(&self, gp: &'static G) {
        gp.schedlink.set(self.head.get());
        self.head.set(Some(gp));
    }

    /// Moves all of `q` to the front. Go's `pushAll`.
    pub fn push_all(&self, q: &GQueue) {
        if let Some(tail) = q.tail.get() {
            tail.schedlink.set(self.head.get());
            self.head.set(q.head.get());
            q.clear();
        }
    }

    /// Moves all of `other` here. This list is empty.
    pub(in crate::runtime) fn take_from(&self, other: &GList) {
        self.head.set(other.head.get());
        other.head.set(None);
    }

    /// Takes the G that was added last.
    #[inline]
    pub fn pop(&self) -> Option<&'static G> {
        let gp = self.head.get()?;
        self.head.set(gp.schedlink.get());
        Some(gp)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::runtime::base::testing::zeroed;

    #[test]
    fn a_batch_becomes_a_queue_with_hints() {
        let gs: [&G; AHEAD + 2] = std::array::from_fn(|_| zeroed());
        let q = GQueue::linked(&gs);
        for (i, gp) in gs.iter().enumerate() {
            let popped = q.pop().unwrap();
            assert!(std::ptr::eq(popped, *gp));
            let ahead = popped.ext.ahead.get().map(std::ptr::from_ref);
            assert_eq!(ahead, gs.get(i + AHEAD).map(|gp| std::ptr::from_ref(*gp)));
        }
        assert!(q.empty() && GQueue::linked(&[]).empty());
    }

    #[test]
    fn a_queue_becomes_a_list() {
        let q = GQueue::default();
        let gs: [&G; 3] = [zeroed(), zeroed(), zeroed()];
        gs.iter().for_each(|gp| q.push_back(gp));
        let list = q.pop_list();
        assert!(q.empty() && q.pop().is_none());
        for gp in gs {
            assert!(list.pop().is_some_and(|popped| std::ptr::eq(popped, gp)));
        }
        assert!(list.empty());
    }
}
