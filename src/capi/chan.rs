//! Channels and select.

use std::alloc::{Layout, alloc};
use std::ffi::{c_int, c_void};
use std::iter;
use std::mem::offset_of;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::capi::caller::null;
use crate::runtime::{
    Block, Chosen, Hchan, MAX_ALIGN, Received, Scase, Sent, Type, chanrecv, chansend, closechan, freechan,
    guest, makechan, misuse, selectgo, with_room,
};

/// A channel of values of one size: Go's `chan`. Any number of goroutines and threads may use one
/// at the same time. It begins as Go's does, with two words: what `gosched_chan_len` says and
/// `gosched_chan_cap`, for code that a compiler has made so.
pub struct Chan {
    _opaque: (),
}

/// How a channel operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum OpResult {
    /// The value was sent, or received.
    Done,
    /// Nothing was done: the operation would have had to wait, but wasn't meant to, or can't here.
    WouldBlock,
    /// The channel is closed. Nothing was sent; or nothing was left to receive, and the place for a
    /// value was filled with zeros.
    Closed,
}

/// A case of `gosched_select`: Go's `scase`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Case {
    /// The channel. One that is NULL is never chosen.
    pub chan: *mut Chan,
    /// The value to send, or the place to receive to, which may be NULL.
    pub elem: *mut c_void,
}

/// What `gosched_select` has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Selected {
    /// The chosen case, counted from 0; -1 if none was ready.
    pub index: isize,
    /// How that case ended.
    pub result: OpResult,
}

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// Makes a channel with room for `capacity` values of `elem_size` bytes, and stores it at
    /// `chan`. Without room, each send waits for its receive. Go's `makechan`, in `chan.go`.
    ///
    /// Values are copied in and out, as bytes.
    ///
    /// Returns 0, or an errno value, with NULL at `chan`:
    /// - `EINVAL`: `elem_size` is 64 KiB or more, or `chan` is NULL;
    /// - `ENOMEM`: there is no memory.
    ///
    /// # Safety
    /// `chan` is a place for an address.
    pub fn gosched_chan_make(elem_size: usize, capacity: usize, chan: *mut *mut Chan) -> c_int;

    /// Frees a channel, with what is in it; does nothing with NULL.
    ///
    /// # Safety
    /// Nobody uses it any more.
    pub fn gosched_chan_free(chan: *mut Chan);

    /// Sends the value at `elem`; waits while the buffer is full or, without one, until somebody
    /// receives. A send to the channel NULL waits forever. Go's `chansend1`, in `chan.go`.
    ///
    /// Returns
    /// - `GOSCHED_RESULT_DONE`;
    /// - `GOSCHED_RESULT_CLOSED`: the channel is closed, or was meanwhile, where Go panics;
    /// - `GOSCHED_RESULT_WOULD_BLOCK`: it would have to wait, and can't here: on the scheduler's
    ///   stack, or before the runtime runs.
    ///
    /// # Safety
    /// At `elem` is a value of the channel's size. The channel isn't freed meanwhile.
    pub fn gosched_chan_send(chan: *mut Chan, elem: *const c_void) -> OpResult;

    /// Sends the value at `elem` if that can be done at once; otherwise returns
    /// `GOSCHED_RESULT_WOULD_BLOCK`. Go's `selectnbsend`, in `chan.go`.
    ///
    /// # Safety
    /// As `gosched_chan_send`.
    pub fn gosched_chan_try_send(chan: *mut Chan, elem: *const c_void) -> OpResult;

    /// Receives a value to `elem`, or drops it if that is NULL; waits until there is one. A receive
    /// from the channel NULL waits forever. Go's `chanrecv2`, in `chan.go`.
    ///
    /// Returns
    /// - `GOSCHED_RESULT_DONE`;
    /// - `GOSCHED_RESULT_CLOSED`: the channel is closed and empty, and there are zeros at `elem`;
    /// - `GOSCHED_RESULT_WOULD_BLOCK`: it would have to wait, and can't here, as
    ///   `gosched_chan_send`.
    ///
    /// # Safety
    /// `elem` is NULL or a place for a value of the channel's size. The channel isn't freed
    /// meanwhile.
    pub fn gosched_chan_recv(chan: *mut Chan, elem: *mut c_void) -> OpResult;

    /// Receives a value to `elem` if there is one; otherwise returns `GOSCHED_RESULT_WOULD_BLOCK`,
    /// or `GOSCHED_RESULT_CLOSED`. Go's `selectnbrecv`, in `chan.go`.
    ///
    /// # Safety
    /// As `gosched_chan_recv`.
    pub fn gosched_chan_try_recv(chan: *mut Chan, elem: *mut c_void) -> OpResult;

    /// Closes a channel, and returns true; returns false if it was closed before, where Go panics.
    /// From now on sends end with `GOSCHED_RESULT_CLOSED`, those that wait too; receives do when
    /// what is in the channel has been received. Go's `closechan`, in `chan.go`.
    ///
    /// # Safety
    /// `chan` isn't NULL, and the channel isn't freed meanwhile.
    pub fn gosched_chan_close(chan: *mut Chan) -> bool;

    /// How many values are in the channel at this moment, waiting senders' not among them; 0 for
    /// NULL. Go's `len`.
    ///
    /// # Safety
    /// The channel isn't freed meanwhile.
    pub fn gosched_chan_len(chan: *mut Chan) -> usize;

    /// How many values the channel has room for; 0 for NULL. Go's `cap`.
    ///
    /// # Safety
    /// The channel isn't freed meanwhile.
    pub fn gosched_chan_cap(chan: *mut Chan) -> usize;

    /// Does one of several channel operations, by chance one of those that can be done at once. If
    /// there is none, waits until there is, or, with `block` false, returns. Go's `selectgo`, in
    /// `select.go`.
    ///
    /// The first `nsends` of the cases send, the other `nrecvs` receive; there may be 65,536 of
    /// them.
    ///
    /// Returns the number of the case, from 0 on, with `GOSCHED_RESULT_DONE` or
    /// `GOSCHED_RESULT_CLOSED`. Returns -1 with `GOSCHED_RESULT_WOULD_BLOCK` if it would have to
    /// wait and `block` is false, or if it can't wait here, like `gosched_chan_send`.
    ///
    /// # Safety
    /// The cases are what `gosched_chan_send` and `gosched_chan_recv` want. No channel is freed
    /// meanwhile.
    pub fn gosched_select(cases: *const Case, nsends: usize, nrecvs: usize, block: bool) -> Selected;
}

