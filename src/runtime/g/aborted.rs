//! The marks of a goroutine whose waits are to end: the lowest bits of the pointer to its values
//! (`values.rs`). Nearly all goroutines have no values and no mark, and know both by one look.
//!
//! - It was aborted. This mark stays.
//! - A signal was left to it while it was in a wait that signals end (`m/signaled.rs`). This mark
//!   only makes threads look: it may still be there when the wait has ended.

use std::ffi::c_void;
use std::ptr;

use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::G;

/// The bit of a goroutine that was aborted.
const ABORTED: usize = 1;
/// The bit of a goroutine to which a signal was left.
const SIGNALED: usize = 2;

/// The values have been dropped, and there will be no others. The goroutine is at its end.
pub(super) const ENDED: *mut c_void = ptr::without_provenance_mut(8);

/// Returns the pointer to the values.
#[inline(always)]
pub(super) fn without_marks(values: *mut c_void) -> *mut c_void {
    values.map_addr(|values| values & !(ABORTED | SIGNALED))
}

/// Marks `gp`, unless it is at its end. The caller keeps `gp` from ending.
pub(in crate::runtime) fn set_aborted(gp: &G) {
    let mark = |values| (without_marks(values) != ENDED).then(|| values.map_addr(|values| values | ABORTED));
    // SeqCst: see `is_aborted`.
    let _ = gp.ext.values.fetch_update(Ordering::SeqCst, Ordering::Relaxed, mark);
}

/// Whether `gp` was aborted.
#[inline(always)]
pub(in crate::runtime) fn is_aborted(gp: &G) -> bool {
    // SeqCst, and so are the changes of a G's state: a park makes the goroutine waiting, and then
    // looks here. An abort sets the mark, and then looks at the state. One of the two sees the
    // other.
    gp.ext.values.load(Ordering::SeqCst).addr() & ABORTED != 0
}

/// Whether `gp` has a mark: a wait of its may be to end.
#[inline(always)]
pub(in crate::runtime) fn is_marked(gp: &G) -> bool {
    // SeqCst: see `is_aborted`. A sender of a signal does what an abort does.
    gp.ext.values.load(Ordering::SeqCst).addr() & (ABORTED | SIGNALED) != 0
}

/// Marks `gp`, which is in a wait that a signal is to end. The caller keeps `gp` from ending.
#[cfg(pthreads)]
pub(in crate::runtime) fn set_signaled(gp: &G) {
    let mark = |values: *mut c_void| Some(values.map_addr(|values| values | SIGNALED));
    // SeqCst: see `is_aborted`.
    let _ = gp.ext.values.fetch_update(Ordering::SeqCst, Ordering::Relaxed, mark);
}

/// Takes the mark of [`set_signaled`] off `gp`, which runs here.
#[cfg(pthreads)]
#[cold]
pub(in crate::runtime) fn clear_signaled(gp: &G) {
    let clear = |values: *mut c_void| Some(values.map_addr(|values| values & !SIGNALED));
    let _ = gp.ext.values.fetch_update(Ordering::Relaxed, Ordering::Relaxed, clear);
}

/// Whether it is certain that `gp`, which runs here, has no values, isn't a thread's, and wasn't
/// aborted.
#[inline(always)]
pub(in crate::runtime) fn has_no_values(gp: &G) -> bool {
    gp.ext.values.load(Ordering::Relaxed).is_null()
}

/// Gives values to `gp`, which runs here and has none. It may be marked meanwhile.
pub(super) fn set_values(gp: &G, values: *mut c_void) {
    let set = |old: *mut c_void| Some(values.map_addr(|values| values | old.addr()));
    // SeqCst: see `is_aborted`.
    let _ = gp.ext.values.fetch_update(Ordering::SeqCst, Ordering::Relaxed, set);
}

/// Whether `gp` is at its end: its function has returned, and its values were dropped. The caller
/// keeps `gp` from ending.
pub(in crate::runtime) fn is_at_end(gp: &G) -> bool {
    without_marks(gp.ext.values.load(Ordering::Acquire)) == ENDED
}

/// Holds an abort of a goroutine, which runs here, back while it lives.
pub(super) struct Shield<'a>(&'a G);

impl<'a> Shield<'a> {
    #[inline(always)]
    pub(super) fn new(gp: &'a G) -> Self {
        gp.ext.shields.set(gp.ext.shields.get() + 1);
        Shield(gp)
    }
}

impl Drop for Shield<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.ext.shields.set(self.0.ext.shields.get() - 1);
    }
}
