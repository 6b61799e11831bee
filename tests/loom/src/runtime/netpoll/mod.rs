//! The poller: its data for a descriptor, and its reaction to the kernel's events.

mod cache;
#[path = "../../../../../src/runtime/netpoll/count.rs"]
mod count;
pub(crate) mod epoll;
#[path = "../../../../../src/runtime/netpoll/marked.rs"]
pub(crate) mod marked;
mod models_later;
mod models_reuse;
mod models_wait;
pub(crate) mod pipe;
#[path = "../../../../../src/runtime/netpoll/poll_desc.rs"]
pub(crate) mod poll_desc;
#[path = "../../../../../src/runtime/netpoll/ready.rs"]
pub(crate) mod ready;

pub(crate) use cache::POLLCACHE;
pub(super) use count::netpoll_any_waiters;

use std::io;
use std::sync::atomic::{AtomicI32 as StdI32, Ordering};

use crate::runtime::data::atomic::AtomicI32;
use crate::runtime::made::goroutines_are_threads;

static NETPOLL_WAITERS: AtomicI32 = AtomicI32::new(0);

loom::lazy_static! {
    /// The same where goroutines are threads. It orders nothing.
    static ref WAITERS: StdI32 = StdI32::new(0);
}

pub(crate) fn netpoll_adjust_waiters(delta: i32) {
    if goroutines_are_threads() {
        WAITERS.fetch_add(delta, Ordering::Relaxed);
    } else {
        count::netpoll_adjust_waiters(delta);
    }
}

pub(crate) fn netpoll_waiters() -> i32 {
    WAITERS.load(Ordering::Relaxed)
}

pub(crate) fn netpollinited() -> bool {
    true
}

pub(crate) fn netpoll_generic_init() -> io::Result<()> {
    Ok(())
}

pub(crate) fn netpoll_init_for_timers() {}
