//! Arenas: address space that pieces of one size are cut from.
//!
//! An arena maps ever larger chunks, and a bit for each piece of a chunk says whether it is free.
//! The memory of a piece that comes back goes to the kernel: then it is as it was before it was
//! cut, and reads as zero.
//!
//! A piece of a page or more begins with a guard page. The guard is removed with the rest of the
//! piece if that is cheap. A guard that stays keeps its page table alive: half a KiB for each
//! goroutine whose stack has a room of 256 KiB. A page that several small pieces share goes to the
//! kernel with the last of them, and so does a page table that several larger pieces share.
//!
//! Cutting a piece costs more than taking one from a list. Its guard takes a system call, and the
//! first touch of a page is a fault, unless the kernel is asked to fill in several pages at once.
//! So pieces are cut by the dozen where many are needed.

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::io;
use std::iter;
use std::ops::Range;
use std::ptr;

use memmap2::{Advice, MmapOptions};

use crate::runtime::arch::page_size;
use crate::runtime::arch::sanitizer::holds_roots;
use crate::runtime::arch::tsan;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::name_mapping;
use crate::runtime::data::runtime2::{Mutex, Stack};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::guard::{self, Guards};
use crate::runtime::mem::pages::advise_each;
use crate::runtime::mem::sizes::PAGE_MIN;
use crate::runtime::mem::valgrind;

/// Returns how many bytes one page table maps. The table is itself a page of entries of 8 bytes: it
/// maps 2 MiB, or with larger pages 32 or 512 MiB.
fn page_table() -> usize {
    page_size() / 8 * page_size()
}

/// The result of [`Arena::cut`]: `count` pieces at a distance of `stride` bytes, each with `guard`
/// bytes of guard page at its low end, or none.
///
/// ```text
///     base -> [guard][...] [guard][...] ...
/// ```
pub(in crate::runtime) struct Pieces {
    base: *mut u8,
    guard: usize,
    stride: usize,
    pub(in crate::runtime) count: usize,
}

impl Pieces {
    /// Returns the start of piece `i`: its first byte above the guard.
    pub(in crate::runtime) fn start(&self, i: usize) -> *mut u8 {
        assert!(i < self.count);
        // SAFETY: the pieces are within one mapping, and there is a piece `i`.
        unsafe { self.base.add(i * self.stride + self.guard) }
    }

    /// Makes the kernel fill in the last `wanted` bytes of each piece now, which is cheaper than a
    /// fault for each page.
    fn populate(&self, wanted: usize) -> io::Result<()> {
        if self.count == 1 || wanted == 0 {
            return Ok(());
        }
        let wanted = wanted.next_multiple_of(page_size());
        let ends = (1..=self.count).map(|i| self.base.addr() + i * self.stride);
        // SAFETY: pages of the mapping that nobody uses yet; populating doesn't change what they
        // read as.
        match unsafe { advise_each(ends.map(|end| end - wanted..end), libc::MADV_POPULATE_WRITE) } {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => Err(error),
            // An older kernel refuses. Then the first touch of each page is a fault.
            _ => Ok(()),
        }
    }
}

/// A mapping that pieces are cut from.
struct Chunk {
    base: *mut u8,
    /// A bit for each piece: whether it is free.
    free: Box<[u64]>,
    /// How many pieces are free.
    count: usize,
    /// The first of the pieces at the end that were never cut.
    fresh: usize,
    /// How many pieces there are.
    len: usize,
}

impl Chunk {
    /// Returns a chunk of the pieces from `base` on, all free.
    fn new(base: *mut u8, len: usize) -> io::Result<Self> {
        let mut free = Vec::new();
        free.try_reserve_exact(len.div_ceil(64)).map_err(|_| io::ErrorKind::OutOfMemory)?;
        free.resize(len.div_ceil(64), u64::MAX);
        Ok(Chunk { base, free: free.into(), count: len, fresh: 0, len })
    }

    fn is_free(&self, i: usize) -> bool {
        i < self.len && self.free[i / 64] >> (i % 64) & 1 != 0
    }

