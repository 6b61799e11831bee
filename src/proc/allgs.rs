//! All G's ever made, the dead ones too: Go's `allgs`.

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::lock::rank::assert_world_stopped_or_lock_held;
use crate::lock::{lock, unlock};
use crate::panic::throw;
use crate::proc::status::readgstatus;
use crate::runtime2::{G, GIDLE, Mutex};

/// Protects additions. Go's `allglock`.
pub(crate) static ALLGLOCK: SharedMutex = SharedMutex(Mutex::new());

/// A [`Mutex`] in a static.
pub(crate) struct SharedMutex(pub(crate) Mutex);

// SAFETY: a mutex is made to be shared; its rank is set before threads use it.
unsafe impl Sync for SharedMutex {}

/// The array, as its readers see it. `ALLGPTR` is set before `ALLGLEN`, and read after.
static ALLGPTR: AtomicPtr<&'static G> = AtomicPtr::new(std::ptr::null_mut());
static ALLGLEN: AtomicUsize = AtomicUsize::new(0);

/// The array, as its writers see it. It grows by halves into a new one; the old ones
/// are not freed, because a reader without the lock may be in one.
static ALLGS: AllGs = AllGs(UnsafeCell::new(Vec::new()));

struct AllGs(UnsafeCell<Vec<&'static G>>);

// SAFETY: the vector is touched with ALLGLOCK held.
unsafe impl Sync for AllGs {}

/// Adds G's to all G's; fails if there is no memory for the list. Go's `allgadd`, for a
/// batch.
pub(crate) fn allgadd(batch: &[&'static G]) -> io::Result<()> {
    if batch.iter().any(|gp| readgstatus(gp) == GIDLE) {
        throw("allgadd: bad status Gidle");
    }
    lock(&ALLGLOCK.0);
    // SAFETY: the lock is held.
    let allgs = unsafe { &mut *ALLGS.0.get() };
    let added = grow(allgs, batch.len());
    if added.is_ok() {
        allgs.extend_from_slice(batch);
        // Release: who reads the length finds the array, and in it the G's.
        ALLGPTR.store(allgs.as_mut_ptr(), Ordering::Release);
        ALLGLEN.store(allgs.len(), Ordering::Release);
    }
    unlock(&ALLGLOCK.0);
    added
}

/// Makes room for `more` in a new array, if there is none in this one.
fn grow(allgs: &mut Vec<&'static G>, more: usize) -> io::Result<()> {
    if allgs.capacity() - allgs.len() >= more {
        return Ok(());
    }
    let mut larger = Vec::new();
    larger
        .try_reserve_exact((allgs.len() + more).max(allgs.len() * 3 / 2).max(64))
        .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    larger.extend_from_slice(allgs);
    std::mem::forget(std::mem::replace(allgs, larger));
    Ok(())
}

/// The list of all G's. The world is stopped, or `allglock` is held. Go's
/// `allGsSnapshot`.
pub(crate) fn all_gs_snapshot() -> &'static [&'static G] {
    assert_world_stopped_or_lock_held(&ALLGLOCK.0);
    let (ptr, len) = atomic_all_g();
    if len == 0 {
        return &[];
    }
    // SAFETY: `len` elements are written for good, and the array is never freed.
    unsafe { std::slice::from_raw_parts(ptr, len) }
}

/// The list of all G's without the lock; G's that are being added are missed. Go's
/// `atomicAllG`.
pub(crate) fn atomic_all_g() -> (*const &'static G, usize) {
    // Acquire pairs with allgadd. The length first: a newer array has it too.
    let len = ALLGLEN.load(Ordering::Acquire);
    (ALLGPTR.load(Ordering::Acquire), len)
}

/// Element `i` of what [`atomic_all_g`] returned. Go's `atomicAllGIndex`.
pub(crate) fn atomic_all_g_index(ptr: *const &'static G, i: usize) -> &'static G {
    // SAFETY: the caller got ptr with a length above i; arrays are never freed.
    unsafe { *ptr.add(i) }
}

/// Calls `f` with every G, while none can be added. Go's `forEachG`.
pub(crate) fn for_each_g(mut f: impl FnMut(&'static G)) {
    lock(&ALLGLOCK.0);
    for &gp in all_gs_snapshot() {
        f(gp);
    }
    unlock(&ALLGLOCK.0);
}

/// How many G's were ever made.
pub(crate) fn allglen() -> usize {
    ALLGLEN.load(Ordering::Relaxed)
}
