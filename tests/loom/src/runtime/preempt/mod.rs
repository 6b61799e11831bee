//! Asking a goroutine to stop, by a signal to its M's thread.

#[path = "../../../../../src/runtime/preempt/ask.rs"]
pub(crate) mod ask;
#[cfg(test)]
mod models_preempt;

/// Code that may be stopped. There is some.
pub(crate) mod preemptible {
    pub(crate) fn any() -> bool {
        true
    }
}

/// Code in which no goroutine waits for its turn. There is none.
pub(crate) mod libc_code {
    pub(crate) fn in_libc(_: usize) -> bool {
        false
    }
}
