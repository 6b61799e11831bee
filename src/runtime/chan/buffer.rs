//! A channel's values: how they are copied, and the ring that is its buffer.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::data::cell::Cell;
use crate::runtime::data::hchan::{FED, Hchan, Type};

/// Returns the address of slot `i` of the buffer; `i` is `sendx` or `recvx`.
#[inline(always)]
pub(super) fn chanbuf(c: &Hchan, i: usize) -> *mut c_void {
    // SAFETY: sendx and recvx stay below dataqsiz (advance), and the buffer has dataqsiz slots.
    unsafe { c.buf.byte_add(i * usize::from(c.elemsize)) }
}

/// Copies a value, as bytes.
///
/// # Safety
/// `src` can be read and `dst` written for `elem.size_` bytes, and the two don't overlap.
#[inline(always)]
pub(super) unsafe fn typedmemmove(elem: &Type, dst: *mut c_void, src: *const c_void) {
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
pub(super) fn advance(x: &Cell<usize>, c: &Hchan) {
    let next = x.get() + 1;
    x.set(if next == c.dataqsiz { 0 } else { next });
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
    x.set(x.get().checked_sub(1).unwrap_or(c.dataqsiz - 1));
}

/// Returns the number of values in the buffer, as a program sees it: 0 for a timer's channel. Go's
/// `chanlen`.
pub(crate) fn chanlen(c: &Hchan) -> usize {
    if is_fed(c) { 0 } else { c.qcount.load(Ordering::Relaxed) }
}

/// Returns the capacity of the buffer, as a program sees it: 0 for a timer's channel. Go's
/// `chancap`.
pub(crate) fn chancap(c: &Hchan) -> usize {
    if is_fed(c) { 0 } else { c.dataqsiz }
}

/// Whether a timer feeds the channel, so that receives run the timer.
fn is_fed(c: &Hchan) -> bool {
    c.closed.load(Ordering::Relaxed) & FED != 0
}

/// Whether a send would wait. Go's `full`.
pub(super) fn full(c: &Hchan) -> bool {
    if c.dataqsiz == 0 { c.recvq.first.is_null() } else { c.qcount.load(Ordering::Acquire) == c.dataqsiz }
}

/// Whether a receive would wait. Go's `empty`.
pub(super) fn empty(c: &Hchan) -> bool {
    if c.dataqsiz == 0 {
        c.sendq.first.load(Ordering::SeqCst).is_none()
    } else {
        c.qcount.load(Ordering::SeqCst) == 0
    }
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
