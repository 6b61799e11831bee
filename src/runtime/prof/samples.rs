//! What handlers see of threads that compute: Go's `sigprof` and `profBuf`.
//!
//! A handler takes no lock and allocates nothing. It copies the interrupted stack, from the innermost frame on,
//! into one of as many places as there ever are, and whoever profiles takes it from there. If the next place is
//! still in use, the sample is lost, and counted.

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::arch::{RED_ZONE, Regs};
use crate::runtime::base::guarded::{Copied, as_walker};
use crate::runtime::data::runtime2::{G, GDEAD, GSCAN, M};
use crate::runtime::g::callers::Pcs;
use crate::runtime::g::proflabel::{LabelMap, get_prof_label};
use crate::runtime::g::status::readgstatus;
use crate::runtime::prof::timer::periods;
use crate::runtime::prof::walk::Copies;

/// How many samples there is room for until somebody takes them.
const PLACES: usize = 256;

/// How many bytes are copied of a sample's stacks, at most: some hundred frames, as a rule.
pub(super) const COPIED: usize = 32 << 10;

/// Nobody has the place.
const FREE: u32 = 0;
/// A handler writes to it, or its sample is being taken.
const TAKEN: u32 = 1;
/// There is a sample.
const FULL: u32 = 2;

/// A stack whose inner end was copied.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Where the copied bytes were.
    pub(super) from: usize,
    pub(super) len: usize,
    /// Where the stack ended.
    pub(super) hi: usize,
}

impl Part {
    pub(super) const NONE: Part = Part { from: 0, len: 0, hi: 0 };
}

/// A thread, as a handler has seen it.
struct Seen {
    regs: Regs,
    /// The interrupted stack; and if that was g0's, that of the goroutine, which may have called there.
    parts: [Part; 2],
    labels: Option<Arc<LabelMap>>,
    periods: i64,
}

struct Place {
    /// Publishes the other field, and the place's bytes.
    state: AtomicU32,
    seen: UnsafeCell<MaybeUninit<Seen>>,
}

struct Samples {
    /// On the heap from the first moment on: a goroutine's stack may have no room for so many.
    places: Box<[Place]>,
    /// [`COPIED`] bytes for each place. Hardly any are touched.
    memory: MmapMut,
    /// The number of the next sample.
    next: AtomicUsize,
    /// How many have found no place.
    lost: AtomicU64,
    /// Whether handlers look.
    on: AtomicBool,
}

// SAFETY: what isn't atomic in a place, and its bytes, belong to whoever has made its state TAKEN, until that changes
// it again.
unsafe impl Sync for Samples {}

/// There once a profile was begun, for good: a handler may be late.
static SAMPLES: OnceLock<Samples> = OnceLock::new();

/// What a profile is told of a thread.
pub(crate) struct Sample {
    pub(crate) pcs: Pcs,
    pub(crate) labels: Option<Arc<LabelMap>>,
    /// How many periods it stands for: a kernel may look at its timers less often.
    pub(crate) periods: i64,
}

impl Samples {
    fn new() -> io::Result<Samples> {
        let place = |_| Place { state: AtomicU32::new(FREE), seen: UnsafeCell::new(MaybeUninit::uninit()) };
        Ok(Samples {
            places: (0..PLACES).map(place).collect(),
            memory: MmapOptions::new().len(PLACES * COPIED).no_reserve_swap().map_anon()?,
            next: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            on: AtomicBool::new(false),
        })
    }

    /// Where the bytes of place `i` are.
    fn bytes(&self, i: usize) -> usize {
        self.memory.as_ptr().expose_provenance() + i * COPIED
    }

    /// Makes a place that is in the state `from` the caller's.
    fn take(&self, i: usize, from: u32) -> bool {
        // Acquire pairs with `publish`.
        self.places[i].state.compare_exchange(from, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives up a place of the caller's.
    fn publish(&self, i: usize, state: u32) {
        // Release pairs with `take`.
        self.places[i].state.store(state, Ordering::Release);
    }

    /// A place for a handler.
    fn free_place(&self) -> Option<usize> {
        let i = self.next.fetch_add(1, Ordering::Relaxed) % PLACES;
        let free = self.take(i, FREE);
        if !free {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        free.then_some(i)
    }

    /// Has `f` get each sample that there is.
    fn drain(&self, mut f: impl FnMut(&Seen, usize)) {
        for i in (0..PLACES).filter(|&i| self.take(i, FULL)) {
            // SAFETY: the place is ours, and a handler has left it full; what it saw is dropped here, once.
            f(&unsafe { (*self.places[i].seen.get()).assume_init_read() }, self.bytes(i));
            self.publish(i, FREE);
        }
    }
}

/// Looks at this thread, whose M is `mp`, and which a signal has interrupted in `gp` with these registers. In the
/// handler. Go's `sigprof`.
pub(in crate::runtime) fn sigprof(mp: &M, gp: &G, regs: Regs) {
    let Some(samples) = SAMPLES.get().filter(|samples| samples.on.load(Ordering::Relaxed)) else { return };
    let Some(i) = samples.free_place() else { return };
    let curg = mp.curg.get().filter(|curg| readgstatus(curg) & !GSCAN != GDEAD);
    let to = samples.bytes(i);
    // SAFETY: the bytes are the handler's, and have room for both parts. The stacks are this thread's: the interrupted
    // one from its stack pointer on, and the goroutine's from where that left it for g0.
    let parts = unsafe {
        let first = copy(gp, regs.sp, to, COPIED);
        let left = curg.filter(|curg| ptr::eq(gp, &mp.ext.g0) && !ptr::eq(gp, *curg));
        let second = left
            .map_or(Part::NONE, |curg| copy(curg, curg.sched.sp.get(), to + first.len, COPIED - first.len));
        [first, second]
    };
    // The goroutine's own, which this thread runs: it can't be giving them up meanwhile.
    let seen = Seen { regs, parts, labels: curg.and_then(get_prof_label), periods: periods(mp) };
    // SAFETY: the place is the handler's.
    unsafe { (*samples.places[i].seen.get()).write(seen) };
    samples.publish(i, FULL);
}

/// Copies the stack of `gp` from `sp` on, and what lies below by right, to the `room` bytes at `to`; nothing if `sp` isn't
/// on that stack: the signal has come in the middle of a switch.
///
/// # Safety
/// The bytes are the caller's, and so is the stack.
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

/// Has handlers look at threads from now on; what older ones have left is forgotten.
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

/// Whether handlers look.
pub(in crate::runtime) fn is_sampling() -> bool {
    SAMPLES.get().is_some_and(|samples| samples.on.load(Ordering::Relaxed))
}

/// Has handlers look no more.
pub(in crate::runtime) fn end_samples() {
    SAMPLES.get().inspect(|samples| samples.on.store(false, Ordering::Relaxed));
}

/// Has `f` get each sample that handlers have left, and returns how many were lost since it was last asked. One thread at a
/// time, which isn't a goroutine's.
pub(crate) fn take_samples(copies: &mut Copies, mut f: impl FnMut(Sample)) -> u64 {
    let Some(samples) = SAMPLES.get() else { return 0 };
    samples.drain(|seen, bytes| {
        // SAFETY: a place's bytes, whose first ones are those of the parts, one behind the other.
        let regs = unsafe { copies.fill(&seen.parts, bytes, seen.regs) };
        let pcs = as_walker(Copied::Sample, || copies.callers(&regs));
        f(Sample { pcs, labels: seen.labels.clone(), periods: seen.periods });
    });
    samples.lost.swap(0, Ordering::Relaxed)
}