    /// Returns the first free piece and the free pieces right behind it, at most `n`. If the first
    /// was cut before, the range ends before pieces that never were. There is a free piece.
    fn first(&self, n: usize) -> Range<usize> {
        let word = self.free.iter().position(|&word| word != 0).unwrap_or(0);
        let start = word * 64 + self.free[word].trailing_zeros() as usize;
        let end = if start < self.fresh { self.fresh } else { self.len };
        let free = (start..end.min(start + n)).take_while(|&i| self.is_free(i));
        start..start + free.count()
    }

    fn take(&mut self, pieces: Range<usize>) {
        self.count -= pieces.len();
        self.fresh = self.fresh.max(pieces.end);
        pieces.for_each(|i| self.free[i / 64] &= !(1 << (i % 64)));
    }

    fn put_back(&mut self, i: usize) {
        self.count += 1;
        self.free[i / 64] |= 1 << (i % 64);
    }

    /// Returns the piece that contains an address; none if the address is in another chunk.
    fn piece(&self, addr: usize, stride: usize) -> Option<usize> {
        let i = addr.checked_sub(self.base.addr())? / stride;
        (i < self.len).then_some(i)
    }

    /// Returns the whole `unit`s of addresses that contain a part of piece `i` and no piece in use.
    fn unused(&self, i: usize, stride: usize, unit: usize) -> Range<usize> {
        let base = self.base.addr();
        let (lo, hi) = (base + i * stride, base + (i + 1) * stride);
        let (down, up) = (lo / unit * unit, hi.next_multiple_of(unit));
        let below = down >= base && ((down - base) / stride..i).rev().all(|i| self.is_free(i));
        let above = (i + 1..(up - base).div_ceil(stride)).all(|i| self.is_free(i));
        let start = if below { down } else { lo.next_multiple_of(unit) };
        start..if above { up } else { hi / unit * unit }
    }
}

/// Address space that pieces of one size are cut from.
pub struct Arena {
    /// A leaf: no other lock is taken under it.
    lock: Mutex,
    /// The bytes of a piece.
    pub(in crate::runtime) size: usize,
    /// Whether a piece without a guard is an error in any case.
    pub(in crate::runtime) strict: bool,
    /// The name of its mappings in `/proc/self/maps`.
    name: &'static CStr,
    /// The mappings, the oldest first.
    chunks: UnsafeCell<Vec<Chunk>>,
}

// SAFETY: the chunks are only used with the lock held.
unsafe impl Sync for Arena {}

/// How many pieces an arena's first chunk has, or pages if the pieces are smaller than a page.
const FIRST_CHUNK: usize = 16;
/// The maximum size of a chunk in bytes, unless one piece has more.
const MAX_CHUNK: usize = 1 << 30;
/// The maximum number of pieces of a chunk.
const MAX_PIECES: usize = 1 << 17;

impl Arena {
    /// Returns an arena of pieces of `size` bytes, whose mappings have this name. A piece of 4 KiB
    /// or more has pages of its own.
    pub(in crate::runtime) const fn new(size: usize, name: &'static CStr) -> Self {
        Arena { lock: Mutex::new(), size, strict: false, name, chunks: UnsafeCell::new(Vec::new()) }
    }

    /// Returns the bytes of guard below a piece.
    fn guard_size(&self) -> usize {
        if self.size < PAGE_MIN { 0 } else { page_size() }
    }

    /// Returns the distance from a piece to the next, in bytes.
    fn stride(&self) -> usize {
        match self.guard_size() {
            0 => self.size,
            page => page + self.size.next_multiple_of(page),
        }
    }

    /// Cuts up to `n` pieces, at least one, with their guards. The last `wanted` bytes of each are
    /// used soon. Pieces of whole pages read as zero; smaller ones read as zero or as they were
    /// when they were put back. Fails if there is no address space or memory, or no guard where
    /// there must be one.
    pub(in crate::runtime) fn cut(&self, n: usize, wanted: usize) -> io::Result<Pieces> {
        lock(&self.lock);
        let taken = self.take(n);
        unlock(&self.lock);
        let (pieces, guards) = taken?;
        let guarded = match pieces.guard {
            0 => Ok(()),
            _ => guards.install(pieces.base, pieces.stride, pieces.count, self.strict),
        };
        if let Err(error) = guarded.and_then(|()| pieces.populate(wanted)) {
            (0..pieces.count).for_each(|i| self.put_back(&mut [pieces.start(i).addr()]));
            return Err(error);
        }
        Ok(pieces)
    }

