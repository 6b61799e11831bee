//! Arenas: address space that pieces of one size are cut from.
//!
//! An arena maps ever larger chunks, and cuts them from one end to the other. A piece is a
//! guard page and what is above it. Nothing is given back: who has done with a piece keeps it
//! for the next.
//!
//! Cutting costs more than handing out: each guard is a system call's work, and the first
//! touch of a page is a fault, unless the kernel is asked to fill in several at once. So pieces
//! are cut by the dozen where many are needed.

use std::cell::Cell;
use std::io;
use std::ptr;

use memmap2::{Advice, MmapOptions};

use crate::lock::rank::{LockRank, lock_init};
use crate::lock::{lock, unlock};
use crate::runtime2::Mutex;
use crate::stack::PAGE;
use crate::stack::guard::{self, advise_each};

/// What [`Arena::cut`] cut: `count` pieces of `stride` bytes, the first page of each a guard.
///
/// ```text
///     base -> [guard][...] [guard][...] ...
/// ```
pub(crate) struct Pieces {
    base: *mut u8,
    stride: usize,
    /// The bytes at the end of each that its user will touch.
    wanted: usize,
    pub(crate) count: usize,
}

impl Pieces {
    /// Piece `i`: its first byte above the guard, and one past its last.
    pub(crate) fn bounds(&self, i: usize) -> (*mut u8, *mut u8) {
        assert!(i < self.count);
        // SAFETY: the piece is within the mapping.
        unsafe {
            let piece = self.base.add(i * self.stride);
            (piece.add(PAGE), piece.add(self.stride))
        }
    }

    /// Has the kernel fill in what is wanted of each now, several at a time, which is cheaper than
    /// a fault for each page.
    fn populate(&self) -> io::Result<()> {
        if self.count == 1 {
            return Ok(());
        }
        // SAFETY: pages of the mapping that nobody uses yet; populating doesn't change what
        // they read as.
        let populated = unsafe {
            let len = self.wanted;
            let first = self.base.add(self.stride - len);
            advise_each(first, len, self.stride, self.count, libc::MADV_POPULATE_WRITE)
        };
        match populated {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => Err(error),
            // An older kernel: the pages will be touched one by one.
            _ => Ok(()),
        }
    }
}

/// Address space to cut from.
pub(crate) struct Arena {
    lock: Mutex,
    /// The first byte that isn't cut yet.
    next: Cell<*mut u8>,
    /// The end of the chunk.
    end: Cell<*mut u8>,
    /// How many pieces the next chunk shall have.
    grow: Cell<usize>,
}

// SAFETY: the cells are touched with the lock held.
unsafe impl Sync for Arena {}

/// Pieces in the first chunk of an arena,
const FIRST_CHUNK: usize = 16;
/// and at most so many bytes in a later one.
const MAX_CHUNK: usize = 1 << 30;

impl Arena {
    /// An arena without a chunk.
    pub(crate) const fn new() -> Self {
        Arena {
            lock: Mutex::new(),
            next: Cell::new(ptr::null_mut()),
            end: Cell::new(ptr::null_mut()),
            grow: Cell::new(FIRST_CHUNK),
        }
    }

    /// Ranks its lock.
    pub(crate) fn init(&self) {
        lock_init(&self.lock, LockRank::STACKPOOL);
    }

    /// Cuts up to `n` pieces of `stride` bytes, at least one, with their guards; they read as
    /// zero. The last `wanted` bytes of each, whole pages, will be used soon. Fails when there is
    /// no address space, no memory, or, if the program asked for that, no guard to be had. The
    /// stride is the same each time.
    pub(crate) fn cut(&self, stride: usize, wanted: usize, n: usize) -> io::Result<Pieces> {
        let guards = guard::reserve(n)?;
        lock(&self.lock);
        let bumped = self.bump(stride, n);
        unlock(&self.lock);
        let (base, count) = bumped?;
        let pieces = Pieces { base, stride, wanted, count };
        guards.install(pieces.base, pieces.stride, pieces.count)?;
        pieces.populate()?;
        Ok(pieces)
    }

    /// Takes up to `n` pieces; returns where they are, and how many. The lock is held.
    fn bump(&self, stride: usize, n: usize) -> io::Result<(*mut u8, usize)> {
        let left = self.end.get().addr() - self.next.get().addr();
        if left < stride {
            self.map(stride)?;
        }
        let base = self.next.get();
        let count = n.min((self.end.get().addr() - base.addr()) / stride);
        // SAFETY: within the chunk.
        self.next.set(unsafe { base.add(count * stride) });
        Ok((base, count))
    }

    /// Maps another chunk, a smaller one if there is no room for as much as we would like.
    fn map(&self, stride: usize) -> io::Result<()> {
        let mut pieces = self.grow.get().min((MAX_CHUNK / stride).max(1));
        let mut chunk = loop {
            // Reserved only: most of it will never be touched.
            match MmapOptions::new().len(pieces * stride).no_reserve_swap().map_anon() {
                Ok(chunk) => break chunk,
                Err(error) if pieces == 1 => return Err(error),
                Err(_) => pieces /= 2,
            }
        };
        // A huge page would be 500 times what a goroutine needs. Kernels without them say
        // EINVAL.
        let _ = chunk.advise(Advice::NoHugePage);
        let len = chunk.len();
        let base = chunk.as_mut_ptr();
        std::mem::forget(chunk);
        // A stack is known by its bounds, and what is made of those is a pointer again.
        base.expose_provenance();
        self.next.set(base);
        // SAFETY: one past the mapping.
        self.end.set(unsafe { base.add(len) });
        self.grow.set(pieces * 2);
        Ok(())
    }
}
