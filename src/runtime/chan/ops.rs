//! Sending and receiving, and the ring of values that is a channel's buffer: the larger part of
//! Go's `chan.go`.
//!
//! Five kinds of channels are special: a channel that is closed, a channel that was made in an
//! exploration, whose operations are points, a channel that a timer feeds, a channel whose buffer
//! grows, and a channel with observers. One word, [`Hchan::closed`], tells whether a channel is
//! special, so other channels pay nothing.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use crate::runtime::arch::tsan;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{Held, whoami};
use crate::runtime::chan::block::{Block, leave_channel, park_forever};
use crate::runtime::chan::future::{Woken, end_future_wait, wake_future};
use crate::runtime::chan::grow::{make_room, shrink};
use crate::runtime::chan::observe::{observedparkcommit, ready_any, take_any_observers};
use crate::runtime::chan::timer_chan::maybe_run_chan;
use crate::runtime::data::cell::Cell;
use crate::runtime::data::gqueue::GList;
use crate::runtime::data::hchan::{CLOSED, FED, GROWS, Hchan, OBSERVED, Type, Waitq};
use crate::runtime::data::runtime2::{G, M, Mutex, Sudog, TraceBlockReason, WaitReason};
use crate::runtime::g::sudog::{acquire_sudog, release_sudog_here};
use crate::runtime::lock::{lock_on, unlock, unlock_and_hold, unlock_on};
use crate::runtime::prof::contention::{Wait, released};
use crate::runtime::sched::exploration::point;
use crate::runtime::sched::park::gopark_on;
use crate::runtime::sched::ready::ready_on;

/// How a send ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Sent {
    /// The value was moved into the buffer or to a receiver.
    Done,
    /// There is no room, and `block` wasn't set or the caller can't park, or was aborted. The value
    /// is still the caller's.
    Full,
    /// The channel is closed, where Go panics. The value is still the caller's.
    Closed,
}

/// How a receive ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Received {
    /// A value was received.
    Done,
    /// There is no value, and `block` wasn't set or the caller can't park, or was aborted.
    Empty,
    /// The channel is closed and empty; the place for the value was filled with zeros.
    Closed,
}

/// [`hchan::chansend`](crate::chan::hchan::chansend) without the check of the stack. Go's
/// `chansend`.
///
/// # Safety
/// As the raw one.
#[inline(never)]
pub(crate) unsafe fn chansend(c: Option<NonNull<Hchan>>, ep: *const c_void, block: Block) -> Sent {
    // SAFETY: the caller keeps to the contract of `hchan::chansend`.
    unsafe { chansend_and(c, ep, block, wake_future) }
}

/// [`chansend`] that doesn't wait, for callers that hold locks of the crate's. It returns the
/// future to wake.
///
/// # Safety
/// As [`chansend`].
pub(crate) unsafe fn chansend_unwoken(c: NonNull<Hchan>, ep: *const c_void) -> (Sent, Option<Woken>) {
    let mut woken = None;
    // SAFETY: the caller keeps to the contract of chansend.
    let sent = unsafe { chansend_and(Some(c), ep, Block::No, |future| woken = Some(future)) };
    (sent, woken)
}

/// [`chansend`], except that it calls `wake` for a future that gets the value.
///
/// # Safety
/// As [`chansend`].
#[inline(always)]
pub(super) unsafe fn chansend_and(
    c: Option<NonNull<Hchan>>,
    ep: *const c_void,
    block: Block,
    wake: impl FnOnce(Woken),
) -> Sent {
    let Some(c) = c else {
        if block != Block::No && whoami().0.is_some_and(|gp| block.waits(gp)) {
            // SAFETY: on a goroutine, as just checked.
            unsafe { park_forever(block, WaitReason::ChanSendNilChan) };
        }
        return Sent::Full;
    };
    // SAFETY: the caller keeps the channel until this returns.
    let c = unsafe { c.as_ref() };
    // A try that fails takes no lock. A closed channel never goes from having room to being full.
    // So if the channel wasn't closed and then was full, at some moment it was open and full. The
    // order of the two loads doesn't matter for that, as in Go.
    if block == Block::No && c.closed.load(Ordering::Relaxed) == 0 && full(c) {
        return Sent::Full;
    }
    let (mut gp, mut mp) = whoami();
    lock_on(mp, &c.lock);
    if c.closed.load(Ordering::Relaxed) != 0 {
        let Some(me) = send_marked(mp, c) else { return Sent::Closed };
        if c.is_observed() {
            // SAFETY: as the caller says; the channel is locked and open.
            return unsafe { send_observed(me, c, ep, block, wake) };
        }
        (gp, mp) = me;
    }
    // SAFETY: as the caller says; the channel is locked and open, and has no observers.
    unsafe { send_locked::<false>((gp, mp), c, ep, block, wake) }
}

