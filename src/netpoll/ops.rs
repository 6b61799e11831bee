//! What a descriptor's owner asks of the poller: the functions that Go's `internal/poll` calls.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering;

use crate::lock::{lock, unlock};
use crate::netpoll::block::{end_waits, forget_ready, netpollblock, netpollcheckerr};
use crate::netpoll::cache::POLLCACHE;
use crate::netpoll::epoll::{netpollarm, netpollclose, netpollopen};
use crate::netpoll::poll_desc::{Mode, PD_NIL, PD_READY, PollDesc, PollError};
use crate::netpoll::{netpoll_generic_init, netpollinited};
use crate::panic::throw;
use crate::stack::check::entry_check;
use crate::stack::with_room;
use crate::time::modify::deltimer;

/// Whether a wait has to be announced to the kernel each time, as where Go's poller isn't
/// edge-triggered.
const LEVEL_TRIGGERED: bool = false;

/// Makes the poller, unless there is one. Go's `poll_runtime_pollServerInit`, in `netpoll.go`.
///
/// # Errors
/// If the kernel has no epoll instance or no event descriptor for it.
#[inline(always)]
pub fn poll_runtime_poll_server_init() -> io::Result<()> {
    entry_check();
    if netpollinited() { Ok(()) } else { with_room(netpoll_generic_init) }
}

/// Registers a descriptor, which must be in non-blocking mode. Go's `poll_runtime_pollOpen`, in
/// `netpoll.go`.
///
/// # Errors
/// The kernel's: `EPERM` if it can't be polled, `EEXIST` if it is registered; that there is no memory; or
/// what keeps the poller from being made.
///
/// # Safety
/// `fd` is open, and stays so until [`poll_runtime_poll_close`].
#[inline(always)]
pub unsafe fn poll_runtime_poll_open(fd: RawFd) -> io::Result<&'static PollDesc> {
    poll_runtime_poll_server_init()?;
    with_room(|| open(fd))
}

fn open(fd: RawFd) -> io::Result<&'static PollDesc> {
    let pd = POLLCACHE.alloc()?;
    lock(&pd.lock);
    check_no_waiters(pd, "runtime: blocked write on free polldesc", "runtime: blocked read on free polldesc");
    pd.fd.set(fd);
    if pd.fdseq.load(Ordering::Relaxed) == 0 {
        // To set_event_err 0 is any.
        pd.fdseq.store(1, Ordering::Relaxed);
    }
    pd.closing.set(false);
    pd.set_event_err(false, 0);
    pd.set_event_last(false, 0);
    pd.rseq.set(pd.rseq.get().wrapping_add(1));
    pd.rg.store(PD_NIL, Ordering::SeqCst);
    pd.rd.set(0);
    pd.wseq.set(pd.wseq.get().wrapping_add(1));
    pd.wg.store(PD_NIL, Ordering::SeqCst);
    pd.wd.set(0);
    pd.self_.set(Some(pd));
    pd.publish_info();
    unlock(&pd.lock);
    netpollopen(fd, pd).inspect_err(|_| POLLCACHE.free(pd))?;
    Ok(pd)
}

/// Throws if somebody waits for `pd`.
fn check_no_waiters(pd: &PollDesc, write: &str, read: &str) {
    let waits = |found| found != PD_NIL && found != PD_READY;
    if waits(pd.wg.load(Ordering::SeqCst)) {
        throw(write);
    }
    if waits(pd.rg.load(Ordering::SeqCst)) {
        throw(read);
    }
}

/// Takes a descriptor off the poller's list, before it is closed. Go's `poll_runtime_pollClose`, in
/// `netpoll.go`.
///
/// # Safety
/// After [`poll_runtime_poll_unblock`], and nobody waits. `pd` isn't used any more.
#[inline(always)]
pub unsafe fn poll_runtime_poll_close(pd: &'static PollDesc) {
    entry_check();
    with_room(|| {
        if !pd.closing.get() {
            throw("runtime: close polldesc w/o unblock");
        }
        check_no_waiters(
            pd,
            "runtime: blocked write on closing polldesc",
            "runtime: blocked read on closing polldesc",
        );
        netpollclose(pd.fd.get());
        POLLCACHE.free(pd);
    });
}

/// To be called before an operation is tried: forgets that the descriptor has become ready for `mode`, and says
/// whether it had. Where somebody waits for the same, that goes on (and would never end in Go). Go's
/// `poll_runtime_pollReset`, in `netpoll.go`.
///
/// # Errors
/// If it is being closed, its deadline has passed, or the kernel has reported an error.
#[inline(always)]
pub fn poll_runtime_poll_reset(pd: &PollDesc, mode: Mode) -> Result<bool, PollError> {
    netpollcheckerr(pd, mode)?;
    Ok(forget_ready(pd, mode))
}

/// Parks the running goroutine until the descriptor has become ready for `mode` since
/// [`poll_runtime_poll_reset`]. It may be woken for nothing. Go's `poll_runtime_pollWait`, in `netpoll.go`.
///
/// # Errors
/// As [`poll_runtime_poll_reset`].
///
/// # Safety
/// On a goroutine; nobody else waits for the same, and nothing obtained from a thread-local is kept across
/// this.
#[inline(never)]
pub unsafe fn poll_runtime_poll_wait(pd: &'static PollDesc, mode: Mode) -> Result<(), PollError> {
    entry_check();
    netpollcheckerr(pd, mode)?;
    if LEVEL_TRIGGERED {
        netpollarm(pd, mode);
    }
    // SAFETY: the caller's.
    while !unsafe { netpollblock(pd, mode, false) } {
        netpollcheckerr(pd, mode)?;
        // The deadline had passed, and was moved before we ran.
    }
    Ok(())
}

/// Waits for an operation that was cancelled, whatever the deadline, and whether or not it is being
/// closed. Go's `poll_runtime_pollWaitCanceled`, in `netpoll.go`, which it has for Windows.
///
/// # Safety
/// As [`poll_runtime_poll_wait`].
#[inline(never)]
pub unsafe fn poll_runtime_poll_wait_canceled(pd: &'static PollDesc, mode: Mode) {
    entry_check();
    // SAFETY: the caller's.
    while !unsafe { netpollblock(pd, mode, true) } {}
}

/// Marks it as being closed, once: who waits returns, and nobody waits any more. Go's
/// `poll_runtime_pollUnblock`, in `netpoll.go`.
///
/// # Safety
/// [`poll_runtime_poll_open`] has returned `pd`, and [`poll_runtime_poll_close`] wasn't called.
#[inline(always)]
pub unsafe fn poll_runtime_poll_unblock(pd: &'static PollDesc) {
    entry_check();
    with_room(|| unblock(pd));
}

fn unblock(pd: &'static PollDesc) {
    lock(&pd.lock);
    if pd.closing.get() {
        throw("runtime: unblock on closing polldesc");
    }
    pd.closing.set(true);
    pd.rseq.set(pd.rseq.get().wrapping_add(1));
    pd.wseq.set(pd.wseq.get().wrapping_add(1));
    pd.publish_info();
    for t in [&pd.rt, &pd.wt] {
        if t.f.get().is_some() {
            deltimer(t);
            t.f.set(None);
        }
    }
    end_waits(pd, true, true);
}
