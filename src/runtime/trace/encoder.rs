//! The bytes of Go's execution trace, version 2, as Go 1.23 writes it.
//!
//! A trace is a header followed by batches. A batch belongs to one generation and one thread, and
//! begins with a time. Each event in it gives its time as the difference to the event before.
//! Strings and stacks are numbered by tables, which are batches too. Each generation has its own
//! tables.
//!
//! In a trace a stack is a list of frames, each a pc, a function, a file and a line ([`Places`]).
//! Times are nanoseconds since the trace began; the times of records are ticks of the processor
//! ([`Clock`]). The rate of the ticks isn't known, and isn't needed. Each time that records are
//! read, both clocks are read, too. The times of the new records lie on the line between this
//! reading and the last.

use std::mem;
use std::panic::Location;
use std::ptr;

use crate::runtime::arch::cputicks;
use crate::runtime::base::os::nanotime;
use crate::runtime::report::symbols::{Symbols, Whose};
use crate::runtime::trace::hash::FastMap;
use crate::runtime::trace::recorder::truncate_text;
use crate::runtime::trace::stack::{Frame, LOCATION, MAX_FRAMES, Stack, stack};

/// The header of a trace.
pub(super) const HEADER: &[u8; 16] = b"go 1.23 trace\0\0\0";

/// The maximum size of a batch in bytes. Go's `tracev2.MaxBatchSize`.
const MAX_BATCH: usize = 64 << 10;

/// The maximum size in bytes of an event without a string: its type, and six numbers.
const MAX_EVENT: usize = 1 + 6 * 10;

/// The thread of events that belong to no thread.
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

/// A batch of a thread's events that isn't full.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    /// The time of its start, and the time of its last event.
    begin: u64,
    last: u64,
}

/// Writes generations.
pub(super) struct Encoder {
    /// The number of this generation.
    generation: u64,
    /// The full batches of this generation.
    out: Vec<u8>,
    /// The full batches of events that belong to no thread. They are written at the end, behind
    /// `early`.
    held: Vec<u8>,
    /// The batches of threads, by the numbers of their buffers. The first is for events that belong
    /// to no thread.
    streams: Vec<Stream>,
    /// Events that become known only at the end of a generation but belong to its beginning. Their
    /// times were reserved there.
    early: Stream,
    strings: FastMap<Box<str>, u64>,
    /// The stacks that events of this generation use: a bit for each.
    stacks: Vec<u64>,
    places: Places,
    pub(super) clock: Clock,
    /// The time of the last event of all. No two events have the same time, because Go's reader may
    /// not find a possible order for them.
    last: u64,
    /// The number of bytes written of this generation since its initial state was written,
    /// including bytes that were taken.
    pub(super) size: usize,
    /// The number of bytes of that initial state.
    pub(super) begun_with: usize,
}

impl Encoder {
    /// Makes an encoder for a trace that begins now.
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

    /// Begins the next generation, and reserves times for `early` events of [`early`](Self::early).
    pub(super) fn begin(&mut self, early: usize) {
        self.generation += 1;
        self.size = 0;
        self.early.last = self.last;
        self.last += early as u64;
    }

    /// Adds an event on the thread of buffer `m`, or on no thread for 0. Each event is later than
    /// all earlier ones.
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

    /// Notes that the initial state was written.
    pub(super) fn begun(&mut self) {
        self.begun_with = mem::take(&mut self.size);
    }

    /// Adds an event on no thread, in the beginning of the generation.
    pub(super) fn early(&mut self, ev: Ev, args: &[u64]) {
        if self.early.bytes.len() + MAX_EVENT > MAX_BATCH {
            self.early.flush(&mut self.out, self.generation, NO_THREAD);
        }
        let time = self.early.last + 1;
        self.early.push(time, ev, args);
    }

    /// Returns the number of a string in this generation.
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

    /// Returns the number of a stack, which is written with this generation.
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

    /// Takes the batches that are full.
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
            let text = truncate_text(&text);
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

