//! The thread that reads what was recorded, and hands generations to those who want them: a writer
//! of the program's, and the flight recorder, which keeps the last generations, whole.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::runtime::arch::cputicks;
use crate::runtime::base::debug::patience;
use crate::runtime::base::os::{nanotime, usleep};
use crate::runtime::data::trace::TraceBuffer;
use crate::runtime::trace::buffer::{self, all_buffers, put_chunk};
use crate::runtime::trace::encoder::HEADER;
use crate::runtime::trace::order::Order;

/// How long a generation lasts at most, in nanoseconds. Go's `traceAdvancePeriod`.
const GENERATION_NS: i64 = 1_000_000_000;

/// How large it is at most, in bytes; and how large it may be at least, however little may be kept.
const GENERATION_BYTES: usize = 64 << 20;
const MIN_BYTES: usize = 64 << 10;

/// For how long a record may wait for the one that it follows, in nanoseconds: only a bug can keep
/// it waiting, or a machine that gives the other thread no processor.
const STUCK_NS: i64 = 10_000_000_000;

/// How long the world may stand still before a generation ends all the same, in nanoseconds.
const PATIENCE_NS: i64 = 20_000_000;

/// How long is waited for records that are late, in nanoseconds: a thread may have done what it has
/// still to say, and what comes after it waits for that.
const LATE_NS: i64 = 2_000_000_000;

/// Where the program wants the trace.
pub(super) type Sink = Box<dyn Write + Send>;

/// What becomes of the records.
pub(super) struct Writer {
    order: Order,
    /// When this generation did, in nanoseconds.
    generation_began: i64,
    pub(super) sink: Option<Sink>,
    /// What has become of the sink: the first error ends it.
    pub(super) result: io::Result<()>,
    pub(super) flight: Option<Flight>,
    /// Nothing is recorded any more: it couldn't be, or nobody wants it.
    pub(super) is_over: bool,
    /// Since when records wait that can't be taken, in nanoseconds; 0 if none does.
    stuck_since: i64,
}

/// The writer, while there is a trace.
static WRITER: Mutex<Option<Writer>> = Mutex::new(None);

/// How many records the writer has taken, ever: the progress of the thread that holds it.
static TAKEN: AtomicU64 = AtomicU64::new(0);

pub(super) fn records_taken() -> u64 {
    TAKEN.load(Ordering::Relaxed)
}

/// How many want the writer, besides its thread.
static WANTED: AtomicU32 = AtomicU32::new(0);

pub(super) fn writer() -> MutexGuard<'static, Option<Writer>> {
    WANTED.fetch_add(1, Ordering::Relaxed);
    let writer = WRITER.lock().unwrap_or_else(PoisonError::into_inner);
    WANTED.fetch_sub(1, Ordering::Relaxed);
    writer
}

/// [`writer`] for its thread, which takes it again and again: after all others.
pub(super) fn writer_at_last() -> MutexGuard<'static, Option<Writer>> {
    while WANTED.load(Ordering::Relaxed) > 0 {
        usleep(WAIT_US);
    }
    WRITER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// [`writer`], unless somebody has it. In the report of a fatal error.
pub(super) fn try_writer() -> Option<MutexGuard<'static, Option<Writer>>> {
    WRITER.try_lock().ok()
}