/// A list of the types of channels, one for each size of values that was asked for. Nothing is ever
/// removed.
static SIZES: AtomicPtr<Size> = AtomicPtr::new(ptr::null_mut());

/// An item of the list [`SIZES`].
struct Size {
    elem: Type,
    next: *const Size,
}

/// The type of values of `size` bytes; none if there is no memory for it.
fn type_of(size: usize) -> Option<&'static Type> {
    // Acquire: pairs with the release of the CAS below, after which the item is written.
    let mut first = SIZES.load(Ordering::Acquire);
    // SAFETY: items in the list are never freed, nor written again; the acquire has made them
    // visible.
    let known = iter::successors(unsafe { first.as_ref() }, |known| unsafe { known.next.as_ref() });
    if let Some(known) = known.map(|known| &known.elem).find(|elem| elem.size_ == size) {
        return Some(known);
    }
    // SAFETY: the layout isn't empty.
    let fresh = with_room(|| unsafe { alloc(Layout::new::<Size>()).cast::<Size>() });
    if fresh.is_null() {
        return None;
    }
    loop {
        // If another thread has added the same size meanwhile, the list has it twice.
        // SAFETY: the memory is a new Size's, and not yet in the list.
        unsafe { fresh.write(Size { elem: Type { size_: size, align_: MAX_ALIGN }, next: first }) };
        match SIZES.compare_exchange(first, fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as above, now that it is in the list.
            Ok(_) => return Some(unsafe { &(*fresh).elem }),
            Err(other) => first = other,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_chan_make_impl(
    elem_size: usize,
    capacity: usize,
    chan: *mut *mut Hchan,
) -> c_int {
    if chan.is_null() {
        return libc::EINVAL;
    }
    let (made, errno) = if elem_size > usize::from(u16::MAX) {
        (None, libc::EINVAL)
    } else {
        (type_of(elem_size).and_then(|elem| makechan(elem, capacity)), libc::ENOMEM)
    };
    // SAFETY: `chan` is a place for an address.
    unsafe { chan.write(made.map_or(ptr::null_mut(), NonNull::as_ptr)) };
    if made.is_some() { 0 } else { errno }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_chan_free_impl(chan: Option<NonNull<Hchan>>) {
    if let Some(c) = chan {
        // SAFETY: gosched_chan_make made the channel, and nobody uses it any more.
        unsafe { freechan(c) }
    }
}

/// Ends the process if `elem` is NULL, where the channel's values have a size.
#[inline(always)]
fn need_value(chan: Option<NonNull<Hchan>>, elem: *const c_void, function: &str) {
    if elem.is_null() {
        without_value(chan, function);
    }
}

#[cold]
#[inline(never)]
fn without_value(chan: Option<NonNull<Hchan>>, function: &str) {
    // SAFETY: the channel isn't freed meanwhile.
    if chan.is_some_and(|c| unsafe { c.as_ref() }.elemsize != 0) {
        null(function, "elem");
    }
}

impl From<Sent> for OpResult {
    fn from(sent: Sent) -> Self {
        match sent {
            Sent::Done => OpResult::Done,
            Sent::Full => OpResult::WouldBlock,
            Sent::Closed => OpResult::Closed,
        }
    }
}

impl From<Received> for OpResult {
    fn from(received: Received) -> Self {
        match received {
            Received::Done => OpResult::Done,
            Received::Empty => OpResult::WouldBlock,
            Received::Closed => OpResult::Closed,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_chan_send_impl(chan: Option<NonNull<Hchan>>, elem: *const c_void) -> OpResult {
    need_value(chan, elem, "gosched_chan_send");
    // SAFETY: `elem` is a value of the channel's size, which is its type; the channel isn't freed
    // meanwhile.
    let sent = unsafe { chansend(chan, elem, Block::Yes) };
    if sent == Sent::Full
        && let Some(_guest) = guest()
    {
        // SAFETY: as above; the value wasn't sent.
        return unsafe { chansend(chan, elem, Block::Yes) }.into();
    }
    sent.into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_chan_try_send_impl(
    chan: Option<NonNull<Hchan>>,
    elem: *const c_void,
) -> OpResult {
    need_value(chan, elem, "gosched_chan_try_send");
    // SAFETY: as in gosched_chan_send_impl.
    unsafe { chansend(chan, elem, Block::No) }.into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_chan_recv_impl(chan: Option<NonNull<Hchan>>, elem: *mut c_void) -> OpResult {
    // SAFETY: `elem` is NULL or a place for a value of the channel's size; the channel isn't freed
    // meanwhile.
    let received = unsafe { chanrecv(chan, elem, Block::Yes) };
    if received == Received::Empty
        && let Some(_guest) = guest()
    {
        // SAFETY: `elem` is NULL or a place for a value of the channel's size; the channel isn't
        // freed meanwhile.
        return unsafe { chanrecv(chan, elem, Block::Yes) }.into();
    }
    received.into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_chan_try_recv_impl(chan: Option<NonNull<Hchan>>, elem: *mut c_void) -> OpResult {
    // SAFETY: as in gosched_chan_recv_impl.
    unsafe { chanrecv(chan, elem, Block::No) }.into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_chan_close_impl(chan: Option<NonNull<Hchan>>) -> bool {
    let Some(c) = chan else { null("gosched_chan_close", "chan") };
    // SAFETY: the channel isn't freed meanwhile.
    unsafe { closechan(c) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_chan_len_impl(chan: *mut Hchan) -> usize {
    // SAFETY: NULL, or a channel that isn't freed meanwhile.
    unsafe { chan.as_ref() }.map_or(0, |c| c.qcount.load(Ordering::Relaxed))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_chan_cap_impl(chan: *mut Hchan) -> usize {
    // SAFETY: as in gosched_chan_len_impl.
    unsafe { chan.as_ref() }.map_or(0, |c| c.dataqsiz.get())
}

/// The most cases whose orders are on the stack; for more, memory is allocated.
const FEW: usize = 16;

/// The most cases: their numbers are u16.
const MANY: usize = 1 << 16;

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_select_impl(
    cases: *const Scase,
    nsends: usize,
    nrecvs: usize,
    block: bool,
) -> Selected {
    let n = nsends.saturating_add(nrecvs);
    if n > MANY {
        misuse(format_args!("gosched_select: {n} cases are more than {MANY}"));
    }
    if cases.is_null() && n != 0 {
        null("gosched_select", "cases");
    }
    // SAFETY: there are nsends + nrecvs cases at `cases`, and a C Case is an Scase (see below).
    let scases = if n == 0 { &[] } else { unsafe { slice::from_raw_parts(cases, n) } };
    for case in &scases[..nsends] {
        need_value(case.c, case.elem, "gosched_select");
    }
    // SAFETY: the first `nsends` cases have values, the others places or NULL, and no channel is
    // freed meanwhile.
    let mut chosen = unsafe { select(scases, nsends, block) };
    if block
        && chosen == Chosen::None
        && let Some(_guest) = guest()
    {
        // SAFETY: as above; nothing was done.
        chosen = unsafe { select(scases, nsends, block) };
    }
    let (index, result) = match chosen {
        Chosen::Sent(i) | Chosen::Received(i) => (i as isize, OpResult::Done),
        Chosen::SendClosed(i) | Chosen::RecvClosed(i) => (i as isize, OpResult::Closed),
        Chosen::None => (-1, OpResult::WouldBlock),
    };
    Selected { index, result }
}

/// Does one of the cases.
///
/// # Safety
/// As [`selectgo`]: the first `nsends` cases have values, the others places or null, and no channel
/// is freed meanwhile.
unsafe fn select(scases: &[Scase], nsends: usize, block: bool) -> Chosen {
    let n = scases.len();
    if n <= FEW {
        let mut order = [0; 2 * FEW];
        // SAFETY: the cases are what selectgo asks for, as the caller says.
        unsafe { selectgo(scases, &mut order[..2 * n], nsends, block) }
    } else {
        let mut order = with_room(|| vec![0; 2 * n]);
        // SAFETY: the cases are what selectgo asks for, as the caller says.
        let chosen = unsafe { selectgo(scases, &mut order, nsends, block) };
        with_room(|| drop(order));
        chosen
    }
}

// A Case of C has the layout of an Scase.
// Compilers read a channel's length and capacity where Go's has them.
const _: () = assert!(offset_of!(Hchan, qcount) == 0);
const _: () = assert!(offset_of!(Hchan, dataqsiz) == size_of::<usize>());
const _: () = assert!(size_of::<Case>() == size_of::<Scase>());
const _: () = assert!(offset_of!(Case, chan) == offset_of!(Scase, c));
const _: () = assert!(offset_of!(Case, elem) == offset_of!(Scase, elem));
