//! What the execution tracer records, and where: see `trace/mod.rs`.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::runtime::data::cell::Cell;

/// What a record is of; beside each, what its `arg` is if that isn't the number of the goroutine.
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
    /// How much the thread that it is taken from had recorded when it left the P.
    ProcSteal,
    /// The same.
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

/// In the `detail` of a goroutine that parks or ends: the other one of its coroutine comes next, if nothing is in the way.
pub(in crate::runtime) const SWITCH: u16 = 1 << 8;

/// A P at one moment: its number and one, and, above these 15 bits, how often it was taken or given before. Zero is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) struct ProcMark(pub(in crate::runtime) u32);

impl ProcMark {
    pub(in crate::runtime) const NONE: ProcMark = ProcMark(0);
    const BITS: u32 = 15;

    pub(in crate::runtime) fn new(id: i32, seq: u32) -> ProcMark {
        ProcMark((id as u32 + 1) | (seq << Self::BITS))
    }

    /// The number of the P.
    pub(in crate::runtime) fn id(self) -> Option<u32> {
        (self.0 & ((1 << Self::BITS) - 1)).checked_sub(1)
    }
}

/// Something that has happened.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::runtime) struct Record {
    /// When, in ticks of the processor.
    pub(in crate::runtime) ticks: u64,
    /// See [`Kind`].
    pub(in crate::runtime) arg: u64,
    /// Which change of the goroutine, or of the P, this is, where another thread may have made the one before. If a
    /// goroutine is made, the stack that it begins with.
    pub(in crate::runtime) seq: u32,
    /// The P that it is about, or else the one that this thread had.
    pub(in crate::runtime) p: ProcMark,
    /// The stack of the running goroutine, in the table of stacks; 0 if there is none.
    pub(in crate::runtime) stack: u32,
    /// More about it: why a goroutine parks, for example.
    pub(in crate::runtime) detail: u16,
    pub(in crate::runtime) kind: Kind,
}

/// A part of what a thread has recorded. The thread writes, and one reader at a time follows.
#[repr(C)]
pub(in crate::runtime) struct Chunk {
    /// What the thread has written next; null as long as this one isn't full.
    pub(in crate::runtime) next: AtomicPtr<Chunk>,
    /// How many records may be read.
    pub(in crate::runtime) len: AtomicU32,
    pub(in crate::runtime) records: [UnsafeCell<MaybeUninit<Record>>; Chunk::LEN],
}

// SAFETY: what is behind `len` is the thread's alone, and what is before it nobody writes.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// The size of a chunk, in bytes.
    pub(in crate::runtime) const SIZE: usize = 16 << 10;
    /// How many records it has room for.
    pub(in crate::runtime) const LEN: usize = (Self::SIZE - 16) / size_of::<Record>();
}

const _: () = assert!(size_of::<Record>() == 32 && size_of::<Chunk>() <= Chunk::SIZE);

/// Where a thread records, and where its records are read. Apart, as two threads write them.
#[repr(C)]
pub struct TraceBuffer {
    pub(in crate::runtime) writer: TraceWriter,
    pub(in crate::runtime) reader: TraceReader,
}

/// The fields of who records: the thread, with a P, or with the lock that threads without one take.
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
    /// Whether it is in the list of all, the next one there, and its number: 1 and more, or 0 for threads without an M.
    /// Set once. (The number of an M won't do: another thread may get that M, with a new one.)
    pub(in crate::runtime) listed: Cell<bool>,
    pub(in crate::runtime) next: Cell<Option<&'static TraceBuffer>>,
    pub(in crate::runtime) number: Cell<usize>,
}

/// The fields of who has the writer's lock.
#[repr(C, align(64))]
pub struct TraceReader {
    /// The first chunk, from the thread; null once it was taken.
    pub(in crate::runtime) first: AtomicPtr<Chunk>,
    /// The chunk that is being read, which of its records comes next, and how many of them were seen to be there.
    pub(in crate::runtime) chunk: Cell<Option<&'static Chunk>>,
    pub(in crate::runtime) at: Cell<usize>,
    pub(in crate::runtime) end: Cell<usize>,
}

impl TraceBuffer {
    /// Zero: that of a thread which hasn't recorded.
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
    /// Looks what has come. In between it isn't looked at: the thread writes the same line.
    pub(in crate::runtime) fn refresh(&self) {
        if self.chunk.get().is_none() {
            // SAFETY: chunks are never unmapped. Acquire pairs with the release of who has filled in the chunk.
            self.chunk.set(unsafe { self.first.swap(ptr::null_mut(), Ordering::Acquire).as_ref() });
        }
        if let Some(chunk) = self.chunk.get() {
            // Acquire pairs with the release of who has written the records.
            self.end.set(chunk.len.load(Ordering::Acquire) as usize);
        }
    }

    /// The record that comes next, if it was seen to be there.
    #[inline(always)]
    pub(in crate::runtime) fn peek(&self) -> Option<&Record> {
        let (chunk, at) = (self.chunk.get()?, self.at.get());
        // SAFETY: so many were written, and nobody writes them again before the reader gives the chunk back.
        (at < self.end.get()).then(|| unsafe { (*chunk.records[at].get()).assume_init_ref() })
    }

    /// Goes on to the next record; returns a chunk that was read to its end and left.
    #[inline(always)]
    pub(in crate::runtime) fn advance(&self) -> Option<&'static Chunk> {
        self.at.set(self.at.get() + 1);
        if self.at.get() == Chunk::LEN { self.leave() } else { None }
    }

    /// Leaves a chunk that was read to its end, if there is a next one.
    pub(in crate::runtime) fn leave(&self) -> Option<&'static Chunk> {
        let chunk = self.chunk.get().filter(|_| self.at.get() == Chunk::LEN)?;
        // SAFETY: chunks are never unmapped. Acquire pairs with the release of who has linked it.
        let next = unsafe { chunk.next.load(Ordering::Acquire).as_ref() }?;
        self.chunk.set(Some(next));
        self.at.set(0);
        self.refresh();
        Some(chunk)
    }
}

/// What the tracer keeps for a P; who has the P writes it.
#[derive(Debug, Default)]
pub struct ProcTrace {
    /// How often the tracer has seen it taken, or given.
    pub(in crate::runtime) seq: Cell<u32>,
    /// How much its M's thread had recorded when it left the P behind: it entered a system call, or lost it.
    pub(in crate::runtime) left_at: Cell<u64>,
}

impl ProcTrace {
    /// The thread with this buffer leaves the P behind.
    pub(in crate::runtime) fn left_at(&self, buffer: &TraceBuffer) {
        self.left_at.set(buffer.writer.written.get());
    }
}
