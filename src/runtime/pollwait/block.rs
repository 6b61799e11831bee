//! Parking on a descriptor: Go's `netpollblock`, by the protocol of `rg` and `wg` that [`PollDesc`]
//! explains.
//!
//! It has three sides: the goroutine that waits; the poller (`netpoll/ready.rs`); and the goroutine
//! that closes the descriptor, or the timer of a deadline ([`end_waits`]). `loom` checks it on this
//! file (`tests/loom`).

use std::ffi::c_void;
use std::ptr;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::poll_now;
use crate::runtime::base::this::with_room;
use crate::runtime::data::atomic::{AtomicPtr, Ordering};
use crate::runtime::data::runtime2::{G, TraceBlockReason, WaitReason};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::netpoll::netpoll_adjust_waiters;
use crate::runtime::netpoll::poll_desc::{Mode, PD_NIL, PD_READY, PD_WAIT, PollDesc, PollError};
use crate::runtime::netpoll::ready::{cas, netpollunblock};
use crate::runtime::netpoll::waiter::Waiter;
use crate::runtime::sched::park::gopark;
use crate::runtime::sched::ready::goready;

/// The error, if any, that makes a wait for `mode` pointless. Go's `netpollcheckerr`.
#[inline(always)]
pub(super) fn netpollcheckerr(pd: &PollDesc, mode: Mode) -> Result<(), PollError> {
    let info = pd.info();
    let expired = match mode {
        Mode::Read => info.expired_read_deadline(),
        Mode::Write => info.expired_write_deadline(),
    };
    if info.closing() {
        Err(PollError::Closing)
    } else if expired {
        Err(PollError::Timeout)
    } else if mode == Mode::Read && info.event_err() && has_only_an_error(pd) {
        // A writer gets a better error from its system call.
        Err(PollError::NotPollable)
    } else {
        Ok(())
    }
}

/// Whether an error is all that the kernel reports now. An event may be from the middle of a
/// change: while a connection is reset, its error is there before its end. Go believes the event.
#[cold]
fn has_only_an_error(pd: &PollDesc) -> bool {
    let all = libc::POLLIN | libc::POLLOUT | libc::POLLPRI | libc::POLLRDHUP;
    with_room(|| poll_now(pd.fd.get(), all) == libc::POLLERR)
}

/// Forgets that the descriptor has become ready for `mode`, and says whether it had: the caller is
/// about to try its operation, and will see.
#[inline(always)]
pub(super) fn forget_ready(pd: &PollDesc, mode: Mode) -> bool {
    let semaphore = pd.semaphore(mode);
    // SeqCst, and so done before the caller tries: after that, it would drop what the kernel
    // reports of later bytes. Only PD_READY is changed: a G that somebody else has parked there
    // must stay to be found.
    semaphore.load(Ordering::Relaxed) == PD_READY && cas(semaphore, PD_READY, PD_NIL)
}

/// Parks the running goroutine until the descriptor is ready for `mode`, or until a deadline or a
/// close; says whether it is ready. It throws if another goroutine waits for the same mode. Go's
/// `netpollblock`.
///
/// # Safety
/// On a goroutine.
pub(super) unsafe fn netpollblock(pd: &'static PollDesc, mode: Mode) -> bool {
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
    // A close or a deadline is first published in `info`, and then looks at the semaphore. Here the
    // semaphore was written first, and `info` is read then. All of that is SeqCst, so one of the
    // two sees the other.
    if netpollcheckerr(pd, mode).is_ok() {
        let semaphore = ptr::from_ref(semaphore).cast_mut().cast();
        let (reason, trace_reason) = (WaitReason::IOWait, TraceBlockReason::Net);
        // SAFETY: on a goroutine; netpollblockcommit touches the semaphore and not the stack. If it
        // returns false, the G wasn't put there, so nobody can have made it ready.
        unsafe { gopark(Some(netpollblockcommit), semaphore, reason, trace_reason, 5) };
    }
    // Also where it hasn't parked: the poller may have put PD_READY there since.
    let old = semaphore.swap(PD_NIL, Ordering::SeqCst);
    if old > PD_WAIT {
        throw("runtime: corrupted polldesc");
    }
    old == PD_READY
}

/// What a park of [`netpollblock`] does on g0: puts the G into the semaphore, unless that is no
/// longer `PD_WAIT`. Go's `netpollblockcommit`.
///
/// # Safety
/// `semaphore` is the `rg` or the `wg` of a [`PollDesc`].
unsafe extern "C" fn netpollblockcommit(gp: *mut G, semaphore: *mut c_void) -> bool {
    // SAFETY: it is a field of a PollDesc, and these are never freed.
    let parked = cas(unsafe { &*semaphore.cast::<AtomicPtr<G>>() }, PD_WAIT, gp);
    if parked {
        // So that an M without work sleeps in the poller.
        netpoll_adjust_waiters(1);
    }
    parked
}

/// Puts `later` where a goroutine that parks would be, unless the descriptor is ready for `mode`,
/// or a wait for that is pointless; says whether it has. Then whoever ends the wait has it. It
/// throws as [`netpollblock`] does.
pub(super) fn netpolllater(pd: &PollDesc, mode: Mode, later: Waiter) -> bool {
    // A close and a deadline are published before they look at the semaphore, with the lock held.
    // So either they are seen here, or they find what is put there.
    lock(&pd.lock);
    let waits = netpollcheckerr(pd, mode).is_ok() && {
        let (semaphore, later) = (pd.semaphore(mode), later.in_semaphore());
        let put = semaphore.compare_exchange(PD_NIL, later, Ordering::SeqCst, Ordering::SeqCst);
        if put.is_err_and(|found| found != PD_READY) {
            throw("runtime: double wait");
        }
        put.is_ok()
    };
    unlock(&pd.lock);
    if waits {
        netpoll_adjust_waiters(1);
    }
    waits
}

/// Ends the waits for reading, for writing, or both, after a deadline or a close. The lock of `pd`
/// is held, and is released here.
pub(super) fn end_waits(pd: &PollDesc, read: bool, write: bool) {
    let mut delta = 0;
    let rg = if read { netpollunblock(pd, Mode::Read, false, &mut delta) } else { None };
    let wg = if write { netpollunblock(pd, Mode::Write, false, &mut delta) } else { None };
    unlock(&pd.lock);
    for waiter in rg.into_iter().chain(wg) {
        // SAFETY: it was taken out, the lock is released, and who ends a wait has room.
        goready(unsafe { waiter.goroutine() });
    }
    netpoll_adjust_waiters(delta);
}
