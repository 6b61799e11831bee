//! A signal's path from its handler to its receiver. A model decides when a handler runs.

mod models_sigqueue;
#[path = "../../../../../src/runtime/signal/sigqueue.rs"]
pub(crate) mod sigqueue;

/// Actions of the process: the runtime's handler has every signal from the start.
pub(crate) mod handler {
    use std::ffi::c_int;
    use std::io;

    pub(crate) fn is_handled(_: c_int) -> bool {
        true
    }

    pub(crate) fn our_action() -> libc::sigaction {
        // SAFETY: all zero is an action.
        unsafe { std::mem::zeroed() }
    }

    pub(crate) fn getsig(_: c_int) -> io::Result<libc::sigaction> {
        unreachable!("no action changes")
    }

    pub(crate) unsafe fn setsig(_: c_int, _: &libc::sigaction) -> io::Result<()> {
        unreachable!("no action changes")
    }
}
