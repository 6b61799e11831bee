//! The thread that reads the records, and hands generations to their consumers: a writer of the
//! program's, and the flight recorder, which keeps the last generations, whole.

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

/// The maximum duration of a generation, in nanoseconds. Go's `traceAdvancePeriod`.
const GENERATION_NS: i64 = 1_000_000_000;

/// The maximum size of a generation, in bytes, and the least value of that maximum, however little
/// the flight recorder may keep.
const GENERATION_BYTES: usize = 64 << 20;
const MIN_BYTES: usize = 64 << 10;

/// The maximum time that a record may wait for its predecessor, in nanoseconds. Only a bug can keep
/// it waiting, or a machine that gives the other thread no processor.
const STUCK_NS: i64 = 10_000_000_000;

/// How many nanoseconds [`Writer::advance_now`] waits while the world is stopped, before it ends
/// the generation all the same.
const PATIENCE_NS: i64 = 20_000_000;

/// How many nanoseconds to wait for late records. A thread may have yet to record something that it
/// has done, and the records that follow wait for that.
const LATE_NS: i64 = 2_000_000_000;

/// The program's writer for the trace.
pub(super) type Sink = Box<dyn Write + Send>;

/// The state of the thread that turns records into a trace.
pub(super) struct Writer {
    order: Order,
    /// When this generation began, in nanoseconds.
    generation_began: i64,
    pub(super) sink: Option<Sink>,
    /// The result of writing to the sink. The first error ends the sink.
    pub(super) result: io::Result<()>,
    pub(super) flight: Option<Flight>,
    /// Whether nothing is recorded any more, because of an error, or because there is no consumer.
    pub(super) is_over: bool,
    /// Since when only records that can't be taken wait, in nanoseconds; 0 if that isn't so.
    stuck_since: i64,
}

/// The writer, while there is a trace.
static WRITER: Mutex<Option<Writer>> = Mutex::new(None);

/// How many records the writer has taken in all. Shows the progress of the thread that holds the
/// writer.
static TAKEN: AtomicU64 = AtomicU64::new(0);

pub(super) fn records_taken() -> u64 {
    TAKEN.load(Ordering::Relaxed)
}

/// How many threads want the writer, besides its own thread.
static WANTED: AtomicU32 = AtomicU32::new(0);

pub(super) fn writer() -> MutexGuard<'static, Option<Writer>> {
    WANTED.fetch_add(1, Ordering::Relaxed);
    let writer = WRITER.lock().unwrap_or_else(PoisonError::into_inner);
    WANTED.fetch_sub(1, Ordering::Relaxed);
    writer
}

/// [`writer`] for its own thread, which takes it again and again. Waits until no other thread wants
/// it.
pub(super) fn writer_at_last() -> MutexGuard<'static, Option<Writer>> {
    while WANTED.load(Ordering::Relaxed) > 0 {
        usleep(WAIT_US);
    }
    WRITER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// [`writer`], unless a thread has it. For the report of a fatal error.
pub(super) fn try_writer() -> Option<MutexGuard<'static, Option<Writer>>> {
    WRITER.try_lock().ok()
}

