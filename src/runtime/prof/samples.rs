//! The samples that signal handlers take of threads that compute: Go's `sigprof` and `profBuf`.
//!
//! A handler takes no lock and allocates nothing. It copies the interrupted stack, from the
//! innermost frame on, into one of a fixed number of places. The profiler's thread takes the sample
//! from there. If the next place is still in use, the sample is lost, and counted.
//!
//! The profiler's thread copies the stack once more, to memory of its own ([`Copies`]), which an
//! unwinder can walk, and can't leave. As when a stack is moved, each word that looks like an
//! address of the stack is changed to point into the copy; if what it points to wasn't copied, into
//! the zeros behind it, where a walk ends.

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::arch::{RED_ZONE, Regs};
use crate::runtime::base::guarded::{Copied, as_walker};
use crate::runtime::base::os::name_mapping;
use crate::runtime::data::runtime2::{G, GDEAD, GSCAN, M};
use crate::runtime::g::callers::{Pcs, callers_of};
use crate::runtime::g::proflabel::{LabelMap, get_prof_label};
use crate::runtime::g::status::readgstatus;
use crate::runtime::prof::thread_timer::periods;

/// The number of samples that are kept until the profiler takes them.
const PLACES: usize = 256;

/// The maximum number of bytes of a sample's stacks that are copied: usually a few hundred frames.
const COPIED: usize = 32 << 10;

/// No thread has the place.
const FREE: u32 = 0;
/// A handler writes to the place, or the profiler takes its sample.
const TAKEN: u32 = 1;
/// The place holds a sample.
const FULL: u32 = 2;

/// A stack whose inner end was copied.
#[derive(Clone, Copy)]
struct Part {
    /// The address of the copied bytes on the stack.
    from: usize,
    len: usize,
    /// The end of the stack.
    hi: usize,
}

impl Part {
    const NONE: Part = Part { from: 0, len: 0, hi: 0 };
}

/// A thread, as a handler has seen it.
struct Seen {
    regs: Regs,
    /// The interrupted stack. If it was g0's, also the stack of the goroutine, which may have
    /// switched to g0.
    parts: [Part; 2],
    labels: Option<Arc<LabelMap>>,
    periods: i64,
}

struct Place {
    /// Its release publishes the other field, and the place's bytes.
    state: AtomicU32,
    seen: UnsafeCell<MaybeUninit<Seen>>,
}

struct Samples {
    /// Built on the heap: a goroutine's stack may have no room for all of them.
    places: Box<[Place]>,
    /// [`COPIED`] bytes for each place. Hardly any are touched.
    memory: MmapMut,
    /// The number of the next sample.
    next: AtomicUsize,
    /// The number of samples that found no free place.
    lost: AtomicU64,
    /// Whether handlers take samples.
    on: AtomicBool,
}

// SAFETY: the fields of a place that aren't atomic, and its bytes, belong to the thread that has
// set its state to TAKEN, until that thread changes the state again.
unsafe impl Sync for Samples {}

/// Set once a profile was begun, and never freed: a handler may be late.
static SAMPLES: OnceLock<Samples> = OnceLock::new();

/// A sample of a thread, as a profile gets it.
pub(crate) struct Sample {
    pub(crate) pcs: Pcs,
    pub(crate) labels: Option<Arc<LabelMap>>,
    /// The number of periods that the sample stands for. A kernel may check its timers less than
    /// once a period.
    pub(crate) periods: i64,
}

impl Samples {
    fn new() -> io::Result<Samples> {
        let place = |_| Place { state: AtomicU32::new(FREE), seen: UnsafeCell::new(MaybeUninit::uninit()) };
        let memory = MmapOptions::new().len(PLACES * COPIED).no_reserve_swap().map_anon()?;
        name_mapping(memory.as_ptr(), PLACES * COPIED, c"gosched: profile samples");
        Ok(Samples {
            places: (0..PLACES).map(place).collect(),
            memory,
            next: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            on: AtomicBool::new(false),
        })
    }

