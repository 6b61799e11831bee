//! The list of the goroutines that wait for a descriptor, and their waits.
//!
//! A goroutine that reads, writes or accepts is *exclusive*: one event wakes one such goroutine,
//! and the registration is armed again for the others. A goroutine that polls isn't exclusive.
//!
//! A wait is for one descriptor or several, and ends once: by an event, by its time, or by a close.
//! Its `state` is changed by compare-and-swap, and the caller that finds the goroutine there makes
//! it ready. The goroutine takes its nodes off all lists before it goes on.

use std::io;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8};

use libc::{EPOLLERR, EPOLLET, EPOLLHUP, EPOLLIN, EPOLLONESHOT, EPOLLOUT, EPOLLPRI, EPOLLRDHUP};

use crate::runtime::data::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::{G, Mutex};
use crate::runtime::lock::mutex::lock_ranked;
use crate::runtime::lock::rank::LockRank;
use crate::runtime::lock::unlock;
use crate::runtime::netpoll::epoll::arm_marked;
use crate::runtime::netpoll::netpoll_adjust_waiters;
use crate::runtime::sched::ready::goready;
use crate::runtime::stdpark::known::{Look, Word};

/// The kernel reports these whatever it was asked for.
const ALWAYS: u32 = (EPOLLERR | EPOLLHUP) as u32;

/// The events that the kernel reports for a socket that is known.
const CHANGES: u32 = (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET) as u32;

/// The entry of a descriptor's number. All zero, it is unused.
#[repr(C, align(64))]
pub(super) struct Entry {
    /// Protects the cells.
    lock: Mutex,
    pub(super) first: Cell<*const Node>,
    last: Cell<*const Node>,
    /// The events that the nodes wait for, and perhaps more.
    wanted: Cell<u32>,
    /// How many nodes aren't exclusive.
    shared: Cell<u32>,
    /// Whether the number was registered, as far as we know.
    pub(super) registered: Cell<bool>,
    /// Whether a `PollDesc` has the number. Written with the lock held.
    pub(super) owned: AtomicBool,
    /// The knowledge about the description: see `known.rs`.
    pub(super) word: Word,
    /// The time since when a goroutine is about to accept a connection, 0 if none is: see
    /// `socket.rs`.
    pub(super) accepting: AtomicI64,
    /// The kind of the number's description: see `operation.rs`.
    pub(super) kind: AtomicU8,
    /// How many nodes there are; read without the lock.
    pub(super) queued: AtomicU32,
    /// How often a goroutine has parked here.
    pub(super) parks: AtomicU64,
}

// SAFETY: the lock protects the cells.
unsafe impl Sync for Entry {}

/// A wait for one descriptor or several, on the goroutine's stack.
pub(super) struct Wait {
    pub(super) gp: &'static G,
    /// `WAITS`, the goroutine once it has parked, or how the wait has ended.
    pub(super) state: AtomicPtr<G>,
}

pub(super) const WAITS: *mut G = ptr::null_mut();
pub(super) const READY: *mut G = ptr::without_provenance_mut(1);
pub(super) const TIMED_OUT: *mut G = ptr::without_provenance_mut(2);
pub(super) const CLOSED: *mut G = ptr::without_provenance_mut(3);
/// How a wait has ended that is to begin anew: see `watch.rs`.
pub(super) const ANEW: *mut G = ptr::without_provenance_mut(4);

/// What [`Wait::end`] has found.
pub(super) enum Found {
    /// The goroutine has parked: the caller makes it ready.
    Parked(&'static G),
    /// The goroutine hasn't parked yet, and won't.
    Running,
    /// The wait has ended before.
    Ended,
}

impl Wait {
    /// Ends the wait. The caller doesn't touch the wait afterwards, as it may be gone.
    pub(super) fn end(&self, how: *mut G) -> Found {
        let gp = self.gp;
        let change = |state| (!is_end(state)).then_some(how);
        // Release and acquire pair with commit, and with the goroutine that goes on, which sees all
        // earlier writes.
        match self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, change) {
            Ok(state) if state == WAITS => Found::Running,
            Ok(_) => Found::Parked(gp),
            Err(_) => Found::Ended,
        }
    }
}

fn is_end(state: *mut G) -> bool {
    [READY, TIMED_OUT, CLOSED, ANEW].contains(&state)
}

/// A wait's place in the list of one descriptor. The entry's lock protects the cells.
pub(super) struct Node {
    wait: *const Wait,
    fd: RawFd,
    pub(super) entry: &'static Entry,
    /// The events that it waits for.
    events: u32,
    exclusive: bool,
    pub(super) how: How,
    /// Whether the node was there at the last look of `watch.rs`.
    old: Cell<bool>,
    /// The events that were reported when an event has ended the wait.
    pub(super) seen: Cell<u32>,
    queued: Cell<bool>,
    prev: Cell<*const Node>,
    next: Cell<*const Node>,
}

