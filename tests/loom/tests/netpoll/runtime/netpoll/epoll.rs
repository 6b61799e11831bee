//! Stand-in for the kernel, and for the code that calls it. It reports an event of a descriptor
//! when a model says so.

use std::io;
use std::os::fd::RawFd;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use crate::runtime::data::gqueue::GQueue;
use crate::runtime::netpoll::netpoll_adjust_waiters;
use crate::runtime::netpoll::poll_desc::PollDesc;
use crate::runtime::netpoll::ready::{netpollevent, netpollready, tagged_pointer_pack};
use crate::runtime::sched::ready::goready;

loom::lazy_static! {
    /// The descriptor that was registered last, and the data of its events.
    static ref REGISTERED: Mutex<Option<(&'static PollDesc, u64)>> = Mutex::new(None);
}

pub(crate) fn has_epoll() -> bool {
    true
}

pub(crate) fn netpollopen(_: RawFd, pd: &'static PollDesc) -> io::Result<()> {
    let data = tagged_pointer_pack(pd, pd.fdseq.load(Ordering::Relaxed));
    *REGISTERED.lock().unwrap() = Some((pd, data));
    Ok(())
}

pub(crate) fn netpollclose(_: RawFd) {}

/// Does what the poller does when the kernel reports the descriptor ready.
pub(crate) fn becomes_ready(pd: &'static PollDesc) {
    let list = GQueue::default();
    let delta = netpollready(&list, pd, true, true);
    go_on(list, delta);
}

/// Makes the kernel report `events` for the descriptor that was opened last. The poller has the
/// report now, and acts on it when the result is called.
pub(crate) fn told(events: libc::c_int) -> impl FnOnce() + Send {
    let (pd, data) = REGISTERED.lock().unwrap().unwrap();
    move || {
        // loom doesn't know `fdseq`, and tries no other order of its accesses. It does know the
        // fields that this reads.
        pd.info();
        let list = GQueue::default();
        // SAFETY: `data` is the registration's.
        let delta = unsafe { netpollevent(&list, events as u32, data) };
        go_on(list, delta);
    }
}

fn go_on(list: GQueue, delta: i32) {
    while let Some(gp) = list.pop() {
        goready(gp);
    }
    netpoll_adjust_waiters(delta);
}
