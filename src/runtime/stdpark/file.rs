//! Reads and writes of a goroutine on a descriptor of any sort: the cold halves of
//! `symbols/files.rs`. Each returns what the C library's function does.
//!
//! The buffers of vectored calls are here, too: sockets have such calls as well.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use libc::{iovec, msghdr, off_t};

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::result_of;
use crate::runtime::stdpark::operation::{Kind, Operation, What, hand_on, in_kernel, mode_of};

/// The flag of a read or a write that doesn't wait. `libc` has it for some targets only.
const RWF_NOWAIT: usize = 8;

const ENOTSOCK: isize = -libc::ENOTSOCK as isize;

/// Whether `ret` is the error of a kernel or a description without `RWF_NOWAIT`, or of a sandbox
/// that refuses the call.
fn has_no_nowait(ret: isize) -> bool {
    [libc::EOPNOTSUPP, libc::ENOSYS, libc::EPERM].iter().any(|error| ret == -*error as isize)
}

/// Returns the arguments of `preadv2` and `pwritev2` for the description's own file offset.
fn at_its_place(fd: RawFd, buffers: &[iovec]) -> [usize; 6] {
    [fd as usize, buffers.as_ptr() as usize, buffers.len(), usize::MAX, usize::MAX, RWF_NOWAIT]
}

/// Returns the message with these buffers.
fn message(buffers: &[iovec]) -> msghdr {
    // SAFETY: all zero is a message of nothing.
    let mut msg: msghdr = unsafe { std::mem::zeroed() };
    (msg.msg_iov, msg.msg_iovlen) = (buffers.as_ptr().cast_mut(), buffers.len() as _);
    msg
}

/// Returns the buffers of a call. Returns none if the kernel is to find an error in them, or if
/// they have no room, because then the call doesn't wait.
///
/// # Safety
/// If the kernel accepts `first` and `n`, there are `n` buffers.
unsafe fn buffers_of<'a>(first: *const iovec, n: c_int) -> Option<&'a [iovec]> {
    let n = usize::try_from(n).ok().filter(|n| (1..=MOST_BUFFERS).contains(n) && !first.is_null())?;
    // SAFETY: the kernel would accept these, so the caller says that there are `n` buffers.
    let buffers = unsafe { std::slice::from_raw_parts(first, n) };
    (total(buffers) > 0).then_some(buffers)
}

/// `readv`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn readv(fd: RawFd, first: *const iovec, n: c_int) -> isize {
    // SAFETY: the caller keeps to the C library's contract of `readv`.
    let plain = || unsafe { raw(libc::SYS_readv, [fd as usize, first as usize, n as usize, 0, 0, 0]) };
    // SAFETY: the caller keeps to the C library's contract of `readv`.
    result_of(match unsafe { buffers_of(first, n) } {
        Some(buffers) => read_into(fd, buffers, &plain),
        None => plain(),
    })
}

/// `read`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn read(fd: RawFd, buf: *mut c_void, len: usize) -> isize {
    // SAFETY: the caller keeps to the C library's contract of `read`.
    let plain = || unsafe { raw(libc::SYS_read, [fd as usize, buf as usize, len, 0, 0, 0]) };
    result_of(if len == 0 {
        plain()
    } else {
        read_into(fd, &[iovec { iov_base: buf, iov_len: len }], &plain)
    })
}

/// Reads into the buffers of a call of the program's. `plain` makes that call.
fn read_into(fd: RawFd, buffers: &[iovec], plain: &dyn Fn() -> isize) -> isize {
    let Some(mut operation) = Operation::on(fd, What::Read) else { return plain() };
    match operation.kind() {
        Kind::Socket => {
            let receive = || {
                let mut msg = message(buffers);
                let args = [fd as usize, (&raw mut msg) as usize, libc::MSG_DONTWAIT as usize, 0, 0, 0];
                // SAFETY: the kernel writes to the buffers, as the program wants.
                unsafe { raw(libc::SYS_recvmsg, args) }
            };
            match operation.once(&receive, plain) {
                ENOTSOCK => {
                    operation.set_kind(Kind::Unknown);
                    read_into(fd, buffers, plain)
                }
                ret => ret,
            }
        }
        Kind::Stream => {
            // SAFETY: the kernel writes to the buffers, as the program wants.
            let read = || unsafe { raw(libc::SYS_preadv2, at_its_place(fd, buffers)) };
            match operation.once(&read, plain) {
                ret if has_no_nowait(ret) => {
                    operation.set_kind(Kind::PolledFirst);
                    operation.polled_first(plain)
                }
                ret => ret,
            }
        }
        Kind::File => hand_on(plain),
        Kind::Fifo => in_kernel(plain),
        Kind::NonBlocking => plain(),
        Kind::Unknown | Kind::PolledFirst => operation.polled_first(plain),
    }
}

