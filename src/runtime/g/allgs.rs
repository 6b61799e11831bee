//! The list of all G's, dead ones included: Go's `allgs`. A G whose page was handed back to the
//! kernel isn't in the list until it is made again.
//!
//! The array is in parts, each twice as large as the part before. The parts never move, so a reader
//! needs no lock. A G that goes leaves a hole, which the next new G fills. A hole is an odd number,
//! and says where the next hole is.

use std::alloc::{Layout, alloc_zeroed};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::data::cell::Cell;
use crate::runtime::data::runtime2::{G, GIDLE, Mutex};
use crate::runtime::g::status::readgstatus;
use crate::runtime::lock::mutex::SharedMutex;
use crate::runtime::lock::rank::assert_world_stopped_or_lock_held;
use crate::runtime::lock::{lock, unlock};

/// Protects changes. Go's `allglock`.
pub(in crate::runtime) static ALLGLOCK: SharedMutex = SharedMutex(Mutex::new());

/// Entries in the first part.
const FIRST: usize = 64;

/// An entry of the array: a G or a hole.
type Entry = AtomicPtr<G>;

/// The array's parts. A part is there before `ALLGLEN` reaches it.
static PARTS: [AtomicPtr<Entry>; 32] = [const { AtomicPtr::new(ptr::null_mut()) }; 32];
/// The length of the array, holes included.
static ALLGLEN: AtomicUsize = AtomicUsize::new(0);

/// How many entries are G's.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The first hole.
static HOLES: Holes = Holes(Cell::new(NO_HOLE));

struct Holes(Cell<*mut G>);

// SAFETY: only touched with ALLGLOCK held.
unsafe impl Sync for Holes {}

/// Ends the list of holes.
const NO_HOLE: *mut G = hole(usize::MAX >> 1);

/// Returns a hole, after which the next hole is entry `next`.
const fn hole(next: usize) -> *mut G {
    ptr::without_provenance_mut(next << 1 | 1)
}

/// Returns the part that contains entry `i`, and its place there.
fn place(i: usize) -> (usize, usize) {
    let part = ((i + FIRST) / FIRST).ilog2() as usize;
    (part, i + FIRST - (FIRST << part))
}

/// Returns entry `i`. make_room has been called for it.
fn entry(i: usize) -> &'static Entry {
    let (part, at) = place(i);
    // SAFETY: make_room made this part, as the caller says, with room for `FIRST << part` entries,
    // of which `at` is one; parts are never freed. Acquire pairs with make_room.
    unsafe { &*PARTS[part].load(Ordering::Acquire).add(at) }
}

