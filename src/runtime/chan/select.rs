//! Select, without types: Go's `select.go`.
//!
//! A select locks all its channels in the order of their addresses, so that two selects can't wait
//! for each other's locks. Then it looks at the cases in a random order, so that no case starves,
//! or in an order that the caller gives. If no case is ready, it puts a sudog into each channel's
//! queue and parks. A goroutine that wants to wake the select must first change `g.select_done`
//! from 0 to 1, so only one goroutine wakes it. Then the select takes its other sudogs back.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::rand::cheaprandn;
use crate::runtime::base::this::{Held, getm, hold_p, whoami};
use crate::runtime::chan::block::{Block, enter_all, park_forever, park_on_all};
use crate::runtime::chan::future::wake_future;
use crate::runtime::chan::grow::shrink;
use crate::runtime::chan::observe::{ready_any, take_any_observers, take_observers};
use crate::runtime::chan::ops::{Sent, bufrecv, bufsend, chansend, received_nothing, recv, send};
use crate::runtime::chan::timer_chan::maybe_run_chan;
use crate::runtime::data::gqueue::GList;
use crate::runtime::data::hchan::{FED, GROWS, Hchan};
use crate::runtime::data::runtime2::{G, M, Sudog, WaitReason};
use crate::runtime::g::sudog::release_sudog;
use crate::runtime::lock::{lock_on, unlock, unlock_on};
use crate::runtime::prof::contention::Wait;
use crate::runtime::sched::exploration::{chooses, point, value};

/// A case of a select. Go's `scase`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Scase {
    /// The channel. A case without one is never chosen.
    pub c: Option<ptr::NonNull<Hchan>>,
    /// The value to send, or the place to receive to, which may be null.
    pub elem: *mut c_void,
}

/// How a select ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// This case sent its value.
    Sent(usize),
    /// This case's channel is closed, where Go panics; nothing was sent.
    SendClosed(usize),
    /// This case received a value.
    Received(usize),
    /// This case's channel is closed and empty; its place was zeroed.
    RecvClosed(usize),
    /// No case was ready, and `block` wasn't set or the caller can't park.
    None,
}

