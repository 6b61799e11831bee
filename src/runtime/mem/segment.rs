//! Segments, which copying stacks grow into: Go's `stackalloc`, `stackfree` and `stackcache_clear`.
//!
//! The size of a segment is a power of two, at least a page. A guard page is below it. Where pages
//! are larger than 4 KiB, the sizes below a page don't occur.
//!
//! - Small segments, of 4 to 128 KiB, are cut from arenas, and each P has a list for each size.
//!   (Go's small segments end at 16 KiB: taking a larger one from Go's heap costs less than a
//!   mapping costs here.)
//! - A large segment is a mapping of its own. Some are kept when they are freed, on a list for each
//!   size, until nobody has needed them for a while. The others go back to the system at once.
//!
//! The last word of a free segment is the list's link. It is in the page that the next user touches
//! first.

use std::ffi::CStr;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use memmap2::{Advice, MmapOptions};

use crate::runtime::arch::page_size;
use crate::runtime::arch::tsan;
use crate::runtime::base::debug::efence;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::name_mapping;
use crate::runtime::base::this::{on_goroutine, this_p};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::ext::{BATCH, Level, NUM_STACK_ORDERS};
use crate::runtime::data::runtime2::{Mutex, P, Stack, StackFreeList};
use crate::runtime::lock::rank::{LockRank, lock_init};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::arena::Arena;
use crate::runtime::mem::cache::{Cache, List};
use crate::runtime::mem::sizes::{SEGMENT_MIN, stacklog2};
use crate::runtime::mem::{guard, valgrind};

/// The maximum number of bytes of free segments of one size that a P has, but at least one segment.
/// Also the bytes that are cut at once. Go's `_StackCacheSize`.
const STACK_CACHE_SIZE: usize = 32 << 10;

/// The name of the mappings.
const NAME: &CStr = c"gosched: grown stacks";

/// The maximum number of segments that are cut at once.
const CUT_MAX: usize = 16;

/// Returns the order of small segments of `n` bytes, which is the number of their list; none if
/// such segments are large.
fn order_of(n: usize) -> Option<usize> {
    Some(stacklog2(n / SEGMENT_MIN)).filter(|&order| order < NUM_STACK_ORDERS)
}

/// A list of free segments that all have `n` bytes.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Segments<'a> {
    pub(in crate::runtime) list: &'a StackFreeList,
    pub(in crate::runtime) n: usize,
}

impl List for Segments<'_> {
    type Item = Stack;

    #[inline(always)]
    fn push(self, s: Stack) {
        link(s).set(self.list.list.replace(s.hi));
        self.list.size.set(self.list.size.get() + self.n);
    }

    #[inline(always)]
    fn pop(self) -> Option<Stack> {
        let hi = self.list.list.get();
        if hi == 0 {
            return None;
        }
        let s = Stack { lo: hi - self.n, hi };
        self.list.list.set(link(s).get());
        self.list.size.set(self.list.size.get() - self.n);
        Some(s)
    }
}

/// Returns the last word of a free segment.
fn link(s: Stack) -> &'static Cell<usize> {
    // SAFETY: the word is within a segment that nobody uses, and that isn't unmapped while it is on
    // a list.
    unsafe { &*ptr::with_exposed_provenance((s.hi - size_of::<usize>()) & !7) }
}

/// Free small segments of one size that no P has. Go's `stackpool`.
struct Stackpool {
    mu: Mutex,
    free: StackFreeList,
    level: Level,
    /// How many segments there are, free or not.
    cut: AtomicUsize,
    arena: Arena,
}

// SAFETY: each list is touched with its lock held.
unsafe impl Sync for Stackpool {}
static STACKPOOL: [CachePadded<Stackpool>; NUM_STACK_ORDERS] =
    [pool(0), pool(1), pool(2), pool(3), pool(4), pool(5)];

/// Returns a pool of segments of [`SEGMENT_MIN`]` << order` bytes.
const fn pool(order: usize) -> CachePadded<Stackpool> {
    CachePadded::new(Stackpool {
        mu: Mutex::new(),
        free: StackFreeList::new(),
        level: Level::new(),
        cut: AtomicUsize::new(0),
        arena: Arena::new(SEGMENT_MIN << order, NAME),
    })
}

