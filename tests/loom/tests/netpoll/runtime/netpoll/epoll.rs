//! Stand-in for the kernel, and for who asks it: it says something of a descriptor if a model has it do that.

use std::io;
use std::os::fd::RawFd;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use crate::runtime::data::gqueue::GQueue;
use crate::runtime::netpoll::event::{netpollevent, tagged_pointer_pack};
use crate::runtime::netpoll::netpoll_adjust_waiters;
use crate::runtime::netpoll::poll_desc::PollDesc;
use crate::runtime::netpoll::ready::netpollready;
use crate::runtime::sched::ready::goready;

loom::lazy_static! {
    /// What was registered last, and what comes back with an event of that.
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

/// What the poller does when the kernel says that it is ready.
pub(crate) fn becomes_ready(pd: &'static PollDesc) {
    let list = GQueue::default();
    let delta = netpollready(&list, pd, true, true);
    go_on(list, delta);
}

/// The kernel tells this of the descriptor that was opened last: the poller has it now, and does something
/// about it when the result is called.
pub(crate) fn told(events: libc::c_int) -> impl FnOnce() + Send {
    let (pd, data) = REGISTERED.lock().unwrap().unwrap();
    move || {
        // loom doesn't know of `fdseq`, and tries no other order of accesses to it. It knows of what is read here.
        pd.info();
        let list = GQueue::default();
        // SAFETY: the kernel was given `data`.
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
