//! The network poller for C: the functions that the stubs of `asm/*/entry.S` jump to. Each `unsafe`
//! block relies on what the function of the same name in `header/` asks of its caller.

use std::ffi::c_int;
use std::ptr;

use crate::capi::PollResult;
use crate::capi::caller::{must_have_p, must_wait, need};
use crate::capi::goroutine::errno;
use crate::runtime::{
    Mode, PollDesc, PollError, misuse, netpoll_is_poll_descriptor, poll_runtime_poll_close,
    poll_runtime_poll_open, poll_runtime_poll_reset, poll_runtime_poll_server_init,
    poll_runtime_poll_set_deadline, poll_runtime_poll_unblock, poll_runtime_poll_wait, systemstack,
};

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
unsafe extern "C" fn gosched_poll_open_impl(fd: c_int, pd: *mut *const PollDesc) -> c_int {
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
unsafe extern "C" fn gosched_poll_close_impl(pd: *const PollDesc) {
    // SAFETY: gosched_poll_open has stored it, and it isn't used after this.
    unsafe {
        let pd = need("gosched_poll_close", "pd", pd);
        systemstack(|| poll_runtime_poll_close(pd))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_poll_reset_impl(pd: *const PollDesc, mode: c_int) -> PollResult {
    let function = "gosched_poll_reset";
    // SAFETY: gosched_poll_open has stored it.
    let pd = unsafe { need(function, "pd", pd) };
    poll_runtime_poll_reset(pd, mode_of(function, mode))
        .map_or_else(PollResult::from, |_ready| PollResult::Ok)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_poll_wait_impl(pd: *const PollDesc, mode: c_int) -> PollResult {
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
unsafe extern "C" fn gosched_poll_set_deadline_impl(pd: *const PollDesc, ns: i64, mode: c_int) {
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
unsafe extern "C" fn gosched_poll_unblock_impl(pd: *const PollDesc) {
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
