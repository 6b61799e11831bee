//! Memory for what is recorded: chunks from the kernel, without the allocator, which a goroutine that was interrupted
//! may be in the middle of.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::base::debug::patience;
use crate::runtime::base::os::{nanotime, usleep};
use crate::runtime::data::trace::{Chunk, Record};

/// How many bytes there may be in chunks: some two million records.
const MAX: usize = 64 << 20;

/// How many records there is room for.
pub(super) const MAX_RECORDS: usize = MAX / size_of::<Record>();

/// How many bytes are asked for at once.
const STEP: usize = 1 << 20;

/// How long a thread waits for a chunk at most if there is none, and for how long it sleeps in between: the one that
/// gives them back may have no processor for a while.
const PATIENCE_NS: i64 = 2 * 1000 * 1000 * 1000;
const WAIT_US: u32 = 50;

struct Pool {
    /// Chunks that were given back, linked.
    free: Option<&'static Chunk>,
    /// What is left of the last step.
    rest: &'static mut [u8],
    /// How many bytes were asked for.
    bytes: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { free: None, rest: &mut [], bytes: 0 });

/// A record was lost, as there was no chunk for it.
pub(super) static LOST: AtomicBool = AtomicBool::new(false);

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Memory for a chunk, which reads as zero.
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

/// So many bytes of new memory, for good; those that nobody writes take none.
pub(super) fn map(len: usize) -> io::Result<&'static mut [u8]> {
    let mut memory = mem::ManuallyDrop::new(MmapOptions::new().len(len).no_reserve_swap().map_anon()?);
    let bytes: &mut MmapMut = &mut memory;
    // SAFETY: the mapping is never dropped, and this is the only reference to it.
    Ok(unsafe { &mut *ptr::from_mut::<[u8]>(bytes) })
}

/// An empty chunk. If all are in use, the thread that reads is behind, and this waits for it a while; none if that doesn't
/// help.
pub(super) fn get() -> Option<&'static Chunk> {
    let mut chunk = None;
    wait_while(|| {
        chunk = take();
        chunk.is_none()
    });
    chunk
}

/// Waits while the thread that reads is `behind`; if that takes too long, the trace is lost.
pub(super) fn wait_while(mut behind: impl FnMut() -> bool) {
    // The clock isn't read for who needn't wait.
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
    // SAFETY: it is large enough, and a page's multiple from a page's begin; zero is an empty chunk.
    pool.cut().map(|memory| unsafe { &*memory.as_ptr().cast::<Chunk>() })
}

/// Memory of a chunk's size that reads as zero, for good; none if there is none.
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
