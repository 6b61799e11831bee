//! Parking on a descriptor, and making ready who has parked: the protocol of `rg` and `wg`, which
//! [`PollDesc`] explains.
//!
//! It has three sides: the goroutine that waits, the poller, and who closes the descriptor or whose timer
//! is a deadline. `loom` checks it on this file (`tests/loom`).

use std::ffi::c_void;
use std::ptr;

use crate::atomic::{AtomicPtr, Ordering};
use crate::lock::unlock;
use crate::netpoll::netpoll_adjust_waiters;
use crate::netpoll::poll_desc::{Mode, PD_NIL, PD_READY, PD_WAIT, PollDesc, PollError};
use crate::panic::throw;
use crate::proc::gqueue::GList;
use crate::proc::park::{gopark, goready};
use crate::runtime2::{G, TraceBlockReason, WaitReason};

/// Sequentially consistent, as all that touches a semaphore.
#[inline(always)]
fn cas(semaphore: &AtomicPtr<G>, old: *mut G, new: *mut G) -> bool {
    semaphore.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// What keeps a wait for `mode` from beginning. Go's `netpollcheckerr`.
#[inline(always)]
pub(crate) fn netpollcheckerr(pd: &PollDesc, mode: Mode) -> Result<(), PollError> {
    let info = pd.info();
    let expired = match mode {
        Mode::Read => info.expired_read_deadline(),
        Mode::Write => info.expired_write_deadline(),
    };
    if info.closing() {
        Err(PollError::Closing)
    } else if expired {
        Err(PollError::Timeout)
    } else if mode == Mode::Read && info.event_err() {
        // Who writes hears more of it from the system call.
        Err(PollError::NotPollable)
    } else {
        Ok(())
    }
}

/// Forgets that it has become ready for `mode`, and says whether it had: who is about to try will see for
/// itself.
#[inline(always)]
pub(super) fn forget_ready(pd: &PollDesc, mode: Mode) -> bool {
    let semaphore = pd.semaphore(mode);
    // SeqCst, and so done before the caller tries: later, it would be news of what comes after that.
    // That alone: where somebody waits meanwhile, nobody would find its G again.
    semaphore.load(Ordering::Relaxed) == PD_READY && cas(semaphore, PD_READY, PD_NIL)
}

/// Parks the running goroutine until the descriptor is ready for `mode`, and says whether it is; not so
/// after a deadline or a close, which `waitio` doesn't ask for. Nobody else waits for the same. Go's
/// `netpollblock`.
///
/// # Safety
/// On a goroutine.
pub(crate) unsafe fn netpollblock(pd: &'static PollDesc, mode: Mode, waitio: bool) -> bool {
    let semaphore = pd.semaphore(mode);
    loop {
        if cas(semaphore, PD_READY, PD_NIL) {
            return true;
        }
        if cas(semaphore, PD_NIL, PD_WAIT) {
            break;
        }
        let found = semaphore.load(Ordering::SeqCst);
        if found != PD_READY && found != PD_NIL {
            throw("runtime: double wait");
        }
    }
    // Who closes it or has its deadline pass publishes that first, and looks at the semaphore then; here
    // it is the other way round: one of the two sees the other.
    if waitio || netpollcheckerr(pd, mode).is_ok() {
        let semaphore = ptr::from_ref(semaphore).cast_mut().cast();
        let (reason, trace_reason) = (WaitReason::IOWait, TraceBlockReason::Net);
        // SAFETY: on a goroutine; netpollblockcommit touches the semaphore alone, and if it returns false,
        // the G was in nobody's reach.
        unsafe { gopark(Some(netpollblockcommit), semaphore, reason, trace_reason, 5) };
    }
    // It may have become ready at this moment.
    let old = semaphore.swap(PD_NIL, Ordering::SeqCst);
    if old > PD_WAIT {
        throw("runtime: corrupted polldesc");
    }
    old == PD_READY
}

/// What a park of [`netpollblock`] does on g0. Go's `netpollblockcommit`.
///
/// # Safety
/// `semaphore` is one.
unsafe extern "C" fn netpollblockcommit(gp: *mut G, semaphore: *mut c_void) -> bool {
    // SAFETY: netpollblock passes one, which is never freed.
    let parked = cas(unsafe { &*semaphore.cast::<AtomicPtr<G>>() }, PD_WAIT, gp);
    if parked {
        // An M without work sleeps in the poller if there are any.
        netpoll_adjust_waiters(1);
    }
    parked
}

/// Makes a goroutine ready that has waited. Go's `netpollgoready`.
fn netpollgoready(gp: &'static G, traceskip: i32) {
    goready(gp, traceskip + 1);
}

/// Ends the wait for `mode`, because it is ready (`ioready`) or won't be; returns who has to be made ready.
/// What `delta` becomes less is for [`netpoll_adjust_waiters`], once that is done. Go's `netpollunblock`.
fn netpollunblock(pd: &PollDesc, mode: Mode, ioready: bool, delta: &mut i32) -> Option<&'static G> {
    let semaphore = pd.semaphore(mode);
    loop {
        let old = semaphore.load(Ordering::SeqCst);
        // Who comes to wait finds by itself that it won't be.
        if old == PD_READY || old == PD_NIL && !ioready {
            return None;
        }
        if cas(semaphore, old, if ioready { PD_READY } else { PD_NIL }) {
            if old == PD_NIL || old == PD_WAIT {
                return None;
            }
            *delta -= 1;
            // SAFETY: what isn't one of the constants is the G that has parked.
            return Some(unsafe { &*old });
        }
    }
}

/// The descriptor is ready for reading, or writing, or both: adds who has waited to `to_run`, and returns
/// what [`netpoll_adjust_waiters`] is to be told when they are ready. Go's `netpollready`.
pub(crate) fn netpollready(to_run: &GList, pd: &PollDesc, read: bool, write: bool) -> i32 {
    let mut delta = 0;
    if read && let Some(rg) = netpollunblock(pd, Mode::Read, true, &mut delta) {
        to_run.push(rg);
    }
    if write && let Some(wg) = netpollunblock(pd, Mode::Write, true, &mut delta) {
        to_run.push(wg);
    }
    delta
}

/// Ends the waits for reading, for writing, or both: they are over, and it isn't ready. The lock is held, and is
/// released here.
pub(super) fn end_waits(pd: &PollDesc, read: bool, write: bool) {
    let mut delta = 0;
    let rg = if read { netpollunblock(pd, Mode::Read, false, &mut delta) } else { None };
    let wg = if write { netpollunblock(pd, Mode::Write, false, &mut delta) } else { None };
    unlock(&pd.lock);
    rg.into_iter().chain(wg).for_each(|gp| netpollgoready(gp, 3));
    netpoll_adjust_waiters(delta);
}
