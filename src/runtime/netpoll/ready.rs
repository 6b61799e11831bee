//! Called when a descriptor is ready or a wait is to end: takes the goroutine that has parked out
//! of the semaphore, for the caller to make ready. Go's `netpollready` and `netpollunblock`.
//!
//! For a goroutine that has yet to park, the mark [`PD_READY`] is left. A goroutine that is yet to
//! be made is made. `loom` checks this file together with `pollwait/block.rs` (`tests/loom`).

use crate::runtime::data::atomic::{AtomicPtr, Ordering};
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::G;
use crate::runtime::netpoll::poll_desc::{Mode, PD_NIL, PD_READY, PD_WAIT, PollDesc};
use crate::runtime::netpoll::waiter::Waiter;

/// Changes a semaphore from `old` to `new`. SeqCst, for the reason that netpollblock gives.
#[inline(always)]
pub(in crate::runtime) fn cas(semaphore: &AtomicPtr<G>, old: *mut G, new: *mut G) -> bool {
    semaphore.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// Ends a wait for `mode`: the descriptor is ready (`ioready`), or a deadline or a close has come.
/// Returns the waiter, for the caller to make ready, and subtracts 1 from `delta` for it.
/// Afterwards the caller passes `delta` to
/// [`netpoll_adjust_waiters`](super::netpoll_adjust_waiters). Go's `netpollunblock`.
pub(in crate::runtime) fn netpollunblock(
    pd: &PollDesc,
    mode: Mode,
    ioready: bool,
    delta: &mut i32,
) -> Option<Waiter> {
    let semaphore = pd.semaphore(mode);
    loop {
        let old = semaphore.load(Ordering::SeqCst);
        // A deadline or a close leaves no mark here: a goroutine that comes finds it in `info`.
        if old == PD_READY || old == PD_NIL && !ioready {
            return None;
        }
        if cas(semaphore, old, if ioready { PD_READY } else { PD_NIL }) {
            if old == PD_NIL || old == PD_WAIT {
                return None;
            }
            *delta -= 1;
            // `old` is none of the constants.
            return Some(Waiter::found(old));
        }
    }
}

/// Called when the descriptor is ready for reading, or writing, or both: adds the goroutines that
/// were parked to `to_run`. That is a queue where Go has a stack, so the goroutine that became
/// ready first runs first. Returns the number to pass to
/// [`netpoll_adjust_waiters`](super::netpoll_adjust_waiters) once the goroutines are ready. Go's
/// `netpollready`.
pub(super) fn netpollready(to_run: &GQueue, pd: &PollDesc, read: bool, write: bool) -> i32 {
    let mut delta = 0;
    for (mode, ready) in [(Mode::Read, read), (Mode::Write, write)] {
        if ready && let Some(waiter) = netpollunblock(pd, mode, true, &mut delta) {
            // SAFETY: the waiter was taken out. The M that polls has room on its stack, and holds
            // no lock that making a goroutine takes.
            to_run.push_back(unsafe { waiter.goroutine() });
        }
    }
    delta
}
