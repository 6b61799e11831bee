//! The poller's system calls: Go's `netpoll_epoll.go`.
//!
//! If the process has no descriptor left for an epoll instance, timers work without one: an M that
//! waits for a timer sleeps on a futex (`NETPOLL_WAKE_SIG`). The first descriptor to poll tries to
//! make the epoll instance again, and the M that sleeps on the futex is woken.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use libc::{EPOLLET, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP, epoll_event};

use crate::runtime::arch::syscall::syscall;
use crate::runtime::base::debug::busy_poll;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::{futexsleep, futexwakeup};
use crate::runtime::base::print::eprintln;
use crate::runtime::data::gqueue::{GList, GQueue};
#[cfg(feature = "std")]
use crate::runtime::netpoll::marked;
use crate::runtime::netpoll::poll_desc::PollDesc;
use crate::runtime::netpoll::ready::{netpollevent, tagged_pointer_pack};

/// The epoll instance, -1 while there is none. Its release pairs with the acquire in [`epfd`]: a
/// thread that sees the instance also sees `NETPOLL_EVENT_FD`. Go's `epfd`.
static EPFD: AtomicI32 = AtomicI32::new(-1);
/// The event descriptor that ends a poll when it is written to. Go's `netpollBreakRd` and
/// `netpollBreakWr`; its `netpollEventFd` since 1.23.
static NETPOLL_EVENT_FD: AtomicI32 = AtomicI32::new(-1);
/// 1 from a call of [`netpoll_break`] until that call has ended a poll. Without epoll, a poll
/// sleeps on this word as a futex. Go's `netpollWakeSig`.
// SeqCst: a thread sets a timer before its CAS of this (`netpoll_break`), and the M that polls
// looks for timers after it has cleared this. See also `end_sleep_without_epoll`.
static NETPOLL_WAKE_SIG: AtomicU32 = AtomicU32::new(0);
/// Set if there is no `epoll_pwait2` and time limits are in milliseconds: before Linux 5.11, and in
/// sandboxes.
static MILLISECONDS_ONLY: AtomicBool = AtomicBool::new(false);

/// The maximum number of events that one poll returns.
const EVENTS: usize = 128;

/// The data of [`NETPOLL_EVENT_FD`]'s event: no `PollDesc` is at this address.
const BREAK: u64 = 0;

/// The maximum number of packets that a busy poll takes at once: the kernel's default, and the most
/// that it allows an unprivileged process.
const BUDGET: u16 = 64;

/// The longest time limit of a poll in nanoseconds, as in Go: 11 days. After that the caller polls
/// again.
const MAX_DELAY: i64 = 1_000_000_000_000_000;

/// The time limit in nanoseconds of which a thousandth is 50 µs: see [`epoll_wait`].
const LONG_DELAY: i64 = 50_000_000;

fn check(ret: libc::c_int) -> io::Result<libc::c_int> {
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(ret) }
}

/// Adds `fd` to the descriptors that `epfd` watches, or removes it.
fn epoll_ctl(epfd: RawFd, op: libc::c_int, fd: RawFd, events: libc::c_int, data: u64) -> io::Result<()> {
    let mut event = epoll_event { events: events as u32, u64: data };
    // SAFETY: the kernel reads the event, which is alive, and no other memory.
    check(unsafe { libc::epoll_ctl(epfd, op, fd, &mut event) }).map(drop)
}

/// The epoll instance, -1 while there is none.
#[inline(always)]
fn epfd() -> RawFd {
    EPFD.load(Ordering::Acquire)
}

/// Whether there is an epoll instance, and descriptors can be polled.
#[inline(always)]
pub(in crate::runtime) fn has_epoll() -> bool {
    epfd() >= 0
}

/// Makes the epoll instance. One caller at a time. Go's `netpollinit`.
pub(super) fn netpollinit() -> io::Result<()> {
    // SAFETY: no memory is passed; the descriptor is new, and nobody else's.
    let epfd = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
    let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
    // SAFETY: no memory is passed; the descriptor is new, and nobody else's.
    let event_fd = unsafe { OwnedFd::from_raw_fd(check(libc::eventfd(0, flags))?) };
    epoll_ctl(epfd.as_raw_fd(), libc::EPOLL_CTL_ADD, event_fd.as_raw_fd(), EPOLLIN, BREAK)?;
    set_busy_poll(epfd.as_raw_fd());
    NETPOLL_EVENT_FD.store(event_fd.into_raw_fd(), Ordering::Relaxed);
    EPFD.store(epfd.into_raw_fd(), Ordering::Release);
    Ok(())
}