thread_local! {
    /// The program's writer is being called, on this thread.
    static WITH_THEIRS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in the program's writer, for which the lock is held.
pub(super) fn is_with_theirs() -> bool {
    WITH_THEIRS.get()
}

/// Calls what is the program's: a panic is an error, too, and leaves nothing of ours half done.
pub(super) fn theirs(f: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    WITH_THEIRS.set(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    WITH_THEIRS.set(false);
    result.unwrap_or_else(|_| Err(io::Error::other("gosched: the trace's writer panicked")))
}

fn drop_theirs(sink: Sink) -> io::Result<()> {
    theirs(move || {
        drop(sink);
        Ok(())
    })
}

impl Writer {
    pub(super) fn new(order: Order) -> Writer {
        let mut writer = Writer {
            order,
            generation_began: nanotime(),
            sink: None,
            result: Ok(()),
            flight: None,
            is_over: false,
            stuck_since: 0,
        };
        writer.order.begin();
        writer
    }

    /// Takes a part of what there is, and ends the generation if that is due; says whether there is
    /// more.
    pub(super) fn work(&mut self) -> bool {
        let more = self.take();
        if let Some(error) = self.broken() {
            self.fails(error);
            self.is_over = true;
        }
        self.is_over |= self.sink.is_none() && self.flight.is_none();
        more
    }

    /// Takes the records that there were when this was called, as far as they can be taken yet.
    fn drain_all(&mut self) {
        for _ in 0..ROUNDS {
            if !self.take() {
                break;
            }
        }
    }

    /// Takes a part of the records that there are, and ends the generation if that is due; says
    /// whether there are more.
    fn take(&mut self) -> bool {
        let more = self.drain();
        self.hand_over();
        if self.is_due() {
            self.advance();
        }
        // It may be large, and yet not at an end.
        more && !self.is_large()
    }

    /// Takes the records that are there by now, unless the generation becomes too large; says
    /// whether there may be more.
    fn drain(&mut self) -> bool {
        for buffer in all_buffers() {
            buffer.reader.refresh();
            buffer.reader.leave().into_iter().for_each(put_chunk);
        }
        self.order.encoder.clock.look();
        // In the order of time, as far as that is possible.
        let mut heads: Vec<Head> = all_buffers().filter_map(Head::of).collect();
        let most = self.most();
        let mut taken = 0;
        let mut waits = 0;
        while waits < heads.len() && taken < ENOUGH && self.order.encoder.size < most {
            heads[waits..].sort_by_key(|head| head.ticks);
            // What is earlier and waits may wait for the first one.
            let next = if waits > 0 { waits } else { 1 };
            let until = heads.get(next).map_or(u64::MAX, |next| next.ticks);
            let Head { buffer, .. } = heads[waits];
            let before = taken;
            let head = loop {
                let Some(record) = buffer.reader.peek() else { break None };
                let is_next = record.ticks <= until && self.order.encoder.size < most;
                if !is_next || !self.order.take(buffer.writer.number.get(), record) {
                    break Some(record.ticks);
                }
                buffer.reader.advance().into_iter().for_each(put_chunk);
                taken += 1;
                TAKEN.store(TAKEN.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            };
            match head {
                Some(ticks) => heads[waits].ticks = ticks,
                None => _ = heads.swap_remove(waits),
            }
            // What others wait for may be among what was taken.
            waits = if taken > before { 0 } else { waits + 1 };
        }
        let all_wait = !heads.is_empty() && waits == heads.len();
        self.stuck_since = match (all_wait && taken == 0, self.stuck_since) {
            (true, 0) => nanotime(),
            (true, since) => since,
            (false, _) => 0,
        };
        waits < heads.len()
    }

    /// Why there can't be more of this trace, if there can't.
    pub(super) fn broken(&self) -> Option<io::Error> {
        if buffer::LOST.load(Ordering::Relaxed) {
            return Some(io::Error::other("gosched: more was to be traced than could be written"));
        }
        let stuck = self.stuck_since != 0 && nanotime() - self.stuck_since > patience(STUCK_NS);
        stuck.then(|| {
            io::Error::other(format!("gosched: the trace has lost its order:\n{}", self.order.waiting()))
        })
    }

    /// Whether the generation should end, and may.
    fn is_due(&self) -> bool {
        let is_long = nanotime() - self.generation_began >= GENERATION_NS;
        (is_long || self.is_large()) && self.order.may_end()
    }

    fn is_large(&self) -> bool {
        self.order.encoder.size >= self.most()
    }

    /// How many bytes a generation should have at most, besides what there was in its beginning.
    /// The flight recorder keeps several, so that the last one isn't all when it ends.
    fn most(&self) -> usize {
        let part = self.flight.as_ref().map_or(GENERATION_BYTES, |flight| flight.max_bytes / 8);
        part.max(self.order.encoder.begun_with).clamp(MIN_BYTES, GENERATION_BYTES)
    }

    /// Takes what there is, also what waits for records that are late, but no longer than
    /// [`LATE_NS`] for these; and ends the generation as soon as it may end: in a moment. In the
    /// report of a fatal error the world may stand still for good.
    pub(super) fn advance_now(&mut self) {
        let (asked, began) = (cputicks(), nanotime());
        self.drain_all();
        loop {
            let most = patience(match (waits(asked), self.order.may_end()) {
                (true, _) => LATE_NS,
                (false, false) => PATIENCE_NS,
                (false, true) => break,
            });
            if nanotime() - began > most {
                break;
            }
            usleep(WAIT_US);
            self.drain_all();
        }
        self.advance();
    }

    /// Ends the generation, and begins the next.
    fn advance(&mut self) {
        self.order.end();
        self.hand_over();
        let now = nanotime();
        if let Some(flight) = &mut self.flight {
            flight.end_generation(now);
        }
        self.generation_began = now;
        self.order.begin();
    }

    /// Hands over what is complete.
    fn hand_over(&mut self) {
        let bytes = self.order.encoder.take();
        if bytes.is_empty() {
            return;
        }
        if let Some(sink) = &mut self.sink
            && let Err(error) = theirs(|| sink.write_all(&bytes))
        {
            self.fails(error);
        }
        if let Some(flight) = &mut self.flight {
            flight.push(bytes);
        }
    }

    /// Writes no more, and returns what has become of it.
    pub(super) fn detach(&mut self) -> io::Result<()> {
        self.advance_now();
        let flushed = self.sink.take().map_or(Ok(()), |mut sink| {
            let flushed = theirs(|| sink.flush());
            flushed.and(drop_theirs(sink))
        });
        mem::replace(&mut self.result, Ok(())).and(flushed)
    }

    /// The first error, which ends writing, is kept.
    fn fails(&mut self, error: io::Error) {
        if let Some(sink) = self.sink.take() {
            self.result = Err(error);
            // What its drop says comes too late.
            let _ = drop_theirs(sink);
        }
    }
}

/// A thread with records, and when the next was made.
struct Head {
    ticks: u64,
    buffer: &'static TraceBuffer,
}

impl Head {
    fn of(buffer: &'static TraceBuffer) -> Option<Head> {
        buffer.reader.peek().map(|record| Head { ticks: record.ticks, buffer })
    }
}

/// Whether a record waits that was made until then, in ticks.
fn waits(until: u64) -> bool {
    all_buffers().filter_map(Head::of).any(|head| head.ticks <= until)
}

/// How many are taken before it is looked whether the generation has gone on for long enough.
const ENOUGH: usize = 1 << 16;

/// In how many such parts are all that there can be.
const ROUNDS: usize = buffer::MAX_RECORDS / ENOUGH;

/// How often the thread looks whether others have had what they wanted, in microseconds.
const WAIT_US: u32 = 50;

/// The generations that are kept.
pub(super) struct Flight {
    /// Those that are older, in nanoseconds, aren't needed.
    min_age: i64,
    /// How many bytes of them there may be; one may be larger.
    max_bytes: usize,
    kept: VecDeque<Generation>,
    /// The present one, as far as it was written.
    current: Vec<u8>,
}

#[derive(Clone)]
struct Generation {
    /// When it ended, in nanoseconds.
    ended: i64,
    bytes: Arc<[u8]>,
}

/// What there was at one moment.
pub(crate) struct Recording(Vec<Arc<[u8]>>);

impl Flight {
    pub(super) fn new(min_age: Duration, max_bytes: usize) -> Flight {
        let min_age = i64::try_from(min_age.as_nanos()).unwrap_or(i64::MAX);
        Flight { min_age, max_bytes, kept: VecDeque::new(), current: Vec::new() }
    }

    fn push(&mut self, bytes: Vec<u8>) {
        if self.current.is_empty() { self.current = bytes } else { self.current.extend_from_slice(&bytes) }
    }

    /// The present generation has ended, now.
    fn end_generation(&mut self, now: i64) {
        let bytes = mem::take(&mut self.current).into();
        self.kept.push_back(Generation { ended: now, bytes });
        let is_old = |generation: &Generation| now - generation.ended > self.min_age;
        let mut bytes: usize = self.kept.iter().map(|generation| generation.bytes.len()).sum();
        // As many as have max_bytes without the first.
        while let Some(first) = self.kept.front()
            && self.kept.len() > 1
            && (bytes - first.bytes.len() >= self.max_bytes || is_old(first))
        {
            bytes -= first.bytes.len();
            self.kept.pop_front();
        }
    }

    pub(super) fn recording(&self) -> Recording {
        Recording(self.kept.iter().map(|generation| Arc::clone(&generation.bytes)).collect())
    }
}

impl Recording {
    /// Writes it as a trace; returns how many bytes that were.
    pub(crate) fn write_to(&self, out: &mut dyn Write) -> io::Result<u64> {
        out.write_all(HEADER)?;
        self.0.iter().try_for_each(|bytes| out.write_all(bytes))?;
        out.flush()?;
        Ok((HEADER.len() + self.0.iter().map(|bytes| bytes.len()).sum::<usize>()) as u64)
    }
}
