//! Home pages: where they come from.
//!
//! For each kind of stack there is an arena: address space reserved in ever larger chunks,
//! of which home pages are cut one after the other, each with its room and its guard page
//! below. Nothing is given back: a G lives on in its page and is used again.
//!
//! Cutting costs more than handing out: each guard is a system call's work, and the first
//! touch of a page is a fault, unless the kernel is asked to fill in several at once. So
//! they are cut by the dozen while many are being made (see `malg`).

use std::cell::Cell;
use std::io;
use std::ptr;

use memmap2::{Advice, MmapOptions};

use crate::lock::rank::{LockRank, lock_init};
use crate::lock::{lock, unlock};
use crate::runtime2::{G, Mutex, StackKind};
use crate::stack::guard::{self, advise_each};
use crate::stack::{PAGE, ROOM_CLASSES, STACK_MIN, room_size};

/// What [`cut`] cut: `count` pieces of `stride` bytes.
///
/// ```text
///     base -> [guard][room][home] [guard][room][home] ...
/// ```
pub(crate) struct Homes {
    base: *mut u8,
    stride: usize,
    pub(crate) count: usize,
}

impl Homes {
    /// The G of piece `i`, in the upper half of its home, and the low end of its stack.
    pub(crate) fn home(&self, i: usize) -> (&'static G, usize) {
        assert!(i < self.count);
        // SAFETY: the piece is within the mapping, which is never unmapped; its home page is
        // zero, as a G may be, and aligned.
        unsafe {
            let piece = self.base.add(i * self.stride);
            let g = piece.add(self.stride - PAGE + STACK_MIN).cast::<G>();
            (&*g, piece.addr() + PAGE)
        }
    }
}

/// Address space to cut from.
struct Arena {
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

/// One for the copying G's, and one for each size of room.
static ARENAS: [Arena; ROOM_CLASSES + 1] = [const {
    Arena {
        lock: Mutex::new(),
        next: Cell::new(ptr::null_mut()),
        end: Cell::new(ptr::null_mut()),
        grow: Cell::new(FIRST_CHUNK),
    }
}; ROOM_CLASSES + 1];

/// Ranks the arenas' locks.
pub(crate) fn init() {
    for arena in &ARENAS {
        lock_init(&arena.lock, LockRank::STACKPOOL);
    }
}

/// Cuts up to `n` home pages of this kind, at least one, with their guards; their pages read
/// as zero. Fails when there is no address space, no memory, or, if the program asked for
/// that, no guard to be had.
pub(crate) fn cut(kind: StackKind, n: usize) -> io::Result<Homes> {
    let guards = guard::reserve(n)?;
    let stride = PAGE + room_size(kind) + PAGE;
    let arena = &ARENAS[match kind {
        StackKind::Copying => ROOM_CLASSES,
        StackKind::Fixed(room) => usize::from(room),
    }];
    lock(&arena.lock);
    let bumped = arena.bump(stride, n);
    unlock(&arena.lock);
    let homes = bumped?;
    guards.install(homes.base, homes.stride, homes.count)?;
    homes.populate()?;
    Ok(homes)
}

impl Arena {
    /// Takes up to `n` pieces. The lock is held.
    fn bump(&self, stride: usize, n: usize) -> io::Result<Homes> {
        let left = self.end.get().addr() - self.next.get().addr();
        if left < stride {
            self.map(stride)?;
        }
        let base = self.next.get();
        let count = n.min((self.end.get().addr() - base.addr()) / stride);
        // SAFETY: within the chunk.
        self.next.set(unsafe { base.add(count * stride) });
        Ok(Homes { base, stride, count })
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
        self.next.set(base);
        // SAFETY: one past the mapping.
        self.end.set(unsafe { base.add(len) });
        self.grow.set(pieces * 2);
        Ok(())
    }
}

impl Homes {
    /// Has the kernel fill in the home pages now, several at a time, which is cheaper than a
    /// fault for each.
    fn populate(&self) -> io::Result<()> {
        if self.count == 1 {
            return Ok(());
        }
        // SAFETY: pages of the mapping that nobody uses yet; populating doesn't change what
        // they read as.
        let populated = unsafe {
            let first = self.base.add(self.stride - PAGE);
            advise_each(first, self.stride, self.count, libc::MADV_POPULATE_WRITE)
        };
        match populated {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => Err(error),
            // An older kernel: the pages will be touched one by one.
            _ => Ok(()),
        }
    }
}
