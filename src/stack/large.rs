//! Large segments: a mapping for each.
//!
//! Some are kept when they are freed, on a list for each size; the others go back to the system at
//! once, and those on a list when nobody has needed them for a while.

use std::cell::Cell;
use std::io;
use std::ptr;

use memmap2::{Advice, MmapOptions};

use crate::arch::page_size;
use crate::lock::rank::{LockRank, lock_init};
use crate::lock::{lock, unlock};
use crate::panic::throw;
use crate::proc::scavenge::Level;
use crate::runtime2::{Mutex, Stack, StackFreeList};
use crate::stack::guard;
use crate::stack::segment::{SEGMENT_MIN, stacklog2};

/// From this size on a segment is worth huge pages: two at least, of which one is used at once.
const HUGE: usize = 4 << 20;

/// The size of a huge page, or, where pages are larger than 4 KiB, of several that a TLB can have in one
/// entry.
const HUGE_PAGE: usize = 2 << 20;

/// Bytes of free large segments that are kept, in all.
const LARGE_KEPT: usize = 64 << 20;

/// How many sizes there may be.
const SIZES: usize = usize::BITS as usize;

/// Free large segments. Go's `stackLarge`.
struct StackLarge {
    lock: Mutex,
    /// By the power of two, as those of small ones.
    free: [StackFreeList; SIZES],
    levels: [Level; SIZES],
    /// The bytes of all of them.
    kept: Cell<usize>,
}

// SAFETY: the lists are touched with the lock held.
unsafe impl Sync for StackLarge {}

static STACK_LARGE: StackLarge = StackLarge {
    lock: Mutex::new(),
    free: [const { StackFreeList::new() }; SIZES],
    levels: [const { Level::new() }; SIZES],
    kept: Cell::new(0),
};

/// Ranks the lock.
pub(super) fn init() {
    lock_init(&STACK_LARGE.lock, LockRank::STACK_LARGE);
}

/// The number of a size.
fn size_class(n: usize) -> usize {
    stacklog2(n / SEGMENT_MIN)
}

/// Takes a segment of `n` bytes, a power of two, that was kept, or maps one.
pub(super) fn alloc(n: usize) -> io::Result<Stack> {
    let class = size_class(n);
    lock(&STACK_LARGE.lock);
    let s = STACK_LARGE.free[class].pop(n);
    if s.is_some() {
        STACK_LARGE.levels[class].get(1);
        STACK_LARGE.kept.set(STACK_LARGE.kept.get() - n);
    }
    unlock(&STACK_LARGE.lock);
    s.map_or_else(|| map(n), Ok)
}

/// Keeps a segment, or gives it back.
pub(super) fn free(s: Stack) {
    let n = s.hi - s.lo;
    let class = size_class(n);
    lock(&STACK_LARGE.lock);
    let keep = STACK_LARGE.kept.get() + n <= LARGE_KEPT;
    if keep {
        STACK_LARGE.free[class].push(s);
        STACK_LARGE.levels[class].put(1);
        STACK_LARGE.kept.set(STACK_LARGE.kept.get() + n);
    }
    unlock(&STACK_LARGE.lock);
    if !keep {
        unmap(s);
    }
}

/// Gives a segment back that nobody has needed; false if there is none.
pub(crate) fn hand_back() -> bool {
    lock(&STACK_LARGE.lock);
    let class = (0..SIZES).find(|&class| STACK_LARGE.levels[class].take(1) == 1);
    let s = class.and_then(|class| STACK_LARGE.free[class].pop(SEGMENT_MIN << class));
    STACK_LARGE.kept.set(STACK_LARGE.kept.get() - s.map_or(0, |s| s.hi - s.lo));
    unlock(&STACK_LARGE.lock);
    s.map(unmap).is_some()
}

/// For each list an interval ends; says whether there is anything on one.
pub(crate) fn age() -> bool {
    lock(&STACK_LARGE.lock);
    STACK_LARGE.levels.iter().for_each(Level::age);
    let any = STACK_LARGE.kept.get() != 0;
    unlock(&STACK_LARGE.lock);
    any
}

/// Maps a segment and its guard; a large one where huge pages can be.
pub(super) fn map(n: usize) -> io::Result<Stack> {
    let page = page_size();
    let (align, advice) = if n < HUGE { (page, Advice::NoHugePage) } else { (HUGE_PAGE, Advice::HugePage) };
    let guards = guard::reserve(1)?;
    let mut mapping = MmapOptions::new().len(align + n).no_reserve_swap().map_anon()?;
    // Kernels without huge pages say EINVAL.
    let _ = mapping.advise(advice);
    let base = mapping.as_mut_ptr().expose_provenance();
    let lo = (base + page).next_multiple_of(align);
    guards.install(ptr::with_exposed_provenance_mut(lo - page), page + n, 1)?;
    std::mem::forget(mapping);
    for (from, to) in [(base, lo - page), (lo + n, base + align + n)] {
        if from != to {
            // SAFETY: a part of the mapping that isn't needed.
            unsafe { libc::munmap(ptr::with_exposed_provenance_mut(from), to - from) };
        }
    }
    Ok(Stack { lo, hi: lo + n })
}

/// Gives a segment of [`map`] back to the system.
fn unmap(s: Stack) {
    let base = s.lo - page_size();
    // SAFETY: map's mapping, which nobody uses.
    unsafe { libc::munmap(ptr::with_exposed_provenance_mut(base), s.hi - base) };
    guard::release(1);
}

/// Makes a segment inaccessible for good: who still has a pointer into it finds out.
pub(super) fn fault(s: Stack) {
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let base = s.lo - page_size();
    let place = ptr::with_exposed_provenance_mut(base);
    // SAFETY: replaces a segment that nobody uses, and its guard.
    if unsafe { libc::mmap(place, s.hi - base, libc::PROT_NONE, flags, -1, 0) } == libc::MAP_FAILED {
        throw("runtime: cannot make a freed stack inaccessible");
    }
    guard::release(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_segments_are_kept_up_to_a_limit() {
        guard::init().unwrap();
        let n = 16 << 20;
        let segments: [Stack; 5] = std::array::from_fn(|_| alloc(n).unwrap());
        for s in segments {
            // SAFETY: the segment is ours.
            unsafe { ptr::with_exposed_provenance_mut::<u8>(s.lo).write(1) };
            free(s);
        }
        assert_eq!(STACK_LARGE.kept.get(), LARGE_KEPT, "the fifth was one too many");
        let again = alloc(n).unwrap();
        assert_eq!((again, STACK_LARGE.kept.get()), (segments[3], LARGE_KEPT - n));
        unmap(again);
    }
}