/// How the kernel is made to report the events of a wait.
#[derive(Clone, Copy)]
pub(super) enum How {
    /// The registration is armed for the wait's events.
    Armed,
    /// The registration is armed for all changes. The socket is known from then on, unless its word
    /// has changed since this look, or other nodes wait for the same events.
    ToBeKnown(Look),
    /// The socket was known at this look at its word.
    Known(Look),
}

/// The result of [`Node::queue`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Queued {
    Waits,
    /// Something has happened since the call, which is to be made again.
    Again,
    /// The kernel can't wait for the descriptor, for example a regular file.
    Cannot,
}

impl Node {
    pub(super) fn new(
        wait: &Wait,
        fd: RawFd,
        entry: &'static Entry,
        events: u32,
        exclusive: bool,
        how: How,
    ) -> Self {
        Node {
            wait,
            fd,
            entry,
            events,
            exclusive,
            how,
            old: Cell::new(false),
            seen: Cell::new(0),
            queued: Cell::new(false),
            prev: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        }
    }

    /// Queues the node, and makes the kernel report its events. A file among the descriptors of a
    /// poll isn't queued: it is as ready as it was when the kernel was asked, and that doesn't
    /// change.
    pub(super) fn queue(&self) -> Queued {
        let mut queued = Queued::Cannot;
        wake(self.entry, |woken| {
            if !self.entry.owned.load(Ordering::Relaxed) {
                queued = match self.how {
                    How::Known(look) => self.queue_known(look),
                    How::Armed | How::ToBeKnown(_) => self.queue_armed(woken),
                };
            }
        });
        queued
    }

    fn queue_known(&self, look: Look) -> Queued {
        let entry = self.entry;
        if !entry.is_alone(self) {
            entry.word.ask_again();
            return Queued::Again;
        }
        // An event is handled with the lock held, and a close changes the word before it takes the
        // lock.
        if !entry.word.is_still(look) {
            return Queued::Again;
        }
        entry.push(self);
        Queued::Waits
    }

    fn queue_armed(&self, woken: &mut Woken<'_>) -> Queued {
        let entry = self.entry;
        match self.how {
            How::ToBeKnown(look) if entry.is_alone(self) => _ = entry.word.make_known(look),
            // The registration is armed for this wait, and the others on the list.
            _ if entry.word.look().is_known() => entry.word.ask_again(),
            _ => {}
        }
        entry.push(self);
        // Pairs with the fence in after_close: either after_close sees this node, or the kernel
        // finds the number closed.
        fence(Ordering::SeqCst);
        match entry.arm(self.fd) {
            Ok(Description::Same) => Queued::Waits,
            Ok(Description::Another) => {
                entry.end_others(self, woken);
                Queued::Waits
            }
            Err(error) => {
                entry.word.ask_again();
                entry.remove(self);
                // The others wait for a description that could be armed, so it is another one.
                entry.end_all(CLOSED, woken);
                let is_file = error.raw_os_error() == Some(libc::EPERM);
                if is_file && !self.exclusive { Queued::Waits } else { Queued::Cannot }
            }
        }
    }

    /// Takes the node off the list, if it is there.
    pub(super) fn leave(&self) {
        self.entry.lock();
        if self.queued.get() {
            self.entry.remove(self);
        }
        self.entry.unlock();
    }
}

/// Which description a number has.
pub(super) enum Description {
    /// The description that it had when it was armed before, as far as can be known.
    Same,
    Another,
}

impl Entry {
    pub(super) fn lock(&self) {
        lock_ranked(&self.lock, LockRank::STD_DESC);
    }

    pub(super) fn unlock(&self) {
        unlock(&self.lock);
    }

