//! The buffers of records. Each M has one, and all other threads share one.
//!
//! An M that has a P writes to its buffer without a lock: no other thread writes to that buffer,
//! and the world is stopped before the start of a trace empties the buffers. A stop of the world
//! doesn't wait for threads without a P, so these write under a lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::runtime::data::runtime2::M;
use crate::runtime::data::trace::{Chunk, Kind, Record, TraceBuffer};
use crate::runtime::trace::note::Note;
use crate::runtime::trace::pool;

/// The buffer of threads that have no M.
struct Foreign(TraceBuffer);

// SAFETY: only the holder of `WITHOUT_P` writes to it. The reader's side is as that of all other
// buffers.
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

/// The buffer of `m`, or the shared buffer of threads that have no M. Adds it to the list of all
/// buffers if it isn't there. The caller may write to the buffer, or `m` waits for the caller.
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

/// Adds a record; false if there is no room. The caller may write to the buffer.
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
    let chunk = pool::get()?;
    let link = full.map_or(&buffer.reader.first, |full| &full.next);
    // Release: the reader that finds the chunk sees its contents.
    link.store(ptr::from_ref(chunk).cast_mut(), Ordering::Release);
    buffer.writer.chunk.set(Some(chunk));
    Some(chunk)
}

/// Empties a buffer, in which nobody records meanwhile. Called by the thread that may read the
/// buffer.
pub(super) fn empty(buffer: &TraceBuffer) {
    let TraceBuffer { writer, reader } = buffer;
    reader.refresh();
    reader.leave().into_iter().for_each(pool::put);
    while let Some(record) = reader.peek() {
        if record.kind == Kind::Note {
            drop(Note::of(record));
        }
        reader.advance().into_iter().for_each(pool::put);
    }
    reader.chunk.take().into_iter().for_each(pool::put);
    reader.at.set(0);
    reader.end.set(0);
    writer.chunk.set(None);
    writer.len.set(0);
    writer.written.set(0);
}
