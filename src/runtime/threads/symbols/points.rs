//! Functions that may wait, at which `pthread_cancel` ends a thread. On a thread of the runtime's
//! each does what the function of `stdpark/symbols` does. On any other thread it calls the C
//! library's function, where the C library looks for a cancellation.

use std::ffi::{c_int, c_uint, c_void};

use libc::{
    clockid_t, epoll_event, fd_set, id_t, idtype_t, iovec, mmsghdr, msghdr, nfds_t, pid_t, pollfd, rusage,
    siginfo_t, sigset_t, size_t, sockaddr, socklen_t, ssize_t, timespec, timeval,
};

use crate::runtime::arch::getg;
use crate::runtime::base::real;
use crate::runtime::stdpark::symbols;
use crate::runtime::threads::cancel::{cancellation_point, cancellation_point_after};
use crate::runtime::threads::live::live;

/// Defines functions of a file of `stdpark/symbols`. `$after` is what is called with the result.
macro_rules! points {
    ($after:expr; $($file:ident::$name:ident($($arg:ident: $type:ty),*) -> $ret:ty;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> $ret {
            // SAFETY: the program keeps to the C library's contract of this function.
            unsafe {
                if getg().is_none() {
                    return real::$name($($arg),*);
                }
                // Before threads are goroutines, waits of goroutines may park.
                if !live() {
                    return symbols::$file::$name($($arg),*);
                }
                cancellation_point();
                let ret = symbols::$file::$name($($arg),*);
                $after(ret as isize);
                ret
            }
        }
    )*};
}

points! { |_| cancellation_point();
    time::nanosleep(request: *const timespec, rest: *mut timespec) -> c_int;
    time::clock_nanosleep(
        clock: clockid_t, flags: c_int, request: *const timespec, rest: *mut timespec
    ) -> c_int;
    time::usleep(us: c_uint) -> c_int;
    time::sleep(seconds: c_uint) -> c_uint;
}

points! { |ret| cancellation_point_after(ret);
    files::read(fd: c_int, buf: *mut c_void, len: size_t) -> ssize_t;
    files::readv(fd: c_int, buffers: *const iovec, n: c_int) -> ssize_t;
    files::write(fd: c_int, buf: *const c_void, len: size_t) -> ssize_t;
    files::writev(fd: c_int, buffers: *const iovec, n: c_int) -> ssize_t;
    files::fsync(fd: c_int) -> c_int;
    files::fdatasync(fd: c_int) -> c_int;
    sockets::recv(fd: c_int, buf: *mut c_void, len: size_t, flags: c_int) -> ssize_t;
    sockets::recvfrom(
        fd: c_int, buf: *mut c_void, len: size_t, flags: c_int, addr: *mut sockaddr,
        addr_len: *mut socklen_t
    ) -> ssize_t;
    sockets::recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t;
    sockets::recvmmsg(
        fd: c_int, msgs: *mut mmsghdr, n: c_uint, flags: c_int, limit: *mut timespec
    ) -> c_int;
    sockets::send(fd: c_int, buf: *const c_void, len: size_t, flags: c_int) -> ssize_t;
    sockets::sendto(
        fd: c_int, buf: *const c_void, len: size_t, flags: c_int, addr: *const sockaddr,
        addr_len: socklen_t
    ) -> ssize_t;
    sockets::sendmsg(fd: c_int, msg: *const msghdr, flags: c_int) -> ssize_t;
    sockets::sendmmsg(fd: c_int, msgs: *mut mmsghdr, n: c_uint, flags: c_int) -> c_int;
    sockets::accept(fd: c_int, addr: *mut sockaddr, addr_len: *mut socklen_t) -> c_int;
    sockets::accept4(fd: c_int, addr: *mut sockaddr, addr_len: *mut socklen_t, flags: c_int) -> c_int;
    sockets::connect(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int;
    polls::poll(fds: *mut pollfd, n: nfds_t, ms: c_int) -> c_int;
    polls::ppoll(fds: *mut pollfd, n: nfds_t, limit: *const timespec, mask: *const sigset_t) -> c_int;
    polls::select(
        n: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, limit: *mut timeval
    ) -> c_int;
    polls::pselect(
        n: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, limit: *const timespec,
        mask: *const sigset_t
    ) -> c_int;
    polls::epoll_wait(fd: c_int, events: *mut epoll_event, n: c_int, ms: c_int) -> c_int;
    polls::epoll_pwait(
        fd: c_int, events: *mut epoll_event, n: c_int, ms: c_int, mask: *const sigset_t
    ) -> c_int;
    children::waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t;
    children::wait4(pid: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
    children::waitid(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int;
    fortified::__read_chk(fd: c_int, buf: *mut c_void, len: size_t, room: size_t) -> ssize_t;
    fortified::__recv_chk(fd: c_int, buf: *mut c_void, len: size_t, room: size_t, flags: c_int) -> ssize_t;
    fortified::__recvfrom_chk(
        fd: c_int, buf: *mut c_void, len: size_t, room: size_t, flags: c_int, addr: *mut sockaddr,
        addr_len: *mut socklen_t
    ) -> ssize_t;
    fortified::__poll_chk(fds: *mut pollfd, n: nfds_t, ms: c_int, room: size_t) -> c_int;
    fortified::__ppoll_chk(
        fds: *mut pollfd, n: nfds_t, limit: *const timespec, mask: *const sigset_t, room: size_t
    ) -> c_int;
}
