//! Waiting for a descriptor: the half of Go's `netpoll.go` that parks. The other half is `netpoll`.
//!
//! The `poll_runtime` functions are those that Go's `internal/poll` calls; programs find them in
//! the raw `netpoll`. Below them are the park, which follows the protocol of `rg` and `wg` that
//! [`PollDesc`] explains, and the functions of the deadlines' timers.
//!
//! - At most one goroutine waits for reading and one for writing: a second is a `throw`. The owner
//!   of the descriptor ensures this, and closes the descriptor when no goroutine waits.
//! - `rg` and `wg` are changed by compare-and-swap and need no lock. The protocol has three sides:
//!   the goroutine that waits ([`netpollblock`]); the poller (`netpoll/ready.rs`); and the
//!   goroutine that closes the descriptor, or the timer of a deadline ([`end_waits`]). `loom`
//!   checks the protocol on this file (`tests/loom`).
//! - `PollDesc.lock` protects deadlines and closing. It is released before a goroutine is made
//!   ready.
//! - A thread that closes the descriptor or has a deadline publishes that first, and then looks for
//!   a waiter. A waiter announces itself first, and then looks for a close or a deadline. So one of
//!   the two sees the other.
//! - A wait may end spuriously. Then the waiter tries again.
//! - A deadline is a time at which waits end, and after which none begins. Each direction has a
//!   timer; if both have the same deadline, the read timer ends both. A timer that has fired may be
//!   late: its deadline was moved meanwhile, or the `PollDesc` is another descriptor's by now. So
//!   each setting has a number, as in `time/fire.rs`.

use std::cell::Cell;
use std::ffi::c_void;
use std::io;
use std::os::fd::RawFd;
use std::ptr;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::{nanotime, poll_now};
use crate::runtime::base::this::with_room;
use crate::runtime::data::atomic::{AtomicPtr, Ordering};
use crate::runtime::data::runtime2::{G, TraceBlockReason, WaitReason};
use crate::runtime::data::timer::{Timer, TimerFn};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::morestack_check::entry_check;
use crate::runtime::netpoll::epoll::{has_epoll, netpollclose, netpollopen};
use crate::runtime::netpoll::poll_desc::{
    Later, Mode, PD_NIL, PD_READY, PD_WAIT, PollDesc, PollError, Waiter,
};
use crate::runtime::netpoll::ready::{cas, netpollunblock};
use crate::runtime::netpoll::{POLLCACHE, netpoll_adjust_waiters, netpoll_generic_init};
use crate::runtime::sched::park::gopark;
use crate::runtime::sched::poll::wake_net_poller_from_outside;
use crate::runtime::sched::ready::goready;
use crate::runtime::time::modify::{deltimer, modtimer};

/// Makes the poller, unless it is made already. Go's `poll_runtime_pollServerInit`, in
/// `netpoll.go`.
///
/// # Errors
/// The kernel's, if it can't make an epoll instance or an event descriptor.
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
        // Not 0: to set_event_err, 0 means any use of the PollDesc.
        pd.fdseq.store(1, Ordering::Relaxed);
    }
    pd.closing.set(false);
    pd.set_event_err(false, 0);
    pd.set_event_last(false, 0);
    // SeqCst, as all accesses of the semaphores `rg` and `wg`: see netpollblock.
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

/// Throws if a goroutine waits for `pd`.
fn check_no_waiters(pd: &PollDesc, write: &str, read: &str) {
    let waits = |found| found != PD_NIL && found != PD_READY;
    // SeqCst: see netpollblock.
    if waits(pd.wg.load(Ordering::SeqCst)) {
        throw(write);
    }
    if waits(pd.rg.load(Ordering::SeqCst)) {
        throw(read);
    }
}

/// Ends the registration of a descriptor, before the descriptor is closed. Throws if
/// [`poll_runtime_poll_unblock`] wasn't called, or if a goroutine waits. Go's
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

/// Forgets that the descriptor has become ready for `mode`, and returns whether it had. To be
/// called before an operation is tried. A goroutine that waits for the same mode keeps waiting. (In
/// Go it would never be woken.) Go's `poll_runtime_pollReset`, in `netpoll.go`.
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
        // The deadline had passed, and was moved before this goroutine ran again. So it waits on.
    }
    Ok(())
}

/// Whether there is something to read behind urgent data. If a signal is pending then, a read fails
/// with `EAGAIN` (`tcp_recvmsg_locked`), and Linux doesn't report again that the descriptor is
/// ready. So the caller tries the read again.
fn at_urgent_data(fd: RawFd) -> bool {
    let both = libc::POLLIN | libc::POLLPRI;
    poll_now(fd, both) & both == both
}

/// [`poll_runtime_poll_wait`] for a goroutine that is yet to be made, or for what else `later`
/// does. The goroutine is made from `later` and made ready when the wait is over, or at once if
/// there is nothing to wait for. The wakeup may be spurious, too. May be called on any thread, with
/// room on the stack.
///
/// # Safety
/// As [`poll_runtime_poll_wait`], but [`poll_runtime_poll_close`] isn't called before the goroutine
/// runs; the `make` of `later` may be called with it, once, on any thread.
pub(crate) unsafe fn poll_runtime_poll_later(pd: &'static PollDesc, mode: Mode, later: *mut Later) {
    let later = Waiter::later(later);
    if netpolllater(pd, mode, later) {
        wake_net_poller_from_outside();
    // SAFETY: nobody else has it; it may be made, as the caller says.
    } else if let Some(gp) = unsafe { later.goroutine() } {
        goready(gp);
    }
}