    /// Puts a node at the end of the list. The lock is held.
    fn push(&self, node: &Node) {
        let last = self.last.replace(node);
        node.prev.set(last);
        node.next.set(ptr::null());
        node.queued.set(true);
        // SAFETY: null, or a node on the list, which stays where it is until it was taken off.
        match unsafe { last.as_ref() } {
            Some(last) => last.next.set(node),
            None => self.first.set(node),
        }
        self.wanted.update(|wanted| wanted | node.events);
        self.shared.update(|shared| shared + u32::from(!node.exclusive));
        self.queued.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes a node off the list. The lock is held.
    fn remove(&self, node: &Node) {
        let (prev, next) = (node.prev.get(), node.next.get());
        // SAFETY: null, or a node on the list, which stays where it is until it was taken off.
        unsafe {
            match prev.as_ref() {
                Some(prev) => prev.next.set(next),
                None => self.first.set(next),
            }
            match next.as_ref() {
                Some(next) => next.prev.set(prev),
                None => self.last.set(prev),
            }
        }
        node.queued.set(false);
        self.shared.update(|shared| shared - u32::from(!node.exclusive));
        self.queued.fetch_sub(1, Ordering::Relaxed);
    }

    /// Calls `f` for each node. `f` may take the node off the list. The lock is held.
    fn each(&self, mut f: impl FnMut(&Node)) {
        self.each_until(|node| {
            f(node);
            false
        });
    }

    /// [`each`](Self::each) until `f` returns true.
    fn each_until(&self, mut f: impl FnMut(&Node) -> bool) {
        let mut at = self.first.get();
        // SAFETY: null, or a node on the list, which stays where it is until it was taken off.
        while let Some(node) = unsafe { at.as_ref() } {
            at = node.next.get();
            if f(node) {
                return;
            }
        }
    }

    /// Whether no node on the list polls, and no two nodes, `node` included, wait for the same
    /// event. The lock is held.
    fn is_alone(&self, node: &Node) -> bool {
        let (mut alone, mut events) = (true, node.events);
        self.each(|other| {
            alone &= other.exclusive && other.events & events == 0;
            events |= other.events;
        });
        alone
    }

    /// Ends all waits if one of them is old; otherwise marks all as old. Returns whether it has
    /// marked any. The lock is held, and the socket is known.
    pub(super) fn renew(&self, woken: &mut Woken<'_>) -> bool {
        let (mut any, mut is_old) = (false, false);
        self.each(|node| {
            any = true;
            is_old |= node.old.replace(true);
        });
        if is_old {
            self.word.ask_again();
            self.end_all(ANEW, woken);
        }
        any && !is_old
    }

    /// Makes the kernel report all changes of a known socket; of others, once, the events that the
    /// nodes on the list wait for. The lock is held.
    pub(super) fn arm(&self, fd: RawFd) -> io::Result<Description> {
        let was_registered = self.registered.get();
        let known = self.word.look().is_known();
        let events = if known { CHANGES } else { self.wanted.get() | EPOLLONESHOT as u32 };
        let armed = arm_marked(fd, events, was_registered);
        self.registered.set(armed.is_ok());
        let same = armed? || !was_registered;
        Ok(if same { Description::Same } else { Description::Another })
    }

    /// Takes a node off the list, and ends its wait, unless the wait has ended before. Returns
    /// whether this has ended it. The lock is held.
    fn end(&self, node: &Node, how: *mut G, woken: &mut Woken<'_>) -> bool {
        self.remove(node);
        // SAFETY: the node was on the list, so the goroutine is in its wait. The wait may be gone
        // from here on.
        match unsafe { &*node.wait }.end(how) {
            Found::Parked(gp) => woken.push(gp),
            Found::Running => {}
            Found::Ended => return false,
        }
        true
    }

    /// Ends all waits. The lock is held.
    pub(super) fn end_all(&self, how: *mut G, woken: &mut Woken<'_>) {
        self.each(|node| {
            self.end(node, how, woken);
        });
    }

    /// Ends all waits but `but`. They are for a description whose number was closed, unseen, and
    /// belongs to another description now. They would take that description's data. The lock is
    /// held.
    fn end_others(&self, but: &Node, woken: &mut Woken<'_>) {
        self.each(|node| {
            if !ptr::eq(node, but) {
                self.end(node, CLOSED, woken);
            }
        });
    }

    /// Ends the waits of the nodes on the list that wait for `events`. The lock is held.
    pub(super) fn report(&self, events: u32, woken: &mut Woken<'_>) {
        let (mut taken, mut any) = (0, false);
        self.each_until(|node| {
            let seen = events & (node.events | ALWAYS);
            // An event that has woken an exclusive node is used up, and doesn't wake the next.
            if seen == 0 || node.exclusive && seen & !taken == 0 {
                return false;
            }
            node.seen.set(seen);
            // The node may be gone when its wait has ended.
            let takes = if node.exclusive { node.events } else { 0 };
            any = true;
            if self.end(node, READY, woken) {
                taken |= takes;
            }
            let left = events & (self.wanted.get() | ALWAYS) & !taken;
            left == 0 && self.shared.get() == 0
        });
        // Otherwise events that no node waits for any more would be reported again and again.
        if !any || self.first.get().is_null() {
            self.wanted.set(0);
            self.each(|node| self.wanted.update(|wanted| wanted | node.events));
        }
    }
}

/// Goroutines that have parked, to be made ready when no lock is held.
pub(super) struct Woken<'a> {
    pub(super) to_run: &'a GQueue,
    pub(super) n: i32,
}

impl Woken<'_> {
    fn push(&mut self, gp: &'static G) {
        self.to_run.push_back(gp);
        self.n += 1;
    }
}

/// Calls `f`, which ends waits with the lock of `entry` held, and makes the goroutines ready.
pub(super) fn wake(entry: &Entry, f: impl FnOnce(&mut Woken<'_>)) {
    let to_run = GQueue::default();
    let mut woken = Woken { to_run: &to_run, n: 0 };
    entry.lock();
    f(&mut woken);
    entry.unlock();
    let n = woken.n;
    while let Some(gp) = to_run.pop() {
        goready(gp);
    }
    netpoll_adjust_waiters(-n);
}
