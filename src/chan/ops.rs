//! Sending and receiving: the larger part of Go's `chan.go`.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use crate::chan::hchan::{Hchan, Type, Waitq};
use crate::lock::{lock_on, unlock, unlock_on};
use crate::panic::throw;
use crate::proc::m::getm;
use crate::proc::park::{gopark, gopark_on, on_goroutine, ready_on, whoami};
use crate::proc::sudog::{acquire_sudog, release_sudog};
use crate::runtime2::{G, M, Mutex, Sudog, TraceBlockReason, WaitReason};

/// How a send ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Sent {
    /// The value is the channel's, or a receiver's.
    Done,
    /// It would have had to wait, and was not to, or is on no goroutine. The value is still
    /// the caller's.
    Full,
    /// The channel is closed, where Go panics. The value is still the caller's.
    Closed,
}

/// How a receive ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Received {
    /// There is a value.
    Done,
    /// It would have had to wait, and was not to, or is on no goroutine.
    Empty,
    /// The channel is closed and empty; the place for the value was zeroed.
    Closed,
}

/// Slot `i` of the buffer.
#[inline(always)]
fn chanbuf(c: &Hchan, i: usize) -> *mut c_void {
    // SAFETY: callers pass an index below dataqsiz.
    unsafe { c.buf.byte_add(i * usize::from(c.elemsize)) }
}

/// Copies a value.
///
/// # Safety
/// Both places hold a value of this type, and don't overlap.
#[inline(always)]
unsafe fn typedmemmove(elem: &Type, dst: *mut c_void, src: *const c_void) {
    // SAFETY: the caller's. Words, as most values are, without a call.
    unsafe {
        if elem.size_ == size_of::<usize>() {
            dst.cast::<MaybeUninit<[u8; 8]>>().write(src.cast::<MaybeUninit<[u8; 8]>>().read());
        } else {
            ptr::copy_nonoverlapping(src.cast::<u8>(), dst.cast::<u8>(), elem.size_);
        }
    }
}

/// Zeroes the place for a value.
///
/// # Safety
/// It is one.
pub(crate) unsafe fn typedmemclr(elem: &Type, place: *mut c_void) {
    // SAFETY: the caller's.
    unsafe { ptr::write_bytes(place.cast::<u8>(), 0, elem.size_) }
}

/// One more, or around the ring.
#[inline(always)]
fn advance(x: &Cell<usize>, c: &Hchan) {
    let next = x.get() + 1;
    x.set(if next == c.dataqsiz { 0 } else { next });
}

/// `qcount` changes under the lock; others only read it.
#[inline(always)]
fn add_qcount(c: &Hchan, n: isize) {
    c.qcount.store(c.qcount.load(Ordering::Relaxed).wrapping_add_signed(n), Ordering::Release);
}

/// Puts a value into the buffer.
///
/// # Safety
/// There is room, and the lock is held.
#[inline(always)]
pub(crate) unsafe fn bufsend(c: &Hchan, ep: *const c_void) {
    // SAFETY: the caller's.
    unsafe { typedmemmove(c.elemtype, chanbuf(c, c.sendx.get()), ep) };
    advance(&c.sendx, c);
    add_qcount(c, 1);
}

/// Takes a value from the buffer.
///
/// # Safety
/// There is one, the lock is held, and `ep` is null or a place for it.
#[inline(always)]
pub(crate) unsafe fn bufrecv(c: &Hchan, ep: *mut c_void) {
    if !ep.is_null() {
        // SAFETY: the caller's.
        unsafe { typedmemmove(c.elemtype, ep, chanbuf(c, c.recvx.get())) };
    }
    advance(&c.recvx, c);
    add_qcount(c, -1);
}

/// Whether a send would wait. Go's `full`.
fn full(c: &Hchan) -> bool {
    if c.dataqsiz == 0 { c.recvq.first.is_null() } else { c.qcount.load(Ordering::Acquire) == c.dataqsiz }
}

/// Whether a receive would wait. Go's `empty`.
fn empty(c: &Hchan) -> bool {
    if c.dataqsiz == 0 {
        c.sendq.first.load(Ordering::SeqCst).is_none()
    } else {
        c.qcount.load(Ordering::SeqCst) == 0
    }
}

