//! A call on a descriptor, made so that it doesn't block, and made again each time that the
//! descriptor has become ready.
//!
//! No flag of a description is changed, as other processes may share it: each call says for itself
//! that it doesn't wait (`MSG_DONTWAIT`, `RWF_NOWAIT`), or the descriptor is polled first. A call
//! that finds its descriptor ready costs no other system call. One that doesn't asks, before its
//! first wait, for what the program has set: `O_NONBLOCK`, and a socket's own timeout.

use std::ffi::{c_int, c_short};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use crate::runtime::arch::syscall::{syscall, syscall_words};
use crate::runtime::base::fatal::misuse;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{G, WaitReason};
use crate::runtime::explore::clock::now;
use crate::runtime::g::explored::{exploring, is_explored};
use crate::runtime::mem::morestack_check::stop_if_asked;
use crate::runtime::stdpark::descriptors::{Waited, entry_for_call, is_ready, wait_for_one};
use crate::runtime::stdpark::entry::Entry;
use crate::runtime::stdpark::gate::may_park;

/// What the kernel returns: an error is a negative number.
pub(super) const EAGAIN: isize = -libc::EAGAIN as isize;
pub(super) const EBADF: isize = -libc::EBADF as isize;

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

/// The sort of a number's description. It is a hint, found once: where it is wrong, because of a
/// close that nobody has seen, a call blocks its thread, fails with `ENOTSOCK` and looks again, or
/// reads less of a file than there is.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Unknown,
    /// A socket, but one of packets in order: what `write` sends there ends a record.
    Socket,
    /// `RWF_NOWAIT` works, as far as we know: a pipe, an `eventfd`.
    Stream,
    /// It doesn't work: the descriptor is polled first. A terminal, say.
    PolledFirst,
    /// It is always ready: a regular file, a directory, a block device.
    File,
}

impl Kind {
    fn of_number(number: u8) -> Self {
        [Kind::Socket, Kind::Stream, Kind::PolledFirst, Kind::File]
            .into_iter()
            .find(|kind| *kind as u8 == number)
            .unwrap_or(Kind::Unknown)
    }
}

/// An operation on a descriptor, on a goroutine that may park.
pub(super) struct Operation {
    gp: &'static G,
    fd: RawFd,
    entry: &'static Entry,
    what: What,
    is_socket: bool,
    /// When the waits end, if they do; none before the first wait.
    until: Option<Option<i64>>,
    /// The last wait has ended by an error alone.
    was_error: bool,
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

impl Operation {
    /// An operation on a socket; none if the caller may not park, or the descriptor is one for a
    /// plain call.
    pub(super) fn on_socket(fd: RawFd, what: What) -> Option<Self> {
        let gp = may_park()?;
        let entry = entry_for_call(fd)?;
        // A goroutine that always finds its sockets ready comes to no other check.
        stop_if_asked();
        Some(Operation { gp, fd, entry, what, is_socket: true, until: None, was_error: false })
    }

    /// The same on a descriptor of any sort. None on a file.
    pub(super) fn on_any(fd: RawFd, what: What) -> Option<(Self, Kind)> {
        let mut operation = Operation::on_socket(fd, what)?;
        let kind = operation.kind();
        operation.is_socket = kind == Kind::Socket;
        (kind != Kind::File).then_some((operation, kind))
    }

    fn kind(&self) -> Kind {
        match Kind::of_number(self.entry.kind.load(Ordering::Relaxed)) {
            Kind::Unknown => self.find_kind(),
            kind => kind,
        }
    }

