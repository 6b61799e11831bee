//! A descriptor's registration with the poller: Go's `internal/poll.FD`, as far as it waits.

use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::mem::take;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::netpoll::*;
use crate::proc::extram::Guest;
use crate::proc::park::on_goroutine;
use crate::sync::Mutex;
use crate::time::{nanos, until};
use crate::wait::must_wait;

/// How long an operation waits for its second try, if nobody tells when that can succeed; and for each after many.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// The right to wait for the descriptor of a `T`; dropping it gives that up, after which the descriptor may be
/// closed. Its `Drop` is one for each `T`: what a `T` borrows has to outlive it.
///
/// Go counts the operations in progress (`fdMutex`), so that a close waits for them. Here each borrows the
/// registration, and nothing drops what is borrowed: what is left is that there is one reader and one writer at
/// a time.
pub(super) struct Registration<T> {
    pd: &'static PollDesc,
    closed: AtomicBool,
    reading: Direction,
    writing: Direction,
    /// It is TCP: a read that gets less than it could take has taken all that there was. Otherwise that tells
    /// nothing: a datagram ends, or a descriptor has come with the bytes.
    short_read_drains: bool,
    owner: PhantomData<T>,
}

/// What there is for reading, and for writing.
struct Direction {
    mode: Mode,
    /// Locked by whose turn it is: whether there is nothing to read, but for what the poller has been told
    /// since. Then the first try would be for nothing.
    turn: Mutex<bool>,
    limits: Mutex<Limits>,
}

/// Until when an operation may wait.
#[derive(Default)]
struct Limits {
    /// All of them.
    deadline: Option<Instant>,
    /// Each, and so long, from its first wait on.
    timeout: Option<Duration>,
    /// The one whose turn it is, because of that.
    ends: Option<Instant>,
    /// That one, until its next try.
    pause_ends: Option<Instant>,
}

fn error(error: PollError) -> io::Error {
    match error {
        PollError::Closing => io::Error::new(ErrorKind::BrokenPipe, error),
        PollError::Timeout => ErrorKind::TimedOut.into(),
        PollError::NotPollable => io::Error::other(error),
    }
}

/// Why a descriptor can't be registered, in more words.
fn not_pollable(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EPERM) => io::Error::new(
            ErrorKind::Unsupported,
            "this kind of file is always ready, and can't be waited for: use it in gosched::blocking",
        ),
        _ => error,
    }
}

impl<T: AsFd> Registration<T> {
    /// Registers the descriptor of `owner`, and sets it to non-blocking mode; after an error it is as before.
    pub(super) fn new(owner: &T, short_read_drains: bool) -> io::Result<Self> {
        let fd = owner.as_fd();
        // Its EPERM, of a sandbox, isn't the descriptor's.
        poll_runtime_poll_server_init()?;
        // SAFETY: `owner` has it, and outlives the registration.
        let pd = unsafe { poll_runtime_poll_open(fd.as_raw_fd()) }.map_err(not_pollable)?;
        let direction = |mode| Direction { mode, turn: Mutex::new(false), limits: Mutex::default() };
        let (reading, writing) = (direction(Mode::Read), direction(Mode::Write));
        let closed = AtomicBool::new(false);
        let this = Registration { pd, closed, reading, writing, short_read_drains, owner: PhantomData };
        set_nonblocking(fd)?;
        Ok(this)
    }
}

impl<T> Registration<T> {
    fn direction(&self, mode: Mode) -> &Direction {
        match mode {
            Mode::Read => &self.reading,
            Mode::Write => &self.writing,
        }
    }

    /// Whether to have read less than there was room for is to have read all.
    pub(super) fn short_read_drains(&self) -> bool {
        self.short_read_drains
    }

    /// Calls `f`, and again each time that the descriptor has become ready, until it does something else than
    /// to say that it would block. One at a time for each `mode`.
    #[inline]
    #[track_caller]
    pub(super) fn io<R>(&self, mode: Mode, what: &str, f: impl FnMut() -> io::Result<R>) -> io::Result<R> {
        let direction = self.direction(mode);
        self.try_and_wait(direction, &mut direction.turn.lock(), what, f)
    }