/// Sends the value at `ep`; waits if it must and `block` is set. A send to no channel waits
/// forever. Go's `chansend`.
///
/// # Safety
/// `ep` points to a value of the channel's type, which is the receiver's if the result is
/// [`Sent::Done`]. The channel stays until this returns.
#[inline(never)]
pub(crate) unsafe fn chansend(c: Option<NonNull<Hchan>>, ep: *const c_void, block: bool) -> Sent {
    let Some(c) = c else {
        if !block || !on_goroutine() {
            return Sent::Full;
        }
        // SAFETY: nobody will make it ready.
        unsafe { gopark(None, ptr::null_mut(), WaitReason::ChanSendNilChan, TraceBlockReason::Forever, 2) };
        throw("unreachable")
    };
    // SAFETY: the caller's.
    let c = unsafe { c.as_ref() };
    // A channel that isn't closed and was full then was both at the moment in between: no
    // lock for a failing try.
    if !block && c.closed.load(Ordering::Relaxed) == 0 && full(c) {
        return Sent::Full;
    }
    let (gp, mp) = whoami();
    lock_on(mp, &c.lock);
    if c.closed.load(Ordering::Relaxed) != 0 {
        unlock_on(mp, &c.lock);
        return Sent::Closed;
    }
    if let Some(sg) = c.recvq.dequeue() {
        // SAFETY: the channel is empty and locked, and sg is off its queue.
        unsafe { send(mp, c, sg, ep, || unlock_on(mp, &c.lock)) };
        return Sent::Done;
    }
    if c.qcount.load(Ordering::Relaxed) < c.dataqsiz {
        // SAFETY: slot sendx is free, and the lock is held.
        unsafe { bufsend(c, ep) };
        unlock_on(mp, &c.lock);
        return Sent::Done;
    }
    let (true, Some(gp), Some(mp)) = (block, gp, mp) else {
        unlock_on(mp, &c.lock);
        return Sent::Full;
    };
    // Whoever receives takes the value from here.
    let mysg = enqueue_me(gp, mp, c, &c.sendq, ep.cast_mut());
    park_on(gp, mp, c, WaitReason::ChanSend, TraceBlockReason::ChanSend);
    let success = woken(gp, mysg);
    if !success && c.closed.load(Ordering::Relaxed) == 0 {
        throw("chansend: spurious wakeup");
    }
    if success { Sent::Done } else { Sent::Closed }
}

/// Receives to `ep`; waits if it must and `block` is set. A receive from no channel waits
/// forever. Go's `chanrecv`.
///
/// # Safety
/// `ep` is null or a place for a value of the channel's type. The channel stays until this
/// returns.
#[inline(never)]
pub(crate) unsafe fn chanrecv(c: Option<NonNull<Hchan>>, ep: *mut c_void, block: bool) -> Received {
    let Some(c) = c else {
        if !block || !on_goroutine() {
            return Received::Empty;
        }
        // SAFETY: nobody will make it ready.
        unsafe {
            gopark(None, ptr::null_mut(), WaitReason::ChanReceiveNilChan, TraceBlockReason::Forever, 2)
        };
        throw("unreachable")
    };
    // SAFETY: the caller's.
    let c = unsafe { c.as_ref() };
    if !block && empty(c) {
        // Empty first, and then not closed: it was both in between.
        if c.closed.load(Ordering::SeqCst) == 0 {
            return Received::Empty;
        }
        // Closed for good; a value may have come before that.
        if empty(c) {
            // SAFETY: the caller's.
            unsafe { received_nothing(c, ep) };
            return Received::Closed;
        }
    }
    let (gp, mp) = whoami();
    lock_on(mp, &c.lock);
    if c.closed.load(Ordering::Relaxed) != 0 {
        if c.qcount.load(Ordering::Relaxed) == 0 {
            unlock_on(mp, &c.lock);
            // SAFETY: the caller's.
            unsafe { received_nothing(c, ep) };
            return Received::Closed;
        }
    } else if let Some(sg) = c.sendq.dequeue() {
        // SAFETY: the channel is full and locked, and sg is off its queue.
        unsafe { recv(mp, c, sg, ep, || unlock_on(mp, &c.lock)) };
        return Received::Done;
    }
    if c.qcount.load(Ordering::Relaxed) > 0 {
        // SAFETY: there is a value, and the lock is held.
        unsafe { bufrecv(c, ep) };
        unlock_on(mp, &c.lock);
        return Received::Done;
    }
    let (true, Some(gp), Some(mp)) = (block, gp, mp) else {
        unlock_on(mp, &c.lock);
        return Received::Empty;
    };
    let mysg = enqueue_me(gp, mp, c, &c.recvq, ep);
    park_on(gp, mp, c, WaitReason::ChanReceive, TraceBlockReason::ChanRecv);
    if woken(gp, mysg) { Received::Done } else { Received::Closed }
}

/// What a receiver from a closed channel gets.
///
/// # Safety
/// `ep` is null or a place for a value.
pub(crate) unsafe fn received_nothing(c: &Hchan, ep: *mut c_void) {
    if !ep.is_null() {
        // SAFETY: the caller's.
        unsafe { typedmemclr(c.elemtype, ep) };
    }
}

/// Hands the value at `ep` to the receiver `sg`, and makes it ready. Go's `send`.
///
/// # Safety
/// `c` is locked and its buffer empty; `sg` is off its queue; `unlockf` unlocks `c`.
#[inline(always)]
pub(crate) unsafe fn send(
    mp: Option<&'static M>,
    c: &Hchan,
    sg: &'static Sudog,
    ep: *const c_void,
    unlockf: impl FnOnce(),
) {
    let dst = sg.elem.load(Ordering::Relaxed);
    if !dst.is_null() {
        // SAFETY: dst is the receiver's place for a value. It is parked, and whoever moves
        // its stack takes this lock.
        unsafe { send_direct(c.elemtype, dst, ep) };
        sg.elem.store(ptr::null_mut(), Ordering::Relaxed);
    }
    hand_over(mp, sg, unlockf);
}

