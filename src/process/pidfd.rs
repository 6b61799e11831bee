//! A descriptor that stands for a process, and reports its end.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::net::Pollable;

/// Opens a descriptor of a child that hasn't been waited for. It becomes readable at the child's
/// end. None if there can't be one: before Linux 5.3, in a sandbox that doesn't know the system
/// call, or if there are too many descriptors. Go's `pidfdFind`, in `os/pidfd_linux.go` since 1.23.
pub(super) fn pidfd(id: u32) -> Option<Pollable<OwnedFd>> {
    let (id, no_flags) = (id as libc::pid_t, 0);
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, id, no_flags) };
    if fd < 0 {
        return None;
    }
    // SAFETY: the descriptor is new, and nobody else's.
    Pollable::new(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }).ok()
}

/// Kills the process of a [`pidfd`], and never another process that has its number by now. If it
/// has been waited for, this does nothing.
///
/// # Errors
/// The kernel's. A sandbox may allow the system call of [`pidfd`], and not this one.
pub(super) fn kill(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    let (no_info, no_flags) = (ptr::null::<libc::siginfo_t>(), 0);
    // SAFETY: the descriptor is open, and no memory is passed.
    let result = unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), libc::SIGKILL, no_info, no_flags)
    };
    match io::Error::last_os_error() {
        error if result < 0 && error.raw_os_error() != Some(libc::ESRCH) => Err(error),
        _ => Ok(()),
    }
}
