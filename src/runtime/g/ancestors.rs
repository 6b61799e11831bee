//! The ancestors of a goroutine, which are its maker, its maker's maker, and so on. They are kept
//! for reports with `GODEBUG=tracebackancestors=N`: Go's `saveAncestors`.

use std::panic::Location;
use std::ptr;

use crate::runtime::arch::systemstack;
use crate::runtime::base::debug::traceback_ancestors;
use crate::runtime::data::runtime2::G;
use crate::runtime::g::callers::{gcallers, left_at};

/// What is kept of an ancestor. Go's `ancestorInfo`.
#[derive(Clone)]
pub(in crate::runtime) struct AncestorInfo {
    pub(in crate::runtime) pcs: Vec<usize>,
    pub(in crate::runtime) goid: u64,
    pub(in crate::runtime) gopc: usize,
    pub(in crate::runtime) created_at: Option<&'static Location<'static>>,
}

/// Keeps the ancestors of `newg`, if the setting asks for them: its maker and the maker's own. They
/// replace those of the goroutine that the G was before. Go's `saveAncestors`.
#[inline(always)]
pub(super) fn save_ancestors(callergp: Option<&'static G>, newg: &G) {
    if traceback_ancestors() > 0 {
        keep(callergp, newg);
    }
}

#[cold]
#[inline(never)]
fn keep(callergp: Option<&'static G>, newg: &G) {
    // An unwinder needs more room than a copying stack has. And the walk begins where the caller
    // left for g0.
    systemstack(|| {
        forget_ancestors(newg);
        newg.ancestors.set(callergp.map_or(ptr::null_mut(), ancestors_of_child).cast());
    });
}

/// Frees the ancestors of `gp`, which has ended. On g0, or on a thread's stack.
pub(super) fn forget_ancestors(gp: &G) {
    if traceback_ancestors() > 0 {
        let old = gp.ancestors.replace(ptr::null_mut()).cast::<Vec<AncestorInfo>>();
        if !old.is_null() {
            // SAFETY: `ancestors_of_child` made the box, and the only pointer to it was in the G.
            drop(unsafe { Box::from_raw(old) });
        }
    }
}

/// The ancestors of a goroutine that `callergp` makes: `callergp`, and its own ancestors. On g0.
fn ancestors_of_child(callergp: &G) -> *mut Vec<AncestorInfo> {
    // SAFETY: the thread of `callergp` is on g0, here, so the goroutine's stack stays as it left
    // it.
    let pcs = unsafe { gcallers(callergp, &left_at(callergp)) }.as_slice().to_vec();
    let maker = AncestorInfo {
        pcs,
        goid: callergp.goid.get(),
        gopc: callergp.gopc.get(),
        created_at: callergp.ext.created_at.get(),
    };
    let older = of(callergp).iter().take(traceback_ancestors() - 1).cloned();
    Box::into_raw(Box::new(std::iter::once(maker).chain(older).collect()))
}

/// The ancestors of `gp` that were kept.
pub(in crate::runtime) fn of(gp: &G) -> &[AncestorInfo] {
    let ancestors = gp.ancestors.get().cast::<Vec<AncestorInfo>>();
    // Without the setting, the field is the embedder's.
    if traceback_ancestors() == 0 || ancestors.is_null() {
        return &[];
    }
    // SAFETY: `keep` has put the box there, and it stays until the goroutine has ended.
    unsafe { &*ancestors }
}
