//! The poller's side that is the kernel's: Go's `netpoll_epoll.go`.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use libc::{EPOLLET, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP, epoll_event};

use crate::netpoll::event::{netpollevent, tagged_pointer_pack};
use crate::netpoll::poll_desc::{Mode, PollDesc};
use crate::panic::throw;
use crate::print::eprintln;
use crate::proc::gqueue::GList;

/// The epoll instance. It and the next are set before `NETPOLL_INITED` is, and read after that. Go's `epfd`.
static EPFD: AtomicI32 = AtomicI32::new(-1);
/// An event descriptor: written to, it ends a poll. Go's `netpollBreakRd` and `netpollBreakWr`; its
/// `netpollEventFd` since 1.23.
static NETPOLL_EVENT_FD: AtomicI32 = AtomicI32::new(-1);
/// 1 from when a poll is to end until one has. Go's `netpollWakeSig`.
static NETPOLL_WAKE_SIG: AtomicU32 = AtomicU32::new(0);
/// The kernel takes time limits in milliseconds only: before Linux 5.11, and in sandboxes.
static MILLISECONDS_ONLY: AtomicBool = AtomicBool::new(false);

/// How many events are asked for at once.
const EVENTS: usize = 128;

/// What the event of [`NETPOLL_EVENT_FD`] carries: no descriptor is at this address.
const BREAK: u64 = 0;

/// The longest time limit, as in Go: 11 days. Who sleeps longer looks at the clock then.
const MAX_DELAY: i64 = 1_000_000_000_000_000;

/// From which time limit on a thousandth of it is more than 50 µs.
const LONG_DELAY: i64 = 50_000_000;

fn check(ret: libc::c_int) -> io::Result<libc::c_int> {
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(ret) }
}

/// Adds `fd` to what `epfd` watches, or takes it off that.
fn epoll_ctl(epfd: RawFd, op: libc::c_int, fd: RawFd, events: libc::c_int, data: u64) -> io::Result<()> {
    let mut event = epoll_event { events: events as u32, u64: data };
    // SAFETY: the kernel reads the event.
    check(unsafe { libc::epoll_ctl(epfd, op, fd, &mut event) }).map(drop)
}

/// Makes the poller. Go's `netpollinit`.
pub(super) fn netpollinit() -> io::Result<()> {
    // SAFETY: no memory is passed; it is new, and nobody else's.
    let epfd = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
    let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
    // SAFETY: likewise.
    let event_fd = unsafe { OwnedFd::from_raw_fd(check(libc::eventfd(0, flags))?) };
    epoll_ctl(epfd.as_raw_fd(), libc::EPOLL_CTL_ADD, event_fd.as_raw_fd(), EPOLLIN, BREAK)?;
    NETPOLL_EVENT_FD.store(event_fd.into_raw_fd(), Ordering::Relaxed);
    EPFD.store(epfd.into_raw_fd(), Ordering::Relaxed);
    Ok(())
}

/// Whether the descriptor is one of the poller's own. Go's `netpollIsPollDescriptor`, in
/// `netpoll_epoll.go`.
pub fn netpoll_is_poll_descriptor(fd: RawFd) -> bool {
    fd >= 0 && (fd == EPFD.load(Ordering::Relaxed) || fd == NETPOLL_EVENT_FD.load(Ordering::Relaxed))
}

/// Has the kernel tell when `fd` becomes ready. Go's `netpollopen`.
pub(super) fn netpollopen(fd: RawFd, pd: &'static PollDesc) -> io::Result<()> {
    let data = tagged_pointer_pack(pd, pd.fdseq.load(Ordering::Relaxed));
    let events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;
    epoll_ctl(EPFD.load(Ordering::Relaxed), libc::EPOLL_CTL_ADD, fd, events, data)
}

/// Has it tell no more. (If the descriptor was closed by somebody else, it has forgotten it.) Go's
/// `netpollclose`.
pub(super) fn netpollclose(fd: RawFd) {
    let _ = epoll_ctl(EPFD.load(Ordering::Relaxed), libc::EPOLL_CTL_DEL, fd, 0, 0);
}

/// Would announce a wait to a poller that isn't edge-triggered. Go's `netpollarm`.
pub(super) fn netpollarm(_pd: &PollDesc, _mode: Mode) {
    throw("runtime: unused");
}