/// [`send_locked`] to a channel that has observers.
///
/// # Safety
/// As [`send_locked`].
#[cold]
#[inline(never)]
unsafe fn send_observed(
    me: Me,
    c: &Hchan,
    ep: *const c_void,
    block: Block,
    wake: impl FnOnce(Woken),
) -> Sent {
    // SAFETY: as the caller says.
    unsafe { send_locked::<true>(me, c, ep, block, wake) }
}

/// The part of a send with the lock, which it releases. With `OBSERVED`, it wakes the goroutines
/// that observe whether they could receive.
///
/// # Safety
/// As [`chansend`]; `c` is locked and open, and has no observers without `OBSERVED`. `me` is what
/// [`whoami`] returns.
#[inline(always)]
unsafe fn send_locked<const OBSERVED: bool>(
    (gp, mp): Me,
    c: &Hchan,
    ep: *const c_void,
    block: Block,
    wake: impl FnOnce(Woken),
) -> Sent {
    if let Some(sg) = c.recvq.dequeue() {
        // SAFETY: a receiver waits, so the buffer is empty; the closure releases the lock, which is
        // held; sg is off its queue; `ep` is a value, as the caller says.
        unsafe { send(mp, c, sg, ep, || unlock_and_hold(mp, &c.lock), wake) };
        return Sent::Done;
    }
    if c.qcount.load(Ordering::Relaxed) < c.dataqsiz.get() {
        // SAFETY: there is room, the lock is held, and `ep` is a value, as the caller says.
        unsafe { bufsend(c, ep) };
        let observers = observers::<OBSERVED>(c, false);
        unlock_on(mp, &c.lock);
        ready_any(observers);
        return Sent::Done;
    }
    let (true, Some(gp), Some(mp)) = (block != Block::No, gp, mp) else {
        unlock_on(mp, &c.lock);
        return Sent::Full;
    };
    if !block.waits(gp) {
        unlock_on(Some(mp), &c.lock);
        return Sent::Full;
    }
    // The receiver copies the value from `ep` while this goroutine is parked.
    let (mysg, wait) = enqueue_me(gp, mp, c, &c.sendq, ep.cast_mut());
    gp.ext.leave.set(block.leave(leave_channel));
    let observers = observers::<OBSERVED>(c, false);
    park_on(gp, mp, c, observers, WaitReason::ChanSend, TraceBlockReason::ChanSend);
    if woken(gp, mysg, wait) {
        return Sent::Done;
    }
    if ended_by_close(gp, c) { Sent::Closed } else { Sent::Full }
}

/// [`hchan::chanrecv`](crate::chan::hchan::chanrecv) without the check of the stack. Go's
/// `chanrecv`.
///
/// # Safety
/// As the raw one.
#[inline(never)]
pub(crate) unsafe fn chanrecv(c: Option<NonNull<Hchan>>, ep: *mut c_void, block: Block) -> Received {
    let Some(c) = c else {
        if block != Block::No && whoami().0.is_some_and(|gp| block.waits(gp)) {
            // SAFETY: on a goroutine, as just checked.
            unsafe { park_forever(block, WaitReason::ChanReceiveNilChan) };
        }
        return Received::Empty;
    };
    // SAFETY: the caller keeps the channel until this returns.
    let c = unsafe { c.as_ref() };
    if block == Block::No && empty(c) {
        // A closed channel stays closed. It isn't closed now, so it wasn't when it was empty. All
        // these loads are SeqCst: in the other order, they would miss a value and then a close in
        // between.
        let closed = c.closed.load(Ordering::SeqCst);
        if closed == 0 {
            return Received::Empty;
        }
        // A value may have come between the first look and the close. After the close, only a value
        // that a future gives back may come.
        if closed == CLOSED && empty(c) {
            // SAFETY: the caller says that `ep` is null or a place for a value.
            unsafe { received_nothing(c, ep) };
            return Received::Closed;
        }
    }
    let (mut gp, mut mp) = whoami();
    lock_on(mp, &c.lock);
    if c.closed.load(Ordering::Relaxed) != 0 {
        // SAFETY: as the caller says; the channel is locked.
        let me = match unsafe { recv_marked(mp, c, ep) } {
            Ok(me) => me,
            Err(received) => return received,
        };
        if c.is_observed() {
            // SAFETY: as the caller says; the channel is locked and open.
            return unsafe { recv_observed(me, c, ep, block) };
        }
        (gp, mp) = me;
    }
    // SAFETY: as the caller says; the channel is locked and open, and has no observers.
    unsafe { recv_locked::<false>((gp, mp), c, ep, block) }
}

