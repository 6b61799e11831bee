//! A wait that any thread may end, at any time and any number of times, as a future's waker needs.
//! `goready` alone requires that the goroutine waits, and that it is woken once.
//!
//! ```text
//!              wake                wake
//!     EMPTY ----------> NOTIFIED <---------- the G that waits
//!       ^ |                |                        ^
//!       | +----------------|------------------------+
//!       |       park       |
//!       +------------------+  park: it doesn't wait, or has waited
//! ```

use std::ffi::c_void;
use std::ptr;

use crate::runtime::data::atomic::{AtomicPtr, Ordering};
use crate::runtime::data::runtime2::{G, TraceBlockReason, WaitReason};
use crate::runtime::sched::mstart::must_wait;
use crate::runtime::sched::park::gopark;
use crate::runtime::sched::ready::goready;

/// No goroutine waits, and `wake` wasn't called.
const EMPTY: *mut G = ptr::null_mut();
/// The next wait is over before it begins.
const NOTIFIED: *mut G = ptr::without_provenance_mut(1);

/// A place where one goroutine or thread waits, and others wake it.
pub(crate) struct Parker(AtomicPtr<G>);

impl Parker {
    pub(crate) fn new() -> Self {
        Parker(AtomicPtr::new(EMPTY))
    }

    /// Waits until [`wake`](Self::wake) has been called since the last wait. Only one caller may
    /// wait at a time.
    ///
    /// # Panics
    /// As [`must_wait`], in the name of `what`.
    #[track_caller]
    pub(crate) fn park(&self, what: &str) {
        // Acquire, here and below, pairs with wake: this thread sees all that came before the wake.
        if self.0.swap(EMPTY, Ordering::Acquire) == NOTIFIED {
            return;
        }
        let _guest = must_wait(what);
        let this = ptr::from_ref(self).cast_mut().cast();
        // SAFETY: on a goroutine, and at a point that can park. parkcommit touches neither stack;
        // if it returns false, it hasn't left this G where it would be made ready. The parker
        // stays, as it is borrowed.
        unsafe { gopark(Some(parkcommit), this, WaitReason::Future, TraceBlockReason::Generic, 2) };
        self.0.swap(EMPTY, Ordering::Acquire);
    }

    /// Ends the wait, or the next one.
    pub(crate) fn wake(&self) {
        if let Some(gp) = self.notify() {
            goready(gp);
        }
    }

    /// [`wake`](Self::wake), but the caller makes the goroutine ready, if it gets one.
    pub(crate) fn notify(&self) -> Option<&'static G> {
        // Release pairs with park. Acquire pairs with parkcommit: the G is seen as parked.
        let waits = self.0.swap(NOTIFIED, Ordering::AcqRel);
        // SAFETY: it is a G then, and G's are never freed. Only the thread that takes it out of the
        // word wakes it.
        (waits != EMPTY && waits != NOTIFIED).then(|| unsafe { &*waits })
    }
}

/// Leaves the parked G where [`Parker::wake`] will find it. Returns false if `wake` was called
/// before.
unsafe extern "C" fn parkcommit(gp: *mut G, parker: *mut c_void) -> bool {
    // SAFETY: gopark passes what park gave it, a parker that is borrowed until the G goes on.
    let Parker(state) = unsafe { &*parker.cast::<Parker>() };
    // Release pairs with wake, which makes the G ready: the G is seen as parked.
    state.compare_exchange(EMPTY, gp, Ordering::Release, Ordering::Relaxed).is_ok()
}