impl Hchan {
    /// Returns the key by which a select sorts its channels, to lock them. Go's `sortkey`.
    pub(super) fn sortkey(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

/// The channel of case `o`. All cases in `pollorder` and `lockorder` have one.
///
/// # Safety
/// The channel of the case stays for `'a`.
#[inline(always)]
pub(super) unsafe fn channel<'a>(scases: &[Scase], o: u16) -> &'a Hchan {
    match scases[usize::from(o)].c {
        // SAFETY: the caller keeps the channel.
        Some(c) => unsafe { &*c.as_ptr() },
        None => throw("select: case without a channel"),
    }
}

/// Locks the channels, each once. Go's `sellock`.
///
/// # Safety
/// The channels of `scases` stay until this returns. Here and below, the caller of [`selectgo`]
/// promises that.
pub(super) unsafe fn sellock(mp: Option<&'static M>, scases: &[Scase], lockorder: &[u16]) {
    let mut last: *const Hchan = ptr::null();
    for &o in lockorder {
        // SAFETY: the caller keeps the channels.
        let c = unsafe { channel(scases, o) };
        if !ptr::eq(c, last) {
            lock_on(mp, &c.lock);
            last = c;
        }
    }
}

/// Unlocks the channels, each once. Go's `selunlock`.
///
/// # Safety
/// As [`sellock`].
pub(super) unsafe fn selunlock(mp: Option<&'static M>, scases: &[Scase], lockorder: &[u16]) {
    for (i, &o) in lockorder.iter().enumerate().rev() {
        // SAFETY: the caller keeps the channels.
        let c = unsafe { channel(scases, o) };
        // SAFETY: the caller keeps this channel too.
        if i > 0 && ptr::eq(c, unsafe { channel(scases, lockorder[i - 1]) }) {
            continue; // it is unlocked at its first case in the order
        }
        unlock_on(mp, &c.lock);
    }
}

/// [`selunlock`] for an M that keeps its P while the result lives.
///
/// # Safety
/// As [`sellock`].
#[inline(always)]
unsafe fn selunlock_and_hold(mp: Option<&'static M>, scases: &[Scase], lockorder: &[u16]) -> Option<Held> {
    let held = mp.map(hold_p);
    // SAFETY: the caller keeps the channels.
    unsafe { selunlock(mp, scases, lockorder) };
    held
}

/// The unlockf of a select's park, on g0: unlocks the channels. Go's `selparkcommit`.
///
/// # Safety
/// `gp` is the G that parks, and this M holds the locks of the channels of its `waiting` list.
pub(super) unsafe extern "C" fn selparkcommit(gp: *mut G, _: *mut c_void) -> bool {
    // SAFETY: gopark passes the G that parks.
    let gp = unsafe { &*gp };
    // Both as in chanparkcommit.
    gp.active_stack_chans.set(true);
    gp.parking_on_chan.store(false, Ordering::Release);
    // The cases are on the goroutine's stack, which must not be touched here. But the goroutine's
    // sudogs are in lock order too. Once a channel is unlocked, its sudogs may change. So each
    // channel is unlocked when the walk has passed its last sudog.
    let mut last: *const Hchan = ptr::null();
    let mut next = gp.waiting.get();
    while let Some(sg) = next {
        let c = sg.c.get();
        if c != last && !last.is_null() {
            // SAFETY: a channel's memory stays a channel (`make.rs`), and this one's lock is held.
            unlock(unsafe { &(*last).lock });
        }
        last = c;
        next = sg.waitlink.get();
    }
    if !last.is_null() {
        // SAFETY: a channel's memory stays a channel (`make.rs`), and this one's lock is held.
        unlock(unsafe { &(*last).lock });
    }
    true
}

/// Parks forever, or until an abort ends that: a select without cases. Go's `block`.
///
/// # Safety
/// Called on a goroutine.
pub(crate) unsafe fn block(block: Block) {
    // SAFETY: as the caller says.
    unsafe { park_forever(block, WaitReason::SelectNoCases) };
}

/// Whether to wait if no case is ready, and the choice among those that are. One value holds both,
/// so that all arguments of [`selectgo1`] are in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct How {
    pub(crate) block: Block,
    /// The first that is ready, and not one at random.
    pub(crate) in_order: bool,
}

/// [`hchan::selectgo`](crate::chan::hchan::selectgo) without the check of the stack. Go's
/// `selectgo`.
///
/// # Safety
/// As the raw one.
#[inline(always)]
pub(crate) unsafe fn selectgo(scases: &[Scase], order: &mut [u16], nsends: usize, block: bool) -> Chosen {
    // SAFETY: the caller promises what this asks for.
    unsafe { selectgo1(scases, order, nsends, How { block: block.into(), in_order: false }) }
}

/// [`selectgo`], or a select in a given order, which Go doesn't have. The order is in `order`,
/// which begins with the numbers of all cases.
///
/// # Safety
/// As [`selectgo`].
#[inline(never)]
pub(crate) unsafe fn selectgo1(scases: &[Scase], order: &mut [u16], nsends: usize, how: How) -> Chosen {
    point("select");
    let (gp, mp) = whoami();
    // SAFETY: the caller keeps the channels, and `elem` is the value or the place that each call
    // wants. All channels are locked when one is looked at: a sudog that dequeue has returned is
    // off its queue, and qcount tells whether there is a value, or room. selparkcommit keeps off
    // the stack, and returns true.
    unsafe {
        let (pollorder, lockorder) = begin_select(scases, order, nsends, how);
        sort_by_address(scases, pollorder, lockorder);
        sellock(mp, scases, lockorder);
        if chooses() {
            order_by_strategy(scases, pollorder, lockorder, nsends, !how.in_order);
        }

        // Pass 1: is one ready?
        for &o in pollorder.iter() {
            let i = usize::from(o);
            let (c, elem) = (channel(scases, o), scases[i].elem);
            if i >= nsends {
                if let Some(sg) = c.sendq.dequeue() {
                    recv(mp, c, sg, elem, || selunlock_and_hold(mp, scases, lockorder));
                    return Chosen::Received(i);
                }
                if c.qcount.load(Ordering::Relaxed) > 0 {
                    bufrecv(c, elem);
                    let observers = take_any_observers(c, true);
                    selunlock(mp, scases, lockorder);
                    ready_any(observers);
                    return Chosen::Received(i);
                }
                if c.is_closed() {
                    selunlock(mp, scases, lockorder);
                    received_nothing(c, elem);
                    return Chosen::RecvClosed(i);
                }
            } else {
                if c.is_closed() {
                    selunlock(mp, scases, lockorder);
                    return Chosen::SendClosed(i);
                }
                if let Some(sg) = c.recvq.dequeue() {
                    send(mp, c, sg, elem, || selunlock_and_hold(mp, scases, lockorder), wake_future);
                    return Chosen::Sent(i);
                }
                if c.qcount.load(Ordering::Relaxed) < c.dataqsiz.get() {
                    bufsend(c, elem);
                    let observers = take_any_observers(c, false);
                    selunlock(mp, scases, lockorder);
                    ready_any(observers);
                    return Chosen::Sent(i);
                }
                if c.grows() {
                    selunlock(mp, scases, lockorder);
                    return send_growing(i, scases);
                }
            }
        }
        let (true, Some(gp), Some(mp)) = (how.block != Block::No, gp, mp) else {
            selunlock(mp, scases, lockorder);
            return Chosen::None;
        };
        if !how.block.waits(gp) {
            selunlock(Some(mp), scases, lockorder);
            return Chosen::None;
        }

        if lockorder.is_empty() {
            park_forever(how.block, WaitReason::Select);
            return Chosen::None;
        }

        // Pass 2: a sudog into each queue, and park.
        let wait = Wait::begin();
        let observers = GList::default();
        enter_all(gp, mp, scases, lockorder, wait, |sg, o, c| {
            let i = usize::from(o);
            sg.elem.store(scases[i].elem, Ordering::Relaxed);
            if i < nsends {
                c.sendq.enqueue(sg)
            } else {
                c.recvq.enqueue(sg)
            }
            if c.is_observed() {
                take_observers(c, i >= nsends, &observers);
            }
        });
        park_on_all(gp, mp, scases, lockorder, how.block, &observers);

        // Pass 3: take the sudogs off the other queues.
        let mp = getm();
        sellock(Some(mp), scases, lockorder);
        let (chosen, releasetime) = dequeue_from_others(gp, mp, scases, lockorder, nsends);
        selunlock(Some(mp), scases, lockorder);
        wait.end(releasetime);
        chosen
    }
}

/// Begins a select: returns the cases that have channels, in the order in which to look at them,
/// and a place for the order in which to lock them. Both are parts of `order`.
///
/// # Safety
/// As [`sellock`].
// A call here keeps the frame of an unoptimised select small.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) unsafe fn begin_select<'a>(
    scases: &[Scase],
    order: &'a mut [u16],
    nsends: usize,
    how: How,
) -> (&'a mut [u16], &'a mut [u16]) {
    let (pollorder, lockorder) = order.split_at_mut(scases.len());
    let mut norder = 0;
    if !how.in_order {
        // pollorder: a random permutation, made by inserting each case at a random place (Fisher
        // and Yates).
        for (i, scase) in scases.iter().enumerate() {
            if scase.c.is_some() {
                let j = cheaprandn(norder as u32 + 1) as usize;
                pollorder[norder] = pollorder[j];
                pollorder[j] = i as u16;
                norder += 1;
            }
        }
    } else {
        for i in 0..scases.len() {
            if scases[usize::from(pollorder[i])].c.is_some() {
                // A swap keeps `order` a permutation, as the next call wants it.
                pollorder.swap(norder, i);
                norder += 1;
            }
        }
    }
    let (pollorder, lockorder) = (&mut pollorder[..norder], &mut lockorder[..norder]);
    // SAFETY: the caller keeps the channels.
    unsafe { prepare_receives(&scases[nsends..]) };
    (pollorder, lockorder)
}