/// Ends the wait in progress for `mode`, and all later ones until [`poll_runtime_poll_go_on`], as
/// if the deadline had passed. May be called on any thread.
pub(crate) fn poll_runtime_poll_end(pd: &PollDesc, mode: Mode) {
    pd.set_ended(mode, true);
    lock(&pd.lock);
    end_waits(pd, mode == Mode::Read, mode == Mode::Write);
}

/// Takes [`poll_runtime_poll_end`] back.
pub(crate) fn poll_runtime_poll_go_on(pd: &PollDesc, mode: Mode) {
    pd.set_ended(mode, false);
}

/// Sets the deadline for reading, for writing, or for both to `d` nanoseconds from now. 0 means no
/// deadline, and a negative `d` means one that has passed. The deadline holds for operations that
/// wait now, too. Does nothing once the descriptor is being closed. Go's
/// `poll_runtime_pollSetDeadline`, in `netpoll.go`.
///
/// # Safety
/// On a goroutine, or on g0 of an M with a P, which gets the timers.
/// [`poll_runtime_poll_open`](crate::netpoll::poll_runtime_poll_open) has returned `pd`, and
/// [`poll_runtime_poll_close`](crate::netpoll::poll_runtime_poll_close) wasn't called.
#[inline(always)]
pub unsafe fn poll_runtime_poll_set_deadline(pd: &'static PollDesc, d: i64, read: bool, write: bool) {
    entry_check();
    with_room(|| set_deadline(pd, d, read, write));
}

fn set_deadline(pd: &'static PollDesc, d: i64, read: bool, write: bool) {
    lock(&pd.lock);
    if pd.closing.get() {
        unlock(&pd.lock);
        return;
    }
    let (rd0, wd0) = (pd.rd.get(), pd.wd.get());
    let d = if d > 0 { d.saturating_add(nanotime()) } else { d };
    if read {
        pd.rd.set(d);
    }
    if write {
        pd.wd.set(d);
    }
    pd.publish_info();
    let (rd, wd) = (pd.rd.get(), pd.wd.get());
    let (combo0, combo) = (rd0 > 0 && rd0 == wd0, rd > 0 && rd == wd);
    let rtf = if combo { netpoll_deadline } else { netpoll_read_deadline };
    set_timer(pd, &pd.rt, &pd.rseq, rd, rtf, rd != rd0 || combo != combo0);
    let when = if combo { 0 } else { wd };
    set_timer(pd, &pd.wt, &pd.wseq, when, netpoll_write_deadline, wd != wd0 || combo != combo0);
    // A deadline that has passed ends the waits at once.
    end_waits(pd, rd < 0, wd < 0);
}

