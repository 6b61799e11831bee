//! Observers: goroutines that wait until an operation can be done, and don't do it. Go has none.
//!
//! - An observer is in no queue of a channel, so operations don't meet it there. Its sudogs are in
//!   a table, by the addresses of their channels. A channel that has observers has the mark
//!   [`OBSERVED`] in [`Hchan::closed`], and its operations come here from the paths of special
//!   channels. Other channels pay nothing.
//! - A value that comes into the buffer, and a sender that begins to wait, wake all observers that
//!   wait to receive. Room in the buffer, and a receiver that begins to wait, wake all that wait to
//!   send. A close wakes all observers, also those that wait for nothing else.
//! - All of them are woken, because an observer needn't do the operation that it has waited for. No
//!   other one would be woken for that operation then.
//! - The observers are taken out with the channel's lock held, in which the operation is done. They
//!   are made ready after the unlock. An operation that parks makes them ready on g0.
//! - An observer that was woken leaves all its channels, and looks again with the locks of all of
//!   them. So it misses nothing that happened between its wake and its look: a thread that finds an
//!   observer woken already needn't wake it.
//! - Observers don't wake each other. An observer that waits to send and one that waits to receive
//!   from the same channel both wait.
//!
//! A channel's lock protects its mark, and the sudogs of its observers. The lock of a list protects
//! the links in the list.
//!
//! `loom` checks this file (`tests/loom`). Its models fail if an observer that was woken waits
//! again without a look, or if the mark is taken away while there is another observer.

use std::ffi::c_void;
use std::ptr;

use crossbeam_utils::CachePadded;

use crate::runtime::base::this::{getm, whoami};
use crate::runtime::chan::block::{Block, enter_all, park_forever, park_on_all};
use crate::runtime::chan::select::{
    How, Scase, begin_select, channel, is_ready, order_by_strategy, sellock, selparkcommit, selunlock,
};
use crate::runtime::chan::waitq::win_select;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::gqueue::GList;
use crate::runtime::data::hchan::{Hchan, OBSERVED, Waitq};
use crate::runtime::data::runtime2::{G, M, Mutex, Sudog, WaitReason};
use crate::runtime::g::sudog::release_sudog;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::prof::contention::{Wait, released};
use crate::runtime::sched::exploration::{chooses, point};
use crate::runtime::sched::ready::goready;

/// The number of lists: a prime, so that channels at regular distances share none.
const LISTS: usize = 61;

/// The observers of the channels whose addresses have one remainder, in the order in which they
/// came.
struct List {
    lock: Mutex,
    observers: Waitq,
}

// SAFETY: the lock protects the queue.
unsafe impl Sync for List {}

static TABLE: [CachePadded<List>; LISTS] =
    [const { CachePadded::new(List { lock: Mutex::new(), observers: Waitq::new() }) }; LISTS];

/// What an observer waits for: its [`Sudog::ticket`].
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Awaited {
    Receive = 0,
    Send = 1,
    /// The close of the channel.
    Close = 2,
}

impl List {
    /// Returns the list with the observers of `c`.
    fn of(c: &Hchan) -> &'static List {
        // A channel's address is a multiple of 128.
        &TABLE[ptr::from_ref(c).addr() / 128 % LISTS]
    }

    /// Takes out each observer of `c` for which `leaves` returns true. If no observer is left,
    /// takes the mark off `c`, whose lock is held.
    fn take_out(&self, c: &Hchan, leaves: impl Fn(&'static Sudog) -> bool) {
        lock(&self.lock);
        let mut is_observed = false;
        let mut next = self.observers.first.get();
        while let Some(sg) = next {
            next = sg.next.get();
            if !ptr::eq(sg.c.get(), c) {
                continue;
            }
            if leaves(sg) {
                self.observers.dequeue_sudo_g(sg);
            } else {
                is_observed = true;
            }
        }
        unlock(&self.lock);
        if !is_observed {
            c.closed.fetch_and(!OBSERVED, Ordering::Relaxed);
        }
    }
}

/// Adds the observers of `c` that wait to send, or to receive, to `list`. The caller, which holds
/// the lock of `c` and makes such an operation possible, calls [`ready_all`] after the unlock.
#[cold]
#[inline(never)]
pub(super) fn take_observers(c: &Hchan, sends: bool, list: &GList) {
    let awaited = if sends { Awaited::Send } else { Awaited::Receive };
    List::of(c).take_out(c, |sg| {
        let leaves = sg.ticket.get() == awaited as u32;
        if leaves {
            claim(sg, list);
        }
        leaves
    });
}

/// [`take_observers`] into a new list, if `c` has observers at all.
#[inline(always)]
pub(super) fn take_any_observers(c: &Hchan, sends: bool) -> Option<GList> {
    c.is_observed().then(|| {
        let list = GList::default();
        take_observers(c, sends, &list);
        list
    })
}

/// Adds all observers of `c`, which is being closed, to `list`, as [`take_observers`] does.
#[cold]
#[inline(never)]
pub(super) fn take_all_observers(c: &Hchan, list: &GList) {
    List::of(c).take_out(c, |sg| {
        claim(sg, list);
        true
    });
}

/// Adds the goroutine of `sg` to `list`, unless another thread wakes it already.
fn claim(sg: &'static Sudog, list: &GList) {
    if win_select(sg)
        && let Some(gp) = sg.g.get()
    {
        gp.param.store(ptr::from_ref(sg).cast_mut().cast(), Ordering::Relaxed);
        released(sg);
        list.push(gp);
    }
}

