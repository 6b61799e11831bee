//! Stand-ins: fatal errors, and the kernel.

#[path = "../../../src/runtime/base/os.rs"]
mod common_os;

pub(crate) mod os {
    use std::ffi::c_short;
    use std::os::fd::RawFd;

    pub(crate) use super::common_os::*;
    use crate::runtime::kernel;

    pub(crate) fn poll_now(fd: RawFd, events: c_short) -> c_short {
        kernel::poll(fd, events as u32) as c_short
    }
}

pub(crate) mod fatal {
    pub(crate) fn throw(message: &str) -> ! {
        panic!("{message}")
    }
}
