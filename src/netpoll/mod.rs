//! The network poller: goroutines that wait for a descriptor park here, and no thread waits with
//! them. Go's `netpoll.go`.
//!
//! ```text
//!     a goroutine   read: EAGAIN -> poll_runtime_poll_wait -> parks, its G in pd.rg
//!     an M          findRunnable -> netpoll -> epoll says: readable -> takes the G out of pd.rg, runs it
//! ```
//!
//! A descriptor is registered once, for reading and writing, and edge-triggered: the kernel tells
//! when it *becomes* ready. So who waits has tried before, and tries again after.
//!
//! Nobody's job is to poll. An M that finds nothing else to run sleeps in `netpoll`, one at a time,
//! until the next timer is due at most; one that looks for work asks without waiting; and if all are
//! busy, sysmon asks each 10 ms.
//!
//! | file | what |
//! | --- | --- |
//! | `poll_desc.rs` | what there is for each descriptor |
//! | `cache.rs` | where that comes from |
//! | `block.rs` | parking on one, and making ready who has parked |
//! | `deadline.rs` | until when |
//! | `ops.rs` | what `internal/poll` calls: open, wait, close, and so on |
//! | `epoll.rs` | the kernel's side: Go's `netpoll_epoll.go` |
//! | `event.rs` | what that tells of a descriptor |
//!
//! These are for those who port a runtime. Everybody else uses [`net`](crate::net).

pub(crate) mod block;
mod cache;
mod deadline;
mod epoll;
mod event;
mod ops;
pub(crate) mod poll_desc;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::lock::{lock, unlock};
use crate::os::nanotime;
use crate::proc::allgs::SharedMutex;
use crate::runtime2::{Mutex, sched};

pub use deadline::poll_runtime_poll_set_deadline;
pub use epoll::netpoll_is_poll_descriptor;
pub(crate) use epoll::{netpoll, netpoll_break};
pub use ops::{
    poll_runtime_poll_close, poll_runtime_poll_open, poll_runtime_poll_reset, poll_runtime_poll_server_init,
    poll_runtime_poll_unblock, poll_runtime_poll_wait, poll_runtime_poll_wait_canceled,
};
pub use poll_desc::{Mode, PollDesc, PollError};

/// Whether there is a poller. Go's `netpollInited`.
static NETPOLL_INITED: AtomicBool = AtomicBool::new(false);
/// Held while it is made. Go's `netpollInitLock`.
static NETPOLL_INIT_LOCK: SharedMutex = SharedMutex(Mutex::new());
/// How many goroutines wait for the network. Go's `netpollWaiters`.
static NETPOLL_WAITERS: AtomicI32 = AtomicI32::new(0);

/// Makes the poller, unless there is one: with the first timer, or the first descriptor. Go's
/// `netpollGenericInit`.
///
/// Until then `lastpoll` is 0, as if somebody polled: Go sets it when the scheduler starts. So
/// nobody is woken to poll for a program that has no timers.
#[cold]
pub(crate) fn netpoll_generic_init() -> io::Result<()> {
    lock(&NETPOLL_INIT_LOCK.0);
    let mut made = Ok(());
    if !netpollinited() {
        made = epoll::netpollinit();
        if made.is_ok() {
            sched().lastpoll.store(nanotime(), Ordering::SeqCst);
            NETPOLL_INITED.store(true, Ordering::SeqCst);
        }
    }
    unlock(&NETPOLL_INIT_LOCK.0);
    made
}

/// Whether there is a poller. Go's `netpollinited`.
#[inline(always)]
pub(crate) fn netpollinited() -> bool {
    NETPOLL_INITED.load(Ordering::SeqCst)
}

/// Whether a goroutine waits for the network. Go's `netpollAnyWaiters`.
#[inline(always)]
pub(crate) fn netpoll_any_waiters() -> bool {
    NETPOLL_WAITERS.load(Ordering::SeqCst) > 0
}

/// Counts goroutines that wait, or wait no more. Go's `netpollAdjustWaiters`.
///
/// When a close or a deadline has ended the last wait, who sleeps in the poller sleeps for nothing. Go
/// leaves it there, and doesn't see a deadlock any more; here it is woken.
pub(crate) fn netpoll_adjust_waiters(delta: i32) {
    if delta != 0
        && NETPOLL_WAITERS.fetch_add(delta, Ordering::SeqCst) + delta == 0
        && sched().lastpoll.load(Ordering::SeqCst) == 0
        && sched().poll_until.load(Ordering::SeqCst) == 0
    {
        netpoll_break();
    }
}
