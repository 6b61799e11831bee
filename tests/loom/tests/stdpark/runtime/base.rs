//! Stand-ins: fatal errors, and the kernel.

#[path = "../../../src/runtime/base/os.rs"]
pub(crate) mod os;

pub(crate) mod fatal {
    pub(crate) fn throw(message: &str) -> ! {
        panic!("{message}")
    }
}
