//! The buffers of records, and their memory. Each M has a buffer, and all other threads share one.
//!
//! An M that has a P writes to its buffer without a lock: no other thread writes to that buffer,
//! and the world is stopped when the start of a trace empties the buffers. A stop of the world
//! doesn't wait for threads without a P, so those write under a lock.
//!
//! Buffers consist of chunks, from the kernel. The allocator isn't used, because an interrupted
//! goroutine may be in the middle of it.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::base::debug::patience;
use crate::runtime::base::os::{name_mapping, nanotime, usleep};
use crate::runtime::data::runtime2::M;
use crate::runtime::data::trace::{Chunk, Kind, Record, TraceBuffer};
use crate::runtime::trace::recorder::Note;

/// The buffer of threads that have no M.
struct Foreign(TraceBuffer);

// SAFETY: only the holder of `WITHOUT_P` writes to it. The reader treats it like all other buffers.
unsafe impl Sync for Foreign {}

static FOREIGN: Foreign = Foreign(TraceBuffer::new());

/// Held by a thread that records without a P.
static WITHOUT_P: Mutex<()> = Mutex::new(());

/// The number of the last buffer of an M.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// The buffer that was listed last. The others follow through its links.
static ALL: AtomicPtr<TraceBuffer> = AtomicPtr::new(ptr::null_mut());

/// Keeps threads without a P from recording.
pub(super) fn without_p() -> MutexGuard<'static, ()> {
    WITHOUT_P.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the buffer of `m`, or the shared buffer of threads that have no M. Adds it to the list
/// of all buffers if it isn't there. The caller may write to the buffer, or `m` waits for the
/// caller.
pub(super) fn buffer_of(m: Option<&M>) -> &'static TraceBuffer {
    // SAFETY: M's are never freed.
    let buffer = m.map_or(&FOREIGN.0, |mp| unsafe { &*ptr::from_ref(&mp.ext.trace_buffer) });
    if !buffer.writer.listed.get() {
        buffer.writer.listed.set(true);
        buffer.writer.number.set(m.map_or(0, |_| LAST.fetch_add(1, Ordering::Relaxed) + 1));
        let mut head = ALL.load(Ordering::Relaxed);
        loop {
            // SAFETY: a listed buffer is an M's or a static, so it is never freed.
            buffer.writer.next.set(unsafe { head.as_ref() });
            let this = ptr::from_ref(buffer).cast_mut();
            // Release pairs with the acquire in all_buffers: a thread that finds the buffer sees
            // its contents.
            match ALL.compare_exchange_weak(head, this, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
    }
    buffer
}

/// All buffers in which something was recorded.
pub(super) fn all_buffers() -> impl Iterator<Item = &'static TraceBuffer> {
    // SAFETY: as in buffer_of.
    let first = unsafe { ALL.load(Ordering::Acquire).as_ref() };
    std::iter::successors(first, |buffer| buffer.writer.next.get())
}

/// Adds a record. Returns false if there is no room. The caller may write to the buffer.
#[inline(always)]
pub(super) fn push(buffer: &TraceBuffer, record: Record) -> bool {
    let writer = &buffer.writer;
    let (chunk, len) = match writer.chunk.get() {
        Some(chunk) if writer.len.get() < Chunk::LEN => (chunk, writer.len.get()),
        full => match next_chunk(buffer, full) {
            Some(chunk) => (chunk, 0),
            None => return false,
        },
    };
    // SAFETY: only this thread uses this place until `len` says that it is filled.
    unsafe { (*chunk.records[len].get()).write(record) };
    // Release pairs with the acquire in refresh.
    chunk.len.store(len as u32 + 1, Ordering::Release);
    writer.len.set(len + 1);
    writer.written.set(writer.written.get() + 1);
    true
}

#[cold]
#[inline(never)]
fn next_chunk(buffer: &TraceBuffer, full: Option<&'static Chunk>) -> Option<&'static Chunk> {
    let chunk = get_chunk()?;
    let link = full.map_or(&buffer.reader.first, |full| &full.next);
    // Release: the reader that finds the chunk sees its contents.
    link.store(ptr::from_ref(chunk).cast_mut(), Ordering::Release);
    buffer.writer.chunk.set(Some(chunk));
    Some(chunk)
}

/// Empties a buffer, in which no thread records meanwhile. Called by the thread that may read the
/// buffer.
pub(super) fn empty(buffer: &TraceBuffer) {
    let TraceBuffer { writer, reader } = buffer;
    reader.refresh();
    reader.leave().into_iter().for_each(put_chunk);
    while let Some(record) = reader.peek() {
        if record.kind == Kind::Note {
            drop(Note::of(record));
        }
        reader.advance().into_iter().for_each(put_chunk);
    }
    reader.chunk.take().into_iter().for_each(put_chunk);
    reader.at.set(0);
    reader.end.set(0);
    writer.chunk.set(None);
    writer.len.set(0);
    writer.written.set(0);
}

/// The maximum number of bytes in chunks: about two million records.
const MAX_BYTES: usize = 64 << 20;

/// The maximum number of records.
pub(super) const MAX_RECORDS: usize = MAX_BYTES / size_of::<Record>();

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
            if self.bytes == MAX_BYTES {
                return None;
            }
            self.rest = map_memory(STEP).ok()?;
            self.bytes += STEP;
        }
        let (chunk, rest) = mem::take(&mut self.rest).split_at_mut(Chunk::SIZE);
        self.rest = rest;
        Some(chunk)
    }
}

/// Maps `len` bytes of new memory, which are never unmapped. Pages that are never written use no
/// memory.
pub(super) fn map_memory(len: usize) -> io::Result<&'static mut [u8]> {
    let mut memory = mem::ManuallyDrop::new(MmapOptions::new().len(len).no_reserve_swap().map_anon()?);
    name_mapping(memory.as_ptr(), len, c"gosched: trace");
    let bytes: &mut MmapMut = &mut memory;
    // SAFETY: the mapping is never dropped, and this is the only reference to it.
    Ok(unsafe { &mut *ptr::from_mut::<[u8]>(bytes) })
}

/// Returns an empty chunk. If all chunks are in use, the thread that reads is behind. Then this
/// waits for that thread for a while, and returns none if that doesn't help.
fn get_chunk() -> Option<&'static Chunk> {
    let mut chunk = None;
    wait_while(|| {
        chunk = take_chunk();
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

fn take_chunk() -> Option<&'static Chunk> {
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
pub(super) fn get_block() -> Option<&'static mut [u8]> {
    pool().cut()
}

/// Gives back a chunk that no thread writes or reads any more.
pub(super) fn put_chunk(chunk: &'static Chunk) {
    chunk.len.store(0, Ordering::Relaxed);
    let mut pool = pool();
    let next = pool.free.map_or(ptr::null_mut(), |next| ptr::from_ref(next).cast_mut());
    chunk.next.store(next, Ordering::Relaxed);
    pool.free = Some(chunk);
}

const _: () =
    assert!(size_of::<AtomicPtr<Chunk>>() + size_of::<AtomicU32>() <= 16 && STEP.is_multiple_of(Chunk::SIZE));