    /// [`io`](Self::io) of a read into `len` bytes.
    ///
    /// After it has brought less than that, the next one waits first, which saves a system call each time that a
    /// connection's two ends take turns. The kernel tells of what comes after this read, but not again of what
    /// it has told of before: an end behind the bytes, for instance. `event_last` says that there may be such.
    #[inline]
    #[track_caller]
    pub(super) fn read(
        &self,
        what: &str,
        len: usize,
        f: impl FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut drained = self.reading.turn.lock();
        let n = self.try_and_wait(&self.reading, &mut drained, what, f)?;
        *drained = self.short_read_drains && 0 < n && n < len && !self.pd.info().event_last();
        Ok(n)
    }

    /// [`io`](Self::io) of whose turn it is.
    #[inline]
    #[track_caller]
    fn try_and_wait<R>(
        &self,
        direction: &Direction,
        drained: &mut bool,
        what: &str,
        f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let ready = poll_runtime_poll_reset(self.pd, direction.mode).map_err(error)?;
        let mut waits = None;
        // Who can't wait here tries.
        if take(drained) && !ready && on_goroutine() {
            self.wait(direction, &mut waits, what)?;
        }
        retry(f, || self.wait(direction, &mut waits, what))
    }

    /// [`io`](Self::io) of what becomes possible by something else than that the descriptor becomes ready, of which
    /// nobody tells: it is tried again after a while, which grows.
    #[track_caller]
    pub(super) fn io_untold<R>(
        &self,
        mode: Mode,
        what: &str,
        f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let direction = self.direction(mode);
        let _turn = direction.turn.lock();
        poll_runtime_poll_reset(self.pd, mode).map_err(error)?;
        let (mut waits, mut pause) = (None, FIRST_PAUSE);
        retry(f, || {
            let this_pause = pause;
            pause = LONGEST_PAUSE.min(2 * pause);
            self.pause(direction, &mut waits, what, this_pause)
        })
    }

    /// Waits for so long, or until no operation may wait any more. It is the caller's turn.
    #[track_caller]
    fn pause<'a>(
        &'a self,
        direction: &'a Direction,
        waits: &mut Option<Waits<'a, T>>,
        what: &str,
        pause: Duration,
    ) -> io::Result<()> {
        self.begin(direction, waits, what);
        self.limit(direction, |limits| limits.pause_ends = Some(Instant::now() + pause));
        // It becomes ready when the kernel gives up the memory for what it couldn't send: to try at once would be
        // to go round and round.
        while self.wait(direction, waits, what).is_ok() {}
        self.limit(direction, |limits| limits.pause_ends = None);
        // Whether it was more than the pause that has ended.
        poll_runtime_poll_reset(self.pd, direction.mode).map(drop).map_err(error)
    }

    /// Begins the waits of the operation whose turn it is, with its first wait.
    #[track_caller]
    fn begin<'a>(&'a self, direction: &'a Direction, waits: &mut Option<Waits<'a, T>>, what: &str) {
        if waits.is_none() {
            *waits = Some(Waits::begin(self, direction, what));
        }
    }

    /// Waits until the descriptor has become ready. It is the caller's turn.
    #[inline(never)]
    #[track_caller]
    fn wait<'a>(
        &'a self,
        direction: &'a Direction,
        waits: &mut Option<Waits<'a, T>>,
        what: &str,
    ) -> io::Result<()> {
        self.begin(direction, waits, what);
        // SAFETY: on a goroutine, which has promised to keep no thread-local; nobody else's turn is it.
        unsafe { poll_runtime_poll_wait(self.pd, direction.mode) }.map_err(error)
    }

    /// Changes the limits of a direction, and tells the poller.
    fn limit(&self, direction: &Direction, change: impl FnOnce(&mut Limits)) {
        let mut limits = direction.limits.lock();
        change(&mut limits);
        let end = [limits.deadline, limits.ends, limits.pause_ends].into_iter().flatten().min();
        // To the poller 0 is none.
        let d = end.map_or(0, |end| match nanos(until(end)) {
            0 => -1,
            d => d,
        });
        let read = direction.mode == Mode::Read;
        // SAFETY: on a goroutine; it is registered.
        unsafe { poll_runtime_poll_set_deadline(self.pd, d, read, !read) };
    }

    /// Sets until when operations of this mode may wait.
    #[track_caller]
    pub(super) fn set_deadline(&self, mode: Mode, deadline: Option<Instant>, what: &str) {
        let _guest = must_wait(what);
        self.limit(self.direction(mode), |limits| limits.deadline = deadline);
    }

    /// Sets how long each operation of this mode may wait.
    pub(super) fn set_timeout(&self, mode: Mode, timeout: Option<Duration>) -> io::Result<()> {
        timeout.map_or(Ok(()), not_zero)?;
        self.direction(mode).limits.lock().timeout = timeout;
        Ok(())
    }

    /// How long that is.
    pub(super) fn timeout(&self, mode: Mode) -> Option<Duration> {
        self.direction(mode).limits.lock().timeout
    }

    /// Whether [`close`](Self::close) was called.
    pub(super) fn is_closed(&self) -> bool {
        // Acquire: pairs with the release there; who has had an error because of it sees it.
        self.closed.load(Ordering::Acquire)
    }

    /// Ends all waits, and has every later operation fail.
    pub(super) fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            // SAFETY: it is registered, and this is done once.
            unsafe { poll_runtime_poll_unblock(self.pd) };
        }
    }
}

