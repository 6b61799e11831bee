//! A call on a descriptor. It doesn't block, and is made again each time that the descriptor has
//! become ready.
//!
//! No flag of a description is changed, as other processes may share it: each call says for itself
//! that it doesn't wait (`MSG_DONTWAIT`, `RWF_NOWAIT`), or the descriptor is polled first. An
//! `eventfd` or the like that the program has set to non-blocking mode needs neither. A call
//! that finds its descriptor ready costs no other system call. Otherwise the operation asks, before
//! its first wait, what the program has set: `O_NONBLOCK`, and a socket's own timeout. At a known
//! socket it asks nothing (`known.rs`).
//!
//! Where the kernel has no other way to wait, the call blocks its thread ([`in_kernel`]).
//!
//! The rest of the file asks the kernel about a description: its kind, its flags, the options of a
//! socket.

use std::ffi::{c_int, c_short};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use libc::{EPOLLERR, EPOLLHUP, EPOLLRDHUP};

use crate::runtime::arch::syscall::syscall;
use crate::runtime::base::debug::period;
use crate::runtime::base::fatal::misuse;
use crate::runtime::base::os::poll_now;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{G, WaitReason};
use crate::runtime::explore::clock::now;
use crate::runtime::g::explored::{exploring, is_explored};
use crate::runtime::m::signaled::handle_signals;
use crate::runtime::m::sigstack::with_signals_blocked;
use crate::runtime::mem::morestack_check::stop_if_asked;
use crate::runtime::sched::entersyscall::{entersyscall, exitsyscall};
use crate::runtime::stdpark::descriptors::{Waited, entry_for_call, is_ready, wait_for_one};
use crate::runtime::stdpark::entry::{Entry, How};
use crate::runtime::stdpark::gate::may_park;
use crate::runtime::stdpark::known::Look;
use crate::runtime::stdpark::time::sleep_for;

/// What the kernel returns: an error is a negative number.
pub(super) const EAGAIN: isize = -libc::EAGAIN as isize;
pub(super) const ECANCELED: isize = -libc::ECANCELED as isize;
pub(super) const EBADF: isize = -libc::EBADF as isize;
pub(super) const EINTR: isize = -libc::EINTR as isize;

/// What an operation waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Read,
    Write,
    Accept,
    Connect,
}

impl What {
    fn events(self) -> c_short {
        match self {
            What::Read => libc::POLLIN | libc::POLLRDHUP,
            What::Accept => libc::POLLIN,
            What::Write | What::Connect => libc::POLLOUT,
        }
    }

    fn reason(self) -> WaitReason {
        match self {
            What::Read => WaitReason::StdRead,
            What::Write => WaitReason::StdWrite,
            What::Accept => WaitReason::StdAccept,
            What::Connect => WaitReason::StdConnect,
        }
    }

    /// The socket's timeout that holds for it.
    fn timeout(self) -> c_int {
        match self {
            What::Read | What::Accept => libc::SO_RCVTIMEO,
            What::Write | What::Connect => libc::SO_SNDTIMEO,
        }
    }
}

/// The sort of file of an `eventfd`, a `timerfd`, a `signalfd`, an `inotify` instance and the like:
/// files without a name, which few other processes have. (A terminal, for example, is shared with
/// many, and any of them may change its mode.)
const NO_SORT: libc::mode_t = 0;

/// How long a write waits before it is tried again, in nanoseconds: see [`is_of_unix`].
const TRIES_AGAIN: i64 = 1_000_000_000;

/// An operation on a descriptor, on a goroutine that may park.
pub(super) struct Operation {
    gp: &'static G,
    fd: RawFd,
    entry: &'static Entry,
    what: What,
    /// When the waits end: `Some(None)` if they don't, `None` before the kernel was asked.
    until: Option<Option<i64>>,
    /// What was known of the descriptor before the last call.
    looked: Look,
    /// Whether a wait ends after a while, for the call to be made again: see [`is_of_unix`].
    tries_again: bool,
    /// The events that the last wait has seen; 0 if something was done since.
    seen: u32,
    /// Whether a part of the call was done.
    is_begun: bool,
    pace: Pace,
}

/// What is to be done after a wait.
pub(super) enum Next {
    /// The call, again.
    Again,
    /// Nothing: this is what the kernel would return.
    Return(isize),
    /// The call as the program has made it, which may block its thread.
    Plain,
}

