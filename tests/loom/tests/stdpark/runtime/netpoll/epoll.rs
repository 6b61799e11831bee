//! Stand-in for the poller's system calls, which the models' kernel performs, and for an M that
//! polls.

use std::io;
use std::os::fd::RawFd;

use libc::{EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD};

use crate::runtime::data::gqueue::GQueue;
use crate::runtime::kernel::{epoll_ctl, epoll_wait};
use crate::runtime::netpoll::{marked, netpoll_adjust_waiters};
use crate::runtime::sched::ready::goready;

/// The data of a `PollDesc`: its low bits aren't 0.
pub(crate) const POLL_DESC: u64 = 1;

pub(crate) fn has_epoll() -> bool {
    true
}

/// As in the shipped file.
pub(crate) fn arm_marked(fd: RawFd, events: u32, registered: bool) -> io::Result<bool> {
    let ctl = |op| epoll_ctl(op, fd, Some(events), marked::data_of(fd));
    if registered {
        match ctl(EPOLL_CTL_MOD) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            result => return result.map(|()| true),
        }
    }
    ctl(EPOLL_CTL_ADD).map(|()| false)
}

pub(crate) fn remove_marked(fd: RawFd) {
    let _ = epoll_ctl(EPOLL_CTL_DEL, fd, None, marked::data_of(fd));
}

/// As in the shipped file. A `PollDesc` gets no events here.
pub(crate) fn netpollopen(fd: RawFd) -> io::Result<()> {
    marked::claim(fd, true);
    let opened = epoll_ctl(EPOLL_CTL_ADD, fd, None, POLL_DESC);
    if opened.is_err() {
        marked::claim(fd, false);
    }
    opened
}

/// As in the shipped file.
pub(crate) fn netpollclose(fd: RawFd) {
    let _ = epoll_ctl(EPOLL_CTL_DEL, fd, None, POLL_DESC);
    marked::claim(fd, false);
}

/// Polls until all goroutines of the model have ended.
pub(crate) fn poll_until_all_end() {
    while let Some((data, events)) = epoll_wait() {
        let to_run = GQueue::default();
        let delta = marked::event(&to_run, marked::descriptor_of(data).unwrap(), events);
        while let Some(gp) = to_run.pop() {
            goready(gp);
        }
        netpoll_adjust_waiters(delta);
    }
}