/// [`recv_locked`] from a channel that has observers.
///
/// # Safety
/// As [`recv_locked`].
#[cold]
#[inline(never)]
unsafe fn recv_observed(me: Me, c: &Hchan, ep: *mut c_void, block: Block) -> Received {
    // SAFETY: as the caller says.
    unsafe { recv_locked::<true>(me, c, ep, block) }
}

/// The part of a receive with the lock, which it releases. With `OBSERVED`, it wakes the goroutines
/// that observe whether they could send.
///
/// # Safety
/// As [`chanrecv`]; `c` is locked and open, and has no observers without `OBSERVED`. `me` is what
/// [`whoami`] returns.
#[inline(always)]
unsafe fn recv_locked<const OBSERVED: bool>(
    (gp, mp): Me,
    c: &Hchan,
    ep: *mut c_void,
    block: Block,
) -> Received {
    if let Some(sg) = c.sendq.dequeue() {
        // SAFETY: a sender waits, so the buffer is full; the closure releases the lock, which is
        // held; sg is off its queue; `ep` is what the caller says.
        unsafe { recv(mp, c, sg, ep, || unlock_and_hold(mp, &c.lock)) };
        return Received::Done;
    }
    if c.qcount.load(Ordering::Relaxed) > 0 {
        // SAFETY: the buffer has a value, the lock is held, and `ep` is what the caller says.
        unsafe { bufrecv(c, ep) };
        let observers = observers::<OBSERVED>(c, true);
        unlock_on(mp, &c.lock);
        ready_any(observers);
        return Received::Done;
    }
    let (true, Some(gp), Some(mp)) = (block != Block::No, gp, mp) else {
        unlock_on(mp, &c.lock);
        return Received::Empty;
    };
    if !block.waits(gp) {
        unlock_on(Some(mp), &c.lock);
        return Received::Empty;
    }
    let (mysg, wait) = enqueue_me(gp, mp, c, &c.recvq, ep);
    gp.ext.leave.set(block.leave(leave_channel));
    let observers = observers::<OBSERVED>(c, true);
    park_on(gp, mp, c, observers, WaitReason::ChanReceive, TraceBlockReason::ChanRecv);
    if woken(gp, mysg, wait) {
        return Received::Done;
    }
    if ended_by_close(gp, c) { Received::Closed } else { Received::Empty }
}

/// With `OBSERVED`, takes the observers of `c` that wait to send, or to receive. The lock is held.
#[inline(always)]
fn observers<const OBSERVED: bool>(c: &Hchan, sends: bool) -> Option<GList> {
    if OBSERVED { take_any_observers(c, sends) } else { None }
}

/// Copies the value at `ep` to the waiting receiver `sg`, and makes its goroutine ready. If `sg` is
/// a future's, calls `wake` instead. Go's `send`.
///
/// # Safety
/// `c` is locked and its buffer empty; `sg` was in its `recvq` and is off it; `unlockf` unlocks `c`
/// and holds `mp`; `ep` points to a value of the channel's type, which the receiver owns
/// afterwards.
#[inline(always)]
pub(super) unsafe fn send(
    mp: Option<&'static M>,
    c: &Hchan,
    sg: &'static Sudog,
    ep: *const c_void,
    unlockf: impl FnOnce() -> Option<Held>,
    wake: impl FnOnce(Woken),
) {
    let dst = sg.elem.load(Ordering::Relaxed);
    if !dst.is_null() {
        // SAFETY: dst is the receiver's place for a value, and `ep` is one. The receiver is parked,
        // and its stack can't be moved or freed while this lock is held (copystack takes it).
        unsafe { send_direct(c.elemtype, dst, ep) };
        sg.elem.store(ptr::null_mut(), Ordering::Relaxed);
    }
    hand_over(mp, sg, unlockf, wake);
}

