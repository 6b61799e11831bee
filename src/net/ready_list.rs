//! The list of a [`ReadyQueue`](crate::net::ReadyQueue), and the goroutines that wait for nodes.
//!
//! One lock protects everything. A thread that adds a node wakes a goroutine, unless one is on its
//! way. That one wakes the next, if it leaves nodes behind. So a burst of nodes wakes one goroutine
//! after the other, as Go's `wakep` does with M's, and the later ones aren't woken if the first are
//! fast. The goroutine that has waited shortest is woken first.
//!
//! `loom` checks this file (`tests/loom`).

use std::cell::{Cell, UnsafeCell};
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::runtime::runtime2::{G, Mutex};
use crate::runtime::{Parker, end_with_run, goready, lock, unlock, with_limit_in_run};

/// A node of a list, which it belongs to while it is linked.
pub(super) trait Linked: Sized {
    /// The next node; null if there is none, or if the node is on no list.
    fn next(&self) -> &Cell<*mut Self>;
}

/// Nodes, in the order in which they came.
pub(super) struct ReadyList<N> {
    /// A runtime lock, so that g0 and any thread can add a node.
    lock: Mutex,
    state: UnsafeCell<State<N>>,
}

// SAFETY: the lock protects the state, and the nodes in it may be sent.
unsafe impl<N: Send> Send for ReadyList<N> {}
// SAFETY: as for Send.
unsafe impl<N: Send> Sync for ReadyList<N> {}

impl<N: Linked> ReadyList<N> {
    pub(super) fn new() -> Self {
        ReadyList { lock: Mutex::new(), state: UnsafeCell::new(State::new()) }
    }

    /// Calls `f` with the lock held. `f` calls no code of the program's, and doesn't panic.
    fn locked<R>(&self, f: impl FnOnce(&mut State<N>) -> R) -> R {
        lock(&self.lock);
        // SAFETY: the lock is held, and `f` doesn't come here again.
        let result = f(unsafe { &mut *self.state.get() });
        unlock(&self.lock);
        result
    }

    /// Adds a node. Returns the goroutine that the caller makes ready, if there is one; or the node
    /// if the list is closed. May be called on g0.
    pub(super) fn add(&self, node: Box<N>) -> Result<Option<&'static G>, Box<N>> {
        self.locked(|state| {
            if state.closed {
                return Err(node);
            }
            state.append(node);
            Ok(state.wake())
        })
    }

    /// Takes the first node; waits for one if there is none. Returns none once the list is closed
    /// and empty. `what` is the operation that the message of a panic names.
    ///
    /// # Panics
    /// As [`must_wait`](crate::runtime::must_wait).
    #[track_caller]
    pub(super) fn take(&self, what: &str) -> Option<Box<N>> {
        let mut waiter = None;
        loop {
            let (taken, woken) = self.locked(|state| state.take(waiter.as_ref()));
            if let Some(gp) = woken {
                goready(gp);
            }
            match (taken, &waiter) {
                (Taken::Node(node), _) => return Some(node),
                (Taken::Closed, _) => return None,
                (Taken::Nothing, None) => waiter = Some(Waiter::new()),
                (Taken::Nothing, Some(waiter)) => self.wait(waiter, what),
            }
        }
    }

    /// Waits until `waiter`, which is on the list of waiters, is woken. If the goroutine unwinds
    /// instead, the waiter leaves.
    #[track_caller]
    fn wait(&self, waiter: &Arc<Waiter>, what: &str) {
        let leaves = Leaves { list: self, waiter };
        end_with_run();
        let give_up = || {
            let waiter = waiter.clone();
            Some(move || waiter.parker.wake())
        };
        // SAFETY: what give_up returns owns what it uses. A wake ends a wait at any time.
        unsafe { with_limit_in_run(None, &give_up, || waiter.parker.park(what)) };
        mem::forget(leaves);
    }

    /// Takes the first node, if there is one.
    pub(super) fn try_take(&self) -> Option<Box<N>> {
        self.locked(State::take_first)
    }

    /// Ends all waits. No node is added any more.
    pub(super) fn close(&self) {
        let mut next = self.locked(|state| {
            state.closed = true;
            state.waiters.take()
        });
        // The links are this thread's now: a waiter that isn't on the list doesn't use its own.
        while let Some(waiter) = next {
            next = waiter.next.take();
            waiter.parker.wake();
        }
    }
}