    /// Writes the batch. Returns the number of bytes written.
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

/// Writes a number, seven bits a byte, the lowest first. The eighth bit says that more follow. Go's
/// `binary.AppendUvarint`.
fn number(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Finds the frames of stacks. Looks up each address once.
struct Places(Symbols);

impl Places {
    fn new() -> Places {
        Places(Symbols::new())
    }

    /// Returns the frames of the stack with this number, the innermost first.
    fn frames(&mut self, id: u32) -> Vec<Place> {
        let frames = stack(id).map_or(Vec::new(), |stack| look_up(&mut self.0, stack, id));
        // A trace may take long, and its program may load other libraries in their place.
        self.0.let_libraries_go();
        frames
    }
}

/// A frame, as it is written.
struct Place {
    /// A number that identifies the other fields: the reader of a trace keeps those of the first
    /// frame with this number.
    pc: u64,
    function: String,
    file: String,
    line: u64,
}

fn look_up(symbols: &mut Symbols, stack: &Stack, id: u32) -> Vec<Place> {
    match stack.frames() {
        [frame] if frame.slot == LOCATION || !stack.name.as_str().is_empty() => {
            vec![beginning(symbols, stack, frame, id)]
        }
        // A goroutine begins at the first instruction of its function. A return address is behind
        // its call.
        [frame] => places(symbols, &[frame.pc]),
        frames => places(symbols, &frames.iter().map(|frame| frame.pc - 1).collect::<Vec<_>>()),
    }
}

/// Returns the frame that stands for the function of a goroutine that has a name, or that the safe
/// layer has made.
fn beginning(symbols: &mut Symbols, stack: &Stack, frame: &Frame, id: u32) -> Place {
    let (file, line) = if frame.slot == LOCATION {
        // SAFETY: `start_of` has got this address from a `&'static Location`.
        let place = unsafe { &*ptr::with_exposed_provenance::<Location<'static>>(frame.pc) };
        (place.file().to_owned(), place.line())
    } else {
        symbols.functions(frame.pc).last().map_or((String::new(), 0), |at| (at.file.clone(), at.line))
    };
    let function = match stack.name.as_str() {
        "" => format!("go at {file}:{line}"),
        name => name.to_owned(),
    };
    Place { pc: BEGINNING | u64::from(id), function, file, line: line.into() }
}

/// In place of a pc, a frame that stands for a goroutine's beginning has this bit and the number of
/// its stack.
const BEGINNING: u64 = 1 << 63;

/// Returns the frames at these pcs, without the runtime's frames at both ends, unless there are no
/// others.
fn places(symbols: &mut Symbols, pcs: &[usize]) -> Vec<Place> {
    let mut all = Vec::new();
    for &pc in pcs {
        for (depth, symbol) in symbols.functions(pc).iter().enumerate() {
            let function =
                if symbol.function.is_empty() { format!("{pc:#x}") } else { symbol.function.clone() };
            let number = pc as u64 + depth as u64 * INLINED;
            let place = Place { pc: number, function, file: symbol.file.clone(), line: symbol.line.into() };
            all.push((symbol.whose(), place));
        }
    }
    let is_shown = |(whose, _): &(Whose, Place)| *whose != Whose::Runtime;
    let (first, last) = (all.iter().position(is_shown), all.iter().rposition(is_shown));
    let shown = first.zip(last).map_or(0..all.len(), |(first, last)| first..last + 1);
    all.drain(shown).map(|(_, place)| place).take(MAX_FRAMES).collect()
}

/// Inlined functions have the pc of the function that they are in. To tell them apart, multiples of
/// this are added.
const INLINED: u64 = 1 << 56;

/// Converts the times of records.
pub(super) struct Clock {
    /// When the trace began, in nanoseconds.
    began: i64,
    /// A moment by both clocks, in ticks and in nanoseconds since then.
    ticks: u64,
    ns: f64,
    ns_per_tick: f64,
}

impl Clock {
    /// Makes a clock for a trace that begins now.
    fn new() -> Clock {
        let (ticks, began) = both();
        Clock { began, ticks, ns: 0.0, ns_per_tick: 1.0 }
    }

    /// Returns the time for these ticks, which were read before the last [`look`](Self::look).
    fn at(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.ticks) as i64;
        (self.ns + since as f64 * self.ns_per_tick).max(0.0) as u64
    }

    /// Reads both clocks. The records to be converted from now on were made before this.
    pub(super) fn look(&mut self) {
        let (ticks, now) = both();
        let ns = (now - self.began) as f64;
        if ticks > self.ticks && ns > self.ns {
            self.ns_per_tick = (ns - self.ns) / (ticks - self.ticks) as f64;
            (self.ticks, self.ns) = (ticks, ns);
        }
    }
}

/// How many times both clocks are read for one moment.
const READINGS: usize = 4;

/// Returns the present moment by both clocks, in ticks and in nanoseconds. If the thread loses its
/// processor between the two clocks, they are far apart. So the closest of several readings counts.
fn both() -> (u64, i64) {
    let reading = |_| {
        let (before, ns, after) = (cputicks(), nanotime(), cputicks());
        (after.wrapping_sub(before), before, ns)
    };
    let (_, ticks, ns) = (0..READINGS).map(reading).min().expect("there are readings");
    (ticks, ns)
}
