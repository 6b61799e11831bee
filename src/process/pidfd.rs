//! A descriptor that tells of the end of a process.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use crate::net::Pollable;

/// A descriptor of a child that nobody has waited for yet, which is readable from its end on. None if there can't be one:
/// before Linux 5.3, in a sandbox that doesn't know the system call, and where there are too many descriptors. Go's
/// `pidfdFind`, in `os/pidfd_linux.go` since 1.23.
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
