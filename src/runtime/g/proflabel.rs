//! The labels of a goroutine, in `g.labels`: Go's `proflabel.go`.
//!
//! `g.labels` is null, or an [`Arc`] that the goroutine owns. (Go has a plain pointer, and a
//! collector.)

use std::collections::BTreeMap;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::runtime::base::os::osyield;
use crate::runtime::base::this::{acquirem, releasem};
use crate::runtime::data::runtime2::{G, GSCAN, GSCANSYSCALL, GSYSCALL};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::status::{casfrom_gscanstatus, castogscanstatus};

/// Labels, sorted by key.
pub(crate) type LabelMap = BTreeMap<String, String>;

/// Returns the labels of `gp`. It is the caller's, or its scan bit is held and it doesn't run. Go's
/// `runtime_getProfLabel`.
pub(crate) fn get_prof_label(gp: &G) -> Option<Arc<LabelMap>> {
    let labels = gp.labels.get().cast::<LabelMap>();
    // SAFETY: set_prof_label has put an Arc there, which the goroutine goes on owning: this is one
    // more.
    (!labels.is_null()).then(|| unsafe {
        Arc::increment_strong_count(labels);
        Arc::from_raw(labels)
    })
}

/// Sets the labels of `gp`, which the caller runs, makes or ends. Returns the former labels. Go's
/// `runtime_setProfLabel`.
fn set_prof_label(gp: &G, labels: Option<Arc<LabelMap>>) -> Option<Arc<LabelMap>> {
    let labels = labels.map_or(ptr::null(), Arc::into_raw);
    let before = gp.labels.replace(labels.cast_mut().cast()).cast::<LabelMap>();
    // SAFETY: an earlier call has put an Arc there, which the goroutine has just given up.
    (!before.is_null()).then(|| unsafe { Arc::from_raw(before) })
}

/// [`set_prof_label`] of the running goroutine.
pub(crate) fn set_own_label(gp: &G, labels: Option<Arc<LabelMap>>) -> Option<Arc<LabelMap>> {
    let mp = acquirem();
    // In a system call the goroutine counts as standing still, and a report that holds its scan bit
    // reads its labels.
    let in_syscall = gp.atomicstatus.load(Ordering::Relaxed) & !GSCAN == GSYSCALL;
    while in_syscall && !castogscanstatus(gp, GSYSCALL, GSCANSYSCALL) {
        osyield();
    }
    let before = set_prof_label(gp, labels);
    if in_syscall {
        casfrom_gscanstatus(gp, GSCANSYSCALL, GSYSCALL);
    }
    trace(|| Event::GoLabel(gp));
    releasem(mp);
    before
}

/// Gives a new goroutine the labels of its maker.
#[inline(always)]
pub(in crate::runtime) fn inherit_labels(newg: &G, callergp: &G) {
    if !callergp.labels.get().is_null() {
        inherit(newg, callergp);
    }
}

#[cold]
#[inline(never)]
fn inherit(newg: &G, callergp: &G) {
    set_prof_label(newg, get_prof_label(callergp));
}

/// Drops the labels of a goroutine that has ended.
#[inline(always)]
pub(in crate::runtime) fn drop_labels(gp: &G) {
    if !gp.labels.get().is_null() {
        lose(gp);
    }
}

#[cold]
#[inline(never)]
fn lose(gp: &G) {
    drop(set_prof_label(gp, None));
}
