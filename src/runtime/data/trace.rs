//! The records of the execution tracer, and their buffers: see `trace/mod.rs`.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::runtime::data::cell::Cell;

/// The kind of a record. Each kind's comment names the value of `arg`, if that isn't the number of
/// the goroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::runtime) enum Kind {
    GoCreate,
    GoCreateBlocked,
    GoCreateSyscall,
    GoStart,
    GoEnd,
    GoDestroySyscall,
    GoSched,
    GoPreempt,
    GoPark,
    GoUnpark,
    GoSysCall,
    GoSysExit,
    /// Nothing.
    ProcStart,
    /// Nothing.
    ProcStop,
    /// The number of records of the thread that loses the P, when it left the P.
    ProcSteal,
    /// The same number.
    ProcDetach,
    /// The number of the buffer of the M that gets the P.
    ProcTurn,
    /// The address of the reason's name, whose length is `detail`.
    StwStart,
    /// Nothing.
    StwDone,
    /// How many P's there are.
    Gomaxprocs,
    /// A `Box<Note>`.
    Note,
}

/// In the `detail` of a goroutine that parks or ends: the other goroutine of its coroutine runs
/// next, if nothing is in the way.
pub(in crate::runtime) const SWITCH: u16 = 1 << 8;

/// A P at one moment. The low 15 bits are its number plus one; the bits above count how often it
/// was taken or given before. Zero is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) struct ProcMark(pub(in crate::runtime) u32);

impl ProcMark {
    pub(in crate::runtime) const NONE: ProcMark = ProcMark(0);
    const BITS: u32 = 15;

    pub(in crate::runtime) fn new(id: i32, seq: u32) -> ProcMark {
        ProcMark((id as u32 + 1) | (seq << Self::BITS))
    }

    /// Returns the number of the P.
    pub(in crate::runtime) fn id(self) -> Option<u32> {
        (self.0 & ((1 << Self::BITS) - 1)).checked_sub(1)
    }
}

/// Something that has happened.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::runtime) struct Record {
    /// When it happened, in ticks of the processor.
    pub(in crate::runtime) ticks: u64,
    /// See [`Kind`].
    pub(in crate::runtime) arg: u64,
    /// The number of this change of the goroutine or of the P, if another thread may have made the
    /// change before. For a new goroutine, the stack that it begins with.
    pub(in crate::runtime) seq: u32,
    /// The P that the record is about; if it is about no P, the P that this thread had.
    pub(in crate::runtime) p: ProcMark,
    /// The stack of the running goroutine, in the table of stacks; 0 if there is none.
    pub(in crate::runtime) stack: u32,
    /// More about the event: why a goroutine parks, for example.
    pub(in crate::runtime) detail: u16,
    pub(in crate::runtime) kind: Kind,
}

/// A part of a thread's records. The thread writes, and one reader at a time follows.
#[repr(C)]
pub(in crate::runtime) struct Chunk {
    /// The thread's next chunk; null as long as this chunk isn't full.
    pub(in crate::runtime) next: AtomicPtr<Chunk>,
    /// How many records may be read.
    pub(in crate::runtime) len: AtomicU32,
    pub(in crate::runtime) records: [UnsafeCell<MaybeUninit<Record>>; Chunk::LEN],
}

// SAFETY: only the thread uses the records from `len` on, and nobody writes those before it.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// The size of a chunk, in bytes.
    pub(in crate::runtime) const SIZE: usize = 16 << 10;
    /// How many records a chunk has room for.
    pub(in crate::runtime) const LEN: usize = (Self::SIZE - 16) / size_of::<Record>();
}

const _: () = assert!(size_of::<Record>() == 32 && size_of::<Chunk>() <= Chunk::SIZE);

/// The fields for recording and those for reading. They are apart because two threads write them.
#[repr(C)]
pub struct TraceBuffer {
    pub(in crate::runtime) writer: TraceWriter,
    pub(in crate::runtime) reader: TraceReader,
}