/// Sets the kernel's busy polling to [`busy_poll`].
fn set_busy_poll(epfd: RawFd) {
    let busy_poll_usecs = busy_poll();
    if busy_poll_usecs == 0 {
        return;
    }
    let params =
        libc::epoll_params { busy_poll_usecs, busy_poll_budget: BUDGET, prefer_busy_poll: 0, __pad: 0 };
    // SAFETY: the kernel reads the parameters, which are alive.
    if let Err(error) = check(unsafe { libc::ioctl(epfd, libc::EPIOCSPARAMS, &params) }) {
        eprintln!("runtime: GODEBUG=busypoll={busy_poll_usecs}: {error}");
    }
}

/// Ends the sleep of an M that has found no epoll instance. Called after [`netpollinit`].
///
/// A thread that breaks a poll at the same time may have found no instance either, and then only
/// wakes that M. So this writes the event in any case, which ends the first poll. The woken M
/// leaves a 0, and a thread that finds the 0 also finds the instance.
pub(super) fn end_sleep_without_epoll() {
    // SeqCst: see `NETPOLL_WAKE_SIG`.
    NETPOLL_WAKE_SIG.store(1, Ordering::SeqCst);
    futexwakeup(&NETPOLL_WAKE_SIG, 1);
    write_event();
}

/// Whether the descriptor is one of the poller's own. Go's `netpollIsPollDescriptor`, in
/// `netpoll_epoll.go`.
pub fn netpoll_is_poll_descriptor(fd: RawFd) -> bool {
    fd >= 0 && (fd == epfd() || fd == NETPOLL_EVENT_FD.load(Ordering::Relaxed))
}

/// Makes the kernel report when `fd` becomes ready, with the address of `pd`. Go's `netpollopen`.
pub(in crate::runtime) fn netpollopen(fd: RawFd, pd: &'static PollDesc) -> io::Result<()> {
    let data = tagged_pointer_pack(pd, pd.fdseq.load(Ordering::Relaxed));
    let events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;
    #[cfg(feature = "std")]
    marked::claim(fd, true);
    let opened = epoll_ctl(epfd(), libc::EPOLL_CTL_ADD, fd, events, data);
    #[cfg(feature = "std")]
    if opened.is_err() {
        marked::claim(fd, false);
    }
    opened
}

/// Ends the kernel's reports of `fd`. (An error says that `fd` was closed before, which also ends
/// them.) Go's `netpollclose`.
pub(in crate::runtime) fn netpollclose(fd: RawFd) {
    let _ = epoll_ctl(epfd(), libc::EPOLL_CTL_DEL, fd, 0, 0);
    #[cfg(feature = "std")]
    marked::claim(fd, false);
}

/// Makes the kernel report when `fd` is ready for one of `events` or has an error. The other bits
/// of `events` (`EPOLLONESHOT`, `EPOLLET`) set how. `registered` says whether the caller believes
/// `fd` to be registered already. Returns whether it was: if not, the number belongs to another
/// description by now. There must be an epoll instance.
///
/// # Errors
/// The kernel's: `EPERM` if the descriptor can't be polled, `EEXIST` if a `PollDesc` has it.
#[cfg(feature = "std")]
pub(in crate::runtime) fn arm_marked(fd: RawFd, events: u32, registered: bool) -> io::Result<bool> {
    let ctl = |op| epoll_ctl(epfd(), op, fd, events as libc::c_int, marked::data_of(fd));
    if registered {
        match ctl(libc::EPOLL_CTL_MOD) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            result => return result.map(|()| true),
        }
    }
    ctl(libc::EPOLL_CTL_ADD).map(|()| false)
}

/// Ends the reports that [`arm_marked`] has requested.
#[cfg(feature = "std")]
pub(in crate::runtime) fn remove_marked(fd: RawFd) {
    let _ = epoll_ctl(epfd(), libc::EPOLL_CTL_DEL, fd, 0, 0);
}

/// Ends the poll in progress, or the next one. Go's `netpollBreak`.
pub(in crate::runtime) fn netpoll_break() {
    // Another thread has broken the poll, and no poll has ended since. SeqCst: see
    // `NETPOLL_WAKE_SIG`.
    if NETPOLL_WAKE_SIG.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        return;
    }
    if has_epoll() {
        write_event();
    } else {
        futexwakeup(&NETPOLL_WAKE_SIG, 1);
    }
}

/// Makes the event descriptor readable.
fn write_event() {
    let one = 1_u64;
    loop {
        let event_fd = NETPOLL_EVENT_FD.load(Ordering::Relaxed);
        // SAFETY: the kernel reads the eight bytes of `one`.
        let n = unsafe { syscall!(SYS_write, event_fd, &raw const one, size_of::<u64>()) };
        if n == size_of::<u64>() as isize {
            return;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            eprintln!("runtime: netpollBreak write failed with {error}");
            throw("runtime: netpollBreak write failed");
        }
    }
}

