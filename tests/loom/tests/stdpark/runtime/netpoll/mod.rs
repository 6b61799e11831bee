//! The owners of registrations, as they ship, and a stand-in for the poller.

pub(crate) mod epoll;
#[path = "../../../../../../src/runtime/netpoll/marked.rs"]
pub(crate) mod marked;

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

mod poll_desc {
    pub(super) const TAGGED_POINTER_BITS: u32 = 19;
}

loom::lazy_static! {
    static ref WAITERS: AtomicI32 = AtomicI32::new(0);
}

pub(crate) fn netpoll_generic_init() -> io::Result<()> {
    Ok(())
}

/// Relaxed: it orders nothing in a model.
pub(crate) fn netpoll_adjust_waiters(delta: i32) {
    WAITERS.fetch_add(delta, Ordering::Relaxed);
}

pub(crate) fn netpoll_waiters() -> i32 {
    WAITERS.load(Ordering::Relaxed)
}