/// Runs the timers of channels that timers feed, if they are due: so all that are due have the same
/// chance. And gives back large buffers of channels that grow, if they are empty.
///
/// # Safety
/// As [`sellock`].
#[inline(always)]
unsafe fn prepare_receives(receives: &[Scase]) {
    for c in receives.iter().filter_map(|scase| scase.c) {
        // SAFETY: the caller keeps the channels.
        let c = unsafe { c.as_ref() };
        if c.closed.load(Ordering::Relaxed) & (FED | GROWS) != 0 {
            prepare_receive(c);
        }
    }
}

/// [`prepare_receives`] for a channel that a timer feeds, or that grows.
#[cold]
#[inline(never)]
fn prepare_receive(c: &Hchan) {
    if !c.grows() {
        maybe_run_chan(c);
    } else if c.qcount.load(Ordering::Relaxed) == 0 {
        let (_, mp) = whoami();
        lock_on(mp, &c.lock);
        let (_, mp) = shrink(mp, c);
        unlock_on(mp, &c.lock);
    }
}

/// Sends the value of case `i`, whose channel grows. Such a send is always ready, so the case is
/// chosen before there is room. To select once more after making room could go on for ever:
/// receivers that find the channel empty take the room away (`grow.rs`).
///
/// # Safety
/// As [`selectgo`]. No channel is locked.
#[cold]
#[inline(never)]
unsafe fn send_growing(i: usize, scases: &[Scase]) -> Chosen {
    // SAFETY: as the caller says.
    match unsafe { chansend(scases[i].c, scases[i].elem, Block::No) } {
        Sent::Done => Chosen::Sent(i),
        Sent::Closed => Chosen::SendClosed(i),
        Sent::Full => throw("selectgo: a channel that grows is full"),
    }
}

