//! A descriptor's registration with the poller: Go's `internal/poll.FD`, as far as it waits.

use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::mem::take;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::context::error_of_run;
use crate::net::limit::Limit;
use crate::runtime::{
    Mode, PollDesc, PollError, explored_number, must_run, must_wait, nanos, on_goroutine, outside_of_run,
    poll_runtime_poll_close, poll_runtime_poll_open, poll_runtime_poll_reset, poll_runtime_poll_server_init,
    poll_runtime_poll_set_deadline, poll_runtime_poll_unblock, poll_runtime_poll_wait, until,
};
use crate::sync::Mutex;

/// The first pause between two tries of an operation that the kernel doesn't report as possible.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
/// The longest such pause; each pause is twice as long as the one before.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// The registration of a `T`'s descriptor. It is dropped before the descriptor is closed. Because
/// its `Drop` is generic in `T`, the compiler ensures that borrows of a `T` outlive it.
///
/// Go counts the operations in progress (`fdMutex`), so that a close waits for them. Here each
/// operation borrows the registration, which can't be dropped meanwhile. The other part of
/// `fdMutex` remains: there is one reader and one writer at a time.
pub(super) struct Registration<T> {
    pd: &'static PollDesc,
    closed: AtomicBool,
    reading: Direction,
    writing: Direction,
    /// Whether a read that fills less than its buffer has taken all bytes that there were. That
    /// holds for TCP. Reads of other sockets may be short for another reason: a datagram ends, or a
    /// descriptor came with the bytes.
    short_read_drains: bool,
    /// Makes the auto traits, such as Send and Sync, those of a struct with a `T`.
    owner: PhantomData<T>,
}

/// The state of one direction: reading or writing.
struct Direction {
    mode: Mode,
    /// Locked by the operation in progress. True if the last read has taken all bytes that there
    /// were: unless the poller has reported something since, another try would fail.
    turn: Mutex<bool>,
    limits: Mutex<Limits>,
}

/// The times until which an operation may wait.
#[derive(Default)]
struct Limits {
    /// The deadline of all operations.
    deadline: Option<Instant>,
    /// How long each operation may wait, from its first wait on.
    timeout: Option<Duration>,
    /// While the operation in progress waits: the time at which its timeout ends it.
    ends: Option<Instant>,
    /// The end of the operation's present pause: see `io_untold`.
    pause_ends: Option<Instant>,
}

fn error(error: PollError) -> io::Error {
    match error {
        PollError::Closing => io::Error::new(ErrorKind::BrokenPipe, error),
        PollError::Timeout => ErrorKind::TimedOut.into(),
        PollError::NotPollable => io::Error::other(error),
    }
}

/// The error of a wait that its run has ended, as by a deadline: why the run is over.
fn of_run(error: io::Error) -> io::Error {
    match error_of_run() {
        Some(over) if error.kind() == ErrorKind::TimedOut => over,
        _ => error,
    }
}

/// The error for a descriptor that can't be registered, with a clearer message.
fn not_pollable(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EPERM) => io::Error::new(
            ErrorKind::Unsupported,
            "this kind of file is always ready, and can't be waited for: use it in gosched::blocking",
        ),
        _ => error,
    }
}

// Nothing panics while a field is changed. The owner has its own answer for itself.
impl<T> UnwindSafe for Registration<T> {}
impl<T> RefUnwindSafe for Registration<T> {}

