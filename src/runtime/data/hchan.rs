//! A channel without types, and the queues of its waiters: Go's `hchan` and `waitq`.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::runtime::data::cell::Cell;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{Mutex, Sudog};

/// A channel. Go's `hchan`.
#[repr(C)]
pub struct Hchan {
    /// The number of values in the buffer. Written with the lock held, read without.
    pub qcount: AtomicUsize,
    /// The capacity of the buffer, in values. It changes only in a channel that grows, and is read
    /// there with the lock held.
    pub dataqsiz: Cell<usize>,
    /// The buffer: `dataqsiz` values, behind this struct.
    pub buf: Cell<*mut c_void>,
    /// The size of a value, in bytes.
    pub elemsize: u16,
    /// The lowest bit is set once the channel is closed, the next bit if it was made in an
    /// exploration, and the third if a receive runs the channel's timer. The fourth is set if the
    /// buffer grows, and the fifth while the channel has observers. So a channel with 0 is open,
    /// and its operations need no special handling.
    pub closed: AtomicU32,
    /// The type of the values.
    pub elemtype: &'static Type,
    /// The slot that the next send fills.
    pub sendx: Cell<usize>,
    /// The slot that the next receive empties.
    pub recvx: Cell<usize>,
    /// The receivers that wait.
    pub recvq: Waitq,
    /// The senders that wait.
    pub sendq: Waitq,
    /// Protects all fields above, and the sudogs in the queues.
    pub lock: Mutex,
    /// What this port adds.
    pub ext: HchanExt,
}

/// In [`Hchan::closed`]: the channel is closed.
pub(in crate::runtime) const CLOSED: u32 = 1;
/// In [`Hchan::closed`]: an exploration may let other goroutines go on before an operation.
pub(in crate::runtime) const EXPLORED: u32 = 2;
/// In [`Hchan::closed`]: a timer feeds the channel, and a receive runs that timer if it is due.
pub(in crate::runtime) const FED: u32 = 4;
/// In [`Hchan::closed`]: the buffer grows when it is full.
pub(in crate::runtime) const GROWS: u32 = 8;
/// In [`Hchan::closed`]: the channel has observers. Changed with the lock held.
pub(in crate::runtime) const OBSERVED: u32 = 16;

impl Hchan {
    /// Whether the channel is closed. Without its lock, the answer may be out of date.
    #[inline(always)]
    pub(in crate::runtime) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// Whether the buffer grows when it is full, so that a send never waits.
    #[inline(always)]
    pub(in crate::runtime) fn grows(&self) -> bool {
        self.closed.load(Ordering::Relaxed) & GROWS != 0
    }

    /// Whether the channel has observers. Without its lock, the answer may be out of date.
    #[inline(always)]
    pub(in crate::runtime) fn is_observed(&self) -> bool {
        self.closed.load(Ordering::Relaxed) & OBSERVED != 0
    }
}

/// The fields that this port adds to an [`Hchan`]. No collector frees channels, so handles are
/// counted.
#[repr(C)]
pub struct HchanExt {
    /// The number of [`Sender`](crate::chan::Sender)s. Used by the safe layer only.
    pub senders: AtomicU32,
    /// The number of [`Receiver`](crate::chan::Receiver)s. Used by the safe layer only.
    pub receivers: AtomicU32,
    /// How many of these two counts are above 0: at 0 the safe layer frees the channel.
    pub sides: AtomicU32,
    /// While the channel is in use, the timer that sends to it, or null; in the pool, the next
    /// unused channel.
    pub(in crate::runtime) link: Cell<*mut c_void>,
}

/// The type of a channel's values. Go's `_type`, as far as channels need it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// The size of a value in bytes, less than 64 KiB.
    pub size_: usize,
    /// The alignment of a value in bytes, at most 8.
    pub align_: usize,
}

/// The goroutines that wait at a channel, first come first served. Go's `waitq`.
#[repr(C)]
#[derive(Default)]
pub struct Waitq {
    /// The head: the sudog that has waited longest.
    pub first: Link<Sudog>,
    /// The tail: the sudog that came last.
    pub last: Link<Sudog>,
}

impl Waitq {
    /// Returns an empty queue.
    pub(in crate::runtime) const fn new() -> Self {
        Waitq { first: Link::null(), last: Link::null() }
    }
}