thread_local! {
    /// Whether this thread is calling the program's writer.
    static WITH_THEIRS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in the program's writer, for which the lock is held.
pub(super) fn is_with_theirs() -> bool {
    WITH_THEIRS.get()
}

/// Calls code of the program's. A panic becomes an error, and leaves nothing of ours half done.
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

    /// Takes a part of the records, and ends the generation if it is due. Returns whether there are
    /// more records.
    pub(super) fn work(&mut self) -> bool {
        let more = self.take();
        if let Some(error) = self.broken() {
            self.fails(error);
            self.is_over = true;
        }
        self.is_over |= self.sink.is_none() && self.flight.is_none();
        more
    }

    /// Takes the records that are there now, as far as they can be taken yet.
    fn drain_all(&mut self) {
        for _ in 0..ROUNDS {
            if !self.take() {
                break;
            }
        }
    }

    /// Takes a part of the records, hands over complete batches, and ends the generation if it is
    /// due. Returns whether there are more records.
    fn take(&mut self) -> bool {
        let more = self.drain();
        self.hand_over();
        if self.is_due() {
            self.advance();
        }
        // The generation may be large, but not able to end yet.
        more && !self.is_large()
    }

    /// Takes the records that are there by now, until the generation becomes too large. Returns
    /// whether there may be more.
    fn drain(&mut self) -> bool {
        for buffer in all_buffers() {
            buffer.reader.refresh();
            buffer.reader.leave().into_iter().for_each(put_chunk);
        }
        self.order.encoder.clock.look();
        // The records are taken in the order of time, as far as that is possible.
        let mut heads: Vec<Head> = all_buffers().filter_map(Head::of).collect();
        let most = self.most();
        let mut taken = 0;
        let mut waits = 0;
        while waits < heads.len() && taken < ENOUGH && self.order.encoder.size < most {
            heads[waits..].sort_by_key(|head| head.ticks);
            // Earlier records that wait may wait for this one.
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
            // Records that wait may have waited for a record that was taken.
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

    /// Returns the error that ends this trace, if there is one.
    pub(super) fn broken(&self) -> Option<io::Error> {
        if buffer::LOST.load(Ordering::Relaxed) {
            return Some(io::Error::other("gosched: more was to be traced than could be written"));
        }
        let stuck = self.stuck_since != 0 && nanotime() - self.stuck_since > patience(STUCK_NS);
        stuck.then(|| {
            io::Error::other(format!("gosched: the trace has lost its order:\n{}", self.order.waiting()))
        })
    }

    /// Whether the generation should end, and may end.
    fn is_due(&self) -> bool {
        let is_long = nanotime() - self.generation_began >= GENERATION_NS;
        (is_long || self.is_large()) && self.order.may_end()
    }

    fn is_large(&self) -> bool {
        self.order.encoder.size >= self.most()
    }

    /// Returns the maximum number of bytes that a generation should have, besides its initial
    /// state. The flight recorder keeps several generations, so that the last one isn't all that it
    /// has when that generation ends.
    fn most(&self) -> usize {
        let part = self.flight.as_ref().map_or(GENERATION_BYTES, |flight| flight.max_bytes / 8);
        part.max(self.order.encoder.begun_with).clamp(MIN_BYTES, GENERATION_BYTES)
    }

    /// Takes all records that are there, and ends the generation. Waits for late records for at
    /// most [`LATE_NS`]. Then waits until the generation may end, which it soon does. But in the
    /// report of a fatal error the world may stay stopped for good, so this wait has a limit, too.
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

    /// Hands over the batches that are complete.
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

    /// Ends writing to the sink, and returns the result.
    pub(super) fn detach(&mut self) -> io::Result<()> {
        self.advance_now();
        let flushed = self.sink.take().map_or(Ok(()), |mut sink| {
            let flushed = theirs(|| sink.flush());
            flushed.and(drop_theirs(sink))
        });
        mem::replace(&mut self.result, Ok(())).and(flushed)
    }

    /// Keeps the first error, which ends writing.
    fn fails(&mut self, error: io::Error) {
        if let Some(sink) = self.sink.take() {
            self.result = Err(error);
            // An error of its drop comes too late.
            let _ = drop_theirs(sink);
        }
    }
}

/// A thread's buffer with records, and when its next record was made.
struct Head {
    ticks: u64,
    buffer: &'static TraceBuffer,
}

impl Head {
    fn of(buffer: &'static TraceBuffer) -> Option<Head> {
        buffer.reader.peek().map(|record| Head { ticks: record.ticks, buffer })
    }
}

/// Whether a record waits that was made at `until`, in ticks, or before.
fn waits(until: u64) -> bool {
    all_buffers().filter_map(Head::of).any(|head| head.ticks <= until)
}

/// How many records are taken between two checks whether the generation has lasted long enough.
const ENOUGH: usize = 1 << 16;

/// The number of such parts that contain the maximum number of records.
const ROUNDS: usize = buffer::MAX_RECORDS / ENOUGH;

/// The time between two looks of a thread that waits, in microseconds.
const WAIT_US: u32 = 50;

/// The flight recorder: the generations that are kept.
pub(super) struct Flight {
    /// Generations that are older than this, in nanoseconds, aren't needed.
    min_age: i64,
    /// The maximum number of bytes that are kept. A single generation may be larger.
    max_bytes: usize,
    kept: VecDeque<Generation>,
    /// The present generation, as far as it was written.
    current: Vec<u8>,
}

#[derive(Clone)]
struct Generation {
    /// When the generation ended, in nanoseconds.
    ended: i64,
    bytes: Arc<[u8]>,
}

/// The contents of the flight recorder at one moment.
pub(crate) struct Recording(Vec<Arc<[u8]>>);

impl Flight {
    pub(super) fn new(min_age: Duration, max_bytes: usize) -> Flight {
        let min_age = i64::try_from(min_age.as_nanos()).unwrap_or(i64::MAX);
        Flight { min_age, max_bytes, kept: VecDeque::new(), current: Vec::new() }
    }

    fn push(&mut self, bytes: Vec<u8>) {
        if self.current.is_empty() { self.current = bytes } else { self.current.extend_from_slice(&bytes) }
    }

    /// Notes that the present generation has ended, now.
    fn end_generation(&mut self, now: i64) {
        let bytes = mem::take(&mut self.current).into();
        self.kept.push_back(Generation { ended: now, bytes });
        let is_old = |generation: &Generation| now - generation.ended > self.min_age;
        let mut bytes: usize = self.kept.iter().map(|generation| generation.bytes.len()).sum();
        // Drops the first generation if the others alone have max_bytes, or if it is too old.
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
    /// Writes the recording as a trace. Returns the number of bytes written.
    pub(crate) fn write_to(&self, out: &mut dyn Write) -> io::Result<u64> {
        out.write_all(HEADER)?;
        self.0.iter().try_for_each(|bytes| out.write_all(bytes))?;
        out.flush()?;
        Ok((HEADER.len() + self.0.iter().map(|bytes| bytes.len()).sum::<usize>()) as u64)
    }
}
