//! The limit of a descriptor's operation that waits.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use crate::runtime::{
    self, Cancellation, Mode, PollDesc, ends_early, poll_runtime_poll_end, poll_runtime_poll_go_on,
    semacquire, semrelease, with_limit_in_run,
};

/// The limit of one operation.
#[derive(Default)]
pub(crate) struct Limit<'a> {
    /// When the timeout ends the operation, if it has one: known from the first wait on. There may
    /// be several waits, because wakeups may be spurious; all of them share this limit.
    pub(super) ends: Option<Option<Instant>>,
    /// A cancellation that may end it sooner.
    canceled: Option<&'a Cancellation>,
}

impl<'a> Limit<'a> {
    /// Makes a limit that ends the operation when the cancellation comes.
    pub(crate) fn canceled_by(cancellation: &'a Cancellation) -> Self {
        Limit { ends: None, canceled: Some(cancellation) }
    }

    /// Calls `waits`, the only wait for `mode` at this time. If there is a cancellation and it
    /// comes, the wait ends as if the deadline had passed. On a goroutine.
    pub(super) fn until_canceled<R>(
        &self,
        pd: &'static PollDesc,
        mode: Mode,
        waits: impl FnOnce() -> R,
    ) -> R {
        if self.canceled.is_none() && !ends_early() {
            return waits();
        }
        let (canceled, ended) = (AtomicBool::new(false), AtomicU32::new(0));
        let give_up = || {
            // Both the context and the run may end the wait, once.
            (!canceled.swap(true, Ordering::Relaxed)).then_some(|| {
                poll_runtime_poll_end(pd, mode);
                semrelease(&ended);
            })
        };
        // SAFETY: the flag is set before with_limit returns, or not at all. If it is set, the
        // canceling code uses `ended` until it has added to it, and this waits for that.
        let result =
            unsafe { with_limit_in_run(self.canceled.map(runtime::Limit::Canceled), &give_up, waits) };
        if canceled.load(Ordering::Relaxed) {
            semacquire(&ended);
            poll_runtime_poll_go_on(pd, mode);
        }
        result
    }
}
