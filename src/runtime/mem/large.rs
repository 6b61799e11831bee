//! Large segments: a mapping for each.
//!
//! Some are kept when they are freed, on a list for each size; the others go back to the system at
//! once, and those on a list when nobody has needed them for a while.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::{Advice, MmapOptions};

use crate::runtime::arch::page_size;
use crate::runtime::arch::sanitizer::unseen;
use crate::runtime::base::fatal::throw;
use crate::runtime::data::level::Level;
use crate::runtime::data::runtime2::{Mutex, Stack, StackFreeList};
use crate::runtime::lock::rank::{LockRank, lock_init};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::cache::{Cache, List};
use crate::runtime::mem::guard;
use crate::runtime::mem::segment::Segments;
use crate::runtime::mem::sizes::{SEGMENT_MIN, stacklog2};
use crate::runtime::mem::valgrind;

/// From this size on a segment is worth huge pages: two at least, of which one is used at once.
const HUGE: usize = 4 << 20;

/// The size of a huge page, or, where pages are larger than 4 KiB, of several that a TLB can have
/// in one entry.
const HUGE_PAGE: usize = 2 << 20;

/// Bytes of free large segments that are kept, in all.
const LARGE_KEPT: usize = 64 << 20;

/// How many sizes there may be.
pub(in crate::runtime) const SIZES: usize = usize::BITS as usize;

/// Free large segments. Go's `stackLarge`.
struct StackLarge {
    lock: Mutex,
    /// A list for each size: [`SEGMENT_MIN`] and its doubles.
    free: [StackFreeList; SIZES],
    levels: [Level; SIZES],
    /// The bytes on all lists, and of what is about to be put there.
    kept: AtomicUsize,
}

// SAFETY: lists and levels are touched with the lock held.
unsafe impl Sync for StackLarge {}

static STACK_LARGE: StackLarge = StackLarge {
    lock: Mutex::new(),
    free: [const { StackFreeList::new() }; SIZES],
    levels: [const { Level::new() }; SIZES],
    kept: AtomicUsize::new(0),
};

/// Ranks the lock.
pub(super) fn init() {
    lock_init(&STACK_LARGE.lock, LockRank::STACK_LARGE);
}

/// Large segments of a size, by its number. No P has a list of them.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Large(pub(in crate::runtime) usize);

impl Large {
    /// The cache of those of `n` bytes.
    fn of(n: usize) -> Self {
        Large(stacklog2(n / SEGMENT_MIN))
    }
}

impl Cache for Large {
    type List = Segments<'static>;

    fn shared(self) -> (&'static Mutex, Self::List, &'static Level) {
        let list = Segments { list: &STACK_LARGE.free[self.0], n: SEGMENT_MIN << self.0 };
        (&STACK_LARGE.lock, list, &STACK_LARGE.levels[self.0])
    }
}

/// Takes a segment of `n` bytes, a power of two, that was kept, or maps one.
pub(super) fn alloc(n: usize) -> io::Result<Stack> {
    let Some(s) = Large::of(n).take() else { return map(n) };
    STACK_LARGE.kept.fetch_sub(n, Ordering::Relaxed);
    Ok(s)
}

/// Keeps a segment, or gives it back.
pub(super) fn free(s: Stack) {
    let n = s.hi - s.lo;
    if STACK_LARGE.kept.fetch_add(n, Ordering::Relaxed) + n <= LARGE_KEPT {
        Large::of(n).give(1, |list| list.push(s));
    } else {
        STACK_LARGE.kept.fetch_sub(n, Ordering::Relaxed);
        unmap(s);
    }
}

/// Gives a segment back that nobody has needed; false if there is none. One at a time: it may take
/// the kernel a while.
pub(in crate::runtime) fn hand_back() -> bool {
    if STACK_LARGE.kept.load(Ordering::Relaxed) == 0 {
        return false;
    }
    // One lock protects all of them.
    lock(&STACK_LARGE.lock);
    let unused = (0..SIZES).find_map(|class| {
        let (_, list, level) = Large(class).shared();
        if level.take(1) != 0 { list.pop() } else { None }
    });
    unlock(&STACK_LARGE.lock);
    if let Some(s) = unused {
        STACK_LARGE.kept.fetch_sub(s.hi - s.lo, Ordering::Relaxed);
        unmap(s);
    }
    unused.is_some()
}

/// Maps a segment and its guard; a large one where huge pages can be.
pub(super) fn map(n: usize) -> io::Result<Stack> {
    let page = page_size();
    let (align, advice) = if n < HUGE { (page, Advice::NoHugePage) } else { (HUGE_PAGE, Advice::HugePage) };
    let mut mapping = unseen(|| MmapOptions::new().len(align + n).no_reserve_swap().map_anon())?;
    // Kernels without huge pages say EINVAL.
    let _ = mapping.advise(advice);
    let base = mapping.as_mut_ptr().expose_provenance();
    let lo = (base + page).next_multiple_of(align);
    guard::reserve(1, false)?.install(ptr::with_exposed_provenance_mut(lo - page), page + n, 1, false)?;
    std::mem::forget(mapping);
    for (from, to) in [(base, lo - page), (lo + n, base + align + n)] {
        if from != to {
            // SAFETY: a part of the mapping that isn't needed.
            unsafe { libc::munmap(ptr::with_exposed_provenance_mut(from), to - from) };
        }
    }
    let s = Stack { lo, hi: lo + n };
    valgrind::register_mapped(s);
    Ok(s)
}

/// Gives a segment of [`map`] back to the system.
fn unmap(s: Stack) {
    let base = s.lo - page_size();
    valgrind::deregister(s);
    guard::release(base);
    // SAFETY: map's mapping, which nobody uses.
    unsafe { libc::munmap(ptr::with_exposed_provenance_mut(base), s.hi - base) };
}

/// Makes a segment inaccessible for good, so that a use of a pointer into it faults.
pub(super) fn fault(s: Stack) {
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let base = s.lo - page_size();
    let place = ptr::with_exposed_provenance_mut(base);
    valgrind::deregister(s);
    guard::release(base);
    // SAFETY: replaces a segment that nobody uses, and its guard.
    if unsafe { libc::mmap(place, s.hi - base, libc::PROT_NONE, flags, -1, 0) } == libc::MAP_FAILED {
        throw("runtime: cannot make a freed stack inaccessible");
    }
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
        assert_eq!(STACK_LARGE.kept.load(Ordering::Relaxed), LARGE_KEPT, "the fifth was one too many");
        let again = alloc(n).unwrap();
        assert_eq!((again, STACK_LARGE.kept.load(Ordering::Relaxed)), (segments[3], LARGE_KEPT - n));
        unmap(again);
    }
}
