//! The poller: its data for a descriptor, and its reaction to the kernel's events.

mod cache;
pub(crate) mod epoll;
#[path = "../../../../../../src/runtime/netpoll/poll_desc.rs"]
pub(crate) mod poll_desc;
#[path = "../../../../../../src/runtime/netpoll/ready.rs"]
pub(crate) mod ready;

pub(crate) use cache::POLLCACHE;

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

loom::lazy_static! {
    static ref WAITERS: AtomicI32 = AtomicI32::new(0);
}

pub(crate) fn netpoll_generic_init() -> io::Result<()> {
    Ok(())
}

pub(crate) fn netpoll_adjust_waiters(delta: i32) {
    WAITERS.fetch_add(delta, Ordering::SeqCst);
}

pub(crate) fn netpoll_waiters() -> i32 {
    WAITERS.load(Ordering::SeqCst)
}