    #[cold]
    fn find_kind(&self) -> Kind {
        let mut stat = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: `stat` is read only if the kernel has filled it.
        let mode = unsafe {
            if syscall!(SYS_fstat, self.fd, stat.as_mut_ptr()) < 0 {
                return Kind::File;
            }
            stat.assume_init().st_mode
        };
        let kind = match mode & libc::S_IFMT {
            libc::S_IFSOCK if socket_type(self.fd) != libc::SOCK_SEQPACKET => Kind::Socket,
            libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK => Kind::File,
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
        let until = match self.until {
            // An error is reported as long as it is there, and the call doesn't fail by it: of a
            // socket that has something in its queue of errors, say. It would be tried for ever.
            Some(_) if self.was_error => return Next::Plain,
            Some(until) => until,
            None => {
                if is_nonblocking(self.fd) {
                    return Next::Return(EAGAIN);
                }
                if exploring() && is_explored(self.gp) {
                    return self.refuse();
                }
                let until = if self.is_socket { timeout(self.fd, self.what.timeout()) } else { None };
                self.until = Some(until);
                until
            }
        };
        let events = self.what.events();
        match wait_for_one(self.gp, self.fd, events, true, self.what.reason(), until) {
            Waited::Ready(seen) => {
                self.was_error = seen == libc::EPOLLERR as u32;
                Next::Again
            }
            // A connect goes on, as the kernel's does.
            Waited::TimedOut if self.what == What::Connect => Next::Return(-libc::EINPROGRESS as isize),
            Waited::TimedOut => Next::Return(EAGAIN),
            Waited::Closed => Next::Return(EBADF),
            Waited::Cannot => Next::Plain,
        }
    }

    /// In an exploration: ends the process for a socket. (It can't panic: std's code and C code
    /// that has called the C library isn't unwound.) Whatever else there is, standard output for
    /// one, blocks its thread.
    #[cold]
    fn refuse(&self) -> Next {
        if self.is_socket {
            refuse_in_exploration();
        }
        Next::Plain
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
                Next::Plain => return plain(),
            }
        }
    }

    /// The same for an operation on `len` bytes that goes on until all are done: both get how many
    /// are. An error that comes later counts the next time, as the kernel has it.
    pub(super) fn until_all(
        &mut self,
        len: usize,
        attempt: &dyn Fn(usize) -> isize,
        plain: &dyn Fn(usize) -> isize,
    ) -> isize {
        let mut done = 0;
        let or_done = |ret: isize, done: usize| if ret < 0 && done > 0 { done as isize } else { ret };
        loop {
            match attempt(done) {
                0 => return done as isize,
                EAGAIN => match self.wait() {
                    Next::Again => {}
                    Next::Return(ret) => return or_done(ret, done),
                    Next::Plain => {
                        let ret = plain(done);
                        return if ret < 0 { or_done(ret, done) } else { done as isize + ret };
                    }
                },
                error @ ..0 => return or_done(error, done),
                ret => {
                    done += ret as usize;
                    if done >= len {
                        return done as isize;
                    }
                }
            }
        }
    }

    /// Polls, and calls `f`, which may block, when the descriptor is ready.
    pub(super) fn polled_first(&mut self, f: &dyn Fn() -> isize) -> isize {
        while !self.is_ready() {
            match self.wait() {
                Next::Again => {}
                Next::Return(ret) => return ret,
                Next::Plain => break,
            }
        }
        f()
    }
}

/// Ends the process because of a wait in an exploration that the exploration can't know of.
#[cold]
pub(super) fn refuse_in_exploration() -> ! {
    misuse(format_args!(
        "gosched: a real socket in an exploration, whose clock and order nobody else keeps: use \
         gosched::explore::pipe, or channels"
    ))
}

/// Whether the program has set the description to non-blocking mode, or there is none.
pub(super) fn is_nonblocking(fd: RawFd) -> bool {
    // SAFETY: no memory is passed.
    let flags = unsafe { syscall!(SYS_fcntl, fd, libc::F_GETFL) };
    flags < 0 || flags as c_int & libc::O_NONBLOCK != 0
}

/// When a wait that begins now ends by this timeout of a socket's.
fn timeout(fd: RawFd, option: c_int) -> Option<i64> {
    let time = option_of(fd, option, libc::timeval { tv_sec: 0, tv_usec: 0 });
    let ns = time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_usec * 1000);
    (ns > 0).then(|| now().saturating_add(ns))
}

/// The type of a socket; 0 if it is none.
pub(super) fn socket_type(fd: RawFd) -> c_int {
    option_of(fd, libc::SO_TYPE, 0)
}

/// An option of a socket, `otherwise` if the kernel doesn't tell.
pub(super) fn option_of<T: Copy>(fd: RawFd, option: c_int, otherwise: T) -> T {
    let (mut value, mut len) = (otherwise, size_of::<T>() as libc::socklen_t);
    let args = [fd as usize, libc::SOL_SOCKET as usize, option as usize];
    let [fd, level, option] = args;
    let to = (&raw mut value, &raw mut len);
    // SAFETY: the kernel writes at most `len` bytes of integers to the value.
    let ret =
        unsafe { syscall_words(libc::SYS_getsockopt, [fd, level, option, to.0 as usize, to.1 as usize]) };
    if ret < 0 { otherwise } else { value }
}
