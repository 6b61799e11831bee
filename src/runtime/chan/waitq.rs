//! The queues of waiters at a channel: Go's `waitq.enqueue`, `waitq.dequeue` and
//! `waitq.dequeueSudoG`.

use std::iter;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::data::hchan::Waitq;
use crate::runtime::data::runtime2::{G, Sudog};

impl Waitq {
    /// Adds `sg` at the end. The channel's lock is held.
    #[inline]
    pub(in crate::runtime) fn enqueue(&self, sg: &'static Sudog) {
        sg.next.set(None);
        let last = self.last.get();
        sg.prev.set(last);
        match last {
            Some(last) => last.next.set(Some(sg)),
            None => self.first.set(Some(sg)),
        }
        self.last.set(Some(sg));
    }

    /// Adds `sg` at the head. The channel's lock is held.
    pub(super) fn enqueue_first(&self, sg: &'static Sudog) {
        sg.prev.set(None);
        let first = self.first.get();
        sg.next.set(first);
        match first {
            Some(first) => first.prev.set(Some(sg)),
            None => self.last.set(Some(sg)),
        }
        self.first.set(Some(sg));
    }

    /// Cuts off and returns the sudogs behind `last`, or all of them without a `last`. The
    /// channel's lock is held.
    pub(super) fn split_off(&self, last: Option<&'static Sudog>) -> Waitq {
        let rest = Waitq::default();
        let end = last.map_or(&self.first, |last| &last.next);
        if let Some(first) = end.get() {
            first.prev.set(None);
            rest.first.set(Some(first));
            rest.last.set(self.last.get());
            end.set(None);
            self.last.set(last);
        }
        rest
    }

    /// Takes out the first sudog whose goroutine the caller may wake. The channel's lock is held.
    #[inline]
    pub(in crate::runtime) fn dequeue(&self) -> Option<&'static Sudog> {
        loop {
            let sg = self.first.get()?;
            match sg.next.get() {
                None => {
                    self.first.set(None);
                    self.last.set(None);
                }
                Some(next) => {
                    next.prev.set(None);
                    self.first.set(Some(next));
                    sg.next.set(None); // how dequeue_sudo_g sees that it has left
                }
            }
            // Another case may have woken the select, which hasn't taken this sudog off the queue
            // yet.
            if sg.is_select.get() && !win_select(sg) {
                continue;
            }
            return Some(sg);
        }
    }

    /// Whether there is a sudog that [`dequeue`](Self::dequeue) would return. The channel's lock is
    /// held.
    pub(super) fn has_waiter(&self) -> bool {
        let is_woken = |gp: &G| gp.select_done.load(Ordering::Relaxed) != 0;
        iter::successors(self.first.get(), |sg| sg.next.get())
            .any(|sg| !sg.is_select.get() || !sg.g.get().is_some_and(is_woken))
    }

    /// Takes `sg` out, if it is still in the queue. Returns whether it was. The channel's lock is
    /// held, and `sg` is in no other queue. Go's `dequeueSudoG`.
    pub(super) fn dequeue_sudo_g(&self, sg: &'static Sudog) -> bool {
        match (sg.prev.get(), sg.next.get()) {
            (Some(prev), next) => {
                prev.next.set(next);
                match next {
                    Some(next) => next.prev.set(Some(prev)),
                    None => self.last.set(Some(prev)),
                }
                sg.next.set(None);
                sg.prev.set(None);
            }
            (None, Some(next)) => {
                next.prev.set(None);
                self.first.set(Some(next));
                sg.next.set(None);
            }
            // The only one in the queue, or no longer in it.
            (None, None) => {
                if !self.first.get().is_some_and(|first| ptr::eq(first, sg)) {
                    return false;
                }
                self.first.set(None);
                self.last.set(None);
            }
        }
        true
    }
}

/// Claims the right to wake the select of `sg`. Only one of its cases gets the right.
pub(super) fn win_select(sg: &Sudog) -> bool {
    let Some(gp) = sg.g.get() else { throw("sudog without a g") };
    // The channels' locks order everything else: this only has to be one atomic step.
    gp.select_done.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}
