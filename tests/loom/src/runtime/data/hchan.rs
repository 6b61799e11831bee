//! Stand-in for a channel.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{Mutex, Sudog};

/// A channel of numbers. Fields that aren't loom's atomics are used with the lock held.
pub(crate) struct Hchan {
    pub(crate) qcount: AtomicUsize,
    pub(crate) dataqsiz: Cell<usize>,
    pub(crate) buf: Cell<u32>,
    pub(crate) closed: AtomicU32,
    pub(crate) recvq: Waitq,
    pub(crate) sendq: Waitq,
    pub(crate) lock: Mutex,
}

impl Hchan {
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn grows(&self) -> bool {
        false
    }
}

#[derive(Default)]
pub(crate) struct Waitq {
    pub(crate) first: Link<Sudog>,
    pub(crate) last: Link<Sudog>,
}