/// What the lock of a list protects.
struct State<N> {
    /// The first node, and the last one; null if there is none.
    first: *mut N,
    last: *mut N,
    /// The goroutines that wait, the latest first.
    waiters: Option<Arc<Waiter>>,
    /// Whether a goroutine was woken that hasn't looked for a node yet.
    waking: bool,
    closed: bool,
}

/// What [`State::take`] finds.
enum Taken<N> {
    Node(Box<N>),
    Nothing,
    /// There is nothing, and there will be nothing.
    Closed,
}

impl<N: Linked> State<N> {
    fn new() -> Self {
        State { first: ptr::null_mut(), last: ptr::null_mut(), waiters: None, waking: false, closed: false }
    }

    fn append(&mut self, node: Box<N>) {
        let node = Box::into_raw(node);
        match NonNull::new(mem::replace(&mut self.last, node)) {
            None => self.first = node,
            // SAFETY: a node that is linked belongs to the list.
            Some(last) => unsafe { last.as_ref() }.next().set(node),
        }
    }

    fn take_first(&mut self) -> Option<Box<N>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: `append` has linked it, and got it from a box.
        let node = unsafe { Box::from_raw(first.as_ptr()) };
        self.first = node.next().replace(ptr::null_mut());
        if self.first.is_null() {
            self.last = ptr::null_mut();
        }
        Some(node)
    }

    /// Chooses the goroutine that has waited shortest, unless one is on its way. Returns it for the
    /// caller to make ready, without the lock. (If it hasn't parked yet, it won't, and there is
    /// nothing to make ready.)
    fn wake(&mut self) -> Option<&'static G> {
        if self.waking {
            return None;
        }
        let waiter = self.waiters.take()?;
        self.waiters = waiter.next.take();
        self.waking = true;
        waiter.chosen.set(true);
        waiter.parker.notify()
    }

    /// Wakes a goroutine if there are nodes.
    fn wake_if_any(&mut self) -> Option<&'static G> {
        if self.first.is_null() { None } else { self.wake() }
    }

    /// Takes the first node, for a goroutine that may have waited as `waiter`. If there is none,
    /// puts the waiter on the list of waiters. Also returns a goroutine for the caller to make
    /// ready.
    fn take(&mut self, waiter: Option<&Arc<Waiter>>) -> (Taken<N>, Option<&'static G>) {
        if let Some(waiter) = waiter {
            self.leave(waiter);
        }
        if let Some(node) = self.take_first() {
            return (Taken::Node(node), self.wake_if_any());
        }
        if self.closed {
            return (Taken::Closed, None);
        }
        if let Some(waiter) = waiter {
            waiter.next.set(self.waiters.replace(waiter.clone()));
        }
        (Taken::Nothing, None)
    }

    /// Ends a wait: the waiter isn't on the list of waiters afterwards, nor on its way.
    fn leave(&mut self, waiter: &Arc<Waiter>) {
        if waiter.chosen.take() {
            self.waking = false;
            return;
        }
        let mut next = &mut self.waiters;
        while let Some(other) = next {
            if Arc::ptr_eq(other, waiter) {
                *next = waiter.next.take();
                return;
            }
            // SAFETY: the lock is held, and nothing else refers to the link.
            next = unsafe { &mut *other.next.as_ptr() };
        }
    }
}

/// A goroutine that waits in [`ReadyList::take`]. While it is on the list of waiters, that
/// goroutine keeps it, too: so nothing is freed with the lock held.
struct Waiter {
    parker: Parker,
    /// Whether it was taken off the list of waiters to look for a node. The lock protects this.
    chosen: Cell<bool>,
    /// The one that has begun to wait before. The lock protects this.
    next: Cell<Option<Arc<Waiter>>>,
}

// SAFETY: the lock of the list protects the cells.
unsafe impl Send for Waiter {}
// SAFETY: as for Send.
unsafe impl Sync for Waiter {}

impl Waiter {
    fn new() -> Arc<Self> {
        Arc::new(Waiter { parker: Parker::new(), chosen: Cell::new(false), next: Cell::new(None) })
    }
}

/// Ends the wait of a goroutine that unwinds. If it was chosen, another one looks for a node.
struct Leaves<'a, N: Linked> {
    list: &'a ReadyList<N>,
    waiter: &'a Arc<Waiter>,
}

impl<N: Linked> Drop for Leaves<'_, N> {
    fn drop(&mut self) {
        let woken = self.list.locked(|state| {
            state.leave(self.waiter);
            state.wake_if_any()
        });
        if let Some(gp) = woken {
            goready(gp);
        }
    }
}