/// What [`Operation::look_for_more`] has found.
enum More {
    /// A wait comes next.
    None,
    Some,
    /// The next call will return the socket's error.
    Error,
}

impl Operation {
    /// An operation; none if the caller may not park, or the descriptor needs a plain call.
    pub(super) fn on(fd: RawFd, what: What) -> Option<Self> {
        let gp = may_park()?;
        let entry = entry_for_call(fd)?;
        // A goroutine that always finds its descriptors ready comes to no other check.
        stop_if_asked();
        let looked = entry.word.look();
        Some(Operation {
            gp,
            fd,
            entry,
            what,
            until: None,
            looked,
            tries_again: false,
            seen: 0,
            is_begun: false,
            pace: Pace::new(),
        })
    }

    pub(super) fn kind(&self) -> Kind {
        if self.looked.is_nonblocking() {
            return Kind::NonBlocking;
        }
        match Kind::of_number(self.entry.kind.load(Ordering::Relaxed)) {
            Kind::Unknown => self.find_kind(),
            kind => kind,
        }
    }

    #[cold]
    fn find_kind(&self) -> Kind {
        let Some(mode) = mode_of(self.fd) else { return Kind::File };
        let sort = mode & libc::S_IFMT;
        if sort == NO_SORT && is_nonblocking(self.fd) && self.entry.word.note_nonblocking(self.looked) {
            return Kind::NonBlocking;
        }
        let kind = match sort {
            libc::S_IFSOCK if option_of(self.fd, libc::SO_TYPE) != Some(libc::SOCK_SEQPACKET) => Kind::Socket,
            libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK => Kind::File,
            libc::S_IFIFO if !is_of_pipefs(self.fd) => Kind::Fifo,
            _ => Kind::Stream,
        };
        self.set_kind(kind);
        kind
    }

    pub(super) fn set_kind(&self, kind: Kind) {
        self.entry.kind.store(kind as u8, Ordering::Relaxed);
    }

    pub(super) fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Whether the descriptor is ready for the operation, or has an error.
    pub(super) fn is_ready(&self) -> bool {
        is_ready(self.fd, self.what.events())
    }

    /// Waits until the descriptor may be ready.
    #[inline(never)]
    pub(super) fn wait(&mut self) -> Next {
        let (how, until) = match self.until {
            // Nothing is set, or was when the call began.
            None | Some(None) if self.is_known() => (How::Known(self.looked), *self.until.insert(None)),
            // These events stay, and don't end the call: an entry in a socket's queue of errors,
            // the shutdown of a socket for packets. The call would be tried for ever.
            Some(_) if self.seen & (EPOLLERR | EPOLLHUP | EPOLLRDHUP) as u32 != 0 => return Next::Plain,
            Some(until) => (How::Armed, until),
            None => match self.before_waits() {
                Ok(until) => (self.acquaint(until), *self.until.insert(until)),
                Err(next) => return next,
            },
        };
        self.pace.before_wait();
        let soon = self.tries_again.then(|| now().saturating_add(period(TRIES_AGAIN)));
        let ends = soon.map_or(until, |soon| Some(until.map_or(soon, |until| until.min(soon))));
        let events = self.what.events();
        let waited = wait_for_one(self.gp, self.fd, events, true, how, self.what.reason(), ends);
        // Handlers run with no frame of the wait on the stack. As in the kernel, a call doesn't go
        // on that has a limit, or has done a part.
        let is_over = handle_signals(self.gp).ends(until.is_some() || self.is_begun);
        self.looked = self.entry.word.look();
        match waited {
            Waited::Canceled => Next::Return(ECANCELED),
            _ if is_over => Next::Return(EINTR),
            Waited::Ready(seen) => {
                self.seen = seen;
                Next::Again
            }
            Waited::Anew => {
                self.until = None;
                Next::Again
            }
            Waited::Signaled => Next::Again,
            Waited::TimedOut if ends != until => Next::Again,
            // A connect goes on, as the kernel's does.
            Waited::TimedOut if self.what == What::Connect => Next::Return(-libc::EINPROGRESS as isize),
            Waited::TimedOut => Next::Return(EAGAIN),
            Waited::Closed => Next::Return(EBADF),
            Waited::Cannot => Next::Plain,
        }
    }

    /// Whether the operation's socket is known.
    fn is_known(&self) -> bool {
        self.looked.is_known()
            && matches!(self.what, What::Read | What::Write)
            && !(exploring() && is_explored(self.gp))
    }

