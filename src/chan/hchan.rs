//! Channels without types: Go's `chan.go`.
//!
//! A value is copied into the buffer, out of the buffer, or, when one of the two goroutines is
//! parked, directly from the sender to the receiver. The goroutine that comes second copies it, to
//! or from the stack of the parked one, and makes the parked one ready.
//!
//! - `lock` protects all fields and the sudogs in the queues. What is read without it (`qcount`,
//!   `closed`, the heads of the queues) may be out of date at once.
//! - At most one of the two queues has waiters, except that a select may be in both. Receivers
//!   wait only while the buffer is empty, senders only while it is full.
//!
//! The typed channels of the safe layer are in [`chan`](crate::chan).

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

pub use crate::chan::entry::*;
pub use crate::chan::ops::{Received, Sent};
use crate::panic::throw;
use crate::runtime2::{Link, Mutex, Sudog};
pub use crate::select::{Chosen, Scase};

/// A channel. Go's `hchan`.
#[repr(C)]
pub struct Hchan {
    /// The number of values in the buffer. Written with the lock held, read without.
    pub qcount: AtomicUsize,
    /// The capacity of the buffer, in values.
    pub dataqsiz: usize,
    /// The buffer: `dataqsiz` values, behind this struct.
    pub buf: *mut c_void,
    /// The size of a value, in bytes.
    pub elemsize: u16,
    /// 1 once it is closed.
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

/// What this port adds to an [`Hchan`]. There is no collector to free channels: handles are counted.
#[repr(C)]
pub struct HchanExt {
    /// The number of [`Sender`](crate::chan::Sender)s. Used by the safe layer only.
    pub senders: AtomicU32,
    /// The number of [`Receiver`](crate::chan::Receiver)s. Used by the safe layer only.
    pub receivers: AtomicU32,
    /// How many of these two counts are above 0: at 0 the safe layer frees the channel.
    pub sides: AtomicU32,
    /// While the channel is in use, the timer that sends to it, or null; in the pool, the next unused
    /// channel.
    pub(crate) link: Cell<*mut c_void>,
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
    /// Adds `sg` at the end. The channel's lock is held.
    #[inline]
    pub(crate) fn enqueue(&self, sg: &'static Sudog) {
        sg.next.set(None);
        let last = self.last.get();
        sg.prev.set(last);
        match last {
            Some(last) => last.next.set(Some(sg)),
            None => self.first.set(Some(sg)),
        }
        self.last.set(Some(sg));
    }

    /// Takes out the first sudog whose goroutine this caller may wake. The channel's lock is held.
    #[inline]
    pub(crate) fn dequeue(&self) -> Option<&'static Sudog> {
        loop {
            let sg = self.first.get()?;
            match sg.next.get() {
                None => {
                    self.first.set(None);
                    self.last.set(None);
                }
                Some(next) => {
                    next.prev.set(None);
                    self.first.set(Some(next));
                    sg.next.set(None); // how dequeue_sudo_g sees that it has left
                }
            }
            // Another case may have woken the select already, and the select not yet have taken
            // this sudog off the queue.
            if sg.is_select.get() && !win_select(sg) {
                continue;
            }
            return Some(sg);
        }
    }

    /// Takes `sg` out, if it is still in the queue. The channel's lock is held. Go's `dequeueSudoG`.
    pub(crate) fn dequeue_sudo_g(&self, sg: &'static Sudog) {
        match (sg.prev.get(), sg.next.get()) {
            (Some(prev), next) => {
                prev.next.set(next);
                match next {
                    Some(next) => next.prev.set(Some(prev)),
                    None => self.last.set(Some(prev)),
                }
                sg.next.set(None);
                sg.prev.set(None);
            }
            (None, Some(next)) => {
                next.prev.set(None);
                self.first.set(Some(next));
                sg.next.set(None);
            }
            // The only one in the queue, or no longer in it.
            (None, None) => {
                if self.first.get().is_some_and(|first| ptr::eq(first, sg)) {
                    self.first.set(None);
                    self.last.set(None);
                }
            }
        }
    }
}

/// Claims the right to wake the select of `sg`: of all its cases, one gets it.
fn win_select(sg: &Sudog) -> bool {
    let Some(gp) = sg.g.get() else { throw("sudog without a g") };
    // The channels' locks order everything else: this has only to be one atomic step.
    gp.select_done.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}
