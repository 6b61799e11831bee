//! C's locks.

pub(crate) mod locks;

/// A model says when threads become goroutines.
pub(crate) mod live {
    use crate::runtime::data::atomic::{AtomicBool, Ordering};

    static LIVE: AtomicBool = AtomicBool::new(false);

    pub(crate) fn live() -> bool {
        LIVE.load(Ordering::Relaxed)
    }

    pub(crate) fn set_live() {
        LIVE.store(true, Ordering::Release);
    }
}

/// No model's thread gets a signal.
pub(crate) mod signals {
    pub(crate) fn handling_signals<R>(_: usize, wait: impl FnOnce() -> R, _: impl FnOnce() -> R) -> R {
        wait()
    }
}