    /// Takes up to `n` pieces, and the right to make their guards. Called by [`cut`](Self::cut),
    /// with the lock held.
    fn take(&self, n: usize) -> io::Result<(Pieces, Guards)> {
        let (guard, stride) = (self.guard_size(), self.stride());
        // SAFETY: cut holds the lock, and nothing else here refers to the chunks.
        let chunks = unsafe { &mut *self.chunks.get() };
        let i = match chunks.iter().position(|chunk| chunk.count > 0) {
            Some(i) => i,
            None => {
                chunks.try_reserve(1).map_err(|_| io::ErrorKind::OutOfMemory)?;
                chunks.push(map(stride, chunks.last().map_or(0, |last| last.len), self.name)?);
                chunks.len() - 1
            }
        };
        let chunk = &mut chunks[i];
        let taken = chunk.first(n);
        let guards = match guard {
            0 => Guards::None,
            _ if taken.start < chunk.fresh => guard::again(),
            _ => guard::reserve(taken.len(), self.strict)?,
        };
        // SAFETY: the chunk has a piece `taken.start`.
        let base = unsafe { chunk.base.add(taken.start * stride) };
        let pieces = Pieces { base, guard, stride, count: taken.len() };
        // A piece with a guard is for a stack. It will never be anything else, nor be unmapped, so
        // registering it once is enough.
        if guard != 0 && taken.start >= chunk.fresh {
            for i in 0..pieces.count {
                let lo = pieces.start(i).addr();
                valgrind::register(Stack { lo, hi: lo + self.size });
            }
        }
        chunk.take(taken);
        Ok((pieces, guards))
    }

    /// Hands the memory of pieces to the kernel. Also removes their guards, if these cost nothing
    /// to make again. The pieces, given by their starts, are whole pages that nobody uses. Memory
    /// that the program has locked stays as it is. Moves the starts of the pieces that read as zero
    /// now to the front, and returns how many there are.
    pub(in crate::runtime) fn discard(&self, starts: &mut [usize]) -> usize {
        let (guard, stride) = (self.guard_size(), self.stride());
        starts.sort_unstable();
        let discard = |starts: &[usize]| {
            let runs = starts.chunk_by(|start, next| start + stride == *next);
            let runs = runs.map(|run| run[0]..run[run.len() - 1] + stride - guard);
            // SAFETY: pages that nobody uses, as the caller says. The guards in between aren't
            // affected.
            let discarded = unsafe { advise_each(runs, libc::MADV_DONTNEED) };
            let guards = starts.iter().map(|start| start - guard..*start);
            discarded.map(|()| guard::remove(guards)).is_ok()
        };
        if discard(starts) {
            return starts.len();
        }
        // Except for its guard, a piece is in one mapping, so it is locked as a whole or not at
        // all.
        let mut done = 0;
        for i in 0..starts.len() {
            if discard(&starts[i..=i]) {
                starts.swap(done, i);
                done += 1;
            }
        }
        done
    }

    /// Puts back pieces that nobody uses, given by their starts. Those of a page or more were
    /// discarded.
    pub(super) fn put_back(&self, starts: &mut [usize]) {
        let stride = self.stride();
        let unit = if self.guard_size() == 0 { page_size() } else { page_table() };
        starts.sort_unstable();
        lock(&self.lock);
        // SAFETY: the lock is held, and nothing else here refers to the chunks.
        let chunks = unsafe { &mut *self.chunks.get() };
        // As a rule a piece is in the same chunk as the one before.
        let mut at = 0;
        let mut find = |chunks: &mut [Chunk], start| {
            let in_chunk = |at: &usize| chunks[*at].piece(start, stride).is_some();
            at = iter::once(at).chain(0..chunks.len()).find(in_chunk)?;
            Some((at, chunks[at].piece(start, stride)?))
        };
        for &start in &*starts {
            let Some((at, i)) = find(chunks, start) else { throw("a piece of no arena") };
            chunks[at].put_back(i);
        }
        let mut done = 0;
        for &start in &*starts {
            let Some((at, i)) = find(chunks, start) else { continue };
            let Range { start, end } = chunks[at].unused(i, stride, unit);
            let start = start.max(done);
            if start < end {
                // SAFETY: free pieces, which nobody can take while the lock is held. Memory that
                // the program has locked stays as it is.
                unsafe {
                    libc::madvise(ptr::with_exposed_provenance_mut(start), end - start, libc::MADV_DONTNEED)
                };
                done = end;
            }
        }
        unlock(&self.lock);
    }
}