/// [`ready_all`], if there is a list.
#[inline(always)]
pub(super) fn ready_any(list: Option<GList>) {
    if let Some(list) = list {
        ready_all(&list);
    }
}

/// Makes all goroutines of `list` ready. No lock of a channel is held: the state of a G must not
/// change meanwhile, as in Go.
#[inline(never)]
pub(super) fn ready_all(list: &GList) {
    while let Some(gp) = list.pop() {
        gp.schedlink.set(None);
        goready(gp);
    }
}

/// The unlockf of a park for which observers have waited, on g0: unlocks the channels, and then
/// makes the observers ready.
///
/// # Safety
/// As [`selparkcommit`]. `observers` is a [`GList`] on the stack of `gp`.
pub(super) unsafe extern "C" fn observedparkcommit(gp: *mut G, observers: *mut c_void) -> bool {
    let list = GList::default();
    // SAFETY: the stack of `gp` stays as it is until selparkcommit, which takes what this takes.
    unsafe {
        list.take_from(&*observers.cast::<GList>());
        selparkcommit(gp, ptr::null_mut());
    }
    ready_all(&list);
    true
}

/// Waits until one of the cases can be done, and returns it. Nothing is done, and another goroutine
/// may do it before the caller does. Returns none if no case can be done, and `how` says not to
/// wait or the caller can't park.
///
/// The first `nsends` cases wait for `first`, which is a send or a close.
///
/// # Safety
/// As [`selectgo`](crate::chan::hchan::selectgo), except that no value or place is used.
#[inline(never)]
pub(crate) unsafe fn selectready(
    scases: &[Scase],
    order: &mut [u16],
    nsends: usize,
    first: Awaited,
    how: How,
) -> Option<usize> {
    let awaited = |o: u16| if usize::from(o) < nsends { first } else { Awaited::Receive };
    point("ready");
    // SAFETY: the caller keeps the channels. All of them are locked when one is looked at.
    // selparkcommit keeps off the stack, and returns true.
    unsafe {
        let (pollorder, lockorder) = begin_select(scases, order, nsends, how);
        // A select has a sort of its own, which is inlined there alone.
        lockorder.copy_from_slice(pollorder);
        lockorder.sort_unstable_by_key(|&o| channel(scases, o).sortkey());
        loop {
            let (gp, mp) = whoami();
            sellock(mp, scases, lockorder);
            if chooses() {
                order_by_strategy(scases, pollorder, lockorder, nsends, !how.in_order);
            }
            let can_be_done = |&&o: &&u16| {
                let c = channel(scases, o);
                match awaited(o) {
                    Awaited::Close => c.is_closed(),
                    awaited => is_ready(c, awaited == Awaited::Send),
                }
            };
            if let Some(&o) = pollorder.iter().find(can_be_done) {
                selunlock(mp, scases, lockorder);
                return Some(o.into());
            }
            let waits = how.block != Block::No && gp.is_some_and(|gp| how.block.waits(gp));
            let (true, Some(gp), Some(mp)) = (waits, gp, mp) else {
                selunlock(mp, scases, lockorder);
                return None;
            };
            if lockorder.is_empty() {
                park_forever(how.block, WaitReason::Select);
                return None;
            }
            let wait = Wait::begin();
            enter_all(gp, mp, scases, lockorder, wait, |sg, o, c| observe(sg, c, awaited(o)));
            park_on_all(gp, mp, scases, lockorder, how.block, &GList::default());
            let mp = getm();
            sellock(Some(mp), scases, lockorder);
            let woken = leave_all(gp, mp);
            selunlock(Some(mp), scases, lockorder);
            wait.end(woken.unwrap_or_default());
            woken?; // aborted
        }
    }
}

/// Makes `sg` an observer of `c`, which is locked.
fn observe(sg: &'static Sudog, c: &Hchan, awaited: Awaited) {
    sg.ticket.set(awaited as u32);
    c.closed.fetch_or(OBSERVED, Ordering::Relaxed);
    let list = List::of(c);
    lock(&list.lock);
    list.observers.enqueue(sg);
    unlock(&list.lock);
}

/// Makes the running goroutine no observer any more. Returns when it was woken, which is 0 if its
/// wait isn't measured, or none if it was aborted. Its channels are locked.
fn leave_all(gp: &'static G, mp: &'static M) -> Option<i64> {
    gp.select_done.store(0, Ordering::Relaxed);
    let woken: *const Sudog = gp.param.swap(ptr::null_mut(), Ordering::Relaxed).cast_const().cast();
    let mut releasetime = None;
    let mut next = gp.waiting.get();
    gp.waiting.set(None);
    while let Some(sg) = next {
        // SAFETY: the caller keeps the channels.
        let c = unsafe { &*sg.c.get() };
        List::of(c).take_out(c, |other| ptr::eq(other, sg));
        if ptr::eq(sg, woken) {
            releasetime = Some(sg.releasetime.get());
        }
        next = sg.waitlink.get();
        sg.waitlink.set(None);
        sg.is_select.set(false);
        sg.ticket.set(0);
        sg.c.set(ptr::null());
        release_sudog(mp, sg);
    }
    releasetime
}
