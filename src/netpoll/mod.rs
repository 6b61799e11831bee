//! The network poller, of which there is the part that timers need: an M that has nothing to do
//! sleeps here until the next timer is due, or somebody has an earlier one. Go's `netpoll.go`.
//!
//! It sleeps on a futex. No file is polled yet, so no goroutine waits for one.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use crate::lock::{lock, unlock};
use crate::os::{futexsleep, futexwakeup, nanotime};
use crate::proc::allgs::SharedMutex;
use crate::proc::gqueue::GList;
use crate::runtime2::{Mutex, sched};

/// Whether there is a poller. Go's `netpollInited`.
static NETPOLL_INITED: AtomicBool = AtomicBool::new(false);
/// Held while it is made. Go's `netpollInitLock`.
static NETPOLL_INIT_LOCK: SharedMutex = SharedMutex(Mutex::new());
/// How many goroutines wait for the network. Go's `netpollWaiters`.
static NETPOLL_WAITERS: AtomicI32 = AtomicI32::new(0);
/// 1 if the poll in progress, or the next one, is to end; the futex word. Go's `netpollWakeSig`.
static NETPOLL_WAKE_SIG: AtomicU32 = AtomicU32::new(0);

/// Makes the poller, unless there is one. Go's `netpollGenericInit`.
///
/// Until then `lastpoll` is 0, as if somebody polled: Go sets it when the scheduler starts. So
/// nobody is woken to poll for a program that has no timers.
#[cold]
pub(crate) fn netpoll_generic_init() {
    lock(&NETPOLL_INIT_LOCK.0);
    if !netpollinited() {
        sched().lastpoll.store(nanotime(), Ordering::SeqCst);
        NETPOLL_INITED.store(true, Ordering::SeqCst);
    }
    unlock(&NETPOLL_INIT_LOCK.0);
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
pub(crate) fn netpoll_adjust_waiters(delta: i32) {
    if delta != 0 {
        NETPOLL_WAITERS.fetch_add(delta, Ordering::SeqCst);
    }
}

/// Ends the poll in progress, or the next one. Go's `netpollBreak`.
pub(crate) fn netpoll_break() {
    // Otherwise somebody has done it already.
    if NETPOLL_WAKE_SIG.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
        futexwakeup(&NETPOLL_WAKE_SIG, 1);
    }
}

/// Waits for `delay` nanoseconds, forever if that is negative, or until [`netpoll_break`]; it may be
/// shorter. Returns the goroutines that can go on, and what
/// [`netpoll_adjust_waiters`] is to be told when they do. One thread at a time. Go's `netpoll`.
pub(crate) fn netpoll(delay: i64) -> (GList, i32) {
    if delay != 0 {
        futexsleep(&NETPOLL_WAKE_SIG, 0, delay);
        // Who has seen the 1 meanwhile, and left it at that, has put up its timer before.
        NETPOLL_WAKE_SIG.store(0, Ordering::SeqCst);
    }
    (GList::default(), 0)
}
