//! A channel without a buffer, and a wait group. They take the same locks and make the same
//! goroutines ready as the shipped ones.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use crate::runtime::data::atomic::{AtomicI64, Ordering};
use crate::runtime::data::runtime2::{G, Mutex};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::sched::Step;
use crate::runtime::sched::ready::goready;
use crate::sim::{self, cost};

/// A channel without values. It records only the goroutines that wait.
#[repr(C, align(64))]
#[derive(Default)]
pub(super) struct Chan {
    lock: Mutex,
    receivers: RefCell<VecDeque<&'static G>>,
    senders: RefCell<VecDeque<&'static G>>,
}

impl Chan {
    pub(super) fn new() -> &'static Chan {
        Box::leak(Box::default())
    }

    /// Sends. Returns None if a receiver was waiting; otherwise the sender waits for a receiver.
    pub(super) fn send(&'static self, gp: &'static G) -> Option<Step> {
        self.meet(&self.receivers, &self.senders, gp)
    }

    /// Receives, in the same way.
    pub(super) fn receive(&'static self, gp: &'static G) -> Option<Step> {
        self.meet(&self.senders, &self.receivers, gp)
    }

    fn meet(
        &'static self,
        others: &RefCell<VecDeque<&'static G>>,
        mine: &RefCell<VecDeque<&'static G>>,
        gp: &'static G,
    ) -> Option<Step> {
        lock(&self.lock);
        sim::work_about(cost(|costs| costs.channel));
        let other = others.borrow_mut().pop_front();
        if let Some(other) = other {
            unlock(&self.lock);
            goready(other);
            return None;
        }
        mine.borrow_mut().push_back(gp);
        Some(Step::Park(Some(&self.lock)))
    }
}

/// A wait group for one goroutine that waits.
#[repr(C, align(64))]
pub(super) struct WaitGroup {
    running: AtomicI64,
    waiter: Cell<Option<&'static G>>,
    lock: Mutex,
}

impl WaitGroup {
    pub(super) fn new() -> &'static WaitGroup {
        let (running, waiter, lock) = (AtomicI64::new(0), Cell::new(None), Mutex::new());
        Box::leak(Box::new(WaitGroup { running, waiter, lock }))
    }

    pub(super) fn add(&self, n: i64) {
        self.running.fetch_add(n, Ordering::SeqCst);
    }

    pub(super) fn done(&self) {
        if self.running.fetch_sub(1, Ordering::SeqCst) == 1 {
            lock(&self.lock);
            let waiter = self.waiter.take();
            unlock(&self.lock);
            if let Some(waiter) = waiter {
                goready(waiter);
            }
        }
    }

    /// Waits. Returns None if there is nothing to wait for.
    pub(super) fn wait(&'static self, gp: &'static G) -> Option<Step> {
        lock(&self.lock);
        if self.running.load(Ordering::SeqCst) == 0 {
            unlock(&self.lock);
            return None;
        }
        self.waiter.set(Some(gp));
        Some(Step::Park(Some(&self.lock)))
    }
}