impl<T: AsFd> Registration<T> {
    /// Registers the descriptor of `owner`, and sets it to non-blocking mode. After an error its
    /// mode is as before.
    pub(crate) fn new(owner: &T, short_read_drains: bool) -> io::Result<Self> {
        assert!(
            explored_number().is_none(),
            "gosched: a real socket in an exploration, whose clock and order nobody else keeps: use \
             gosched::explore::pipe, or channels"
        );
        let fd = owner.as_fd();
        // Called before poll_open, which calls it too: an EPERM from here comes from a sandbox, and
        // not from the descriptor.
        poll_runtime_poll_server_init()?;
        // SAFETY: `owner` keeps the descriptor open, and the registration is dropped before it, by
        // Pollable. If the registration is leaked, poll_close is never called.
        let pd = unsafe { poll_runtime_poll_open(fd.as_raw_fd()) }.map_err(not_pollable)?;
        let direction = |mode| Direction { mode, turn: Mutex::new(false), limits: Mutex::default() };
        let (reading, writing) = (direction(Mode::Read), direction(Mode::Write));
        let closed = AtomicBool::new(false);
        let this = Registration { pd, closed, reading, writing, short_read_drains, owner: PhantomData };
        set_nonblocking(fd, true)?;
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

    /// Whether a read that fills less than its buffer has taken all bytes that there were.
    pub(super) fn short_read_drains(&self) -> bool {
        self.short_read_drains
    }

    /// Calls `f`, and calls it again each time that the descriptor has become ready, until `f`
    /// returns something else than `WouldBlock`. One operation at a time runs for each `mode`;
    /// others wait.
    #[inline]
    #[track_caller]
    pub(crate) fn io<R>(
        &self,
        mode: Mode,
        what: &str,
        limit: Limit<'_>,
        f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let direction = self.direction(mode);
        self.try_and_wait(direction, &mut direction.turn.lock(), what, limit, f)
    }

    /// [`io`](Self::io) of a read into `len` bytes.
    ///
    /// After a read of less than `len` bytes from a TCP socket, the next read waits before it
    /// tries. That saves a system call each time that the two ends of a connection take turns. The
    /// kernel reports bytes that come after this read, but it doesn't report again what it has
    /// reported before, for instance an end behind the bytes. `event_last` says that there may be
    /// such an event.
    #[inline]
    #[track_caller]
    pub(crate) fn read(
        &self,
        what: &str,
        len: usize,
        limit: Limit<'_>,
        f: impl FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        if len == 0 {
            return self.read_nothing();
        }
        let mut drained = self.reading.turn.lock();
        let n = self.try_and_wait(&self.reading, &mut drained, what, limit, f)?;
        *drained = self.short_read_drains && 0 < n && n < len && !self.pd.event_last();
        Ok(n)
    }

    /// A read into `len` bytes that doesn't wait, except for its turn. It notes as
    /// [`read`](Self::read) does whether it has taken all bytes.
    pub(super) fn try_read(&self, len: usize, mut f: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
        if len == 0 {
            return self.read_nothing();
        }
        let mut drained = self.reading.turn.lock();
        poll_runtime_poll_reset(self.pd, Mode::Read).map_err(error)?;
        *drained = false;
        let n = attempt(&mut f).unwrap_or_else(|| Err(ErrorKind::WouldBlock.into()))?;
        *drained = self.short_read_drains && 0 < n && n < len && !self.pd.event_last();
        Ok(n)
    }

    /// A read into no bytes, in its turn. As Go's `FD.Read`, it doesn't wait for something to read;
    /// the kernel's read would wait on some sockets.
    #[track_caller]
    pub(super) fn read_nothing(&self) -> io::Result<usize> {
        let _turn = self.reading.turn.lock();
        if self.is_closed() { Err(error(PollError::Closing)) } else { Ok(0) }
    }

    /// The part of [`io`](Self::io) that runs with the lock of `turn` held. `drained` is the lock's
    /// value.
    #[inline]
    #[track_caller]
    fn try_and_wait<R>(
        &self,
        direction: &Direction,
        drained: &mut bool,
        what: &str,
        mut limit: Limit<'_>,
        mut f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let ready = poll_runtime_poll_reset(self.pd, direction.mode).map_err(error)?;
        // Where it can't park, it tries in any case.
        if take(drained) && !ready && on_goroutine() {
            self.wait(direction, &mut limit, what)?;
        }
        loop {
            match attempt(&mut f) {
                Some(result) => return result,
                None => self.wait(direction, &mut limit, what)?,
            }
        }
    }

    /// [`io`](Self::io) of an operation that depends on more than this descriptor, so that the
    /// kernel doesn't report when it is possible. It is tried again after pauses, each twice as
    /// long as the one before.
    #[track_caller]
    pub(super) fn io_untold<R>(
        &self,
        mode: Mode,
        what: &str,
        mut f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let direction = self.direction(mode);
        let _turn = direction.turn.lock();
        poll_runtime_poll_reset(self.pd, mode).map_err(error)?;
        let (mut limit, mut pause) = (Limit::default(), FIRST_PAUSE);
        loop {
            match attempt(&mut f) {
                Some(result) => return result,
                None => self.pause(direction, &mut limit, what, pause)?,
            }
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    }

    /// Waits for `pause`. Fails if a deadline, a timeout or a close ends the operation. The caller
    /// has the turn.
    #[track_caller]
    fn pause(
        &self,
        direction: &Direction,
        limit: &mut Limit<'_>,
        what: &str,
        pause: Duration,
    ) -> io::Result<()> {
        self.limited(direction, limit, what, || {
            self.limit(direction, |limits| limits.pause_ends = Some(Instant::now() + pause));
            // The descriptor itself becomes ready each time, because the kernel frees the memory of
            // the bytes that it couldn't send. That is no reason to try again.
            while self.poll_wait(direction).is_ok() {}
            self.limit(direction, |limits| limits.pause_ends = None);
            // Fails if the operation's end has ended the wait, and not the pause's.
            poll_runtime_poll_reset(self.pd, direction.mode).map(drop).map_err(error)
        })
    }

    /// The lock whose owner may read.
    pub(super) fn turn_to_read(&self) -> &Mutex<bool> {
        &self.reading.turn
    }

    /// The descriptor to wait for before a read is tried; `None` if there is something to read, or
    /// if a wait is pointless. The caller has the turn. `drained` is the turn's value, and `fd` is
    /// the descriptor.
    pub(super) fn before_read(&self, drained: &mut bool, fd: BorrowedFd<'_>) -> Option<&'static PollDesc> {
        let ready = poll_runtime_poll_reset(self.pd, Mode::Read).ok()?;
        let nothing = take(drained) && !ready && !self.pd.event_last();
        let would_block = |error: io::Error| error.kind() == ErrorKind::WouldBlock;
        (nothing || is_ready(fd, Mode::Read).is_err_and(would_block)).then_some(self.pd)
    }

    /// Waits until the descriptor has become ready. The caller has the turn.
    #[inline(never)]
    #[track_caller]
    fn wait(&self, direction: &Direction, limit: &mut Limit<'_>, what: &str) -> io::Result<()> {
        self.limited(direction, limit, what, || self.poll_wait(direction))
    }

    /// Calls `waits`, a wait of an operation, on a goroutine and with the operation's time limit.
    ///
    /// A thread that isn't one of the runtime's is a goroutine only for the time of the wait: code
    /// of the program between two waits runs on it as a thread.
    #[inline]
    #[track_caller]
    fn limited(
        &self,
        direction: &Direction,
        limit: &mut Limit<'_>,
        what: &str,
        waits: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let _guest = must_wait(what);
        let ends = *limit.ends.get_or_insert_with(|| {
            let timeout = direction.limits.lock().timeout;
            timeout.and_then(|timeout| Instant::now().checked_add(timeout))
        });
        let waits = || limit.until_canceled(self.pd, direction.mode, waits);
        if ends.is_none() {
            return waits().map_err(of_run);
        }
        self.limit(direction, |limits| limits.ends = ends);
        let result = waits();
        self.limit(direction, |limits| limits.ends = None);
        result.map_err(of_run)
    }

    /// The poller's wait, on a goroutine.
    fn poll_wait(&self, direction: &Direction) -> io::Result<()> {
        // SAFETY: on a goroutine, because `limited` has called must_wait. The creator of a
        // goroutine that shares thread-locals has promised that it keeps nothing of one across a
        // wait. self keeps the registration.
        unsafe { poll_runtime_poll_wait(self.pd, direction.mode) }.map_err(error)
    }

    /// Changes the limits of a direction, and sets the poller's deadline to the earliest. On a
    /// goroutine.
    fn limit(&self, direction: &Direction, change: impl FnOnce(&mut Limits)) {
        let mut limits = outside_of_run(|| direction.limits.lock());
        change(&mut limits);
        let end = [limits.deadline, limits.ends, limits.pause_ends].into_iter().flatten().min();
        // To the poller 0 is no deadline, and a negative one has passed.
        let d = end.map_or(0, |end| match nanos(until(end)) {
            0 => -1,
            d => d,
        });
        let read = direction.mode == Mode::Read;
        // SAFETY: on a goroutine; `pd` came from poll_open and is closed by drop.
        unsafe { poll_runtime_poll_set_deadline(self.pd, d, read, !read) };
    }

    /// Sets the time at which all operations of this mode end.
    #[track_caller]
    pub(crate) fn set_deadline(&self, mode: Mode, deadline: Option<Instant>, what: &str) {
        let _guest = must_run(what);
        self.limit(self.direction(mode), |limits| limits.deadline = deadline);
    }

    /// Sets how long each operation of this mode may wait.
    pub(super) fn set_timeout(&self, mode: Mode, timeout: Option<Duration>) -> io::Result<()> {
        timeout.map_or(Ok(()), not_zero)?;
        self.direction(mode).limits.lock().timeout = timeout;
        Ok(())
    }

    /// How long each operation of this mode may wait.
    pub(crate) fn timeout(&self, mode: Mode) -> Option<Duration> {
        self.direction(mode).limits.lock().timeout
    }

    /// Whether [`close`](Self::close) was called.
    pub(super) fn is_closed(&self) -> bool {
        // Acquire: pairs with the release in close. A caller that has got the error of a close sees
        // that it was called.
        self.closed.load(Ordering::Acquire)
    }

    /// Ends all waits; every later operation fails.
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            // SAFETY: `pd` came from poll_open and is closed by drop, after this.
            unsafe { poll_runtime_poll_unblock(self.pd) };
        }
    }
}

impl<T> Drop for Registration<T> {
    fn drop(&mut self) {
        self.close();
        // SAFETY: `pd` came from poll_open, and nobody uses it any more, as all uses borrow self.
        unsafe { poll_runtime_poll_close(self.pd) };
    }
}

/// Calls `f` until it returns something else than `Interrupted`. Returns `None` if that is
/// `WouldBlock`. Then the caller itself waits, and not a closure of it: a panic in a closure
/// wouldn't have the place of the program's call.
#[inline]
fn attempt<R>(f: &mut impl FnMut() -> io::Result<R>) -> Option<io::Result<R>> {
    loop {
        match f() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return Some(result),
        }
    }
}