/// `writev`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn writev(fd: RawFd, first: *const iovec, n: c_int) -> isize {
    let plain = |first: *const iovec, n: usize| {
        // SAFETY: as the caller says, or with the rest of the buffers.
        unsafe { raw(libc::SYS_writev, [fd as usize, first as usize, n, 0, 0, 0]) }
    };
    // SAFETY: the caller keeps to the C library's contract of `writev`.
    result_of(match unsafe { buffers_of(first, n) } {
        Some(buffers) => {
            write_from(fd, buffers, &|done| with_rest(buffers, done, |rest| plain(rest.as_ptr(), rest.len())))
        }
        None => plain(first, n as usize),
    })
}

/// `write`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn write(fd: RawFd, buf: *const c_void, len: usize) -> isize {
    let plain = |done: usize| {
        let buf = buf.wrapping_byte_add(done) as usize;
        // SAFETY: as the caller says, with a part of the bytes.
        unsafe { raw(libc::SYS_write, [fd as usize, buf, len - done, 0, 0, 0]) }
    };
    let buffers = [iovec { iov_base: buf.cast_mut(), iov_len: len }];
    result_of(if len == 0 { plain(0) } else { write_from(fd, &buffers, &plain) })
}

/// The maximum number of bytes of a file that one call sends. As a rule, a socket that is ready has
/// room for more.
const MOST_AT_ONCE: usize = 64 << 10;

/// `sendfile`. The call has no flag that keeps it from waiting, so the descriptor is polled first,
/// and then gets a part. A descriptor that is no socket, pipe or terminal may never report room,
/// and isn't polled.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn sendfile(to: RawFd, from: RawFd, at: *mut off_t, len: usize) -> isize {
    let call = |len: usize| {
        // SAFETY: the caller keeps to the C library's contract of `sendfile`.
        unsafe { raw(libc::SYS_sendfile, [to as usize, from as usize, at as usize, len, 0, 0]) }
    };
    // The kernel refuses larger lengths.
    let is_a_length = (1..=isize::MAX as usize).contains(&len);
    let operation = is_a_length.then(|| Operation::on(to, What::Write)).flatten();
    let Some(mut operation) = operation else { return result_of(call(len)) };
    result_of(if operation.kind() == Kind::Fifo || !may_have_room(to) {
        in_kernel(&|| call(len))
    } else {
        operation.polled_first(&|| call(len.min(MOST_AT_ONCE)))
    })
}

/// Whether the descriptor is a socket, a pipe or a terminal, which reports when it has room.
fn may_have_room(fd: RawFd) -> bool {
    mode_of(fd)
        .is_some_and(|mode| matches!(mode & libc::S_IFMT, libc::S_IFSOCK | libc::S_IFIFO | libc::S_IFCHR))
}