    /// Decides how to make the first wait. `until` is when it ends, if the kernel has a time.
    fn acquaint(&mut self, until: Option<i64>) -> How {
        let transfers = matches!(self.what, What::Read | What::Write);
        if transfers && until.is_none() && self.looked.may_be_known() {
            if !self.looked.was_asked() {
                self.entry.word.note_asked(self.looked);
            } else if is_plain_tcp(self.fd) {
                return How::ToBeKnown(self.looked);
            } else {
                self.entry.word.forget();
            }
        }
        self.tries_again = self.what == What::Write && is_of_unix(self.fd);
        How::Armed
    }

    /// Asks the kernel about the description before the first wait. Returns when the waits end, or,
    /// as the error, what to do instead of a wait.
    #[cold]
    fn before_waits(&self) -> Result<Option<i64>, Next> {
        let flags = flags(self.fd).ok_or(Next::Plain)?;
        let wrong_way = match self.what {
            What::Read => libc::O_WRONLY,
            What::Write => libc::O_RDONLY,
            What::Accept | What::Connect => -1,
        };
        if flags & libc::O_ACCMODE == wrong_way {
            return Err(Next::Plain);
        }
        if flags & libc::O_NONBLOCK != 0 {
            return Err(Next::Return(EAGAIN));
        }
        let timeout = timeout(self.fd, self.what.timeout());
        if exploring() && is_explored(self.gp) {
            // This can't panic: std's code and C code that has called the C library isn't unwound.
            // A descriptor that isn't a socket, such as standard output, blocks its thread.
            if !matches!(timeout, Timeout::NoSocket) {
                refuse_in_exploration();
            }
            return Err(Next::Plain);
        }
        match timeout {
            Timeout::Unknown => Err(Next::Plain),
            Timeout::NoSocket => Ok(None),
            Timeout::After(ns) => Ok((ns > 0).then(|| now().saturating_add(ns))),
        }
    }

    /// Calls `attempt`, which doesn't block, until the descriptor was ready for it; `plain` is the
    /// call as the program has made it. (No generics: there would be many copies of this.)
    pub(super) fn once(&mut self, attempt: &dyn Fn() -> isize, plain: &dyn Fn() -> isize) -> isize {
        loop {
            let ret = attempt();
            if ret != EAGAIN {
                return ret;
            }
            match self.wait() {
                Next::Again => {}
                Next::Return(ret) => return ret,
                Next::Plain => return in_kernel(plain),
            }
        }
    }

    /// [`once`](Self::once) for an operation on `len` bytes, or messages, that goes on until all
    /// are done. `attempt` and `plain` get the number that is done. An error after a part is left
    /// to the next call, as the kernel does it.
    pub(super) fn until_all(
        &mut self,
        len: usize,
        attempt: &dyn Fn(usize) -> isize,
        plain: &dyn Fn(usize) -> isize,
    ) -> isize {
        let len = len.min(MOST_BYTES);
        let mut done = 0;
        loop {
            match attempt(done) {
                0 => return done as isize,
                EAGAIN => {}
                error @ ..0 => return with_done(error, done),
                ret => {
                    done += ret as usize;
                    if done >= len {
                        return done as isize;
                    }
                    self.progress();
                    match self.look_for_more() {
                        More::None => {}
                        More::Some => continue,
                        More::Error => return done as isize,
                    }
                }
            }
            match self.wait() {
                // An attempt would take a socket's error. A pipe's error stays, and raises its
                // signal.
                Next::Again
                    if done > 0
                        && self.seen & EPOLLERR as u32 != 0
                        && self.entry.kind.load(Ordering::Relaxed) != Kind::Stream as u8 =>
                {
                    return done as isize;
                }
                Next::Again => {}
                Next::Return(ret) => return with_done(ret, done),
                Next::Plain => return with_done(in_kernel(&|| plain(done)), done),
            }
        }
    }

    /// Whether another part of the call can follow a part that has ended without `EAGAIN`. A wait
    /// at a known socket has to come after an `EAGAIN`, or after a poll that has found nothing.
    /// (Another attempt would take the socket's error.)
    fn look_for_more(&mut self) -> More {
        self.looked = self.entry.word.look();
        if !self.is_known() {
            // The wait arms the descriptor, and so finds out.
            return More::None;
        }
        match poll_now(self.fd, self.what.events()) {
            0 => More::None,
            seen if seen & libc::POLLERR != 0 => More::Error,
            _ => More::Some,
        }
    }

