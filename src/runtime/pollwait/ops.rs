//! The poller's functions for the owner of a descriptor: those that Go's `internal/poll` calls.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::poll_now;
use crate::runtime::base::this::with_room;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::morestack_check::entry_check;
use crate::runtime::netpoll::cache::POLLCACHE;
use crate::runtime::netpoll::epoll::{has_epoll, netpollclose, netpollopen};
use crate::runtime::netpoll::netpoll_generic_init;
use crate::runtime::netpoll::poll_desc::{Mode, PD_NIL, PD_READY, PollDesc, PollError};
use crate::runtime::netpoll::waiter::{Later, Waiter};
use crate::runtime::pollwait::block::{end_waits, forget_ready, netpollblock, netpollcheckerr, netpolllater};
use crate::runtime::sched::poll::wake_net_poller_from_outside;
use crate::runtime::sched::ready::goready;
use crate::runtime::time::modify::deltimer;

/// Makes the poller, unless it is made already. Go's `poll_runtime_pollServerInit`, in
/// `netpoll.go`.
///
/// # Errors
/// If the kernel can't make an epoll instance or an event descriptor.
#[inline(always)]
pub fn poll_runtime_poll_server_init() -> io::Result<()> {
    entry_check();
    if has_epoll() { Ok(()) } else { with_room(netpoll_generic_init) }
}

/// Registers a descriptor, which must be in non-blocking mode. Go's `poll_runtime_pollOpen`, in
/// `netpoll.go`.
///
/// # Errors
/// The kernel's: `EPERM` if the descriptor can't be polled, `EEXIST` if it is registered already;
/// if there is no memory; or as [`poll_runtime_poll_server_init`].
///
/// # Safety
/// `fd` is open, and isn't closed before [`poll_runtime_poll_close`] is called, if it ever is.
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
        // To set_event_err 0 means any use of the PollDesc.
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

/// Ends the registration of a descriptor, before that is closed. Throws if
/// [`poll_runtime_poll_unblock`] wasn't called, or if somebody waits. Go's
/// `poll_runtime_pollClose`, in `netpoll.go`.
///
/// # Safety
/// [`poll_runtime_poll_open`] has returned `pd`, which isn't used after this: it becomes another
/// descriptor's.
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

/// To be called before an operation is tried: forgets that the descriptor has become ready for
/// `mode`, and says whether it had. A goroutine that waits for the same mode keeps waiting. (In Go
/// it would never be woken.) Go's `poll_runtime_pollReset`, in `netpoll.go`.
///
/// # Errors
/// If the descriptor is being closed, its deadline has passed, or the kernel has reported an error.
#[inline(always)]
pub fn poll_runtime_poll_reset(pd: &PollDesc, mode: Mode) -> Result<bool, PollError> {
    netpollcheckerr(pd, mode)?;
    Ok(forget_ready(pd, mode))
}

/// Parks the running goroutine until the descriptor has become ready for `mode` since
/// [`poll_runtime_poll_reset`]. There may be spurious wakeups. Go's `poll_runtime_pollWait`, in
/// `netpoll.go`.
///
/// # Errors
/// As [`poll_runtime_poll_reset`].
///
/// # Safety
/// On a goroutine; [`poll_runtime_poll_open`] has returned `pd`, and [`poll_runtime_poll_close`]
/// isn't called before this returns; nothing obtained from a thread-local is kept across this. (A
/// second goroutine that waits for the same mode ends the process.)
#[inline(never)]
pub unsafe fn poll_runtime_poll_wait(pd: &'static PollDesc, mode: Mode) -> Result<(), PollError> {
    entry_check();
    netpollcheckerr(pd, mode)?;
    if mode == Mode::Read && pd.info().event_last() && with_room(|| at_urgent_data(pd.fd.get())) {
        return Ok(());
    }
    // SAFETY: the caller is on a goroutine.
    while !unsafe { netpollblock(pd, mode) } {
        netpollcheckerr(pd, mode)?;
        // The deadline had passed, and was moved before this goroutine ran again: it waits on.
    }
    Ok(())
}

/// [`poll_runtime_poll_wait`] without a goroutine: one is made, of `later`, and made ready when the
/// wait is over, or at once if there is nothing to wait for. It may be so for nothing, too. On any
/// thread, with room.
///
/// # Safety
/// As [`poll_runtime_poll_wait`], but [`poll_runtime_poll_close`] isn't called before the goroutine
/// runs; the `make` of `later` may be called with it, once, on any thread.
pub(crate) unsafe fn poll_runtime_poll_later(pd: &'static PollDesc, mode: Mode, later: *mut Later) {
    let later = Waiter::later(later);
    if netpolllater(pd, mode, later) {
        wake_net_poller_from_outside();
    } else {
        // SAFETY: nobody else has it; it may be made, as the caller says.
        goready(unsafe { later.goroutine() });
    }
}

/// Whether there is something to read behind urgent data. If a signal is on its way then, Linux has
/// a read fail with `EAGAIN` (`tcp_recvmsg_locked`), and doesn't report what it has reported
/// already: it is to be tried again.
fn at_urgent_data(fd: RawFd) -> bool {
    let both = libc::POLLIN | libc::POLLPRI;
    poll_now(fd, both) & both == both
}

/// Ends the wait in progress for `mode`, and later ones, as if the deadline had passed, until
/// [`poll_runtime_poll_go_on`]. On any thread.
pub(crate) fn poll_runtime_poll_end(pd: &PollDesc, mode: Mode) {
    pd.set_ended(mode, true);
    lock(&pd.lock);
    end_waits(pd, mode == Mode::Read, mode == Mode::Write);
}

/// Takes [`poll_runtime_poll_end`] back.
pub(crate) fn poll_runtime_poll_go_on(pd: &PollDesc, mode: Mode) {
    pd.set_ended(mode, false);
}

/// Marks the descriptor as being closed: all waits end, and none begins after that. Throws if it is
/// called a second time. Go's `poll_runtime_pollUnblock`, in `netpoll.go`.
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