/// Sets `t` to call `f` at `when`, or stops it if `when` isn't positive. Does nothing if `t` is set
/// and the deadline hasn't `changed`. The lock is held.
fn set_timer(
    pd: &'static PollDesc,
    t: &'static Timer,
    seq: &Cell<usize>,
    when: i64,
    f: TimerFn,
    changed: bool,
) {
    let is_set = t.f.get().is_some();
    if is_set && !changed {
        return;
    }
    if is_set {
        // The timer may have fired, and its function may be waiting for the lock. With another
        // number, the function does nothing.
        seq.set(seq.get().wrapping_add(1));
    }
    if when > 0 {
        modtimer(t, when, 0, Some(f), pd.as_arg(), seq.get());
    } else if is_set {
        deltimer(t);
        t.f.set(None);
    }
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

/// Returns the error, if any, that makes a wait for `mode` pointless. Go's `netpollcheckerr`.
#[inline(always)]
fn netpollcheckerr(pd: &PollDesc, mode: Mode) -> Result<(), PollError> {
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

/// Whether an error is all that the kernel reports now. An event may come in the middle of a
/// change: when a connection is reset, its error appears before its end. Go believes the event.
#[cold]
fn has_only_an_error(pd: &PollDesc) -> bool {
    let all = libc::POLLIN | libc::POLLOUT | libc::POLLPRI | libc::POLLRDHUP;
    with_room(|| poll_now(pd.fd.get(), all) == libc::POLLERR)
}

/// Forgets that the descriptor has become ready for `mode`, and returns whether it had. The caller
/// is about to try its operation, and finds out.
#[inline(always)]
fn forget_ready(pd: &PollDesc, mode: Mode) -> bool {
    let semaphore = pd.semaphore(mode);
    // SeqCst, so that it happens before the caller tries: afterwards it would drop the kernel's
    // report of later bytes. Only PD_READY is changed: a G that has parked there must stay to be
    // found.
    semaphore.load(Ordering::Relaxed) == PD_READY && cas(semaphore, PD_READY, PD_NIL)
}

/// Parks the running goroutine until the descriptor is ready for `mode`, or until a deadline or a
/// close. Returns whether it is ready. Throws if another goroutine waits for the same mode. Go's
/// `netpollblock`.
///
/// # Safety
/// On a goroutine.
unsafe fn netpollblock(pd: &'static PollDesc, mode: Mode) -> bool {
    let semaphore = pd.semaphore(mode);
    loop {
        if cas(semaphore, PD_READY, PD_NIL) {
            return true;
        }
        if cas(semaphore, PD_NIL, PD_WAIT) {
            break;
        }
        // SeqCst, as below.
        let found = semaphore.load(Ordering::SeqCst);
        if found != PD_READY && found != PD_NIL {
            throw("runtime: double wait");
        }
    }
    // A thread that closes or sets a deadline first publishes that in `info`, and then looks at the
    // semaphore. This goroutine has written the semaphore first, and reads `info` then. All of that
    // is SeqCst, so one of the two sees the other.
    if netpollcheckerr(pd, mode).is_ok() {
        let semaphore = ptr::from_ref(semaphore).cast_mut().cast();
        let (reason, trace_reason) = (WaitReason::IOWait, TraceBlockReason::Net);
        // SAFETY: on a goroutine; netpollblockcommit touches the semaphore and not the stack. If it
        // returns false, the G wasn't put there, so nobody can have made it ready.
        unsafe { gopark(Some(netpollblockcommit), semaphore, reason, trace_reason, 5) };
    }
    // Done also if the goroutine hasn't parked: the poller may have put PD_READY there since.
    // SeqCst, as above.
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
        // Makes an M without work sleep in the poller.
        netpoll_adjust_waiters(1);
    }
    parked
}

/// Puts `later` into the semaphore, where a goroutine that parks would be, unless the descriptor is
/// ready for `mode` or a wait is pointless. Returns whether it did. If so, the thread that ends the
/// wait owns `later`. Throws as [`netpollblock`] does.
fn netpolllater(pd: &PollDesc, mode: Mode, later: Waiter) -> bool {
    // A thread that closes or sets a deadline holds the lock, publishes that, and then looks at the
    // semaphore. So either this sees the close or the deadline, or that thread finds what is put
    // there. SeqCst: see netpollblock.
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
fn end_waits(pd: &PollDesc, read: bool, write: bool) {
    let mut delta = 0;
    let rg = if read { netpollunblock(pd, Mode::Read, false, &mut delta) } else { None };
    let wg = if write { netpollunblock(pd, Mode::Write, false, &mut delta) } else { None };
    unlock(&pd.lock);
    for waiter in rg.into_iter().chain(wg) {
        // SAFETY: it was taken out, the lock is released, and a thread that ends a wait has room.
        if let Some(gp) = unsafe { waiter.goroutine() } {
            goready(gp);
        }
    }
    netpoll_adjust_waiters(delta);
}

/// Ends the waits when a timer has fired, unless the deadline was moved since. Go's
/// `netpolldeadlineimpl`.
fn netpolldeadlineimpl(pd: &'static PollDesc, seq: usize, read: bool, write: bool) {
    lock(&pd.lock);
    let current = if read { &pd.rseq } else { &pd.wseq };
    if seq != current.get() {
        unlock(&pd.lock);
        return;
    }
    if read {
        if pd.rd.get() <= 0 || pd.rt.f.get().is_none() {
            throw("runtime: inconsistent read deadline");
        }
        pd.rd.set(-1);
    }
    if write {
        if pd.wd.get() <= 0 || pd.wt.f.get().is_none() && !read {
            throw("runtime: inconsistent write deadline");
        }
        pd.wd.set(-1);
    }
    pd.publish_info();
    end_waits(pd, read, write);
}

/// Returns the `PollDesc` of a timer's argument.
///
/// # Safety
/// It came from [`PollDesc::as_arg`].
unsafe fn poll_desc<'a>(arg: *mut c_void) -> &'a PollDesc {
    // SAFETY: so it is the address of a PollDesc, and these are never freed.
    unsafe { &*arg.cast() }
}

/// Called when the deadline for both has passed. Go's `netpollDeadline`.
unsafe extern "C" fn netpoll_deadline(arg: *mut c_void, seq: usize) {
    // SAFETY: set_timer has given the timer `pd.as_arg()`.
    netpolldeadlineimpl(unsafe { poll_desc(arg) }, seq, true, true);
}

/// Called when the read deadline has passed. Go's `netpollReadDeadline`.
unsafe extern "C" fn netpoll_read_deadline(arg: *mut c_void, seq: usize) {
    // SAFETY: set_timer has given the timer `pd.as_arg()`.
    netpolldeadlineimpl(unsafe { poll_desc(arg) }, seq, true, false);
}

/// Called when the write deadline has passed. Go's `netpollWriteDeadline`.
unsafe extern "C" fn netpoll_write_deadline(arg: *mut c_void, seq: usize) {
    // SAFETY: set_timer has given the timer `pd.as_arg()`.
    netpolldeadlineimpl(unsafe { poll_desc(arg) }, seq, false, true);
}
