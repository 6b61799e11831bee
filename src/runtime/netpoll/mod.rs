//! The poller, as far as it doesn't park: descriptors, and what the kernel tells of them. Go's
//! `netpoll_epoll.go`, and the half of `netpoll.go` that the scheduler calls. The half that parks is
//! `pollwait`.
//!
//! ```text
//!     a goroutine   read: EAGAIN -> poll_runtime_poll_wait -> parks, its G in pd.rg           pollwait
//!     an M          findRunnable -> netpoll -> epoll says: readable -> takes the G out of pd.rg, runs it
//! ```
//!
//! A descriptor is registered once, for reading and writing, and edge-triggered: the kernel tells when it
//! *becomes* ready. So a goroutine tries before it waits, and again after.
//!
//! Nobody's job is to poll. An M that finds nothing else to run sleeps in `netpoll`, one at a time, until the
//! next timer is due at most; one that looks for work asks without waiting; and if all are busy, sysmon asks
//! every 10 ms. `sched.lastpoll` is 0 while somebody sleeps here, and then `sched.poll_until` says until
//! when.
//!
//! - The poller is made with the first timer or descriptor. Until then `lastpoll` is 0, as if somebody
//!   polled: a program without timers wakes nobody to do so. (Go sets it when the scheduler starts.)
//! - Timers need no epoll: where there can be none, because the process has no descriptor left, an M sleeps on a
//!   futex until the next one is due. The first descriptor that is opened asks for epoll again, or is an error.
//! - `netpoll` makes nobody ready: it returns a list, and its caller makes them ready and then counts them
//!   off. With a limit other than 0 it is called without a P.
//! - A `PollDesc` stays one for ever, since the kernel has its address. What it tells of an earlier use of it
//!   is known by `fdseq`.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | `netpollGenericInit`, `netpollinited` |
//! | `count.rs` | `netpollAnyWaiters`, `netpollAdjustWaiters` |
//! | `epoll.rs` | `netpollinit`, `netpollopen`, `netpollclose`, `netpollBreak`, `netpoll` |
//! | `event.rs` | what an event tells of a descriptor; `taggedPointerPack` |
//! | `ready.rs` | `netpollready`, `netpollunblock`: takes out the goroutine that has parked |
//! | `waiter.rs` | who waits: a goroutine that has parked, or one that is made when the wait is over |
//! | `poll_desc.rs` | `pollDesc`, `pollInfo`, and the states of its semaphores |
//! | `marked.rs` | registrations of other rooms, which get their events |
//! | `cache.rs` | `pollCache.alloc`, `pollCache.free` |

pub(super) mod cache;
mod count;
pub(super) mod epoll;
mod event;
#[cfg(feature = "std")]
pub(super) mod marked;
pub(super) mod poll_desc;
pub(super) mod ready;
pub(super) mod waiter;

pub(super) use count::{netpoll_adjust_waiters, netpoll_any_waiters};

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::runtime::base::os::nanotime;
use crate::runtime::data::runtime2::{Mutex, sched};
use crate::runtime::lock::mutex::SharedMutex;
use crate::runtime::lock::{lock, unlock};

/// Whether the poller is made, with epoll or without. Go's `netpollInited`.
static NETPOLL_INITED: AtomicBool = AtomicBool::new(false);
/// Held while the poller is made. Go's `netpollInitLock`.
static NETPOLL_INIT_LOCK: SharedMutex = SharedMutex(Mutex::new());
/// How many goroutines are parked on descriptors. Go's `netpollWaiters`.
static NETPOLL_WAITERS: AtomicI32 = AtomicI32::new(0);

/// Makes the poller for descriptors, unless there is one. Go's `netpollGenericInit`.
#[cold]
pub(in crate::runtime) fn netpoll_generic_init() -> io::Result<()> {
    lock(&NETPOLL_INIT_LOCK.0);
    let mut made = Ok(());
    if !epoll::has_epoll() {
        made = epoll::netpollinit();
        if made.is_ok() && netpollinited() {
            epoll::end_sleep_without_epoll();
        } else if made.is_ok() {
            begin_to_poll();
        }
    }
    unlock(&NETPOLL_INIT_LOCK.0);
    made
}

/// Makes the poller for timers, unless there is one; if it can't have descriptors, one without epoll, in which an M
/// waits for timers all the same.
#[cold]
pub(in crate::runtime) fn netpoll_init_for_timers() {
    if netpoll_generic_init().is_err() {
        lock(&NETPOLL_INIT_LOCK.0);
        if !netpollinited() {
            begin_to_poll();
        }
        unlock(&NETPOLL_INIT_LOCK.0);
    }
}

/// From here on M's that have nothing to do poll.
///
/// Until then `lastpoll` is 0, which means that an M is polling; Go sets it when the scheduler starts. So
/// a program without timers and descriptors wakes nobody to poll.
fn begin_to_poll() {
    sched().lastpoll.store(nanotime(), Ordering::SeqCst);
    // Last: netpollinited pairs with it.
    NETPOLL_INITED.store(true, Ordering::SeqCst);
}

/// Whether the poller is made, with epoll or without. Go's `netpollinited`.
#[inline(always)]
pub(in crate::runtime) fn netpollinited() -> bool {
    NETPOLL_INITED.load(Ordering::SeqCst)
}
