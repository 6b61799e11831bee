//! The buffers that threads record in. Each M has one, and all other threads share one.
//!
//! Who has a P writes to its M's buffer without a lock: nobody else does, and who begins a trace has stopped the world
//! before it empties the buffers. Threads without a P, which no stop waits for, do the same under a lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::runtime::data::runtime2::M;
use crate::runtime::data::trace::{Chunk, Kind, Record, TraceBuffer};
use crate::runtime::trace::note::Note;
use crate::runtime::trace::pool;

/// The buffer of threads that have no M.
struct Foreign(TraceBuffer);

// SAFETY: only who has `WITHOUT_P` writes to it; the reader's side is as that of all others.
unsafe impl Sync for Foreign {}

static FOREIGN: Foreign = Foreign(TraceBuffer::new());

/// Who records without a P has this.
static WITHOUT_P: Mutex<()> = Mutex::new(());

/// The number of the last buffer of an M.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// The last buffer that was listed; the others follow.
static ALL: AtomicPtr<TraceBuffer> = AtomicPtr::new(ptr::null_mut());

/// Keeps threads without a P from recording.
pub(super) fn without_p() -> MutexGuard<'static, ()> {
    WITHOUT_P.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The buffer of this M, or of threads that have none, in the list of all. The caller may write to it, or who might has this
/// M wait.
pub(super) fn buffer_of(m: Option<&M>) -> &'static TraceBuffer {
    // SAFETY: M's are never freed.
    let buffer = m.map_or(&FOREIGN.0, |mp| unsafe { &*ptr::from_ref(&mp.ext.trace_buffer) });
    if !buffer.writer.listed.get() {
        buffer.writer.listed.set(true);
        buffer.writer.number.set(m.map_or(0, |_| LAST.fetch_add(1, Ordering::Relaxed) + 1));
        let mut head = ALL.load(Ordering::Relaxed);
        loop {
            // SAFETY: what is listed is an M's or a static, and so is there for good.
            buffer.writer.next.set(unsafe { head.as_ref() });
            let this = ptr::from_ref(buffer).cast_mut();
            // Release pairs with the acquire in all_buffers: who finds it finds what it is.
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
    // SAFETY: this place is the thread's alone until `len` says that it is filled.
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
    // Release: the reader finds the chunk as it is.
    link.store(ptr::from_ref(chunk).cast_mut(), Ordering::Release);
    buffer.writer.chunk.set(Some(chunk));
    Some(chunk)
}

/// Empties a buffer, in which nobody records meanwhile; by who may read it.
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