/// Waits for events, for at most `delay` nanoseconds, or forever if `delay` is negative. Returns
/// the number of events.
fn epoll_wait(events: &mut [MaybeUninit<epoll_event>; EVENTS], delay: i64) -> io::Result<usize> {
    let (epfd, first) = (epfd(), events.as_mut_ptr().cast::<epoll_event>());
    if delay > 0 && !MILLISECONDS_ONLY.load(Ordering::Relaxed) {
        // To end several waits at once, the kernel may be late by a thousandth of the limit, or by
        // 50 µs if that is more. A long limit is made shorter by a thousandth; the caller waits
        // again for the rest.
        let limit = if delay < LONG_DELAY { delay } else { delay - delay / 1000 };
        let limit = libc::timespec { tv_sec: limit / 1_000_000_000, tv_nsec: limit % 1_000_000_000 };
        // SAFETY: the kernel reads the limit, and writes at most EVENTS events, for which `events`
        // has room.
        let n = unsafe {
            let no_mask = ptr::null::<libc::sigset_t>();
            syscall!(SYS_epoll_pwait2, epfd, first, EVENTS, &raw const limit, no_mask, 0)
        };
        match check(n as libc::c_int) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                MILLISECONDS_ONLY.store(true, Ordering::Relaxed);
            }
            result => return result.map(|n| n as usize),
        }
    }
    // Rounded up: otherwise the last millisecond would be spent in calls with a limit of 0.
    let milliseconds =
        if delay > 0 { ((delay - 1) / 1_000_000 + 1) as libc::c_int } else { delay.signum() as _ };
    // SAFETY: the kernel writes at most EVENTS events, for which `events` has room.
    let n = unsafe { syscall!(SYS_epoll_pwait, epfd, first, EVENTS, milliseconds, 0, 0) };
    check(n as libc::c_int).map(|n| n as usize)
}

/// Waits until descriptors become ready, until [`netpoll_break`], or for `delay` nanoseconds. If
/// `delay` is 0, doesn't wait; if it is negative, waits without a limit. May return early. Returns
/// the goroutines to make ready, and the number to pass to
/// [`netpoll_adjust_waiters`](super::netpoll_adjust_waiters) afterwards, also if there are no
/// goroutines. The poller must have been made. Go's `netpoll`.
pub(in crate::runtime) fn netpoll(delay: i64) -> (GList, i32) {
    let to_run = GQueue::default();
    if !has_epoll() {
        sleep_without_epoll(delay);
        return (to_run.pop_list(), 0);
    }
    let mut events = [const { MaybeUninit::uninit() }; EVENTS];
    let n = loop {
        match epoll_wait(&mut events, delay.min(MAX_DELAY)) {
            Ok(n) => break n,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                eprintln!("runtime: epollwait on fd {} failed with {error}", epfd());
                throw("runtime: netpoll failed");
            }
            // The caller computes the remaining time.
            Err(_) if delay > 0 => return (to_run.pop_list(), 0),
            Err(_) => {}
        }
    };
    let mut delta = 0;
    for event in &events[..n] {
        // SAFETY: the kernel has written the first n.
        let epoll_event { events, u64: data } = unsafe { event.assume_init() };
        if data == BREAK {
            // A poll that doesn't sleep leaves the event to the M that sleeps: the break is meant
            // for that M.
            if delay != 0 {
                end_of_break();
            }
            continue;
        }
        #[cfg(feature = "std")]
        if let Some(fd) = marked::descriptor_of(data) {
            delta += marked::event(&to_run, fd, events);
            continue;
        }
        // SAFETY: all other data comes from netpollopen, where tagged_pointer_pack made it.
        delta += unsafe { netpollevent(&to_run, events, data) };
    }
    (to_run.pop_list(), delta)
}

/// [`netpoll`] without an epoll instance: waits for a time or a break, and polls nothing.
#[cold]
fn sleep_without_epoll(delay: i64) {
    if delay != 0 {
        futexsleep(&NETPOLL_WAKE_SIG, 0, delay);
        // SeqCst, as all other accesses: see end_sleep_without_epoll. The event that
        // end_sleep_without_epoll writes is left to the first poll.
        NETPOLL_WAKE_SIG.swap(0, Ordering::SeqCst);
    }
}

/// Notes that a poll has ended by [`netpoll_break`]: the next break is a new one.
fn end_of_break() {
    let mut count = 0_u64;
    let event_fd = NETPOLL_EVENT_FD.load(Ordering::Relaxed);
    // SAFETY: the kernel writes the eight bytes of `count`. (It doesn't block: EFD_NONBLOCK.)
    unsafe { syscall!(SYS_read, event_fd, &raw mut count, size_of::<u64>()) };
    // A caller of netpoll_break that found the 1 and wrote nothing has set its timer before. The M
    // that was just woken sees that timer. SeqCst: see `NETPOLL_WAKE_SIG`.
    NETPOLL_WAKE_SIG.store(0, Ordering::SeqCst);
}
