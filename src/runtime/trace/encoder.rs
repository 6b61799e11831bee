//! The bytes of Go's execution trace, version 2, as Go 1.23 writes it.
//!
//! A trace is a header, and then batches. A batch is of one generation and of one thread, and has a time to begin
//! with; each event in it says how much later it is than the one before. Strings and stacks are numbered, by tables that
//! are batches, too: each generation has its own.

use std::mem;

use crate::runtime::trace::clock::Clock;
use crate::runtime::trace::hash::FastMap;
use crate::runtime::trace::note::cut;
use crate::runtime::trace::symbols::Places;

/// How a trace begins.
pub(super) const HEADER: &[u8; 16] = b"go 1.23 trace\0\0\0";

/// The most bytes of a batch. Go's `tracev2.MaxBatchSize`.
const MAX_BATCH: usize = 64 << 10;

/// The most bytes of an event without a string: its type, and six numbers.
const MAX_EVENT: usize = 1 + 6 * 10;

/// The thread of what no thread has done.
pub(super) const NO_THREAD: u64 = u64::MAX;

/// Types of events. Go's names for them begin with `Ev`.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Ev {
    EventBatch = 1,
    Stacks,
    Stack,
    Strings,
    String,
    Frequency = 8,
    ProcsChange,
    ProcStart,
    ProcStop,
    ProcSteal,
    ProcStatus,
    GoCreate,
    GoCreateSyscall,
    GoStart,
    GoDestroy,
    GoDestroySyscall,
    GoStop,
    GoBlock,
    GoUnblock,
    GoSyscallBegin,
    GoSyscallEnd,
    GoSyscallEndBlocked,
    StwBegin = 26,
    StwEnd,
    GoLabel = 39,
    UserTaskBegin,
    UserTaskEnd,
    UserRegionBegin,
    UserRegionEnd,
    UserLog,
    GoSwitch,
    GoSwitchDestroy,
    GoCreateBlocked,
    GoStatusStack,
}

/// Times are in nanoseconds.
const UNITS_PER_SECOND: u64 = 1_000_000_000;

/// What a thread has done: a batch that isn't full.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    /// When it begins, and the time of its last event.
    begin: u64,
    last: u64,
}

/// Writes generations.
pub(super) struct Encoder {
    /// The number of this generation.
    generation: u64,
    /// The batches of it that are full.
    out: Vec<u8>,
    /// Those of what no thread has done, which are written in the end, behind `early`.
    held: Vec<u8>,
    /// By the numbers of their buffers; first what no thread has done.
    streams: Vec<Stream>,
    /// What is said in the end of a generation, and was so in its beginning; and the time that is left for it.
    early: Stream,
    strings: FastMap<Box<str>, u64>,
    /// The stacks that events of this generation have: a bit for each.
    stacks: Vec<u64>,
    places: Places,
    pub(super) clock: Clock,
    /// The time of the last event of all. No two have the same: there, Go's reader may not find the one that is possible.
    last: u64,
    /// How much was written of this generation since its beginning was told, what was taken included, in bytes.
    pub(super) size: usize,
    /// How much that beginning was.
    pub(super) begun_with: usize,
}

impl Encoder {
    /// For a trace that begins now.
    pub(super) fn new() -> Encoder {
        Encoder {
            generation: 0,
            out: Vec::new(),
            held: Vec::new(),
            streams: Vec::new(),
            early: Stream::default(),
            strings: FastMap::default(),
            stacks: Vec::new(),
            places: Places::new(),
            clock: Clock::new(),
            last: 0,
            size: 0,
            begun_with: 0,
        }
    }

    /// Begins the next generation, and leaves room for so many events to be told of [`early`](Self::early).
    pub(super) fn begin(&mut self, early: usize) {
        self.generation += 1;
        self.size = 0;
        self.early.last = self.last;
        self.last += early as u64;
    }

    /// An event on the thread of buffer `m`, or on none. Each is later than all before.
    pub(super) fn event(&mut self, m: usize, ticks: u64, ev: Ev, args: &[u64]) {
        if self.streams.len() <= m {
            self.streams.resize_with(m + 1, Stream::default);
        }
        if self.streams[m].bytes.len() + MAX_EVENT > MAX_BATCH {
            self.flush(m);
        }
        self.last = self.clock.at(ticks).max(self.last + 1);
        self.streams[m].push(self.last, ev, args);
    }

    /// The state of everything is told.
    pub(super) fn begun(&mut self) {
        self.begun_with = mem::take(&mut self.size);
    }

