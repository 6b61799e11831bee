//! Calls of a goroutine on a socket: the cold halves of `symbols/sockets.rs`. Each returns what the
//! C library's function does.

use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;
use std::ptr;

use libc::{iovec, mmsghdr, msghdr, sockaddr, socklen_t};

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::{result_of, syscall};
use crate::runtime::base::os::nanotime;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::stdpark::descriptors::{is_new, is_ready};
use crate::runtime::stdpark::file::{MOST_BUFFERS, total, with_rest};
use crate::runtime::stdpark::operation::{
    EAGAIN, Next, Operation, What, flags, hand_on, in_kernel, is_nonblocking, option_of, with_done,
};

const IN_PROGRESS: isize = -libc::EINPROGRESS as isize;
const ALREADY: isize = -libc::EALREADY as isize;

/// Flags with which a receive doesn't wait.
const RECEIVES_AT_ONCE: c_int = libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE | libc::MSG_OOB;

/// `recvfrom`, and `recv`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn recvfrom(
    fd: RawFd,
    buf: *mut c_void,
    len: usize,
    flags: c_int,
    addr: *mut sockaddr,
    addr_len: *mut socklen_t,
) -> isize {
    result_of(receive(fd, flags, &|flags| {
        let args = [fd as usize, buf as usize, len, flags as usize, addr as usize, addr_len as usize];
        // SAFETY: the caller keeps to the C library's contract of `recvfrom`.
        unsafe { raw(libc::SYS_recvfrom, args) }
    }))
}

/// Receives by `call`, which gets the flags. With `MSG_WAITALL` the call blocks its thread, because
/// only the kernel knows what ends such a call.
fn receive(fd: RawFd, flags: c_int, call: &dyn Fn(c_int) -> isize) -> isize {
    if flags & RECEIVES_AT_ONCE != 0 {
        return call(flags);
    }
    if flags & libc::MSG_WAITALL != 0 {
        return in_kernel(&|| call(flags));
    }
    match Operation::on(fd, What::Read) {
        None => call(flags),
        Some(mut operation) => operation.once(&|| call(flags | libc::MSG_DONTWAIT), &|| call(flags)),
    }
}

/// `recvmsg`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn recvmsg(fd: RawFd, msg: *mut msghdr, flags: c_int) -> isize {
    result_of(receive(fd, flags, &|flags| {
        // SAFETY: as the caller says. The kernel changes the message only if it has received one.
        unsafe { raw(libc::SYS_recvmsg, [fd as usize, msg as usize, flags as usize, 0, 0, 0]) }
    }))
}

/// `recvmmsg`. A call with a time limit blocks its thread.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn recvmmsg(
    fd: RawFd,
    msgs: *mut mmsghdr,
    n: u32,
    flags: c_int,
    limit: *mut libc::timespec,
) -> isize {
    let call = |done: usize, flags: c_int| {
        let args = [fd as usize, msgs.wrapping_add(done) as usize, n as usize - done, flags as usize];
        // SAFETY: as the caller says, with a part of the messages.
        unsafe { raw(libc::SYS_recvmmsg, [args[0], args[1], args[2], args[3], limit as usize, 0]) }
    };
    if flags & libc::MSG_WAITFORONE != 0 && limit.is_null() {
        return result_of(receive(fd, flags, &|flags| call(0, flags)));
    }
    if flags & RECEIVES_AT_ONCE != 0 {
        return result_of(call(0, flags));
    }
    if flags & libc::MSG_WAITALL != 0 || !limit.is_null() {
        return result_of(in_kernel(&|| call(0, flags)));
    }
    result_of(match Operation::on(fd, What::Read) {
        None => call(0, flags),
        // The call waits until it has as many messages as there is room for.
        Some(mut operation) => {
            let attempt = |done| call(done, flags | libc::MSG_DONTWAIT);
            operation.until_all(n as usize, &attempt, &|done| call(done, flags))
        }
    })
}

/// Returns an operation that sends, or none if the caller may not park, or the call doesn't wait.
fn sending(fd: RawFd, flags: c_int) -> Option<Operation> {
    if flags & libc::MSG_DONTWAIT != 0 { None } else { Operation::on(fd, What::Write) }
}

/// Returns the flags for the rest of a send after `done` bytes. If the connection ends in the
/// middle, no signal is raised.
fn of_part(flags: c_int, done: usize) -> c_int {
    flags | libc::MSG_DONTWAIT | if done > 0 { libc::MSG_NOSIGNAL } else { 0 }
}

