//! The network poller.

use std::ffi::c_int;
use std::ptr;

use crate::capi::caller::{must_have_p, must_wait, need};
use crate::capi::goroutine::errno;
use crate::runtime::{
    self, Mode, PollError, misuse, netpoll_is_poll_descriptor, poll_runtime_poll_close,
    poll_runtime_poll_open, poll_runtime_poll_reset, poll_runtime_poll_server_init,
    poll_runtime_poll_set_deadline, poll_runtime_poll_unblock, poll_runtime_poll_wait, systemstack,
};

/// A descriptor that the poller knows: Go's `pollDesc`, in `netpoll.go`.
///
/// It is registered once, for reading and writing, and the kernel reports when it *becomes* ready.
/// So a program calls `gosched_poll_reset`, tries the operation, calls `gosched_poll_wait` if the
/// operation would block (`EAGAIN`), and tries again, until the operation no longer would block.
pub struct PollDesc {
    _opaque: (),
}

/// How a wait for a descriptor ended, in Go's numbers: `pollNoError` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum PollResult {
    /// The descriptor has become ready, or may have: try the operation.
    Ok = 0,
    /// `gosched_poll_unblock` was called.
    Closing = 1,
    /// The deadline has passed.
    Timeout = 2,
    /// The kernel has reported an error and no readiness.
    NotPollable = 3,
}

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// Makes the poller, unless it exists already. `gosched_poll_open` makes it too, if need be.
    /// Go's `poll_runtime_pollServerInit`, in `netpoll.go`.
    ///
    /// Returns 0, or the kernel's errno value if it can't make an epoll instance or an event
    /// descriptor.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_poll_server_init() -> c_int;

    /// Registers a descriptor, which is in non-blocking mode, and stores the address of its
    /// `PollDesc` at `pd`. Go's `poll_runtime_pollOpen`, in `netpoll.go`.
    ///
    /// Returns 0, or an errno value, with NULL at `pd`:
    /// - `EPERM`: the descriptor can't be polled, for example a file's;
    /// - `EEXIST`: the descriptor is registered already;
    /// - `EBADF`: `fd` isn't an open descriptor;
    /// - `ENOMEM`: there is no memory;
    /// - `EINVAL`: `pd` is NULL;
    /// - as `gosched_poll_server_init`.
    ///
    /// # Safety
    /// It can be called anywhere. `pd` is a place for an address. The descriptor isn't closed
    /// before `gosched_poll_close` is called.
    pub fn gosched_poll_open(fd: c_int, pd: *mut *mut PollDesc) -> c_int;

    /// Ends the registration of a descriptor, before the descriptor is closed. It ends the process
    /// if `gosched_poll_unblock` wasn't called, or if a caller waits for the descriptor. Go's
    /// `poll_runtime_pollClose`, in `netpoll.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `gosched_poll_open` has stored `pd`, which isn't used after this.
    pub fn gosched_poll_close(pd: *mut PollDesc);

    /// Forgets that the descriptor has become ready; it is called before an operation is tried. A
    /// result other than `GOSCHED_POLL_RESULT_OK` means that a wait would be of no use. `mode` is
    /// `'r'`, for reading, or `'w'`. Go's `poll_runtime_pollReset`, in `netpoll.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `gosched_poll_open` has stored `pd`, and it wasn't closed.
    pub fn gosched_poll_reset(pd: *mut PollDesc, mode: c_int) -> PollResult;

    /// Parks the running goroutine until the descriptor has become ready since
    /// `gosched_poll_reset`, or until its deadline or `gosched_poll_unblock` ends the wait. `mode`
    /// is `'r'`, for reading, or `'w'`. It may also return without a cause. Go's
    /// `poll_runtime_pollWait`, in `netpoll.go`.
    ///
    /// A second caller that waits for the same mode at the same time ends the process.
    ///
    /// # Safety
    /// On a goroutine, or on another thread once the runtime runs, which then waits as a goroutine
    /// does. `gosched_poll_open` has stored `pd`, and it isn't closed before this returns.
    pub fn gosched_poll_wait(pd: *mut PollDesc, mode: c_int) -> PollResult;

    /// Sets the deadline for reading, `'r'`, for writing, `'w'`, or for both, `'r' + 'w'`: `ns`
    /// nanoseconds from now. 0 removes the deadline, and a negative `ns` is a deadline that has
    /// passed already. The deadline also applies to waits that have begun. Go's
    /// `poll_runtime_pollSetDeadline`, in `netpoll.go`.
    ///
    /// # Safety
    /// Where `gosched_start_timer` may be called. `gosched_poll_open` has stored `pd`, and it
    /// wasn't closed.
    pub fn gosched_poll_set_deadline(pd: *mut PollDesc, ns: i64, mode: c_int);

    /// Marks the descriptor as being closed: all waits for it end, and later waits return at once.
    /// A second call ends the process. Go's `poll_runtime_pollUnblock`, in `netpoll.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `gosched_poll_open` has stored `pd`, and it wasn't closed.
    pub fn gosched_poll_unblock(pd: *mut PollDesc);

    /// Whether a descriptor is one of the poller's own, which the program mustn't close. Go's
    /// `poll_runtime_isPollServerDescriptor`, in `netpoll.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_is_poll_descriptor(fd: c_int) -> bool;
}