    /// Notes that something was done, so the events that were seen before mean nothing.
    pub(super) fn progress(&mut self) {
        self.seen = 0;
        self.is_begun = true;
        self.pace = Pace::new();
    }

    /// Waits until the descriptor is ready, and then makes the call, which may block.
    pub(super) fn polled_first(&mut self, call: &dyn Fn() -> isize) -> isize {
        while !self.is_ready() {
            match self.wait() {
                Next::Again => {}
                Next::Return(ret) => return ret,
                Next::Plain => break,
            }
        }
        in_kernel(call)
    }
}

/// The most bytes that one call takes: the kernel's `MAX_RW_COUNT`.
const MOST_BYTES: usize = 0x7fff_f000;

/// What a call returns if `done` was done before, and the last part has returned `ret`.
pub(super) fn with_done(ret: isize, done: usize) -> isize {
    match ret {
        ..0 if done == 0 => ret,
        ret => done as isize + ret.max(0),
    }
}

/// Ends the process because of a wait that its exploration can't know of.
#[cold]
fn refuse_in_exploration() -> ! {
    misuse(format_args!(
        "gosched: a real socket in an exploration, whose clock and order nobody else keeps: use \
         gosched::explore::pipe, or channels"
    ))
}

/// Makes a call that a signal doesn't end. Others have the P meanwhile.
pub(super) fn hand_on(call: &dyn Fn() -> isize) -> isize {
    if may_hand_on() { in_syscall(call) } else { call() }
}

/// Makes a call that a signal would end. The runtime sends no signal to a thread in such a call,
/// but one may be on its way. It would cut a write short, or fail a wait with `EINTR`, so signals
/// are blocked. A goroutine that keeps its P gets the signal, because the signal takes the P away.
pub(in crate::runtime) fn in_kernel(call: &dyn Fn() -> isize) -> isize {
    if may_hand_on() { in_syscall(&|| with_signals_blocked(call)) } else { call() }
}

/// Whether the caller may give its P away. An explored goroutine keeps its turn.
fn may_hand_on() -> bool {
    may_park().is_some_and(|gp| !(exploring() && is_explored(gp)))
}

#[inline(never)]
fn in_syscall(call: &dyn Fn() -> isize) -> isize {
    // SAFETY: on a goroutine that may park, and so holds no lock of the runtime's. It has
    // thread-locals of its own, and may go on on another thread.
    unsafe {
        entersyscall();
        let ret = call();
        exitsyscall();
        ret
    }
}

/// Slows down waits that end for nothing. The kernel may report a socket as ready, and the call
/// finds it isn't: the socket has room, and the receiver's has none.
pub(super) struct Pace {
    waits: u32,
}

impl Pace {
    /// How often a wait may end for nothing without a pause: others may have been faster.
    const AT_ONCE: u32 = 8;
    /// How long the pause before a later wait is, in nanoseconds.
    const PAUSE: i64 = 1_000_000;

    pub(super) fn new() -> Self {
        Pace { waits: 0 }
    }

    /// To be called before each wait, on a goroutine that may park.
    pub(super) fn before_wait(&mut self) {
        self.waits += 1;
        if self.waits > Pace::AT_ONCE {
            _ = sleep_for(Pace::PAUSE);
        }
    }
}

/// The kind of a number's description. It is a hint, found once. After a close that the runtime
/// hasn't seen, the hint may be wrong. Then a call blocks its thread, fails with `ENOTSOCK` and
/// looks again, or reads less of a file than there is.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Unknown,
    /// A socket, except a socket of packets in order, where each `write` ends a record.
    Socket,
    /// `RWF_NOWAIT` works, as far as we know: a pipe, for example.
    Stream,
    /// `RWF_NOWAIT` doesn't work, so the descriptor is polled first: a terminal, or an `eventfd`,
    /// which has it for reads only.
    PolledFirst,
    /// Of no sort, and in non-blocking mode: no call waits. The entry's word says so, not its kind.
    NonBlocking,
    /// A pipe that has a name. A read doesn't wait for a first writer, and the kernel doesn't
    /// report that there is none.
    Fifo,
    /// Always ready: a regular file, a directory, a block device.
    File,
}

