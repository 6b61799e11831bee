//! Select, without types: Go's `select.go`.
//!
//! A select locks all its channels, in the order of their addresses, so that no two selects
//! can wait for each other. Then it looks at them in a random order, so that no case starves.
//! If none is ready it enters itself in all their queues and parks; whoever wakes it has won
//! `g.select_done`, so only one does; and it takes itself off the other queues.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::chan::hchan::Hchan;
use crate::chan::ops::{bufrecv, bufsend, received_nothing, recv, send};
use crate::lock::{lock_on, unlock, unlock_on};
use crate::panic::throw;
use crate::proc::m::getm;
use crate::proc::park::{gopark, gopark_on, whoami};
use crate::proc::sudog::{acquire_sudog, release_sudog};
use crate::rand::cheaprandn;
use crate::runtime2::{G, M, Sudog, TraceBlockReason, WaitReason};

/// A case of a select. Go's `scase`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Scase {
    /// The channel; none never gets its turn.
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
    /// No case was ready, and it was not to wait, or is on no goroutine.
    None,
}

impl Hchan {
    /// The order that selects lock channels in. Go's `sortkey`.
    fn sortkey(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

/// The channel of case `o`, which is in one of the orders and so has one.
///
/// # Safety
/// The channel stays.
#[inline(always)]
unsafe fn channel<'a>(scases: &[Scase], o: u16) -> &'a Hchan {
    match scases[usize::from(o)].c {
        // SAFETY: the caller's.
        Some(c) => unsafe { &*c.as_ptr() },
        None => throw("select: case without a channel"),
    }
}

/// Locks the channels, each once. Go's `sellock`.
unsafe fn sellock(mp: Option<&'static M>, scases: &[Scase], lockorder: &[u16]) {
    let mut last: *const Hchan = ptr::null();
    for &o in lockorder {
        // SAFETY: selgo's caller's.
        let c = unsafe { channel(scases, o) };
        if !ptr::eq(c, last) {
            lock_on(mp, &c.lock);
            last = c;
        }
    }
}

/// Unlocks them. Go's `selunlock`.
unsafe fn selunlock(mp: Option<&'static M>, scases: &[Scase], lockorder: &[u16]) {
    for (i, &o) in lockorder.iter().enumerate().rev() {
        // SAFETY: selgo's caller's.
        let c = unsafe { channel(scases, o) };
        // SAFETY: likewise.
        if i > 0 && ptr::eq(c, unsafe { channel(scases, lockorder[i - 1]) }) {
            continue; // at its first case
        }
        unlock_on(mp, &c.lock);
    }
}

/// What a select's park does on g0: unlocks the channels. Go's `selparkcommit`.
unsafe extern "C" fn selparkcommit(gp: *mut G, _: *mut c_void) -> bool {
    // SAFETY: gopark passes the G that parks.
    let gp = unsafe { &*gp };
    gp.active_stack_chans.set(true);
    gp.parking_on_chan.store(false, Ordering::Release);
    // Not by way of the cases, which are on its stack: its sudogs are in lock order. Once a
    // channel is unlocked, a sudog on it may change, so each is unlocked when the walk has
    // left its last sudog.
    let mut last: *const Hchan = ptr::null();
    let mut next = gp.waiting.get();
    while let Some(sg) = next {
        let c = sg.c.get();
        if c != last && !last.is_null() {
            // SAFETY: the channel of a waiting sudog; a channel's memory outlives it.
            unlock(unsafe { &(*last).lock });
        }
        last = c;
        next = sg.waitlink.get();
    }
    if !last.is_null() {
        // SAFETY: likewise.
        unlock(unsafe { &(*last).lock });
    }
    true
}

/// A select without cases: parks forever. Go's `block`.
///
/// # Safety
/// On a goroutine.
pub(crate) unsafe fn block() {
    // SAFETY: nobody will make it ready.
    unsafe { gopark(None, ptr::null_mut(), WaitReason::SelectNoCases, TraceBlockReason::Forever, 1) }
}

/// Does one of the cases: the first `nsends` send, the others receive. Waits until one is
/// ready, if `block` is set. Go's `selectgo`.
///
/// # Safety
/// `scases` are `nsends` values to send and places to receive to, each of its channel's type;
/// the channels stay until this returns. `order` has room for two numbers a case.
#[inline(never)]
pub(crate) unsafe fn selectgo(scases: &[Scase], order: &mut [u16], nsends: usize, block: bool) -> Chosen {
    let (pollorder, lockorder) = order.split_at_mut(scases.len());
    let (gp, mp) = whoami();

    // A random order to look at them: each case is put where a random one before it was.
    let mut norder = 0;
    for (i, scase) in scases.iter().enumerate() {
        if scase.c.is_some() {
            let j = cheaprandn(norder as u32 + 1) as usize;
            pollorder[norder] = pollorder[j];
            pollorder[j] = i as u16;
            norder += 1;
        }
    }
    let (pollorder, lockorder) = (&pollorder[..norder], &mut lockorder[..norder]);
    // SAFETY: the caller's, here and below: channels stay, elems are what they should be.
    unsafe {
        sort_by_address(scases, pollorder, lockorder);
        sellock(mp, scases, lockorder);

        // Pass 1: is one ready?
        for &o in pollorder {
            let i = usize::from(o);
            let (c, elem) = (channel(scases, o), scases[i].elem);
            if i >= nsends {
                if let Some(sg) = c.sendq.dequeue() {
                    recv(mp, c, sg, elem, || selunlock(mp, scases, lockorder));
                    return Chosen::Received(i);
                }
                if c.qcount.load(Ordering::Relaxed) > 0 {
                    bufrecv(c, elem);
                    selunlock(mp, scases, lockorder);
                    return Chosen::Received(i);
                }
                if c.closed.load(Ordering::Relaxed) != 0 {
                    selunlock(mp, scases, lockorder);
                    received_nothing(c, elem);
                    return Chosen::RecvClosed(i);
                }
            } else {
                if c.closed.load(Ordering::Relaxed) != 0 {
                    selunlock(mp, scases, lockorder);
                    return Chosen::SendClosed(i);
                }
                if let Some(sg) = c.recvq.dequeue() {
                    send(mp, c, sg, elem, || selunlock(mp, scases, lockorder));
                    return Chosen::Sent(i);
                }
                if c.qcount.load(Ordering::Relaxed) < c.dataqsiz {
                    bufsend(c, elem);
                    selunlock(mp, scases, lockorder);
                    return Chosen::Sent(i);
                }
            }
        }
        let (true, Some(gp), Some(mp)) = (block, gp, mp) else {
            selunlock(mp, scases, lockorder);
            return Chosen::None;
        };

        // Pass 2: wait for all of them.
        enqueue_on_all(gp, mp, scases, lockorder, nsends);
        gp.param.store(ptr::null_mut(), Ordering::Relaxed);
        gp.parking_on_chan.store(true, Ordering::Relaxed);
        let commit = Some(selparkcommit as _);
        gopark_on(gp, mp, commit, ptr::null_mut(), WaitReason::Select, TraceBlockReason::Select, 1);
        gp.active_stack_chans.set(false);

        // Pass 3: off the other queues.
        let mp = getm();
        sellock(Some(mp), scases, lockorder);
        let chosen = dequeue_from_others(gp, mp, scases, lockorder, nsends);
        selunlock(Some(mp), scases, lockorder);
        chosen
    }
}

/// Fills `lockorder` with the cases of `pollorder`, by their channels' addresses: a heap sort,
/// which needs no memory and no luck.
unsafe fn sort_by_address(scases: &[Scase], pollorder: &[u16], lockorder: &mut [u16]) {
    // SAFETY: selectgo's caller's.
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

/// Enters the running goroutine in the queues of all cases; its `waiting` list is in lock
/// order.
unsafe fn enqueue_on_all(gp: &'static G, mp: &'static M, scases: &[Scase], lockorder: &[u16], nsends: usize) {
    if !gp.waiting.is_null() {
        throw("gp.waiting != nil");
    }
    let mut last: Option<&'static Sudog> = None;
    for &o in lockorder {
        let i = usize::from(o);
        // SAFETY: selectgo's caller's.
        let c = unsafe { channel(scases, o) };
        let sg = acquire_sudog(mp);
        sg.g.set(Some(gp));
        sg.is_select.set(true);
        sg.elem.store(scases[i].elem, Ordering::Relaxed);
        sg.releasetime.set(0);
        sg.c.set(c);
        match last {
            None => gp.waiting.set(Some(sg)),
            Some(last) => last.waitlink.set(Some(sg)),
        }
        last = Some(sg);
        if i < nsends { c.sendq.enqueue(sg) } else { c.recvq.enqueue(sg) }
    }
}

/// Takes the goroutine off all queues but that of the case that woke it, and says which that
/// was. The channels are locked.
unsafe fn dequeue_from_others(
    gp: &'static G,
    mp: &'static M,
    scases: &[Scase],
    lockorder: &[u16],
    nsends: usize,
) -> Chosen {
    gp.select_done.store(0, Ordering::Relaxed);
    let woken: *const Sudog = gp.param.swap(ptr::null_mut(), Ordering::Relaxed).cast_const().cast();
    // All elems first: who walks gp.waiting must find none of the old ones.
    let mut next = gp.waiting.get();
    while let Some(sg) = next {
        sg.is_select.set(false);
        sg.elem.store(ptr::null_mut(), Ordering::Relaxed);
        sg.c.set(ptr::null());
        next = sg.waitlink.get();
    }
    let mut next = gp.waiting.get();
    gp.waiting.set(None);
    let mut chosen = Chosen::None;
    for &o in lockorder {
        let i = usize::from(o);
        let Some(sg) = next else { throw("selectgo: bad waiting list") };
        if ptr::eq(sg, woken) {
            chosen = match (i < nsends, sg.success.get()) {
                (true, true) => Chosen::Sent(i),
                (true, false) => Chosen::SendClosed(i),
                (false, true) => Chosen::Received(i),
                (false, false) => Chosen::RecvClosed(i),
            };
        } else {
            // SAFETY: selectgo's caller's.
            let c = unsafe { channel(scases, o) };
            if i < nsends { c.sendq.dequeue_sudo_g(sg) } else { c.recvq.dequeue_sudo_g(sg) }
        }
        next = sg.waitlink.get();
        sg.waitlink.set(None);
        release_sudog(mp, sg);
    }
    if chosen == Chosen::None {
        throw("selectgo: bad wakeup");
    }
    chosen
}
