//! Asking a goroutine to stop, by a signal to its M's thread.

#[path = "../../../../../src/runtime/preempt/ask.rs"]
pub(crate) mod ask;
#[path = "../../../../../src/runtime/preempt/libc_code.rs"]
pub(crate) mod libc_code;
mod models_preempt;

/// Code that may be stopped. There is some.
pub(crate) mod preemptible {
    pub(crate) fn any() -> bool {
        true
    }
}