/// What stands for 'r' and for 'w' in C.
const READ: c_int = b'r' as c_int;
const WRITE: c_int = b'w' as c_int;
const BOTH: c_int = READ + WRITE;

#[inline(always)]
fn mode_of(function: &str, mode: c_int) -> Mode {
    match mode {
        READ => Mode::Read,
        WRITE => Mode::Write,
        _ => no_mode(function, mode, "'r' or 'w'"),
    }
}

#[cold]
#[inline(never)]
fn no_mode(function: &str, mode: c_int, instead: &str) -> ! {
    misuse(format_args!("{function}: mode is {mode}; it must be {instead}"))
}

impl From<PollError> for PollResult {
    fn from(error: PollError) -> Self {
        match error {
            PollError::Closing => PollResult::Closing,
            PollError::Timeout => PollResult::Timeout,
            PollError::NotPollable => PollResult::NotPollable,
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_poll_server_init_impl() -> c_int {
    systemstack(|| poll_runtime_poll_server_init().map_or_else(|error| errno(&error), |()| 0))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_poll_open_impl(fd: c_int, pd: *mut *const runtime::PollDesc) -> c_int {
    if pd.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: the descriptor isn't closed before gosched_poll_close is called.
    let (opened, error) = systemstack(|| match unsafe { poll_runtime_poll_open(fd) } {
        Ok(opened) => (ptr::from_ref(opened), 0),
        Err(error) => (ptr::null(), errno(&error)),
    });
    // SAFETY: `pd` is a place for an address.
    unsafe { pd.write(opened) };
    error
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_poll_close_impl(pd: *const runtime::PollDesc) {
    // SAFETY: gosched_poll_open has stored it, and it isn't used after this.
    unsafe {
        let pd = need("gosched_poll_close", "pd", pd);
        systemstack(|| poll_runtime_poll_close(pd))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_poll_reset_impl(pd: *const runtime::PollDesc, mode: c_int) -> PollResult {
    let function = "gosched_poll_reset";
    // SAFETY: gosched_poll_open has stored it.
    let pd = unsafe { need(function, "pd", pd) };
    poll_runtime_poll_reset(pd, mode_of(function, mode))
        .map_or_else(PollResult::from, |_ready| PollResult::Ok)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_poll_wait_impl(pd: *const runtime::PollDesc, mode: c_int) -> PollResult {
    let function = "gosched_poll_wait";
    // SAFETY: gosched_poll_open has stored it.
    let pd = unsafe { need(function, "pd", pd) };
    let mode = mode_of(function, mode);
    let _guest = must_wait(function);
    // SAFETY: must_wait has returned, so this is a goroutine; the descriptor isn't closed before
    // this returns.
    unsafe { poll_runtime_poll_wait(pd, mode) }.map_or_else(PollResult::from, |()| PollResult::Ok)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_poll_set_deadline_impl(pd: *const runtime::PollDesc, ns: i64, mode: c_int) {
    let function = "gosched_poll_set_deadline";
    let (read, write) = match mode {
        READ => (true, false),
        WRITE => (false, true),
        BOTH => (true, true),
        _ => no_mode(function, mode, "'r', 'w' or 'r' + 'w'"),
    };
    // SAFETY: gosched_poll_open has stored it.
    let pd = unsafe { need(function, "pd", pd) };
    let _guest = must_have_p(function);
    // SAFETY: it wasn't closed, and must_have_p has returned.
    systemstack(|| unsafe { poll_runtime_poll_set_deadline(pd, ns, read, write) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_poll_unblock_impl(pd: *const runtime::PollDesc) {
    // SAFETY: gosched_poll_open has stored it, and it wasn't closed.
    unsafe {
        let pd = need("gosched_poll_unblock", "pd", pd);
        systemstack(|| poll_runtime_poll_unblock(pd))
    }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_is_poll_descriptor_impl(fd: c_int) -> bool {
    netpoll_is_poll_descriptor(fd)
}