/// An error if the timeout is 0, as with std's types (to the kernel 0 is no timeout).
pub(super) fn not_zero(timeout: Duration) -> io::Result<()> {
    if timeout.is_zero() {
        Err(io::Error::new(ErrorKind::InvalidInput, "a timeout can't be 0"))
    } else {
        Ok(())
    }
}

/// Sets a descriptor to non-blocking mode, or to blocking mode.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>, nonblocking: bool) -> io::Result<()> {
    // SAFETY: the kernel reads one number, from a static.
    let ret =
        unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONBIO, &raw const MODES[usize::from(nonblocking)]) };
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The arguments of FIONBIO: off, and on.
static MODES: [libc::c_int; 2] = [0, 1];

/// Ok if `fd` is ready for `mode` at this moment, otherwise `WouldBlock`.
pub(crate) fn is_ready(fd: BorrowedFd<'_>, mode: Mode) -> io::Result<()> {
    let events = match mode {
        Mode::Read => libc::POLLIN | libc::POLLRDHUP,
        Mode::Write => libc::POLLOUT,
    };
    let mut fds = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    // SAFETY: `fds` is one pollfd, of which the kernel writes `revents`.
    match unsafe { libc::poll(&mut fds, 1, 0) } {
        0 => Err(ErrorKind::WouldBlock.into()),
        1 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