impl Kind {
    fn of_number(number: u8) -> Self {
        [Kind::Socket, Kind::Stream, Kind::PolledFirst, Kind::Fifo, Kind::File]
            .into_iter()
            .find(|kind| *kind as u8 == number)
            .unwrap_or(Kind::Unknown)
    }
}

/// The flags of the description; none if the kernel doesn't tell.
pub(super) fn flags(fd: RawFd) -> Option<c_int> {
    // SAFETY: no memory is passed.
    let flags = unsafe { syscall!(SYS_fcntl, fd, libc::F_GETFL) };
    (flags >= 0).then_some(flags as c_int)
}

/// Whether the program has set the description to non-blocking mode, as far as can be known.
pub(super) fn is_nonblocking(fd: RawFd) -> bool {
    flags(fd).is_some_and(|flags| flags & libc::O_NONBLOCK != 0)
}

/// The sort of file that a number has, and its permissions; none if it has none.
pub(super) fn mode_of(fd: RawFd) -> Option<libc::mode_t> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `stat` is read only if the kernel has filled it.
    unsafe { (syscall!(SYS_fstat, fd, stat.as_mut_ptr()) == 0).then(|| stat.assume_init().st_mode) }
}

/// Whether a pipe has no name. (Its file system's number is Linux's `PIPEFS_MAGIC`.)
fn is_of_pipefs(fd: RawFd) -> bool {
    let mut stat = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `stat` is read only if the kernel has filled it.
    unsafe {
        syscall!(SYS_fstatfs, fd, stat.as_mut_ptr()) < 0 || stat.assume_init().f_type as u64 == 0x5049_5045
    }
}

/// A socket's timeout.
enum Timeout {
    NoSocket,
    /// In nanoseconds; 0 is no timeout.
    After(i64),
    /// The kernel doesn't tell: a sandbox refuses the call.
    Unknown,
}

fn timeout(fd: RawFd, option: c_int) -> Timeout {
    match option_of(fd, option) {
        Some(libc::timeval { tv_sec, tv_usec }) => {
            Timeout::After(tv_sec.saturating_mul(1_000_000_000).saturating_add(tv_usec * 1000))
        }
        None if io::Error::last_os_error().raw_os_error() == Some(libc::ENOTSOCK) => Timeout::NoSocket,
        None => Timeout::Unknown,
    }
}

/// An option of a socket, made of numbers; none, with errno set, if the kernel doesn't tell.
pub(super) fn option_of<T: Copy>(fd: RawFd, option: c_int) -> Option<T> {
    let (mut value, mut len) = (MaybeUninit::<T>::zeroed(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `len` bytes to the value, whose numbers are zero before.
    unsafe {
        let ret = syscall!(SYS_getsockopt, fd, libc::SOL_SOCKET, option, value.as_mut_ptr(), &raw mut len);
        (ret >= 0).then(|| value.assume_init())
    }
}

/// Whether a socket is a Unix socket. The kernel doesn't report there that the other side reads no
/// more, or that this side is shut down.
fn is_of_unix(fd: RawFd) -> bool {
    option_of(fd, libc::SO_DOMAIN) == Some(libc::AF_UNIX)
}

/// Whether a socket is of TCP, with no protocol on top of it, and with nothing set that a wait
/// would heed. Such a socket may be known.
fn is_plain_tcp(fd: RawFd) -> bool {
    let has_no_limit = |option| matches!(timeout(fd, option), Timeout::After(0));
    matches!(option_of(fd, libc::SO_DOMAIN), Some(libc::AF_INET | libc::AF_INET6))
        && option_of(fd, libc::SO_PROTOCOL) == Some(libc::IPPROTO_TCP)
        && option_of(fd, libc::SO_RCVLOWAT) == Some(1_i32)
        && has_no_limit(libc::SO_RCVTIMEO)
        && has_no_limit(libc::SO_SNDTIMEO)
        && has_no_upper_protocol(fd)
}

/// Whether nothing is between a socket of TCP and the program: no TLS of the kernel's, say.
fn has_no_upper_protocol(fd: RawFd) -> bool {
    let (mut name, mut len) = ([0_u8; 16], 16 as libc::socklen_t);
    // SAFETY: the kernel writes at most `len` bytes.
    let ret = unsafe {
        syscall!(SYS_getsockopt, fd, libc::IPPROTO_TCP, libc::TCP_ULP, name.as_mut_ptr(), &raw mut len)
    };
    ret < 0 || len == 0
}
