//! Channels without types: the public face of Go's `chan.go` and `select.go`. The channels of
//! [`chan`](crate::chan) are these, with types.
//!
//! Each function ensures that the stack has room, and then calls the runtime's function of the same
//! name. Where Go panics on a closed channel, it returns that the channel is closed. On a thread
//! that isn't a goroutine's it doesn't wait: it returns that it would have to.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::runtime::{self, entry_check};
pub use crate::runtime::{Chosen, Hchan, HchanExt, Received, Scase, Sent, Type, Waitq};

/// Makes a channel of values of type `elem`, with room for `size` of them. Returns `None` if there
/// is no memory. [`freechan`] frees it. Go's `makechan`.
#[inline(always)]
pub fn makechan(elem: &'static Type, size: usize) -> Option<NonNull<Hchan>> {
    entry_check();
    runtime::makechan(elem, size)
}

offered! {
    /// Frees a channel; values in its buffer are forgotten.
    ///
    /// # Safety
    /// [`makechan`] made it, and nothing uses it any more.
    pub unsafe fn freechan(c: NonNull<Hchan>);

    /// Closes the channel: receivers get the values in the buffer and then nothing, and senders
    /// fail. Returns false if it was closed before, where Go panics. Go's `closechan`.
    ///
    /// # Safety
    /// The channel stays until this returns.
    pub unsafe fn closechan(c: NonNull<Hchan>) -> bool;

    /// Does one of the cases: the first `nsends` send, the others receive. Waits until one is
    /// ready, if `block` is set. Go's `selectgo`.
    ///
    /// # Safety
    /// In the first `nsends` cases, `elem` points to a value of the channel's type. If
    /// [`Chosen::Sent`] names the case, the value belongs to the receiver. In the other cases
    /// `elem` is null or a place for such a value. The channels stay until this returns. `order`
    /// has room for two numbers a case; with less room this panics.
    pub unsafe fn selectgo(scases: &[Scase], order: &mut [u16], nsends: usize, block: bool) -> Chosen;
}

/// Sends the value at `ep`; waits if it must and `block` is set. A send to no channel waits
/// forever. Go's `chansend`.
///
/// # Safety
/// `ep` points to a value of the channel's type. If the result is [`Sent::Done`], the value belongs
/// to the receiver. The channel stays until this returns.
#[inline(always)]
pub unsafe fn chansend(c: Option<NonNull<Hchan>>, ep: *const c_void, block: bool) -> Sent {
    entry_check();
    // SAFETY: the caller keeps to this function's doc.
    unsafe { runtime::chansend(c, ep, block.into()) }
}

/// Receives to `ep`; waits if it must and `block` is set. A receive from no channel waits forever.
/// Go's `chanrecv`.
///
/// # Safety
/// `ep` is null or a place for a value of the channel's type. The channel stays until this returns.
#[inline(always)]
pub unsafe fn chanrecv(c: Option<NonNull<Hchan>>, ep: *mut c_void, block: bool) -> Received {
    entry_check();
    // SAFETY: the caller keeps to this function's doc.
    unsafe { runtime::chanrecv(c, ep, block.into()) }
}

/// Sends the value at `elem`, and waits for room. Go's `chansend1`.
///
/// # Safety
/// As [`chansend`].
#[inline(always)]
pub unsafe fn chansend1(c: Option<NonNull<Hchan>>, elem: *const c_void) -> Sent {
    // SAFETY: the caller passes a value of the channel's type, and keeps the channel.
    unsafe { chansend(c, elem, true) }
}

/// A send that doesn't wait: a select with one send and a default. Go's `selectnbsend`.
///
/// # Safety
/// As [`chansend`].
#[inline(always)]
pub unsafe fn selectnbsend(c: Option<NonNull<Hchan>>, elem: *const c_void) -> Sent {
    // SAFETY: the caller passes a value of the channel's type, and keeps the channel.
    unsafe { chansend(c, elem, false) }
}

/// Receives to `elem`, which may be null; waits for a value, and doesn't say whether it was one or
/// the channel is closed. Go's `chanrecv1`.
///
/// # Safety
/// As [`chanrecv`].
#[inline(always)]
pub unsafe fn chanrecv1(c: Option<NonNull<Hchan>>, elem: *mut c_void) {
    // SAFETY: the caller passes null or a place for the channel's type, and keeps the channel.
    unsafe { chanrecv(c, elem, true) };
}

/// Receives to `elem`, which may be null; waits for a value; says whether there is one. Go's
/// `chanrecv2`.
///
/// # Safety
/// As [`chanrecv`].
#[inline(always)]
pub unsafe fn chanrecv2(c: Option<NonNull<Hchan>>, elem: *mut c_void) -> bool {
    // SAFETY: the caller passes null or a place for the channel's type, and keeps the channel.
    unsafe { chanrecv(c, elem, true) == Received::Done }
}

/// A receive that doesn't wait: a select with one receive and a default. Go's `selectnbrecv`.
///
/// # Safety
/// As [`chanrecv`].
#[inline(always)]
pub unsafe fn selectnbrecv(elem: *mut c_void, c: Option<NonNull<Hchan>>) -> Received {
    // SAFETY: the caller passes null or a place for the channel's type, and keeps the channel.
    unsafe { chanrecv(c, elem, false) }
}