/// Copies a value to another goroutine's stack. Go's `sendDirect`.
///
/// # Safety
/// As [`typedmemmove`].
#[inline(always)]
unsafe fn send_direct(elem: &Type, dst: *mut c_void, src: *const c_void) {
    // SAFETY: the caller's.
    unsafe { typedmemmove(elem, dst, src) }
}

/// Copies a value from another goroutine's stack. Go's `recvDirect`.
///
/// # Safety
/// As [`typedmemmove`].
#[inline(always)]
unsafe fn recv_direct(elem: &Type, dst: *mut c_void, src: *const c_void) {
    // SAFETY: the caller's.
    unsafe { typedmemmove(elem, dst, src) }
}

/// Makes the goroutine of `sg` ready, whose operation is done.
#[inline(always)]
fn hand_over(mp: Option<&'static M>, sg: &'static Sudog, unlockf: impl FnOnce()) {
    let Some(gp) = sg.g.get() else { throw("sudog without a g") };
    unlockf();
    gp.param.store(ptr::from_ref(sg).cast_mut().cast(), Ordering::Relaxed);
    sg.success.set(true);
    ready_on(mp, gp, true);
}

/// Receives from the waiting sender `sg`: its value if there is no buffer, otherwise the first
/// of the buffer, whose place the sender's takes. Go's `recv`.
///
/// # Safety
/// `c` is locked and its buffer full; `sg` is off its queue; `unlockf` unlocks `c`; `ep` is
/// null or a place for a value.
#[inline(always)]
pub(crate) unsafe fn recv(
    mp: Option<&'static M>,
    c: &Hchan,
    sg: &'static Sudog,
    ep: *mut c_void,
    unlockf: impl FnOnce(),
) {
    let src = sg.elem.load(Ordering::Relaxed);
    // SAFETY: src is the sender's value. It is parked, and whoever moves its stack takes this
    // lock.
    unsafe {
        if c.dataqsiz == 0 {
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
    hand_over(mp, sg, unlockf);
}

/// Enters the running goroutine in `q`, with `elem` to send from or receive to. The lock is
/// held.
#[inline(always)]
fn enqueue_me(gp: &'static G, mp: &'static M, c: &Hchan, q: &Waitq, elem: *mut c_void) -> &'static Sudog {
    let mysg = acquire_sudog(mp);
    mysg.releasetime.set(0);
    mysg.elem.store(elem, Ordering::Relaxed);
    mysg.waitlink.set(None);
    mysg.g.set(Some(gp));
    mysg.is_select.set(false);
    mysg.c.set(c);
    gp.waiting.set(Some(mysg));
    gp.param.store(ptr::null_mut(), Ordering::Relaxed);
    q.enqueue(mysg);
    mysg
}

/// Parks the running goroutine, which is in a queue of `c`, and releases the lock.
#[inline(always)]
fn park_on(gp: &'static G, mp: &'static M, c: &Hchan, reason: WaitReason, trace_reason: TraceBlockReason) {
    // From here until chanparkcommit, shrinking its stack would miss the sudog.
    gp.parking_on_chan.store(true, Ordering::Relaxed);
    let lock = ptr::from_ref(&c.lock).cast_mut().cast();
    // SAFETY: chanparkcommit touches the G and the lock alone.
    unsafe { gopark_on(gp, mp, Some(chanparkcommit), lock, reason, trace_reason, 2) }
}

/// Cleans up after [`park_on`]; says whether a value was handed over, or the channel closed.
#[inline(always)]
fn woken(gp: &'static G, mysg: &'static Sudog) -> bool {
    if !gp.waiting.get().is_some_and(|waiting| ptr::eq(waiting, mysg)) {
        throw("G waiting list is corrupted");
    }
    gp.waiting.set(None);
    gp.active_stack_chans.set(false);
    let success = mysg.success.get();
    gp.param.store(ptr::null_mut(), Ordering::Relaxed);
    mysg.c.set(ptr::null());
    release_sudog(getm(), mysg); // maybe on another M than before
    success
}

/// What a park on a channel does on g0. Go's `chanparkcommit`.
unsafe extern "C" fn chanparkcommit(gp: *mut G, chan_lock: *mut c_void) -> bool {
    // SAFETY: gopark passes the G that parks, and park_on's lock.
    let (gp, chan_lock) = unsafe { (&*gp, &*chan_lock.cast::<Mutex>()) };
    // From here on there are sudogs into its stack that no lock of its own protects.
    gp.active_stack_chans.set(true);
    gp.parking_on_chan.store(false, Ordering::Release);
    // Last: the G may run at once.
    unlock(chan_lock);
    true
}