/// Maps a chunk for twice as many pieces as the last chunk had, or for fewer if the address space
/// is short.
fn map(stride: usize, last: usize, name: &'static CStr) -> io::Result<Chunk> {
    let first = FIRST_CHUNK.max(FIRST_CHUNK * page_size() / stride);
    let mut len = (last * 2).max(first).min((MAX_CHUNK / stride).clamp(1, MAX_PIECES));
    let mut mapping = loop {
        // Reserved only: most of it will never be touched.
        match tsan::ignore_accesses(|| MmapOptions::new().len(len * stride).no_reserve_swap().map_anon()) {
            Ok(mapping) => break mapping,
            Err(error) if len == 1 => return Err(error),
            Err(_) => len /= 2,
        }
    };
    // A huge page would be 500 times as large as a goroutine needs. Kernels without huge pages
    // return EINVAL.
    let _ = mapping.advise(Advice::NoHugePage);
    name_mapping(mapping.as_ptr(), len * stride, name);
    let base = mapping.as_mut_ptr();
    let chunk = Chunk::new(base, len)?;
    std::mem::forget(mapping);
    holds_roots(base, len * stride);
    // A stack is given by its bounds, as two addresses, from which pointers are made later.
    base.expose_provenance();
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words of a piece of `len` bytes.
    fn words(start: *mut u8, len: usize) -> &'static mut [usize] {
        // SAFETY: the test has cut the piece, and looks at it through one slice at a time.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), len / size_of::<usize>()) }
    }

    #[test]
    fn pages_come_back_as_zero() {
        guard::init().unwrap();
        let len = 2 * page_size();
        let arena = Arena::new(len, c"gosched: test");
        let first = arena.cut(8, 1).unwrap();
        assert_eq!(first.count, 8);
        (0..8).for_each(|i| words(first.start(i), len).fill(i + 1));
        let mut starts: Vec<usize> = [6, 2, 3, 4].map(|i| first.start(i).addr()).into();
        assert_eq!(arena.discard(&mut starts), 4);
        arena.put_back(&mut starts);

        // Adjacent pieces are cut together, and before pieces that were never cut.
        let counts: [usize; 3] = std::array::from_fn(|_| {
            let again = arena.cut(8, 1).unwrap();
            for i in 0..again.count {
                let words = words(again.start(i), len);
                assert!(words.iter().all(|&word| word == 0), "not as fresh");
                words.fill(100);
            }
            again.count
        });
        assert_eq!(counts, [3, 1, 8]);
        for i in [0, 1, 5, 7] {
            assert!(words(first.start(i), len).iter().all(|&word| word == i + 1));
        }
    }

    #[test]
    fn a_page_goes_with_the_last_of_its_pieces() {
        const SIZE: usize = 88;
        const PAGES: usize = 5;
        let page = page_size();
        let arena = Arena::new(SIZE, c"gosched: test");
        let cut = arena.cut((PAGES * page).div_ceil(SIZE), 0).unwrap();
        (0..cut.count).for_each(|i| words(cut.start(i), SIZE).fill(i + 1));
        let start = |i: usize| cut.start(i).addr();
        // A page that has gone reads as zero.
        let there = || (0..PAGES).map(|i| words(cut.start(0).wrapping_add(i * page), page)[0] != 0);
        let third = 2 * page / SIZE;
        // All pieces with a part in the second or the third page, except one in the middle.
        let mut starts: Vec<usize> =
            (page / SIZE..=3 * page / SIZE).filter(|&i| i != third).map(start).collect();
        arena.put_back(&mut starts);
        assert!(there().eq([true; PAGES]));
        arena.put_back(&mut [start(third)]);
        assert!(there().eq([true, false, false, true, true]));
        assert_eq!(words(cut.start(45), SIZE)[0], 46);
    }
}