/// Sets the ranks of the locks.
pub(super) fn init() {
    for pool in &STACKPOOL {
        lock_init(&pool.mu, LockRank::STACKPOOL);
    }
    lock_init(&STACK_LARGE.lock, LockRank::STACK_LARGE);
}

/// Returns how many segments of an order a P takes from the pool or gives to it at once.
fn half(order: usize) -> usize {
    (STACK_CACHE_SIZE / 2 / (SEGMENT_MIN << order)).max(1)
}

/// Returns the free small segments of an order that a P has.
fn local(pp: &P, order: usize) -> Segments<'_> {
    Segments { list: &pp.ext.stackcache[order], n: SEGMENT_MIN << order }
}

/// Small segments of an order.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Small(pub(in crate::runtime) usize);

impl Cache for Small {
    type List = Segments<'static>;

    fn shared(self) -> (&'static Mutex, Self::List, &'static Level) {
        let pool = &STACKPOOL[self.0];
        (&pool.mu, Segments { list: &pool.free, n: SEGMENT_MIN << self.0 }, &pool.level)
    }
}

/// Takes a small segment that no P has, or cuts some. Go's `stackpoolalloc`.
fn stackpoolalloc(order: usize) -> io::Result<Stack> {
    Small(order).take().map_or_else(|| cut_segments(order), Ok)
}

/// Cuts small segments: one for the caller, and the others for the pool.
#[cold]
fn cut_segments(order: usize) -> io::Result<Stack> {
    let (pool, n) = (&STACKPOOL[order], SEGMENT_MIN << order);
    let many = (pool.cut.load(Ordering::Relaxed) / 4).min(CUT_MAX);
    // The goroutine that takes the segment has filled a stack of half the size.
    let wanted = if n == SEGMENT_MIN { n } else { n / 2 };
    let pieces = pool.arena.cut((STACK_CACHE_SIZE / n).max(many).max(1), wanted)?;
    pool.cut.fetch_add(pieces.count, Ordering::Relaxed);
    let piece = |i| {
        let lo = pieces.start(i).addr();
        Stack { lo, hi: lo + n }
    };
    Small(order).give(pieces.count - 1, |list| (1..pieces.count).for_each(|i| list.push(piece(i))));
    Ok(piece(0))
}

/// Gives a small segment to the pool. Go's `stackpoolfree`.
fn stackpoolfree(s: Stack, order: usize) {
    Small(order).give(1, |list| list.push(s));
}

/// Hands back a batch of small segments of one size that nobody has needed. Returns whether there
/// were any.
pub(in crate::runtime) fn hand_back() -> bool {
    (0..NUM_STACK_ORDERS).any(hand_back_order)
}

fn hand_back_order(order: usize) -> bool {
    let (pool, n) = (&STACKPOOL[order], SEGMENT_MIN << order);
    let mut starts = Small(order).surplus(BATCH, |s| s.lo);
    if starts.is_empty() {
        return false;
    }
    let discarded = pool.arena.discard(&mut starts);
    pool.arena.put_back(&mut starts[..discarded]);
    pool.cut.fetch_sub(discarded, Ordering::Relaxed);
    // The memory of the others is locked. They don't count in the level, so that they aren't tried
    // again forever.
    let locked = starts[discarded..].iter().map(|&lo| Stack { lo, hi: lo + n });
    Small(order).give(0, |list| locked.for_each(|s| list.push(s)));
    true
}

/// Takes a segment for a P whose list is empty, and fills half of the list. Fails if no segment can
/// be made. Go's `stackcacherefill`.
#[cold]
fn stackcacherefill(pp: &P, order: usize) -> io::Result<Stack> {
    Small(order).refill(local(pp, order), half(order)).map_or_else(|| cut_segments(order), Ok)
}

/// Gives half of a P's full list to the pool. Go's `stackcacherelease`.
#[cold]
fn stackcacherelease(pp: &P, order: usize) {
    Small(order).spill(local(pp, order), half(order));
}

/// Gives all of a P's free segments to the pools. Go's `stackcache_clear`.
pub(in crate::runtime) fn stackcache_clear(pp: &P) {
    (0..NUM_STACK_ORDERS).for_each(|order| Small(order).spill(local(pp, order), usize::MAX));
}

/// From this size on a segment is worth huge pages: it has at least two, and one is used at once.
const HUGE: usize = 4 << 20;