/// Fills `lockorder` with the cases of `pollorder`, sorted by their channels' addresses. It uses a
/// heap sort, which needs no memory and at most n log n steps.
///
/// # Safety
/// As [`sellock`].
unsafe fn sort_by_address(scases: &[Scase], pollorder: &[u16], lockorder: &mut [u16]) {
    // SAFETY: the caller keeps the channels.
    let key = |o: u16| unsafe { channel(scases, o) }.sortkey();
    for (i, &o) in pollorder.iter().enumerate() {
        let mut j = i;
        while j > 0 && key(lockorder[(j - 1) / 2]) < key(o) {
            lockorder[j] = lockorder[(j - 1) / 2];
            j = (j - 1) / 2;
        }
        lockorder[j] = o;
    }
    for i in (0..lockorder.len()).rev() {
        let o = lockorder[i];
        lockorder[i] = lockorder[0];
        let mut j = 0;
        loop {
            let mut k = j * 2 + 1;
            if k >= i {
                break;
            }
            if k + 1 < i && key(lockorder[k]) < key(lockorder[k + 1]) {
                k += 1;
            }
            if key(o) >= key(lockorder[k]) {
                break;
            }
            lockorder[j] = lockorder[k];
            j = k;
        }
        lockorder[j] = o;
    }
}

/// If `any` ready case may be done, lets the exploration choose one, and puts that case first in
/// `pollorder`. Also sorts the cases of one channel in `lockorder` as they are written, so that
/// they wait there in that order: a sort by addresses alone leaves their order to chance. The
/// channels are locked in `lockorder`, and stay locked.
///
/// # Safety
/// As [`channel`].
#[cold]
pub(super) unsafe fn order_by_strategy(
    scases: &[Scase],
    pollorder: &mut [u16],
    lockorder: &mut [u16],
    nsends: usize,
    any: bool,
) {
    // SAFETY: the caller keeps the channels.
    let channel = |o: u16| unsafe { channel(scases, o) };
    lockorder.sort_unstable_by_key(|&o| (ptr::from_ref(channel(o)).addr(), o));
    if !any {
        return;
    }
    pollorder.sort_unstable();
    let is_ready =
        |&place: &usize| is_ready(channel(pollorder[place]), usize::from(pollorder[place]) < nsends);
    let ready: Vec<usize> = (0..pollorder.len()).filter(is_ready).collect();
    if ready.len() > 1 {
        pollorder.swap(0, ready[value(ready.len())]);
    }
}

/// Whether a send or a receive can be done without waiting. `c` is locked.
pub(super) fn is_ready(c: &Hchan, sends: bool) -> bool {
    let qcount = c.qcount.load(Ordering::Relaxed);
    let open = if sends {
        c.recvq.has_waiter() || qcount < c.dataqsiz.get() || c.grows()
    } else {
        c.sendq.has_waiter() || qcount > 0
    };
    open || c.is_closed()
}

/// Takes the sudogs off all queues. The sudog of the case that woke the goroutine is off its queue
/// already. There is none if the goroutine was aborted. Returns how that case ended, and when it
/// ended if the wait is measured. The channels are locked.
///
/// # Safety
/// As [`sellock`].
unsafe fn dequeue_from_others(
    gp: &'static G,
    mp: &'static M,
    scases: &[Scase],
    lockorder: &[u16],
    nsends: usize,
) -> (Chosen, i64) {
    gp.select_done.store(0, Ordering::Relaxed);
    let woken: *const Sudog = gp.param.swap(ptr::null_mut(), Ordering::Relaxed).cast_const().cast();
    // First, all elems are cleared: copystack walks gp.waiting and must find no old elem.
    let mut next = gp.waiting.get();
    while let Some(sg) = next {
        sg.is_select.set(false);
        sg.elem.store(ptr::null_mut(), Ordering::Relaxed);
        sg.c.set(ptr::null());
        next = sg.waitlink.get();
    }
    let mut next = gp.waiting.get();
    gp.waiting.set(None);
    let mut chosen = (Chosen::None, 0);
    for &o in lockorder {
        let i = usize::from(o);
        let Some(sg) = next else { throw("selectgo: bad waiting list") };
        if ptr::eq(sg, woken) {
            let how = match (i < nsends, sg.success.get()) {
                (true, true) => Chosen::Sent(i),
                (true, false) => Chosen::SendClosed(i),
                (false, true) => Chosen::Received(i),
                (false, false) => Chosen::RecvClosed(i),
            };
            chosen = (how, sg.releasetime.get());
        } else {
            // SAFETY: the caller keeps the channels.
            let c = unsafe { channel(scases, o) };
            let q = if i < nsends { &c.sendq } else { &c.recvq };
            q.dequeue_sudo_g(sg);
        }
        next = sg.waitlink.get();
        sg.waitlink.set(None);
        release_sudog(mp, sg);
    }
    if chosen.0 == Chosen::None && gp.ext.leave.get().is_none() {
        throw("selectgo: bad wakeup");
    }
    chosen
}
