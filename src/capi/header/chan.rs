//! What C programs see of channels and select.

use std::ffi::{c_int, c_void};

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