    /// The address of the bytes of place `i`.
    fn bytes(&self, i: usize) -> usize {
        self.memory.as_ptr().expose_provenance() + i * COPIED
    }

    /// Claims a place for the caller if its state is `from`.
    fn take(&self, i: usize, from: u32) -> bool {
        // Acquire pairs with `publish`.
        self.places[i].state.compare_exchange(from, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives up a place that the caller has claimed, in the given state.
    fn publish(&self, i: usize, state: u32) {
        // Release pairs with `take`.
        self.places[i].state.store(state, Ordering::Release);
    }

    /// Claims a free place for a handler.
    fn free_place(&self) -> Option<usize> {
        let i = self.next.fetch_add(1, Ordering::Relaxed) % PLACES;
        let free = self.take(i, FREE);
        if !free {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        free.then_some(i)
    }

    /// Passes each sample that there is to `f`.
    fn drain(&self, mut f: impl FnMut(&Seen, usize)) {
        for i in (0..PLACES).filter(|&i| self.take(i, FULL)) {
            // SAFETY: the place is ours, and a handler has left it full; what it saw is dropped
            // here, once.
            f(&unsafe { (*self.places[i].seen.get()).assume_init_read() }, self.bytes(i));
            self.publish(i, FREE);
        }
    }
}

/// Takes a sample of the calling thread, whose M is `mp` and which a signal has interrupted in `gp`
/// with these registers. Called in the handler. Go's `sigprof`.
pub(in crate::runtime) fn sigprof(mp: &M, gp: &G, regs: Regs) {
    let Some(samples) = SAMPLES.get().filter(|samples| samples.on.load(Ordering::Relaxed)) else { return };
    let Some(i) = samples.free_place() else { return };
    let curg = mp.curg.get().filter(|curg| readgstatus(curg) & !GSCAN != GDEAD);
    let to = samples.bytes(i);
    // SAFETY: the bytes are the handler's, and have room for both parts. Both stacks are this
    // thread's: the interrupted stack from its stack pointer on, the goroutine's from where it
    // switched to g0.
    let parts = unsafe {
        let first = copy(gp, regs.sp, to, COPIED);
        let left = curg.filter(|curg| ptr::eq(gp, &mp.ext.g0) && !ptr::eq(gp, *curg));
        let second = left
            .map_or(Part::NONE, |curg| copy(curg, curg.sched.sp.get(), to + first.len, COPIED - first.len));
        [first, second]
    };
    // This thread runs the goroutine, so the goroutine can't give up its labels meanwhile.
    let seen = Seen { regs, parts, labels: curg.and_then(get_prof_label), periods: periods(mp) };
    // SAFETY: the place is the handler's.
    unsafe { (*samples.places[i].seen.get()).write(seen) };
    samples.publish(i, FULL);
}

/// Copies the stack of `gp` from `sp` on, with the red zone below `sp`, to the `room` bytes at
/// `to`. Copies nothing if `sp` isn't on that stack, because then the signal has come in the middle
/// of a switch.
///
/// # Safety
/// No other thread uses the bytes or the stack.
unsafe fn copy(gp: &G, sp: usize, to: usize, room: usize) -> Part {
    let stack = gp.stack.get();
    if sp < stack.lo + RED_ZONE || sp > stack.hi || !sp.is_multiple_of(size_of::<usize>()) {
        return Part::NONE;
    }
    let from = sp - RED_ZONE;
    let len = (stack.hi - from).min(room) & !(size_of::<usize>() - 1);
    for at in (0..len).step_by(size_of::<usize>()) {
        // SAFETY: aligned words of the two, as the caller says.
        unsafe {
            let word = ptr::with_exposed_provenance::<usize>(from + at).read_volatile();
            ptr::with_exposed_provenance_mut::<usize>(to + at).write(word);
        }
    }
    Part { from, len, hi: stack.hi }
}

/// Makes handlers take samples from now on. Drops the samples of earlier profiles.
pub(in crate::runtime) fn begin_samples() -> io::Result<()> {
    let samples = match SAMPLES.get() {
        Some(samples) => samples,
        None => {
            let new = Samples::new()?;
            SAMPLES.get_or_init(|| new)
        }
    };
    samples.drain(|_, _| ());
    samples.lost.store(0, Ordering::Relaxed);
    samples.on.store(true, Ordering::Relaxed);
    Ok(())
}

/// Whether handlers take samples.
pub(in crate::runtime) fn is_sampling() -> bool {
    SAMPLES.get().is_some_and(|samples| samples.on.load(Ordering::Relaxed))
}

/// Makes handlers take no more samples.
pub(in crate::runtime) fn end_samples() {
    SAMPLES.get().inspect(|samples| samples.on.store(false, Ordering::Relaxed));
}

/// Passes each sample that handlers have left to `f`. Returns how many samples were lost since the
/// last call. Called by one thread at a time, which doesn't run goroutines.
pub(crate) fn take_samples(copies: &mut Copies, mut f: impl FnMut(Sample)) -> u64 {
    let Some(samples) = SAMPLES.get() else { return 0 };
    samples.drain(|seen, bytes| {
        // SAFETY: these are a place's bytes, which begin with those of the parts, one behind the
        // other.
        let regs = unsafe { copies.fill(&seen.parts, bytes, seen.regs) };
        let pcs = as_walker(Copied::Sample, || copies.callers(&regs));
        f(Sample { pcs, labels: seen.labels.clone(), periods: seen.periods });
    });
    samples.lost.swap(0, Ordering::Relaxed)
}

/// How many bytes of zeros are behind each copy: as many as an unwinder may read in the outermost
/// frame.
const BEYOND: usize = 4 << 10;

/// Memory for the two parts of a sample.
pub(crate) struct Copies(MmapMut);

/// A part, and where its copy is.
struct Moved {
    part: Part,
    to: usize,
}

impl Moved {
    /// Returns the address in the copy that `word` should be, if it points to the stack.
    fn of(&self, word: usize) -> Option<usize> {
        let here = self.part.len != 0 && (self.part.from..=self.part.hi).contains(&word);
        here.then(|| self.to + (word - self.part.from).min(self.part.len))
    }
}

impl Copies {
    pub(crate) fn new() -> io::Result<Copies> {
        Ok(Copies(MmapOptions::new().len(COPIED + 2 * BEYOND).map_anon()?))
    }

    /// Fills the copies with the parts that a handler has copied. Returns the registers, changed to
    /// lead into the copies.
    ///
    /// # Safety
    /// The bytes of the parts are at `from`, aligned, one behind the other, and no thread changes
    /// them.
    unsafe fn fill(&mut self, parts: &[Part; 2], from: usize, mut regs: Regs) -> Regs {
        let base = self.0.as_mut_ptr().expose_provenance();
        let [first, second] = *parts;
        let moved = [Moved { part: first, to: base }, Moved { part: second, to: base + first.len + BEYOND }];
        let adjust = |word: usize| moved.iter().find_map(|part| part.of(word)).unwrap_or(word);
        let mut from = from;
        for Moved { part, to } in &moved {
            for at in (0..part.len + BEYOND).step_by(size_of::<usize>()) {
                // SAFETY: an aligned word of the part, as the caller says, and one of our memory,
                // which has room for both and what is beyond.
                unsafe {
                    let inside = at < part.len;
                    let word =
                        if inside { ptr::with_exposed_provenance::<usize>(from + at).read() } else { 0 };
                    ptr::with_exposed_provenance_mut::<usize>(to + at).write(adjust(word));
                }
            }
            from += part.len;
        }
        regs.change(|word| *word = adjust(*word));
        regs
    }

    /// Returns the frames of the code that has these registers, which [`fill`](Self::fill) has
    /// returned.
    fn callers(&self, regs: &Regs) -> Pcs {
        if !self.0.as_ptr_range().contains(&ptr::with_exposed_provenance(regs.sp)) {
            return Pcs::one(regs.pc);
        }
        // SAFETY: they lead into our memory. If a rule of the interrupted code leads elsewhere, the
        // fault ends the walk.
        unsafe { callers_of(regs) }
    }
}
