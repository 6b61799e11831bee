//! Memory for records: chunks from the kernel. The allocator isn't used, because an interrupted
//! goroutine may be in the middle of it.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::base::debug::patience;
use crate::runtime::base::os::{nanotime, usleep};
use crate::runtime::data::trace::{Chunk, Record};

/// The maximum number of bytes in chunks: about two million records.
const MAX: usize = 64 << 20;

/// The maximum number of records.
pub(super) const MAX_RECORDS: usize = MAX / size_of::<Record>();

/// The number of bytes to map at once.
const STEP: usize = 1 << 20;

/// The maximum time that a thread waits for a chunk if there is none, and the time it sleeps
/// between two tries. The thread that gives chunks back may have no processor for a while.
const PATIENCE_NS: i64 = 2 * 1000 * 1000 * 1000;
const WAIT_US: u32 = 50;

struct Pool {
    /// Chunks that were given back, linked.
    free: Option<&'static Chunk>,
    /// The rest of the last mapping.
    rest: &'static mut [u8],
    /// The number of bytes mapped.
    bytes: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { free: None, rest: &mut [], bytes: 0 });

/// Whether a record was lost because there was no chunk for it.
pub(super) static LOST: AtomicBool = AtomicBool::new(false);

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Cuts off zeroed memory for a chunk.
    fn cut(&mut self) -> Option<&'static mut [u8]> {
        if self.rest.len() < Chunk::SIZE {
            if self.bytes == MAX {
                return None;
            }
            self.rest = map(STEP).ok()?;
            self.bytes += STEP;
        }
        let (chunk, rest) = mem::take(&mut self.rest).split_at_mut(Chunk::SIZE);
        self.rest = rest;
        Some(chunk)
    }
}

/// Maps `len` bytes of new memory, which are never unmapped. Pages that are never written use no
/// memory.
pub(super) fn map(len: usize) -> io::Result<&'static mut [u8]> {
    let mut memory = mem::ManuallyDrop::new(MmapOptions::new().len(len).no_reserve_swap().map_anon()?);
    let bytes: &mut MmapMut = &mut memory;
    // SAFETY: the mapping is never dropped, and this is the only reference to it.
    Ok(unsafe { &mut *ptr::from_mut::<[u8]>(bytes) })
}

/// Returns an empty chunk. If all chunks are in use, the thread that reads is behind: this waits
/// for it for a while, and returns none if that doesn't help.
pub(super) fn get() -> Option<&'static Chunk> {
    let mut chunk = None;
    wait_while(|| {
        chunk = take();
        chunk.is_none()
    });
    chunk
}

/// Waits while the thread that reads is `behind`. If that takes too long, the trace is lost.
pub(super) fn wait_while(mut behind: impl FnMut() -> bool) {
    // A caller that needn't wait doesn't read the clock.
    let mut limit = None;
    while behind() && !LOST.load(Ordering::Relaxed) {
        if nanotime() > *limit.get_or_insert_with(|| nanotime() + patience(PATIENCE_NS)) {
            return LOST.store(true, Ordering::Relaxed);
        }
        usleep(WAIT_US);
    }
}

fn take() -> Option<&'static Chunk> {
    let mut pool = pool();
    if let Some(chunk) = pool.free {
        // SAFETY: the list links chunks, which are never unmapped.
        pool.free = unsafe { chunk.next.load(Ordering::Relaxed).as_ref() };
        chunk.next.store(ptr::null_mut(), Ordering::Relaxed);
        return Some(chunk);
    }
    // SAFETY: the memory is large enough, and aligned, at a multiple of a chunk's size from the
    // start of a page. Zero is an empty chunk.
    pool.cut().map(|memory| unsafe { &*memory.as_ptr().cast::<Chunk>() })
}

/// Returns zeroed memory of a chunk's size, which is never given back; none if there is no memory.
pub(super) fn block() -> Option<&'static mut [u8]> {
    pool().cut()
}

/// Gives back a chunk that nobody writes or reads any more.
pub(super) fn put(chunk: &'static Chunk) {
    chunk.len.store(0, Ordering::Relaxed);
    let mut pool = pool();
    let next = pool.free.map_or(ptr::null_mut(), |next| ptr::from_ref(next).cast_mut());
    chunk.next.store(next, Ordering::Relaxed);
    pool.free = Some(chunk);
}

const _: () =
    assert!(size_of::<AtomicPtr<Chunk>>() + size_of::<AtomicU32>() <= 16 && STEP.is_multiple_of(Chunk::SIZE));
