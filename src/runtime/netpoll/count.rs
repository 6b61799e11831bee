//! The number of goroutines that are parked on descriptors, and what happens when the last wait
//! ends.

use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::sched;
use crate::runtime::netpoll::NETPOLL_WAITERS;
use crate::runtime::netpoll::epoll::netpoll_break;

/// Whether a goroutine is parked on a descriptor. Go's `netpollAnyWaiters`.
#[inline(always)]
pub(in crate::runtime) fn netpoll_any_waiters() -> bool {
    // SeqCst: see `NETPOLL_WAITERS`.
    NETPOLL_WAITERS.load(Ordering::SeqCst) > 0
}

/// Adds `delta` to the number of goroutines that are parked on descriptors. Go's
/// `netpollAdjustWaiters`.
///
/// When a close or a deadline has ended the last wait, an M that sleeps in the poller without a
/// time limit has nothing to wait for. Go leaves the M there, and so doesn't notice a deadlock.
/// Here the M is woken.
pub(in crate::runtime) fn netpoll_adjust_waiters(delta: i32) {
    // SeqCst: see `NETPOLL_WAITERS`. An M that swaps in the 0 after this load of `lastpoll` reads
    // the count afterwards, and finds that no goroutine waits.
    if delta != 0
        && NETPOLL_WAITERS.fetch_add(delta, Ordering::SeqCst) + delta == 0
        && sched().lastpoll.load(Ordering::SeqCst) == 0
        && sched().poll_until.load(Ordering::SeqCst) == 0
    {
        netpoll_break();
    }
}