/// The size of a huge page, or, where pages are larger than 4 KiB, of several pages that share an
/// entry of the TLB.
const HUGE_PAGE: usize = 2 << 20;

/// Bytes of free large segments that are kept, in all.
const LARGE_KEPT: usize = 64 << 20;

/// The maximum number of sizes.
pub(in crate::runtime) const LARGE_SIZES: usize = usize::BITS as usize;

/// Free large segments. Go's `stackLarge`.
struct StackLarge {
    lock: Mutex,
    /// A list for each size: [`SEGMENT_MIN`] and its doubles.
    free: [StackFreeList; LARGE_SIZES],
    levels: [Level; LARGE_SIZES],
    /// The bytes of the segments on all lists, and of segments that are about to be put there.
    kept: AtomicUsize,
}

// SAFETY: lists and levels are touched with the lock held.
unsafe impl Sync for StackLarge {}

static STACK_LARGE: StackLarge = StackLarge {
    lock: Mutex::new(),
    free: [const { StackFreeList::new() }; LARGE_SIZES],
    levels: [const { Level::new() }; LARGE_SIZES],
    kept: AtomicUsize::new(0),
};

/// Large segments of a size, by its number. No P has a list of them.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Large(pub(in crate::runtime) usize);

impl Large {
    /// Returns the cache of segments of `n` bytes.
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
fn alloc_large(n: usize) -> io::Result<Stack> {
    let Some(s) = Large::of(n).take() else { return map(n) };
    STACK_LARGE.kept.fetch_sub(n, Ordering::Relaxed);
    Ok(s)
}

/// Keeps a segment, or gives it back.
fn free_large(s: Stack) {
    let n = s.hi - s.lo;
    if STACK_LARGE.kept.fetch_add(n, Ordering::Relaxed) + n <= LARGE_KEPT {
        Large::of(n).give(1, |list| list.push(s));
    } else {
        STACK_LARGE.kept.fetch_sub(n, Ordering::Relaxed);
        unmap(s);
    }
}

/// Gives back a segment that nobody has needed. Returns false if there is none. Gives back only
/// one, as that may take the kernel a while.
pub(in crate::runtime) fn hand_back_large() -> bool {
    if STACK_LARGE.kept.load(Ordering::Relaxed) == 0 {
        return false;
    }
    // One lock protects all large sizes.
    lock(&STACK_LARGE.lock);
    let unused = (0..LARGE_SIZES).find_map(|class| {
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

/// Maps a segment and its guard. A large segment is mapped where huge pages are possible.
fn map(n: usize) -> io::Result<Stack> {
    let page = page_size();
    let (align, advice) = if n < HUGE { (page, Advice::NoHugePage) } else { (HUGE_PAGE, Advice::HugePage) };
    let mut mapping =
        tsan::ignore_accesses(|| MmapOptions::new().len(align + n).no_reserve_swap().map_anon())?;
    // Kernels without huge pages return EINVAL.
    let _ = mapping.advise(advice);
    name_mapping(mapping.as_ptr(), align + n, NAME);
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
fn fault(s: Stack) {
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

/// Bytes of segments that are in use.
pub(in crate::runtime) static SEGMENT_BYTES: AtomicI64 = AtomicI64::new(0);

/// Allocates a segment of `n` bytes, a power of two and a page at least. Called on g0, or on a
/// thread that isn't ours, because it may need more stack than a goroutine has. Go's `stackalloc`.
pub(in crate::runtime) fn stackalloc(n: usize) -> io::Result<Stack> {
    on_system_stack();
    if !n.is_power_of_two() || n < page_size() {
        throw("stack size not a power of 2");
    }
    let s = match (order_of(n), this_p()) {
        _ if efence() => map(n)?,
        (Some(order), Some(pp)) => local(pp, order).pop().map_or_else(|| stackcacherefill(pp, order), Ok)?,
        (Some(order), None) => stackpoolalloc(order)?,
        (None, _) => alloc_large(n)?,
    };
    SEGMENT_BYTES.fetch_add(n as i64, Ordering::Relaxed);
    Ok(s)
}

/// Frees a segment. Called where [`stackalloc`] may be called. Go's `stackfree`.
pub(in crate::runtime) fn stackfree(s: Stack) {
    on_system_stack();
    let n = s.hi - s.lo;
    if !n.is_power_of_two() {
        throw("stack not a power of 2");
    }
    SEGMENT_BYTES.fetch_sub(n as i64, Ordering::Relaxed);
    if efence() {
        return fault(s);
    }
    match (order_of(n), this_p()) {
        (Some(order), Some(pp)) => {
            let cache = local(pp, order);
            if cache.list.size.get() >= STACK_CACHE_SIZE {
                stackcacherelease(pp, order);
            }
            cache.push(s);
        }
        (Some(order), None) => stackpoolfree(s, order),
        (None, _) => free_large(s),
    }
}

/// Throws: a function that may need more stack than a goroutine has was called on a goroutine's
/// stack. Go's `morestackc`.
#[cold]
fn morestackc() -> ! {
    throw("attempt to execute system stack code on user stack")
}

/// Throws if the caller is on a goroutine's stack.
fn on_system_stack() {
    if on_goroutine() {
        morestackc()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::base::testing::{dies, zeroed};
    use crate::runtime::mem::stackinit;

    fn cached(pp: &P, order: usize) -> usize {
        pp.ext.stackcache[order].size.get()
    }

    fn pooled(order: usize) -> usize {
        STACKPOOL[order].free.size.get()
    }

    /// The lists are the process's: one test, so that nobody else takes from them.
    #[test]
    fn small_segments_go_from_hand_to_hand_by_halves() {
        stackinit().unwrap();
        let pp = zeroed::<P>();
        for order in 0..NUM_STACK_ORDERS {
            let (n, before) = (SEGMENT_MIN << order, pooled(order));
            let s = cut_segments(order).unwrap();
            let more = pooled(order) - before;
            assert!(n + more <= n.max(STACK_CACHE_SIZE) && more.is_multiple_of(n), "{more} more were cut");
            stackpoolfree(s, order);
            let s = stackcacherefill(pp, order).unwrap();
            assert_eq!(n + cached(pp, order), n.max(STACK_CACHE_SIZE / 2));

            assert_eq!((s.hi - s.lo, s.lo % page_size()), (n, 0));
            // SAFETY: the whole segment is ours.
            unsafe { ptr::with_exposed_provenance_mut::<u8>(s.lo).write_bytes(1, n) };
            while cached(pp, order) < STACK_CACHE_SIZE {
                local(pp, order).push(stackpoolalloc(order).unwrap());
            }
            let (full, before) = (cached(pp, order), pooled(order));
            stackcacherelease(pp, order);
            let kept = if n <= STACK_CACHE_SIZE / 2 { STACK_CACHE_SIZE / 2 } else { 0 };
            assert_eq!((cached(pp, order), pooled(order)), (kept, before + full - kept));
            stackpoolfree(s, order);
            assert_eq!(stackpoolalloc(order).unwrap(), s, "what was used last is warm");
        }
        stackcache_clear(pp);
        assert!((0..NUM_STACK_ORDERS).all(|order| cached(pp, order) == 0));
    }

    #[test]
    fn sizes() {
        assert_eq!([1, 2, 3, 4, 1 << 30].map(stacklog2), [0, 1, 1, 2, 30]);
        let orders = [4096, 8192, 131_072, 262_144, 1 << 30].map(order_of);
        assert_eq!(orders, [Some(0), Some(1), Some(5), None, None]);
        assert!(dies(|| stackalloc(5000).is_ok()).contains("fatal error: stack size not a power of 2\n"));
        assert!(
            dies(|| stackfree(Stack { lo: 4096, hi: 4096 + 12_288 })).contains("stack not a power of 2\n")
        );
    }

    #[test]
    fn large_segments_are_kept_up_to_a_limit() {
        guard::init().unwrap();
        let n = 16 << 20;
        let segments: [Stack; 5] = std::array::from_fn(|_| alloc_large(n).unwrap());
        for s in segments {
            // SAFETY: the segment is ours.
            unsafe { ptr::with_exposed_provenance_mut::<u8>(s.lo).write(1) };
            free_large(s);
        }
        assert_eq!(STACK_LARGE.kept.load(Ordering::Relaxed), LARGE_KEPT, "the fifth was one too many");
        let again = alloc_large(n).unwrap();
        assert_eq!((again, STACK_LARGE.kept.load(Ordering::Relaxed)), (segments[3], LARGE_KEPT - n));
        unmap(again);
    }
}