/// `sendto`, and `send`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn sendto(
    fd: RawFd,
    buf: *const c_void,
    len: usize,
    flags: c_int,
    addr: *const sockaddr,
    addr_len: socklen_t,
) -> isize {
    let call = |done: usize, flags: c_int| {
        let buf = buf.wrapping_byte_add(done) as usize;
        let args = [fd as usize, buf, len - done, flags as usize, addr as usize, addr_len as usize];
        // SAFETY: as the caller says, with a part of the bytes.
        unsafe { raw(libc::SYS_sendto, args) }
    };
    // Such a call connects first, and only the kernel can wait for that.
    if flags & libc::MSG_FASTOPEN != 0 {
        return result_of(in_kernel(&|| call(0, flags)));
    }
    result_of(match sending(fd, flags) {
        None => call(0, flags),
        Some(mut operation) => {
            operation.until_all(len, &|done| call(done, of_part(flags, done)), &|done| call(done, flags))
        }
    })
}

/// `sendmsg`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn sendmsg(fd: RawFd, msg: *const msghdr, flags: c_int) -> isize {
    // SAFETY: the caller keeps to the C library's contract of `sendmsg`.
    result_of(unsafe { send_message(fd, msg, flags, 0) })
}

/// Sends the rest of a message after its first `sent` bytes. Returns how many bytes were sent in
/// all, or the kernel's error if none were.
///
/// # Safety
/// As `sendmsg`.
unsafe fn send_message(fd: RawFd, msg: *const msghdr, flags: c_int, sent: usize) -> isize {
    // SAFETY: as the caller says: a message, or a part of one.
    let plain = |msg: *const msghdr, flags: c_int| unsafe {
        raw(libc::SYS_sendmsg, [fd as usize, msg as usize, flags as usize, 0, 0, 0])
    };
    if flags & libc::MSG_FASTOPEN != 0 {
        return in_kernel(&|| plain(msg, flags));
    }
    // SAFETY: the caller keeps to the contract of `sendmsg`.
    let Some((whole, buffers)) = (unsafe { buffers_of(msg) }) else { return plain(msg, flags) };
    let Some(mut operation) = sending(fd, flags) else { return plain(msg, flags) };
    let call = |done: usize, flags: c_int| {
        let done = sent + done;
        if done == 0 {
            return plain(msg, flags);
        }
        with_rest(buffers, done, |rest| {
            // The control data has gone with the first part.
            let rest = msghdr {
                msg_iov: rest.as_ptr().cast_mut(),
                msg_iovlen: rest.len() as _,
                msg_control: ptr::null_mut(),
                msg_controllen: 0,
                ..*whole
            };
            plain(&rest, flags)
        })
    };
    let left = total(buffers) - sent;
    let ret =
        operation.until_all(left, &|done| call(done, of_part(flags, sent + done)), &|done| call(done, flags));
    if sent == 0 { ret } else { sent as isize + ret.max(0) }
}

/// Returns a message and its buffers, or none if the kernel is to find an error in them.
///
/// # Safety
/// As `sendmsg`.
unsafe fn buffers_of<'a>(msg: *const msghdr) -> Option<(&'a msghdr, &'a [iovec])> {
    // SAFETY: null, or a message, as the caller says.
    let whole = unsafe { msg.as_ref()? };
    let n = whole.msg_iovlen;
    if n > MOST_BUFFERS || whole.msg_iov.is_null() && n > 0 {
        return None;
    }
    // SAFETY: as many buffers, as the caller says.
    Some((whole, if n == 0 { &[] } else { unsafe { std::slice::from_raw_parts(whole.msg_iov, n) } }))
}

/// `sendmmsg`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn sendmmsg(fd: RawFd, msgs: *mut mmsghdr, n: u32, flags: c_int) -> isize {
    let call = |done: usize, flags: c_int| {
        let args = [fd as usize, msgs.wrapping_add(done) as usize, n as usize - done, flags as usize, 0, 0];
        // SAFETY: as the caller says, with a part of the messages.
        unsafe { raw(libc::SYS_sendmmsg, args) }
    };
    let Some(mut operation) = sending(fd, flags) else { return result_of(call(0, flags)) };
    let mut done = 0;
    result_of(loop {
        match call(done, flags | libc::MSG_DONTWAIT) {
            EAGAIN => match operation.wait() {
                Next::Again => {}
                Next::Return(ret) => break with_done(ret, done),
                Next::Plain => break with_done(in_kernel(&|| call(done, flags)), done),
            },
            sent @ 1.. => {
                done += sent as usize;
                operation.progress();
                // Only the last message can be sent in part, on a stream.
                // SAFETY: one of the messages, as the caller says, which was sent.
                let is_whole = unsafe { send_rest(fd, msgs.add(done - 1), flags) };
                if !is_whole || done == n as usize {
                    break done as isize;
                }
            }
            ret => break with_done(ret, done),
        }
    })
}