/// Copies a value to another goroutine's stack. Go's `sendDirect`.
///
/// # Safety
/// As [`typedmemmove`]. The lock of the other goroutine's channel is held.
#[inline(always)]
unsafe fn send_direct(elem: &Type, dst: *mut c_void, src: *const c_void) {
    // SAFETY: the caller gives what typedmemmove asks for.
    unsafe { typedmemmove(elem, dst, src) }
}

/// Copies a value from another goroutine's stack. Go's `recvDirect`.
///
/// # Safety
/// As [`send_direct`].
#[inline(always)]
unsafe fn recv_direct(elem: &Type, dst: *mut c_void, src: *const c_void) {
    // SAFETY: the caller gives what typedmemmove asks for.
    unsafe { typedmemmove(elem, dst, src) }
}

/// Ends the operation of `sg`: unlocks the channels, and makes the goroutine ready. If `sg` is a
/// future's, calls `wake` instead.
#[inline]
fn hand_over(
    mp: Option<&'static M>,
    sg: &'static Sudog,
    unlockf: impl FnOnce() -> Option<Held>,
    wake: impl FnOnce(Woken),
) {
    let Some(gp) = sg.g.get() else {
        let woken = end_future_wait(sg, true);
        drop(unlockf());
        return wake(woken);
    };
    let held = unlockf();
    gp.param.store(ptr::from_ref(sg).cast_mut().cast(), Ordering::Relaxed);
    sg.success.set(true);
    released(sg);
    ready_on(mp, gp, true);
    drop(held);
}

/// Receives while the sender `sg` waits. Without a buffer, this receives the sender's value. With a
/// buffer, it receives the first value of the buffer, and the sender's value goes into the freed
/// slot. Go's `recv`.
///
/// # Safety
/// `c` is locked and its buffer full; `sg` was in its `sendq` and is off it; `unlockf` unlocks `c`
/// and holds `mp`; `ep` is null or a place for a value of the channel's type.
#[inline(always)]
pub(super) unsafe fn recv(
    mp: Option<&'static M>,
    c: &Hchan,
    sg: &'static Sudog,
    ep: *mut c_void,
    unlockf: impl FnOnce() -> Option<Held>,
) {
    let src = sg.elem.load(Ordering::Relaxed);
    // SAFETY: src is the sender's value, `ep` null or a place for one. The sender is parked, and
    // its stack can't be moved or freed while this lock is held. The buffer is full, so slot recvx
    // has a value; it is free when that was copied to `ep`.
    unsafe {
        if c.dataqsiz.get() == 0 {
            if !ep.is_null() {
                recv_direct(c.elemtype, ep, src);
            }
        } else {
            let slot = chanbuf(c, c.recvx.get());
            if !ep.is_null() {
                typedmemmove(c.elemtype, ep, slot);
            }
            typedmemmove(c.elemtype, slot, src);
            advance(&c.recvx, c);
            c.sendx.set(c.recvx.get());
        }
    }
    sg.elem.store(ptr::null_mut(), Ordering::Relaxed);
    hand_over(mp, sg, unlockf, wake_future);
}

/// Puts the running goroutine into `q`; `elem` is the value to send or the place to receive to. The
/// lock is held.
#[inline(always)]
fn enqueue_me(
    gp: &'static G,
    mp: &'static M,
    c: &Hchan,
    q: &Waitq,
    elem: *mut c_void,
) -> (&'static Sudog, Wait) {
    let mysg = acquire_sudog(mp);
    let wait = Wait::begin();
    mysg.releasetime.set(wait.releasetime());
    mysg.elem.store(elem, Ordering::Relaxed);
    mysg.g.set(Some(gp));
    mysg.c.set(c);
    gp.waiting.set(Some(mysg));
    gp.param.store(ptr::null_mut(), Ordering::Relaxed);
    q.enqueue(mysg);
    (mysg, wait)
}

