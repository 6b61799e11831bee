//! The labels of a goroutine as the scheduler has them: Go's `proflabel.go`.
//!
//! `g.labels` is null, or an [`Arc`] that is the goroutine's. Go's collector needs no such count.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::Arc;

use crate::runtime2::G;

/// Labels, by their keys.
pub(crate) type LabelMap = BTreeMap<String, String>;

/// The labels of `gp`, which nobody changes meanwhile. Go's `runtime_getProfLabel`.
pub(crate) fn get_prof_label(gp: &G) -> Option<Arc<LabelMap>> {
    let labels = gp.labels.get().cast::<LabelMap>();
    // SAFETY: set_prof_label has put it there, and it stays the goroutine's.
    (!labels.is_null()).then(|| unsafe {
        Arc::increment_strong_count(labels);
        Arc::from_raw(labels)
    })
}

/// Gives the running goroutine `gp` other labels; returns those that it had. Go's `runtime_setProfLabel`.
pub(crate) fn set_prof_label(gp: &G, labels: Option<Arc<LabelMap>>) -> Option<Arc<LabelMap>> {
    let labels = labels.map_or(ptr::null(), Arc::into_raw);
    let before = gp.labels.replace(labels.cast_mut().cast()).cast::<LabelMap>();
    // SAFETY: it was put there by this, and is the goroutine's no more.
    (!before.is_null()).then(|| unsafe { Arc::from_raw(before) })
}

/// Gives a new goroutine the labels of the one that makes it.
#[inline(always)]
pub(crate) fn inherit_labels(newg: &G, callergp: &G) {
    if !callergp.labels.get().is_null() {
        inherit(newg, callergp);
    }
}

#[cold]
#[inline(never)]
fn inherit(newg: &G, callergp: &G) {
    set_prof_label(newg, get_prof_label(callergp));
}

/// Takes the labels of a goroutine that has ended.
#[inline(always)]
pub(crate) fn drop_labels(gp: &G) {
    if !gp.labels.get().is_null() {
        lose(gp);
    }
}

#[cold]
#[inline(never)]
fn lose(gp: &G) {
    drop(set_prof_label(gp, None));
}