/// Sends the rest of a message. Returns whether all of it is sent then.
///
/// # Safety
/// As `sendmmsg`.
unsafe fn send_rest(fd: RawFd, msg: *mut mmsghdr, flags: c_int) -> bool {
    // SAFETY: the caller keeps to the contract of `sendmmsg`.
    unsafe {
        let Some((_, buffers)) = buffers_of(&raw const (*msg).msg_hdr) else { return true };
        let len = total(buffers);
        if ((*msg).msg_len as usize) < len {
            let sent = (*msg).msg_len as usize;
            (*msg).msg_len = send_message(fd, &raw const (*msg).msg_hdr, flags, sent) as u32;
        }
        (*msg).msg_len as usize >= len
    }
}

/// How many nanoseconds others wait for a goroutine that is between its poll and its accept.
const TURN: i64 = 1_000_000;

/// `accept4`, and `accept`. No flag keeps a single call from waiting, so the socket is polled
/// first. One goroutine at a time is between the poll and the call, and the others wait as if there
/// were no connection. If another process takes the connection in between, the call blocks its
/// thread, and the others go on after a while.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn accept4(
    fd: RawFd,
    addr: *mut sockaddr,
    addr_len: *mut socklen_t,
    flags: c_int,
) -> isize {
    let args = [fd as usize, addr as usize, addr_len as usize, flags as usize, 0, 0];
    // SAFETY: the caller keeps to the C library's contract of `accept4`.
    let plain = || unsafe { raw(libc::SYS_accept4, args) };
    let Some(mut operation) = Operation::on(fd, What::Accept) else { return result_of(plain()) };
    // A call with an error goes to the kernel, which reports the error.
    let is_right = || {
        flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) == 0
            && option_of(fd, libc::SO_ACCEPTCONN) == Some::<c_int>(1)
    };
    let turn = &operation.entry().accepting;
    let attempt = || {
        let (since, begun) = (turn.load(Ordering::Relaxed), nanotime());
        let is_free = since == 0 || begun - since > TURN;
        // Acquire and release: the poll comes after another goroutine's accept.
        if !is_free || turn.compare_exchange(since, begun, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return if is_nonblocking(fd) { plain() } else { EAGAIN };
        }
        let ret = if !is_ready(fd, libc::POLLIN) && is_right() { EAGAIN } else { hand_on(&plain) };
        // Fails if another goroutine has taken the turn by now.
        let _ = turn.compare_exchange(begun, 0, Ordering::Release, Ordering::Relaxed);
        ret
    };
    let ret = operation.once(&attempt, &plain);
    if ret >= 0 {
        is_new(ret as RawFd);
    }
    result_of(ret)
}

/// `connect`. No flag keeps a single call from waiting, so the socket is made non-blocking for a
/// moment. It isn't connected yet, so hardly any other code uses it then. A second call returns the
/// result of the first.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn connect(fd: RawFd, addr: *const sockaddr, len: socklen_t) -> isize {
    // SAFETY: the caller keeps to the C library's contract of `connect`.
    let plain = || unsafe { raw(libc::SYS_connect, [fd as usize, addr as usize, len as usize, 0, 0, 0]) };
    let set_nonblocking = |on: c_int| {
        // SAFETY: the kernel reads the number.
        unsafe { syscall!(SYS_ioctl, fd, libc::FIONBIO, &raw const on) };
    };
    let Some(mut operation) = Operation::on(fd, What::Connect) else { return result_of(plain()) };
    match flags(fd) {
        Some(flags) if flags & libc::O_NONBLOCK != 0 => return result_of(plain()),
        Some(_) => {}
        None => return result_of(in_kernel(&plain)),
    }
    set_nonblocking(1);
    let ret = plain();
    set_nonblocking(0);
    result_of(match ret {
        IN_PROGRESS | ALREADY => loop {
            match operation.wait() {
                // A spurious wakeup.
                Next::Again if !is_ready(fd, libc::POLLOUT) => {}
                Next::Again | Next::Plain => break in_kernel(&plain),
                Next::Return(ret) => break ret,
            }
        },
        // A Unix socket whose listener has no room. The kernel doesn't report when there is room
        // again.
        EAGAIN => in_kernel(&plain),
        ret => ret,
    })
}