/// Parks the running goroutine, which is in a queue of `c`. Once it is off its stack, unlocks `c`
/// and makes the `observers` ready.
#[inline(always)]
fn park_on(
    gp: &'static G,
    mp: &'static M,
    c: &Hchan,
    observers: Option<GList>,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
) {
    // Until chanparkcommit sets active_stack_chans, copystack doesn't know of the sudog's pointer
    // into this stack, so the stack must not be shrunk.
    gp.parking_on_chan.store(true, Ordering::Relaxed);
    tsan::release(&c.lock.key.locked);
    if let Some(observers) = observers {
        let observers = ptr::from_ref(&observers).cast_mut().cast();
        // SAFETY: as below, except that observedparkcommit reads the list before it unlocks `c`.
        return unsafe { gopark_on(gp, mp, Some(observedparkcommit), observers, reason, trace_reason, 2) };
    }
    let lock = ptr::from_ref(&c.lock).cast_mut().cast();
    // SAFETY: chanparkcommit touches the G and the lock, never the stack, and always returns true.
    unsafe { gopark_on(gp, mp, Some(chanparkcommit), lock, reason, trace_reason, 2) }
}

/// Gives the sudog back after [`park_on`]. Returns true if a value was handed over, false if the
/// channel was closed or the goroutine was aborted.
#[inline(always)]
fn woken(gp: &'static G, mysg: &'static Sudog, wait: Wait) -> bool {
    if !gp.waiting.get().is_some_and(|waiting| ptr::eq(waiting, mysg)) {
        throw("G waiting list is corrupted");
    }
    gp.waiting.set(None);
    gp.active_stack_chans.set(false);
    let (success, releasetime) = (mysg.success.get(), mysg.releasetime.get());
    gp.param.store(ptr::null_mut(), Ordering::Relaxed);
    mysg.c.set(ptr::null());
    release_sudog_here(mysg);
    wait.end(releasetime);
    success
}

/// Whether the close of `c` has ended a wait that got no value. If not, an abort has.
#[cold]
fn ended_by_close(gp: &G, c: &Hchan) -> bool {
    let closed = c.is_closed();
    if !closed && gp.ext.leave.get().is_none() {
        throw("chan: spurious wakeup");
    }
    closed
}

/// The unlockf of a park on a channel, on g0. Go's `chanparkcommit`.
///
/// # Safety
/// `gp` is the G that parks, `chan_lock` a channel's lock that this M holds.
unsafe extern "C" fn chanparkcommit(gp: *mut G, chan_lock: *mut c_void) -> bool {
    // SAFETY: gopark passes the G that parks, and park_on's lock.
    let (gp, chan_lock) = unsafe { (&*gp, &*chan_lock.cast::<Mutex>()) };
    // From here on others may write to the goroutine's stack by its sudogs: copystack has to lock
    // their channels.
    gp.active_stack_chans.set(true);
    // Release pairs with the acquire in is_shrink_stack_safe, which then sees active_stack_chans.
    gp.parking_on_chan.store(false, Ordering::Release);
    // Unlocks last: from here on another thread may make the G ready, and run it.
    unlock(chan_lock);
    true
}

/// The running goroutine and its M, as [`whoami`] returns them.
pub(super) type Me = (Option<&'static G>, Option<&'static M>);

/// Begins a send to a channel that is closed, belongs to an exploration, or grows. An exploration
/// may let other goroutines go on first. A channel that grows has room afterwards. `c` is locked.
/// Returns the goroutine and the M that run here afterwards. If `c` is closed, unlocks `c` and
/// returns none.
#[cold]
#[inline(never)]
fn send_marked(mp: Option<&'static M>, c: &Hchan) -> Option<Me> {
    let me = unless_it_only_grows(mp, c, || point("send"));
    let me = if c.grows() { make_room(me.1, c) } else { me };
    if c.is_closed() {
        unlock_on(me.1, &c.lock);
        return None;
    }
    Some(me)
}

/// Calls `f`, in which an exploration may let other goroutines go on, if `c` is more than a channel
/// that grows or has observers. `c` is locked, and unlocked meanwhile. Returns the goroutine and
/// the M that run here afterwards.
fn unless_it_only_grows(mp: Option<&'static M>, c: &Hchan, f: impl FnOnce()) -> Me {
    if c.closed.load(Ordering::Relaxed) & !(GROWS | OBSERVED) != 0 {
        unlock_on(mp, &c.lock);
        f();
        lock_on(whoami().1, &c.lock);
    }
    whoami()
}

