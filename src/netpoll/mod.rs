//! The network poller: a goroutine that waits for a descriptor is parked, and no thread waits with
//! it. Go's `netpoll.go`.
//!
//! ```text
//!     a goroutine   read: EAGAIN -> poll_runtime_poll_wait -> parks, its G in pd.rg
//!     an M          findRunnable -> netpoll -> epoll says: readable -> takes the G out of pd.rg, runs it
//! ```
//!
//! A descriptor is registered once, for reading and writing, and edge-triggered: the kernel reports
//! when it *becomes* ready. So a goroutine tries its operation before it waits, and again after.
//!
//! There is no thread for polling. One of the M's that find nothing to run sleeps in `netpoll`, until
//! the next timer is due; an M that looks for work polls without waiting; and if all are busy, sysmon
//! polls every 10 ms.
//!
//! | file | what |
//! | --- | --- |
//! | `poll_desc.rs` | the struct for each descriptor |
//! | `cache.rs` | where these structs come from |
//! | `block.rs` | parking on a descriptor, and making the parked goroutine ready |
//! | `deadline.rs` | times at which waits end |
//! | `ops.rs` | what `internal/poll` calls: open, wait, close, and so on |
//! | `epoll.rs` | the kernel's side: Go's `netpoll_epoll.go` |
//! | `event.rs` | what the kernel reports of a descriptor |
//!
//! The public functions are for porting a runtime. Other programs use [`net`](crate::net).

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
    poll_runtime_poll_unblock, poll_runtime_poll_wait,
};
pub use poll_desc::{Mode, PollDesc, PollError};

/// Whether the poller is made. Go's `netpollInited`.
static NETPOLL_INITED: AtomicBool = AtomicBool::new(false);
/// Held while the poller is made. Go's `netpollInitLock`.
static NETPOLL_INIT_LOCK: SharedMutex = SharedMutex(Mutex::new());
/// How many goroutines are parked on descriptors. Go's `netpollWaiters`.
static NETPOLL_WAITERS: AtomicI32 = AtomicI32::new(0);

/// Makes the poller, unless there is one: with the first timer, or the first descriptor. Go's
/// `netpollGenericInit`.
///
/// Until then `lastpoll` is 0, which means that an M is polling; Go sets it when the scheduler starts. So
/// a program without timers and descriptors wakes nobody to poll.
#[cold]
pub(crate) fn netpoll_generic_init() -> io::Result<()> {
    lock(&NETPOLL_INIT_LOCK.0);
    let mut made = Ok(());
    if !netpollinited() {
        made = epoll::netpollinit();
        if made.is_ok() {
            sched().lastpoll.store(nanotime(), Ordering::SeqCst);
            // Last: netpollinited pairs with it, and its callers then use the descriptors without a lock.
            NETPOLL_INITED.store(true, Ordering::SeqCst);
        }
    }
    unlock(&NETPOLL_INIT_LOCK.0);
    made
}

/// Whether the poller is made. Go's `netpollinited`.
#[inline(always)]
pub(crate) fn netpollinited() -> bool {
    NETPOLL_INITED.load(Ordering::SeqCst)
}

/// Whether a goroutine is parked on a descriptor. Go's `netpollAnyWaiters`.
#[inline(always)]
pub(crate) fn netpoll_any_waiters() -> bool {
    NETPOLL_WAITERS.load(Ordering::SeqCst) > 0
}

/// Adds `delta` to the number of goroutines that are parked on descriptors. Go's `netpollAdjustWaiters`.
///
/// When a close or a deadline has ended the last wait, an M that sleeps in the poller without a time limit
/// has nothing to wait for. Go leaves it there, and so doesn't notice a deadlock; here it is woken.
pub(crate) fn netpoll_adjust_waiters(delta: i32) {
    if delta != 0
        && NETPOLL_WAITERS.fetch_add(delta, Ordering::SeqCst) + delta == 0
        && sched().lastpoll.load(Ordering::SeqCst) == 0
        && sched().poll_until.load(Ordering::SeqCst) == 0
    {
        netpoll_break();
    }
}
