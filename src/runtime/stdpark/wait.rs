//! A goroutine's wait for descriptors, which ends once. Its `state` is changed by compare-and-swap,
//! and the caller that finds the goroutine there makes it ready.

use std::ptr;

use crate::runtime::data::atomic::{AtomicPtr, Ordering};
use crate::runtime::data::runtime2::G;

/// A wait for one descriptor or several, on the goroutine's stack.
pub(super) struct Wait {
    pub(super) gp: &'static G,
    /// `WAITS`, the goroutine once it has parked, or how the wait has ended.
    pub(super) state: AtomicPtr<G>,
}

pub(super) const WAITS: *mut G = ptr::null_mut();
pub(super) const READY: *mut G = ptr::without_provenance_mut(1);
pub(super) const TIMED_OUT: *mut G = ptr::without_provenance_mut(2);
pub(super) const CLOSED: *mut G = ptr::without_provenance_mut(3);
/// The wait is to begin anew: see `watch.rs`.
pub(super) const ANEW: *mut G = ptr::without_provenance_mut(4);

/// What [`Wait::end`] has found.
pub(super) enum Found {
    /// The goroutine has parked: the caller makes it ready.
    Parked(&'static G),
    /// It hasn't parked yet, and won't.
    Running,
    /// The wait has ended before.
    Ended,
}

impl Wait {
    /// Ends the wait. The caller touches it no more, as it may be gone.
    pub(super) fn end(&self, how: *mut G) -> Found {
        let gp = self.gp;
        let change = |state| (!is_end(state)).then_some(how);
        // Release and acquire pair with commit and with the goroutine that goes on: it sees what
        // was written before.
        match self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, change) {
            Ok(state) if state == WAITS => Found::Running,
            Ok(_) => Found::Parked(gp),
            Err(_) => Found::Ended,
        }
    }
}

fn is_end(state: *mut G) -> bool {
    [READY, TIMED_OUT, CLOSED, ANEW].contains(&state)
}