/// Makes sure that there is room for `len` entries. The lock is held.
fn make_room(len: usize) -> io::Result<()> {
    for (part, to) in PARTS.iter().enumerate().take(place(len.max(1) - 1).0 + 1) {
        if to.load(Ordering::Relaxed).is_null() {
            let layout = Layout::array::<Entry>(FIRST << part).map_err(io::Error::other)?;
            // SAFETY: the layout isn't empty. Zero is null, as an entry may be. (Of a large part,
            // the pages that aren't used yet take no memory.)
            let made = unsafe { alloc_zeroed(layout) };
            if made.is_null() {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            // Release pairs with entry.
            to.store(made.cast(), Ordering::Release);
        }
    }
    Ok(())
}

/// Adds G's to all G's; fails if there is no memory for the list. Go's `allgadd`, for a
/// batch.
pub(in crate::runtime) fn allgadd(batch: &[&'static G]) -> io::Result<()> {
    if batch.iter().any(|gp| readgstatus(gp) == GIDLE) {
        throw("allgadd: bad status Gidle");
    }
    lock(&ALLGLOCK.0);
    let room = make_room(ALLGLEN.load(Ordering::Relaxed) + batch.len());
    if room.is_ok() {
        for &gp in batch {
            let (first, len) = (HOLES.0.get(), ALLGLEN.load(Ordering::Relaxed));
            let i = if first == NO_HOLE { len } else { first.addr() >> 1 };
            if i != len {
                HOLES.0.set(entry(i).load(Ordering::Relaxed));
            }
            gp.ext.allg.set(i as u32);
            // This release pairs with atomic_all_g_index: a reader of the entry sees the G
            // initialised. The release of the length pairs with atomic_all_g.
            entry(i).store(gp.as_ptr(), Ordering::Release);
            ALLGLEN.store(len.max(i + 1), Ordering::Release);
        }
        COUNT.fetch_add(batch.len(), Ordering::Relaxed);
    }
    unlock(&ALLGLOCK.0);
    room
}

/// Takes out G's whose pages are to be handed back. A call of [`uncount`] follows.
pub(super) fn allgremove(batch: &[&'static G]) {
    lock(&ALLGLOCK.0);
    for gp in batch {
        let i = gp.ext.allg.get() as usize;
        if entry(i).swap(HOLES.0.get(), Ordering::Relaxed) != gp.as_ptr() {
            throw("allgremove: another g is there");
        }
        HOLES.0.set(hole(i));
    }
    unlock(&ALLGLOCK.0);
}

/// Lowers the count by the `n` G's that [`allgremove`] took out.
pub(super) fn uncount(n: usize) {
    // Release pairs with allglen: a thread that sees this sees that they don't count as free,
    // either.
    COUNT.fetch_sub(n, Ordering::Release);
}

/// Returns all G's. The world is stopped, or `allglock` is held. Go's `allGsSnapshot`.
fn all_gs_snapshot() -> impl Iterator<Item = &'static G> {
    assert_world_stopped_or_lock_held(&ALLGLOCK.0);
    (0..atomic_all_g()).filter_map(atomic_all_g_index)
}

/// Returns the number of entries of the list, for a reader without the lock. It doesn't include G's
/// that are being added. Go's `atomicAllG`.
pub(in crate::runtime) fn atomic_all_g() -> usize {
    // Acquire pairs with allgadd.
    ALLGLEN.load(Ordering::Acquire)
}

/// Returns the G in entry `i`, if there is one. `i` is below the number that [`atomic_all_g`]
/// returned. If the G's page is handed back meanwhile, the G reads as zero, as `GIDLE`. Go's
/// `atomicAllGIndex`.
pub(in crate::runtime) fn atomic_all_g_index(i: usize) -> Option<&'static G> {
    // Acquire pairs with allgadd.
    let gp = entry(i).load(Ordering::Acquire);
    // SAFETY: an entry below the length is a hole, which is odd, or a G, whose page is never
    // unmapped; a page that was handed back reads as zero, which is a G, too.
    (gp.addr() & 1 == 0).then(|| unsafe { &*gp })
}

/// Calls `f` with every G; meanwhile none can be added. Go's `forEachG`.
pub(crate) fn for_each_g(f: impl FnMut(&'static G)) {
    lock(&ALLGLOCK.0);
    all_gs_snapshot().for_each(f);
    unlock(&ALLGLOCK.0);
}

/// Calls `f` with every G that exists now. It may miss a G that is added meanwhile, and a G whose
/// page goes back to the kernel reads as zero. Go's `forEachGRace`.
pub(crate) fn for_each_g_race(f: impl FnMut(&'static G)) {
    (0..atomic_all_g()).filter_map(atomic_all_g_index).for_each(f);
}

/// Returns how many G's there are.
pub(in crate::runtime) fn allglen() -> usize {
    // Acquire pairs with uncount: gcount reads this before the counts of free G's.
    COUNT.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::base::testing::zeroed;
    use crate::runtime::data::runtime2::GDEAD;

    /// The list is the process's: no other test adds to it.
    #[test]
    fn a_hole_is_filled_again() {
        let gs: [&'static G; 300] = std::array::from_fn(|_| {
            let gp: &'static G = zeroed();
            gp.atomicstatus.store(GDEAD, Ordering::Relaxed);
            gp
        });
        let listed = |gs: &[&'static G]| {
            let mut found = Vec::new();
            for_each_g(|gp| found.push(gp.as_ptr()));
            found.len() == gs.len() && gs.iter().all(|gp| found.contains(&gp.as_ptr()))
        };
        allgadd(&gs[..200]).unwrap();
        assert!(listed(&gs[..200]));
        allgremove(&gs[50..150]);
        uncount(100);
        assert!(listed(&[&gs[..50], &gs[150..200]].concat()));
        allgadd(&gs[200..]).unwrap();
        allgadd(&gs[50..150]).unwrap();
        assert!(listed(&gs) && allglen() == 300);
        assert_eq!(atomic_all_g(), 300, "there were holes for the second hundred");
    }
}
