//! Lists of G's, linked through `schedlink`: Go's `gQueue` and `gList`. A G is on one list at most.

use std::iter;

use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::G;

/// A queue of G's. Go's `gQueue`.
#[repr(C)]
#[derive(Default)]
pub struct GQueue {
    head: Link<G>,
    tail: Link<G>,
}

impl GQueue {
    /// A queue of the G's from `head` to `tail`, which are linked already.
    pub fn linked(head: &'static G, tail: &'static G) -> Self {
        let q = GQueue::default();
        q.head.set(Some(head));
        q.tail.set(Some(tail));
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
