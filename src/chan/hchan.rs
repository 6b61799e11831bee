//! Channels without types: Go's `chan.go`.
//!
//! A value goes one of three ways: into the buffer, out of the buffer, or straight from the
//! sender to the receiver, when one of them is parked. The one that comes second copies it,
//! to or from the stack of the other, and makes that one ready.
//!
//! - `lock` protects everything, the sudogs in the queues too. What is read without it
//!   (`qcount`, `closed`, the queues' heads) is for answers that may be out of date.
//! - At most one of the queues has waiters, but for a goroutine that is in both by a select.
//!   If there is room and a receiver, or a value and a sender, nobody waits.
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
    /// How many values are in the buffer.
    pub qcount: AtomicUsize,
    /// How many there is room for.
    pub dataqsiz: usize,
    /// The buffer: `dataqsiz` values, behind this struct.
    pub buf: *mut c_void,
    /// The size of a value.
    pub elemsize: u16,
    /// 1 once it is closed.
    pub closed: AtomicU32,
    /// What the values are.
    pub elemtype: &'static Type,
    /// Where the next value goes.
    pub sendx: Cell<usize>,
    /// Where the next value comes from.
    pub recvx: Cell<usize>,
    /// Waiting receivers.
    pub recvq: Waitq,
    /// Waiting senders.
    pub sendq: Waitq,
    /// Protects all of this.
    pub lock: Mutex,
    /// What this port adds.
    pub ext: HchanExt,
}

/// What this port adds to an [`Hchan`]: who holds it, as there is no collector to find out.
#[repr(C)]
pub struct HchanExt {
    /// Handles that send; the safe layer's.
    pub senders: AtomicU32,
    /// Handles that receive; the safe layer's.
    pub receivers: AtomicU32,
    /// How many of these two counts have not come to 0; the safe layer's.
    pub sides: AtomicU32,
    /// The timer that feeds it, if one does; the next unused channel, while this is one.
    pub(crate) link: Cell<*mut c_void>,
}

/// What a channel must know of its values. Go's `_type`, as far as it concerns a channel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// The size of a value, less than 64 KiB.
    pub size_: usize,
    /// Its alignment, at most 8.
    pub align_: usize,
}

/// Those who wait at a channel, in the order that they came. Go's `waitq`.
#[repr(C)]
#[derive(Default)]
pub struct Waitq {
    /// The one that has waited longest.
    pub first: Link<Sudog>,
    /// The one that came last.
    pub last: Link<Sudog>,
}

impl Waitq {
    /// Adds `sg` at the end.
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

    /// Takes the first that can still be woken.
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
                    sg.next.set(None); // off the queue: see dequeue_sudo_g
                }
            }
            // In a select, a case on another channel may have been first; its goroutine
            // has yet to take this one off the queue.
            if sg.is_select.get() && !win_select(sg) {
                continue;
            }
            return Some(sg);
        }
    }

    /// Takes `sg` out, if it is still in. Go's `dequeueSudoG`.
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
            // Alone, or gone already.
            (None, None) => {
                if self.first.get().is_some_and(|first| ptr::eq(first, sg)) {
                    self.first.set(None);
                    self.last.set(None);
                }
            }
        }
    }
}

/// Whether this is the case that wakes the goroutine.
fn win_select(sg: &Sudog) -> bool {
    let Some(gp) = sg.g.get() else { throw("sudog without a g") };
    gp.select_done.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}