/// Ends the poll in progress, or the next one. Go's `netpollBreak`.
pub(crate) fn netpoll_break() {
    // Otherwise somebody has done it already.
    if NETPOLL_WAKE_SIG.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        return;
    }
    let one = 1_u64;
    loop {
        let event_fd = NETPOLL_EVENT_FD.load(Ordering::Relaxed);
        // SAFETY: the kernel reads eight bytes.
        let n = unsafe { libc::write(event_fd, (&raw const one).cast(), size_of::<u64>()) };
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

/// Waits for events, `delay` nanoseconds at most, forever if that is negative.
fn epoll_wait(events: &mut [MaybeUninit<epoll_event>; EVENTS], delay: i64) -> io::Result<usize> {
    let (epfd, first) = (EPFD.load(Ordering::Relaxed), events.as_mut_ptr().cast::<epoll_event>());
    if delay > 0 && !MILLISECONDS_ONLY.load(Ordering::Relaxed) {
        // The kernel may be late by a thousandth of a limit, so that it can end several waits at once; but
        // also by 50 µs with a short one. A long one is shortened by as much: what is left then is short.
        let limit = if delay < LONG_DELAY { delay } else { delay - delay / 1000 };
        let limit = libc::timespec { tv_sec: limit / 1_000_000_000, tv_nsec: limit % 1_000_000_000 };
        // SAFETY: the kernel reads the limit, and writes so many events.
        let n = unsafe {
            let no_mask = ptr::null::<libc::sigset_t>();
            libc::syscall(libc::SYS_epoll_pwait2, epfd, first, EVENTS, &limit, no_mask, 0)
        };
        match check(n as libc::c_int) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                MILLISECONDS_ONLY.store(true, Ordering::Relaxed);
            }
            result => return result.map(|n| n as usize),
        }
    }
    // Rounded up: otherwise the last millisecond would be waited for in one more call.
    let milliseconds =
        if delay > 0 { ((delay - 1) / 1_000_000 + 1) as libc::c_int } else { delay.signum() as _ };
    // SAFETY: the kernel writes so many events.
    check(unsafe { libc::epoll_wait(epfd, first, EVENTS as libc::c_int, milliseconds) }).map(|n| n as usize)
}

/// Waits for `delay` nanoseconds, forever if that is negative, until descriptors become ready, or until
/// [`netpoll_break`]; it may be shorter. Returns the goroutines that can go on, and what
/// [`netpoll_adjust_waiters`](super::netpoll_adjust_waiters) is to be told when they are ready; that isn't 0
/// only if there are some. There is a poller. Go's `netpoll`.
pub(crate) fn netpoll(delay: i64) -> (GList, i32) {
    let to_run = GList::default();
    let mut events = [const { MaybeUninit::uninit() }; EVENTS];
    let n = loop {
        match epoll_wait(&mut events, delay.min(MAX_DELAY)) {
            Ok(n) => break n,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                eprintln!("runtime: epollwait on fd {} failed with {error}", EPFD.load(Ordering::Relaxed));
                throw("runtime: netpoll failed");
            }
            // The caller knows how much is left.
            Err(_) if delay > 0 => return (to_run, 0),
            Err(_) => {}
        }
    };
    let mut delta = 0;
    for event in &events[..n] {
        // SAFETY: the kernel has written so many.
        let epoll_event { events, u64: data } = unsafe { event.assume_init() };
        if data == BREAK {
            // One that doesn't sleep leaves it for the one that does.
            if delay != 0 {
                end_of_break();
            }
            continue;
        }
        // SAFETY: what isn't BREAK is what netpollopen has given the kernel.
        delta += unsafe { netpollevent(&to_run, events, data) };
    }
    (to_run, delta)
}

/// A poll that sleeps was told to end, and has.
fn end_of_break() {
    let mut count = 0_u64;
    let event_fd = NETPOLL_EVENT_FD.load(Ordering::Relaxed);
    // SAFETY: the kernel writes eight bytes, and it doesn't block.
    unsafe { libc::read(event_fd, (&raw mut count).cast(), size_of::<u64>()) };
    // Who has seen the 1 meanwhile, and left it at that, has put up its timer before.
    NETPOLL_WAKE_SIG.store(0, Ordering::SeqCst);
}