impl<T> Drop for Registration<T> {
    fn drop(&mut self) {
        self.close();
        // SAFETY: who waits borrows it.
        unsafe { poll_runtime_poll_close(self.pd) };
    }
}

/// That an operation waits, from its first wait on until it ends. It may be woken for nothing, several times, and
/// has one time limit for all its waits.
struct Waits<'a, T> {
    registration: &'a Registration<T>,
    direction: &'a Direction,
    limited: bool,
    /// The waiting needs it, and the end of the time limit.
    _guest: Option<Guest>,
}

impl<'a, T> Waits<'a, T> {
    #[track_caller]
    fn begin(registration: &'a Registration<T>, direction: &'a Direction, what: &str) -> Self {
        let _guest = must_wait(what);
        let timeout = direction.limits.lock().timeout;
        if let Some(timeout) = timeout {
            registration.limit(direction, |limits| limits.ends = Instant::now().checked_add(timeout));
        }
        Waits { registration, direction, limited: timeout.is_some(), _guest }
    }
}

impl<T> Drop for Waits<'_, T> {
    fn drop(&mut self) {
        if self.limited {
            self.registration.limit(self.direction, |limits| limits.ends = None);
        }
    }
}

/// Calls `f` until it does something else than to say that it would block, after which it `waits`, or that it was
/// interrupted.
#[inline]
#[track_caller]
fn retry<R>(
    mut f: impl FnMut() -> io::Result<R>,
    mut waits: impl FnMut() -> io::Result<()>,
) -> io::Result<R> {
    loop {
        match f() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => waits()?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// That a timeout isn't 0: to the kernel's own that is none.
pub(super) fn not_zero(timeout: Duration) -> io::Result<()> {
    if timeout.is_zero() {
        Err(io::Error::new(ErrorKind::InvalidInput, "a timeout can't be 0"))
    } else {
        Ok(())
    }
}

/// Sets a descriptor to non-blocking mode.
fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the kernel reads the number.
    let ret = unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONBIO, &raw const NONBLOCKING) };
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What says so.
static NONBLOCKING: libc::c_int = 1;

/// Whether `fd` is a socket for TCP.
pub(super) fn is_tcp(fd: BorrowedFd<'_>) -> bool {
    let option = |name| {
        let (mut value, mut len) = (0, size_of::<libc::c_int>() as libc::socklen_t);
        // SAFETY: the kernel writes a number, and how long it is.
        let ret = unsafe {
            libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, name, (&raw mut value).cast(), &mut len)
        };
        (ret == 0).then_some(value)
    };
    matches!(option(libc::SO_DOMAIN), Some(libc::AF_INET | libc::AF_INET6))
        && option(libc::SO_PROTOCOL) == Some(libc::IPPROTO_TCP)
}

/// Whether `fd` is ready for `mode` at this moment: that it would block, if it isn't.
pub(super) fn is_ready(fd: BorrowedFd<'_>, mode: Mode) -> io::Result<()> {
    let events = match mode {
        Mode::Read => libc::POLLIN | libc::POLLRDHUP,
        Mode::Write => libc::POLLOUT,
    };
    let mut fds = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    // SAFETY: the kernel writes one of them.
    match unsafe { libc::poll(&mut fds, 1, 0) } {
        0 => Err(ErrorKind::WouldBlock.into()),
        1 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