/// Writes the buffers of a call of the program's. `plain` makes that call for the rest, after the
/// given number of bytes.
fn write_from(fd: RawFd, buffers: &[iovec], plain: &dyn Fn(usize) -> isize) -> isize {
    let Some(mut operation) = Operation::on(fd, What::Write) else { return plain(0) };
    let len = total(buffers);
    match operation.kind() {
        Kind::Socket => {
            let send = |done: usize| {
                with_rest(buffers, done, |rest| {
                    let msg = message(rest);
                    // Only a call that has sent nothing gets the signal of a broken connection.
                    let quiet = if done > 0 { libc::MSG_NOSIGNAL } else { 0 };
                    let flags = (libc::MSG_DONTWAIT | quiet) as usize;
                    // SAFETY: the kernel reads the buffers, as the program wants.
                    unsafe {
                        raw(libc::SYS_sendmsg, [fd as usize, (&raw const msg) as usize, flags, 0, 0, 0])
                    }
                })
            };
            match operation.until_all(len, &send, plain) {
                ENOTSOCK => {
                    operation.set_kind(Kind::Unknown);
                    write_from(fd, buffers, plain)
                }
                ret => ret,
            }
        }
        Kind::Stream => {
            let write = |done: usize| {
                with_rest(buffers, done, |rest| {
                    // SAFETY: the kernel reads the buffers, as the program wants.
                    unsafe { raw(libc::SYS_pwritev2, at_its_place(fd, rest)) }
                })
            };
            match operation.until_all(len, &write, plain) {
                ret if has_no_nowait(ret) => {
                    operation.set_kind(Kind::PolledFirst);
                    operation.polled_first(&|| plain(0))
                }
                ret => ret,
            }
        }
        Kind::File => hand_on(&|| plain(0)),
        Kind::Fifo => in_kernel(&|| plain(0)),
        Kind::NonBlocking => plain(0),
        // As a rule, a descriptor that is ready takes a page. A larger write may block its thread.
        Kind::Unknown | Kind::PolledFirst => operation.polled_first(&|| plain(0)),
    }
}

/// The maximum number of buffers of a call: the kernel's `UIO_MAXIOV`.
pub(super) const MOST_BUFFERS: usize = 1024;

/// Returns the total size of the buffers in bytes.
pub(super) fn total(buffers: &[iovec]) -> usize {
    buffers.iter().fold(0, |sum, buffer| sum.saturating_add(buffer.iov_len))
}

/// The first buffers of the rest of a call.
struct Rest {
    buffers: [MaybeUninit<iovec>; Rest::ROOM],
    n: usize,
}

impl Rest {
    /// The maximum number of buffers with which a call goes on at a time.
    const ROOM: usize = 16;

    /// Returns the rest after `done` bytes, which are fewer than all.
    fn of(buffers: &[iovec], mut done: usize) -> Self {
        let mut rest = Rest { buffers: [const { MaybeUninit::uninit() }; Rest::ROOM], n: 0 };
        for buffer in buffers {
            if rest.n == Rest::ROOM {
                break;
            }
            let skipped = done.min(buffer.iov_len);
            done -= skipped;
            if skipped < buffer.iov_len {
                let iov_base = buffer.iov_base.wrapping_byte_add(skipped);
                rest.buffers[rest.n].write(iovec { iov_base, iov_len: buffer.iov_len - skipped });
                rest.n += 1;
            }
        }
        rest
    }

    fn as_slice(&self) -> &[iovec] {
        // SAFETY: the first n were written.
        unsafe { std::slice::from_raw_parts(self.buffers.as_ptr().cast(), self.n) }
    }
}

/// Calls `f` with the buffers that are left after `done` bytes.
pub(super) fn with_rest<R>(buffers: &[iovec], done: usize, f: impl FnOnce(&[iovec]) -> R) -> R {
    if done == 0 { f(buffers) } else { f(Rest::of(buffers, done).as_slice()) }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn what_is_left() {
        let buffers =
            [3, 0, 4, 5].map(|iov_len| iovec { iov_base: ptr::without_provenance_mut(1000), iov_len });
        let left = |done| {
            with_rest(&buffers, done, |rest| {
                rest.iter().map(|b| (b.iov_base.addr(), b.iov_len)).collect::<Vec<_>>()
            })
        };
        assert_eq!(total(&buffers), 12);
        assert_eq!(left(0), [(1000, 3), (1000, 0), (1000, 4), (1000, 5)]);
        assert_eq!(left(2), [(1002, 1), (1000, 4), (1000, 5)]);
        assert_eq!(left(3), [(1000, 4), (1000, 5)]);
        assert_eq!(left(11), [(1004, 1)]);
        let many = [buffers[0]; 40];
        assert_eq!(with_rest(&many, 1, total), 3 * Rest::ROOM - 1);
    }
}