/// Receives from a channel that is closed, or begins a receive from a channel that a timer feeds,
/// that belongs to an exploration, or that grows, as [`send_marked`] does. `c` is locked. If this
/// returns `Err`, the receive is over and `c` is unlocked.
///
/// # Safety
/// As [`chanrecv`].
#[cold]
#[inline(never)]
unsafe fn recv_marked(mp: Option<&'static M>, c: &Hchan, ep: *mut c_void) -> Result<Me, Received> {
    let me = unless_it_only_grows(mp, c, || {
        point("receive");
        if c.closed.load(Ordering::Relaxed) & FED != 0 {
            maybe_run_chan(c);
        }
    });
    let me = if c.grows() { shrink(me.1, c) } else { me };
    if !c.is_closed() {
        return Ok(me);
    }
    let mp = me.1;
    // A sender that is still in the queue of a closed channel holds a value that came back.
    if let Some(sg) = c.sendq.dequeue() {
        // SAFETY: the closure releases the lock, which is held; sg is off its queue; `ep` is what
        // the caller says.
        unsafe { recv(mp, c, sg, ep, || unlock_and_hold(mp, &c.lock)) };
        return Err(Received::Done);
    }
    if c.qcount.load(Ordering::Relaxed) > 0 {
        // SAFETY: the buffer has a value, the lock is held, and `ep` is what the caller says.
        unsafe { bufrecv(c, ep) };
        unlock_on(mp, &c.lock);
        return Err(Received::Done);
    }
    unlock_on(mp, &c.lock);
    // SAFETY: the caller says that `ep` is null or a place for a value.
    unsafe { received_nothing(c, ep) };
    Err(Received::Closed)
}

/// Returns the address of slot `i` of the buffer; `i` is `sendx` or `recvx`.
#[inline(always)]
fn chanbuf(c: &Hchan, i: usize) -> *mut c_void {
    // SAFETY: sendx and recvx stay below dataqsiz (advance), and the buffer has dataqsiz slots.
    unsafe { c.buf.get().byte_add(i * usize::from(c.elemsize)) }
}

/// Copies a value, as bytes.
///
/// # Safety
/// `src` can be read and `dst` written for `elem.size_` bytes, and the two don't overlap.
#[inline(always)]
unsafe fn typedmemmove(elem: &Type, dst: *mut c_void, src: *const c_void) {
    // SAFETY: the caller gives `size_` bytes at both ends, which don't overlap. An array of bytes
    // needs no alignment, and MaybeUninit takes padding too.
    unsafe {
        // Most values are a word: one load and one store instead of a call of memcpy.
        if elem.size_ == size_of::<usize>() {
            dst.cast::<MaybeUninit<[u8; 8]>>().write(src.cast::<MaybeUninit<[u8; 8]>>().read());
        } else {
            ptr::copy_nonoverlapping(src.cast::<u8>(), dst.cast::<u8>(), elem.size_);
        }
    }
}

/// Fills the place for a value with zeros.
///
/// # Safety
/// `place` can be written for `elem.size_` bytes.
pub(super) unsafe fn typedmemclr(elem: &Type, place: *mut c_void) {
    // SAFETY: the caller says that `size_` bytes can be written.
    unsafe { ptr::write_bytes(place.cast::<u8>(), 0, elem.size_) }
}

/// Moves an index to the next slot of the ring.
#[inline(always)]
fn advance(x: &Cell<usize>, c: &Hchan) {
    let next = x.get() + 1;
    x.set(if next == c.dataqsiz.get() { 0 } else { next });
}

/// Adds `n` to `qcount`. No read-modify-write: only the holder of the lock writes it.
#[inline(always)]
fn add_qcount(c: &Hchan, n: isize) {
    c.qcount.store(c.qcount.load(Ordering::Relaxed).wrapping_add_signed(n), Ordering::Release);
}

/// Moves the value at `ep` into the buffer.
///
/// # Safety
/// The buffer has room, the lock is held, and `ep` points to a value of the channel's type.
#[inline(always)]
pub(super) unsafe fn bufsend(c: &Hchan, ep: *const c_void) {
    // SAFETY: there is room, so slot sendx is free; the lock keeps others off it; `ep` is a value.
    unsafe { typedmemmove(c.elemtype, chanbuf(c, c.sendx.get()), ep) };
    advance(&c.sendx, c);
    add_qcount(c, 1);
}

