//! A goroutine that waits for a child of the process: the cold halves of `symbols/children.rs`.
//! Each returns what the C library's function does.
//!
//! A pidfd becomes readable when the child ends. A wait for any child, or for a child that stops or
//! goes on, blocks its thread. So does every wait on a kernel without pidfds (before Linux 5.3), or
//! in a sandbox that refuses them.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use libc::{id_t, idtype_t, pid_t, rusage, siginfo_t};

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::{result_of, syscall};
use crate::runtime::data::runtime2::{G, WaitReason};
use crate::runtime::g::explored::{exploring, is_explored};
use crate::runtime::m::signaled::handle_signals;
use crate::runtime::stdpark::descriptors::{Waited, after_close, before_close, wait_for_one};
use crate::runtime::stdpark::entry::How;
use crate::runtime::stdpark::gate::may_park;
use crate::runtime::stdpark::operation::{ECANCELED, EINTR, is_nonblocking};

/// Returns the goroutine, if it may park. In an exploration a wait for a child blocks its thread.
/// It also does on a goroutine that has a thread to itself, as a goroutine that traces the child
/// has: its wait ends also when the child stops.
fn may_wait() -> Option<&'static G> {
    may_park().filter(|gp| gp.lockedm.get().is_none() && !(exploring() && is_explored(gp)))
}

/// Calls `wait`, which waits until a process has ended, as far as the goroutine can park for that.
/// Returns the error if the call ends before.
fn until_it_ends(gp: &'static G, wait: impl Fn() -> Waited) -> Result<(), isize> {
    loop {
        let waited = wait();
        // No descriptor is open that a handler would leak which jumps out.
        let is_over = handle_signals(gp).ends(false);
        match waited {
            Waited::Canceled => return Err(ECANCELED),
            Waited::Ready(0) | Waited::Signaled if is_over => return Err(EINTR),
            Waited::Ready(0) | Waited::Signaled => {}
            _ => return Ok(()),
        }
    }
}

/// Waits until the process of a pidfd may have ended.
fn wait_for_pidfd(gp: &'static G, pidfd: RawFd) -> Waited {
    wait_for_one(gp, pidfd, libc::POLLIN, false, How::Armed, WaitReason::StdChild, None)
}

/// [`wait_for_pidfd`] of a process.
fn wait_for_process(gp: &'static G, pid: pid_t) -> Waited {
    // SAFETY: no memory is passed.
    let pidfd = unsafe { syscall!(SYS_pidfd_open, pid, 0) };
    let Ok(pidfd @ 0..) = RawFd::try_from(pidfd) else { return Waited::Cannot };
    let waited = wait_for_pidfd(gp, pidfd);
    before_close(pidfd);
    // SAFETY: the descriptor belongs to this function.
    unsafe { syscall!(SYS_close, pidfd) };
    after_close(pidfd);
    waited
}

/// `wait4`, and `waitpid`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn wait4(pid: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> isize {
    let call = |options: c_int| {
        let args = [pid as usize, status as usize, options as usize, usage as usize, 0, 0];
        // SAFETY: the caller keeps to the C library's contract of `wait4`.
        unsafe { raw(libc::SYS_wait4, args) }
    };
    if pid > 0
        && options == 0
        && let Some(gp) = may_wait()
    {
        // An error, or a child that has ended before.
        let ret = call(libc::WNOHANG);
        if ret != 0 {
            return result_of(ret);
        }
        if let Err(error) = until_it_ends(gp, || wait_for_process(gp, pid)) {
            return result_of(error);
        }
    }
    result_of(call(options))
}

/// `waitid`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn waitid(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> isize {
    let call = |info: *mut siginfo_t, options: c_int| {
        let args = [kind as usize, id as usize, info as usize, options as usize, 0, 0];
        // SAFETY: as the caller says, or with an info of ours.
        unsafe { raw(libc::SYS_waitid, args) }
    };
    let may_block = match kind {
        libc::P_PID => true,
        libc::P_PIDFD => !is_nonblocking(id as RawFd),
        _ => false,
    };
    if may_block
        && options & !libc::WNOWAIT == libc::WEXITED
        && let Some(gp) = may_wait()
    {
        let mut seen = MaybeUninit::<siginfo_t>::zeroed();
        let ret = call(seen.as_mut_ptr(), options | libc::WNOHANG | libc::WNOWAIT);
        // SAFETY: all zero is a valid siginfo_t, and the kernel writes one that is a child's.
        let is_running = ret == 0 && unsafe { seen.assume_init_ref().si_pid() } == 0;
        if is_running {
            let wait = || match kind {
                libc::P_PID => wait_for_process(gp, id as pid_t),
                _ => wait_for_pidfd(gp, id as RawFd),
            };
            if let Err(error) = until_it_ends(gp, wait) {
                return result_of(error);
            }
        }
    }
    result_of(call(info, options))
}