/// The fields for recording. Used by the buffer's thread with a P, or with the lock that threads
/// without a P take.
#[repr(C, align(64))]
pub struct TraceWriter {
    /// The chunk that is being filled; null before the first record.
    pub(in crate::runtime) chunk: Cell<Option<&'static Chunk>>,
    /// How many records it has.
    pub(in crate::runtime) len: Cell<usize>,
    /// How many records there are in all.
    pub(in crate::runtime) written: Cell<u64>,
    /// Stacks that this thread has seen: `trace/stack.rs`.
    pub(in crate::runtime) stacks: Cell<*mut u8>,
    /// Whether the buffer is in the list of all, the next buffer there, and its number: 1 and more,
    /// or 0 for threads without an M. Set once. (The number of an M won't do: another thread may
    /// get that M, with a new buffer.)
    pub(in crate::runtime) listed: Cell<bool>,
    pub(in crate::runtime) next: Cell<Option<&'static TraceBuffer>>,
    pub(in crate::runtime) number: Cell<usize>,
}

/// The fields for reading. Used with the writer's lock held.
#[repr(C, align(64))]
pub struct TraceReader {
    /// The first chunk, from the thread; null once it was taken.
    pub(in crate::runtime) first: AtomicPtr<Chunk>,
    /// The chunk that is being read, the index of its next record, and how many records were seen
    /// to be there.
    pub(in crate::runtime) chunk: Cell<Option<&'static Chunk>>,
    pub(in crate::runtime) at: Cell<usize>,
    pub(in crate::runtime) end: Cell<usize>,
}

impl TraceBuffer {
    /// Returns the buffer of a thread that hasn't recorded: all zero.
    pub(in crate::runtime) const fn new() -> TraceBuffer {
        TraceBuffer {
            writer: TraceWriter {
                chunk: Cell::new(None),
                len: Cell::new(0),
                written: Cell::new(0),
                stacks: Cell::new(ptr::null_mut()),
                listed: Cell::new(false),
                next: Cell::new(None),
                number: Cell::new(0),
            },
            reader: TraceReader {
                first: AtomicPtr::new(ptr::null_mut()),
                chunk: Cell::new(None),
                at: Cell::new(0),
                end: Cell::new(0),
            },
        }
    }
}

impl TraceReader {
    /// Looks how many records have come. Between two calls the reader doesn't read `len`, because
    /// the thread writes the same cache line.
    pub(in crate::runtime) fn refresh(&self) {
        if self.chunk.get().is_none() {
            // SAFETY: chunks are never unmapped. Acquire pairs with the release that published the
            // chunk.
            self.chunk.set(unsafe { self.first.swap(ptr::null_mut(), Ordering::Acquire).as_ref() });
        }
        if let Some(chunk) = self.chunk.get() {
            // Acquire pairs with the release that published the records.
            self.end.set(chunk.len.load(Ordering::Acquire) as usize);
        }
    }

    /// Returns the next record, if it was seen to be there.
    #[inline(always)]
    pub(in crate::runtime) fn peek(&self) -> Option<&Record> {
        let (chunk, at) = (self.chunk.get()?, self.at.get());
        // SAFETY: the records before `end` were written, and nobody writes them again before the
        // reader gives the chunk back.
        (at < self.end.get()).then(|| unsafe { (*chunk.records[at].get()).assume_init_ref() })
    }

    /// Goes on to the next record. Returns the chunk, if it was read to its end and left.
    #[inline(always)]
    pub(in crate::runtime) fn advance(&self) -> Option<&'static Chunk> {
        self.at.set(self.at.get() + 1);
        if self.at.get() == Chunk::LEN { self.leave() } else { None }
    }

    /// Leaves a chunk that was read to its end, if there is a next chunk. Returns the chunk that
    /// was left.
    pub(in crate::runtime) fn leave(&self) -> Option<&'static Chunk> {
        let chunk = self.chunk.get().filter(|_| self.at.get() == Chunk::LEN)?;
        // SAFETY: chunks are never unmapped. Acquire pairs with the release that linked the next
        // one.
        let next = unsafe { chunk.next.load(Ordering::Acquire).as_ref() }?;
        self.chunk.set(Some(next));
        self.at.set(0);
        self.refresh();
        Some(chunk)
    }
}

/// The tracer's data for a P. Written by the M that has the P.
#[derive(Debug, Default)]
pub struct ProcTrace {
    /// How often the tracer has seen the P taken, or given.
    pub(in crate::runtime) seq: Cell<u32>,
    /// The number of records of its M's thread when the thread left the P behind, in a system call
    /// or because it lost the P.
    pub(in crate::runtime) left_at: Cell<u64>,
}

impl ProcTrace {
    /// Notes that the thread with this buffer leaves the P behind.
    pub(in crate::runtime) fn left_at(&self, buffer: &TraceBuffer) {
        self.left_at.set(buffer.writer.written.get());
    }
}
