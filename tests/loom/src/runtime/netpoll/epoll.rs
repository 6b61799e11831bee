//! Stand-in for the poller's system calls. An M sleeps in the poller until it is woken, or until
//! the descriptor that a goroutine waits for is ready. If its time would be over by [`SOON`], the M
//! doesn't sleep at all. A `PollDesc` gets an event when a model says so, and all other events come
//! from the models' kernel.

use std::io;
use std::os::fd::RawFd;
use std::sync::Mutex;

use libc::{EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD};

use crate::runtime::base::os::{futexsleep, futexwakeup};
use crate::runtime::data::atomic::{AtomicU32, Ordering};
use crate::runtime::data::gqueue::{GList, GQueue};
use crate::runtime::data::runtime2::G;
use crate::runtime::kernel::{epoll_ctl, epoll_wait};
use crate::runtime::netpoll::poll_desc::PollDesc;
use crate::runtime::netpoll::ready::{netpollevent, netpollready, tagged_pointer_pack};
use crate::runtime::netpoll::{marked, netpoll_adjust_waiters};
use crate::runtime::sched::ready::goready;

/// A sleep of at most this length counts as none.
pub(crate) const SOON: i64 = 10;

static WAKE_SIG: AtomicU32 = AtomicU32::new(0);
static READY: AtomicU32 = AtomicU32::new(0);

/// Makes the awaited descriptor ready.
pub(crate) fn becomes_ready() {
    READY.store(1, Ordering::SeqCst);
    netpoll_break();
}

pub(crate) fn netpoll_break() {
    if WAKE_SIG.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
        futexwakeup(&WAKE_SIG, 1);
    }
}

pub(crate) fn netpoll(delay: i64) -> (GList, i32) {
    if !(0..=SOON).contains(&delay) {
        futexsleep(&WAKE_SIG, 0, -1);
        WAKE_SIG.store(0, Ordering::SeqCst);
    }
    let list = GList::default();
    let ready = READY.swap(0, Ordering::SeqCst) as i32;
    (0..ready).for_each(|_| list.push(G::new(0)));
    (list, -ready)
}

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
pub(crate) fn reports_ready(pd: &'static PollDesc) {
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

/// The data of a `PollDesc` that gets no events: its low bits aren't 0.
pub(crate) const POLL_DESC: u64 = 1;

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

/// Does what `netpollopen` does for such a `PollDesc`.
pub(crate) fn open_poll_desc(fd: RawFd) -> io::Result<()> {
    marked::claim(fd, true);
    let opened = epoll_ctl(EPOLL_CTL_ADD, fd, None, POLL_DESC);
    if opened.is_err() {
        marked::claim(fd, false);
    }
    opened
}

/// Does what `netpollclose` does.
pub(crate) fn close_poll_desc(fd: RawFd) {
    let _ = epoll_ctl(EPOLL_CTL_DEL, fd, None, POLL_DESC);
    marked::claim(fd, false);
}

/// Polls until all goroutines of the model have ended.
pub(crate) fn poll_until_all_end() {
    while let Some((data, events)) = epoll_wait() {
        let to_run = GQueue::default();
        let delta = marked::event(&to_run, marked::descriptor_of(data).unwrap(), events);
        go_on(to_run, delta);
    }
}
