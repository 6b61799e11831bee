//! What C programs see of the network poller.

use std::ffi::c_int;

/// A descriptor that the poller knows: Go's `pollDesc`, in `netpoll.go`.
///
/// It is registered once, for reading and writing, and the kernel tells when it *becomes* ready. So
/// one calls `gosched_poll_reset`, tries the operation, calls `gosched_poll_wait` if that would block
/// (`EAGAIN`), and tries again, until it doesn't.
pub struct PollDesc {
    _opaque: (),
}

/// How a wait for a descriptor ended, in Go's numbers: `pollNoError` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum PollResult {
    /// It has become ready, or may have: try.
    Ok = 0,
    /// `gosched_poll_unblock` was called.
    Closing = 1,
    /// The deadline has passed.
    Timeout = 2,
    /// The kernel has reported an error, and nothing else.
    NotPollable = 3,
}

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// Makes the poller, unless it is made already. `gosched_poll_open` does so by itself. Go's
    /// `poll_runtime_pollServerInit`, in `netpoll.go`.
    ///
    /// Returns 0, or an errno value: the kernel's, if it can't make an epoll instance or an event
    /// descriptor.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_poll_server_init() -> c_int;

    /// Registers a descriptor, which is in non-blocking mode, and stores what stands for it at `pd`. Go's
    /// `poll_runtime_pollOpen`, in `netpoll.go`.
    ///
    /// Returns 0, or an errno value, with NULL at `pd`:
    /// - `EPERM`: it can't be polled, as a file can't;
    /// - `EEXIST`: it is registered already;
    /// - `EBADF`: it is none;
    /// - `ENOMEM`: there is no memory;
    /// - `EINVAL`: `pd` is NULL;
    /// - as `gosched_poll_server_init`.
    ///
    /// # Safety
    /// It can be called anywhere. `pd` is a place for an address. The descriptor isn't closed before
    /// `gosched_poll_close` is called.
    pub fn gosched_poll_open(fd: c_int, pd: *mut *mut PollDesc) -> c_int;

    /// Ends the registration of a descriptor, before that is closed. It ends the process if
    /// `gosched_poll_unblock` wasn't called, or if somebody waits. Go's `poll_runtime_pollClose`, in
    /// `netpoll.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `gosched_poll_open` has stored `pd`, which isn't used after this.
    pub fn gosched_poll_close(pd: *mut PollDesc);

    /// To be called before an operation is tried: forgets that the descriptor has become ready. Returns
    /// anything but `GOSCHED_POLL_RESULT_OK` if it is of no use to wait. `mode` is `'r'`, for reading,
    /// or `'w'`. Go's `poll_runtime_pollReset`, in `netpoll.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `gosched_poll_open` has stored `pd`, and it wasn't closed.
    pub fn gosched_poll_reset(pd: *mut PollDesc, mode: c_int) -> PollResult;

    /// Parks the running goroutine until the descriptor has become ready since `gosched_poll_reset`, or
    /// until its deadline or `gosched_poll_unblock` ends that. `mode` is `'r'`, for reading, or `'w'`. It
    /// may also return for nothing. Go's `poll_runtime_pollWait`, in `netpoll.go`.
    ///
    /// A second that waits for the same mode ends the process.
    ///
    /// # Safety
    /// On a goroutine, or on another thread once the runtime runs, which then waits as a goroutine
    /// does. `gosched_poll_open` has stored `pd`, and it isn't closed before this returns.
    pub fn gosched_poll_wait(pd: *mut PollDesc, mode: c_int) -> PollResult;

    /// Sets the deadline for reading, `'r'`, for writing, `'w'`, or for both, `'r' + 'w'`: `ns`
    /// nanoseconds from now. 0 is none, and a negative one has passed already. It holds for who waits
    /// now, too. Go's `poll_runtime_pollSetDeadline`, in `netpoll.go`.
    ///
    /// # Safety
    /// Where `gosched_start_timer` may be called. `gosched_poll_open` has stored `pd`, and it wasn't
    /// closed.
    pub fn gosched_poll_set_deadline(pd: *mut PollDesc, ns: i64, mode: c_int);

    /// Marks the descriptor as being closed: all waits end, and none begins after that. It ends the
    /// process if it is called a second time. Go's `poll_runtime_pollUnblock`, in `netpoll.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `gosched_poll_open` has stored `pd`, and it wasn't closed.
    pub fn gosched_poll_unblock(pd: *mut PollDesc);

    /// Whether a descriptor is one of the poller's own, which nobody else may close. Go's
    /// `poll_runtime_isPollServerDescriptor`, in `netpoll.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_is_poll_descriptor(fd: c_int) -> bool;
}