    /// An event on no thread, in the beginning of the generation.
    pub(super) fn early(&mut self, ev: Ev, args: &[u64]) {
        if self.early.bytes.len() + MAX_EVENT > MAX_BATCH {
            self.early.flush(&mut self.out, self.generation, NO_THREAD);
        }
        let time = self.early.last + 1;
        self.early.push(time, ev, args);
    }

    /// The number of a string in this generation.
    pub(super) fn string(&mut self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        if let Some(id) = self.strings.get(text) {
            return *id;
        }
        let id = self.strings.len() as u64 + 1;
        self.size += text.len();
        self.strings.insert(text.into(), id);
        id
    }

    /// The number of a stack, which is written with this generation.
    pub(super) fn stack(&mut self, id: u32) -> u64 {
        let (word, bit) = (id as usize / 64, 1 << (id % 64));
        if id != 0 {
            if self.stacks.len() <= word {
                self.stacks.resize(word + 1, 0);
            }
            self.stacks[word] |= bit;
        }
        id.into()
    }

    fn flush(&mut self, m: usize) {
        let (out, m_id) = if m == 0 { (&mut self.held, NO_THREAD) } else { (&mut self.out, m as u64 - 1) };
        self.size += self.streams[m].flush(out, self.generation, m_id);
    }

    /// The batches that are full, and aren't wanted twice.
    pub(super) fn take(&mut self) -> Vec<u8> {
        mem::take(&mut self.out)
    }

    /// Ends the generation with its tables.
    pub(super) fn end(&mut self) {
        (0..self.streams.len()).for_each(|m| self.flush(m));
        self.early.flush(&mut self.out, self.generation, NO_THREAD);
        self.out.append(&mut self.held);
        let now = self.last.max(1);
        let mut table = Table { generation: self.generation, now, kind: Ev::Stacks, bytes: Vec::new() };
        for (word, mut bits) in mem::take(&mut self.stacks).into_iter().enumerate() {
            while bits != 0 {
                let id = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let frames = self.places.frames(id);
                let mut entry = vec![Ev::Stack as u8];
                number(&mut entry, id.into());
                number(&mut entry, frames.len() as u64);
                for frame in frames {
                    let (function, file) = (self.string(&frame.function), self.string(&frame.file));
                    [frame.pc, function, file, frame.line].into_iter().for_each(|n| number(&mut entry, n));
                }
                table.add(&mut self.out, &entry);
            }
        }
        table.flush(&mut self.out);
        table.kind = Ev::Strings;
        for (text, id) in mem::take(&mut self.strings) {
            let text = cut(&text);
            let mut entry = vec![Ev::String as u8];
            number(&mut entry, id);
            number(&mut entry, text.len() as u64);
            entry.extend_from_slice(text.as_bytes());
            table.add(&mut self.out, &entry);
        }
        table.flush(&mut self.out);
        let mut entry = vec![Ev::Frequency as u8];
        number(&mut entry, UNITS_PER_SECOND);
        batch(&mut self.out, self.generation, NO_THREAD, now, &entry);
    }
}

impl Stream {
    fn push(&mut self, time: u64, ev: Ev, args: &[u64]) {
        if self.bytes.is_empty() {
            self.begin = time;
            self.last = time;
        }
        self.bytes.push(ev as u8);
        number(&mut self.bytes, time - self.last);
        args.iter().for_each(|arg| number(&mut self.bytes, *arg));
        self.last = time;
    }

    /// Writes the batch; returns how many bytes that are.
    fn flush(&mut self, out: &mut Vec<u8>, generation: u64, m: u64) -> usize {
        let before = out.len();
        if !self.bytes.is_empty() {
            batch(out, generation, m, self.begin, &self.bytes);
            self.bytes.clear();
        }
        out.len() - before
    }
}

/// A table that is being written, as batches.
struct Table {
    generation: u64,
    now: u64,
    kind: Ev,
    bytes: Vec<u8>,
}

impl Table {
    fn add(&mut self, out: &mut Vec<u8>, entry: &[u8]) {
        if self.bytes.len() + entry.len() > MAX_BATCH {
            self.flush(out);
        }
        if self.bytes.is_empty() {
            self.bytes.push(self.kind as u8);
        }
        self.bytes.extend_from_slice(entry);
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if !self.bytes.is_empty() {
            batch(out, self.generation, NO_THREAD, self.now, &self.bytes);
            self.bytes.clear();
        }
    }
}

fn batch(out: &mut Vec<u8>, generation: u64, m: u64, begin: u64, bytes: &[u8]) {
    out.push(Ev::EventBatch as u8);
    [generation, m, begin, bytes.len() as u64].into_iter().for_each(|n| number(out, n));
    out.extend_from_slice(bytes);
}

/// Seven bits a byte, the lowest first, and the eighth says that more follow. Go's `binary.AppendUvarint`.
fn number(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}