/// Moves the first value of the buffer to `ep`; drops the value if `ep` is null.
///
/// # Safety
/// The buffer isn't empty, the lock is held, and `ep` is null or a place for a value of the
/// channel's type.
#[inline(always)]
pub(super) unsafe fn bufrecv(c: &Hchan, ep: *mut c_void) {
    if !ep.is_null() {
        // SAFETY: the buffer isn't empty, so slot recvx holds a value; the lock keeps others off
        // it; `ep` has room.
        unsafe { typedmemmove(c.elemtype, ep, chanbuf(c, c.recvx.get())) };
    }
    advance(&c.recvx, c);
    add_qcount(c, -1);
}

/// Puts the value at `ep` before the first value of the buffer.
///
/// # Safety
/// The buffer has room, the lock is held, and `ep` points to a value of the channel's type.
pub(super) unsafe fn bufunrecv(c: &Hchan, ep: *const c_void) {
    retreat(&c.recvx, c);
    // SAFETY: there is room, so the slot before recvx is free; the lock keeps others off it; `ep`
    // is a value.
    unsafe { typedmemmove(c.elemtype, chanbuf(c, c.recvx.get()), ep) };
    add_qcount(c, 1);
}

/// Puts the value at `ep` before the first value of the full buffer, and moves the last value to
/// `ep`.
///
/// # Safety
/// The channel has a buffer, the lock is held, and `ep` points to a value of the channel's type.
pub(super) unsafe fn swap_last(c: &Hchan, ep: *mut c_void) {
    retreat(&c.recvx, c);
    c.sendx.set(c.recvx.get());
    // SAFETY: in a full buffer the slot before the first value's holds the last value; the lock
    // keeps others off it. `ep` is a value elsewhere.
    unsafe {
        ptr::swap_nonoverlapping(
            chanbuf(c, c.recvx.get()).cast::<MaybeUninit<u8>>(),
            ep.cast(),
            c.elemtype.size_,
        );
    }
}

/// Moves an index to the slot before.
fn retreat(x: &Cell<usize>, c: &Hchan) {
    x.set(x.get().checked_sub(1).unwrap_or(c.dataqsiz.get() - 1));
}

/// Returns the number of values in the buffer, as a program sees it: 0 for a timer's channel. Go's
/// `chanlen`.
pub(crate) fn chanlen(c: &Hchan) -> usize {
    if is_fed(c) { 0 } else { c.qcount.load(Ordering::Relaxed) }
}

/// Returns the capacity of the buffer, as a program sees it: 0 for a timer's channel, none for a
/// channel that grows. Go's `chancap`.
pub(crate) fn chancap(c: &Hchan) -> Option<usize> {
    if c.grows() {
        return None;
    }
    Some(if is_fed(c) { 0 } else { c.dataqsiz.get() })
}

/// Whether the channel is closed at this moment. Without the lock.
pub(crate) fn is_closed(c: &Hchan) -> bool {
    point("is_closed");
    c.is_closed()
}

/// Whether a timer feeds the channel, so that receives run the timer.
fn is_fed(c: &Hchan) -> bool {
    c.closed.load(Ordering::Relaxed) & FED != 0
}

/// Whether a send would wait. Not called for a channel that grows. Go's `full`.
fn full(c: &Hchan) -> bool {
    if c.dataqsiz.get() == 0 {
        c.recvq.first.is_null()
    } else {
        c.qcount.load(Ordering::Acquire) == c.dataqsiz.get()
    }
}

/// Whether a receive would wait. Go's `empty`.
fn empty(c: &Hchan) -> bool {
    // Senders wait only where there is no buffer, or where it is full: so if it is empty and the
    // queue isn't, either it has changed meanwhile, or there is no buffer. `dataqsiz` isn't read,
    // because it may change.
    // SeqCst: see chanrecv, which loads this and `closed` in turn.
    c.qcount.load(Ordering::SeqCst) == 0 && c.sendq.first.load(Ordering::SeqCst).is_none()
}

/// Fills a receiver's place with zeros, the value from a closed channel.
///
/// # Safety
/// `ep` is null or a place for a value of the channel's type.
pub(super) unsafe fn received_nothing(c: &Hchan, ep: *mut c_void) {
    if !ep.is_null() {
        // SAFETY: `ep` isn't null, so it is a place of the channel's type, whose size is written.
        unsafe { typedmemclr(c.elemtype, ep) };
    }
}
