//! What the kernel tells of a description: its sort, its flags, the options of a socket.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use crate::runtime::arch::syscall::syscall;

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
    /// A pipe that has a name. A read doesn't wait for a first writer, and the kernel doesn't
    /// report that there is none.
    Fifo,
    /// It is always ready: a regular file, a directory, a block device.
    File,
}

impl Kind {
    pub(super) fn of_number(number: u8) -> Self {
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
pub(super) fn is_of_pipefs(fd: RawFd) -> bool {
    let mut stat = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `stat` is read only if the kernel has filled it.
    unsafe {
        syscall!(SYS_fstatfs, fd, stat.as_mut_ptr()) < 0 || stat.assume_init().f_type as u64 == 0x5049_5045
    }
}

/// A socket's timeout.
pub(super) enum Timeout {
    NoSocket,
    /// So many nanoseconds; 0 is none.
    After(i64),
    /// The kernel doesn't tell: a sandbox refuses the call.
    Unknown,
}

pub(super) fn timeout(fd: RawFd, option: c_int) -> Timeout {
    match option_of(fd, option) {
        Some(libc::timeval { tv_sec, tv_usec }) => {
            Timeout::After(tv_sec.saturating_mul(1_000_000_000).saturating_add(tv_usec * 1000))
        }
        None if io::Error::last_os_error().raw_os_error() == Some(libc::ENOTSOCK) => Timeout::NoSocket,
        None => Timeout::Unknown,
    }
}

/// An option of a socket, which consists of numbers; none, and errno, if the kernel doesn't tell.
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
pub(super) fn is_of_unix(fd: RawFd) -> bool {
    option_of(fd, libc::SO_DOMAIN) == Some(libc::AF_UNIX)
}

/// Whether a socket is of TCP, nothing is between the program and it, and nothing is set that a
/// wait would heed. Such a socket may be known.
pub(super) fn is_plain_tcp(fd: RawFd) -> bool {
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
