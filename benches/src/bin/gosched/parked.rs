//! A million goroutines that wait: the cost of making, keeping and ending them.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Instant;

use gosched::chan::bounded;
use gosched::runtime2::{G, TraceBlockReason, WaitReason};
use gosched::sync::WaitGroup;
use gosched::{proc, scope, yield_now};
use gosched_benches::{Args, memory};

const COUNT: u32 = 1_000_000;

pub fn run(args: &Args) {
    if args.wants("parked") {
        parked(args);
    }
    if args.wants("raw_parked") {
        raw_parked(args);
    }
}

fn parked(args: &Args) {
    let (gate, opened) = bounded::<()>(0);
    let mut meter = Meter::start(args, "parked");
    scope(|s| {
        for _ in 0..COUNT {
            s.go(|| opened.recv());
        }
        meter.made();
        drop(gate);
    });
    meter.released();
}

static RUNNING: WaitGroup = WaitGroup::new();

fn raw_parked(args: &Args) {
    let parked: Vec<AtomicPtr<G>> = (0..COUNT).map(|_| AtomicPtr::default()).collect();
    let mut meter = Meter::start(args, "raw_parked");
    RUNNING.add(COUNT);
    for place in &parked {
        // SAFETY: `park` needs little stack, and the places stay until all have ended.
        unsafe { proc::newproc(Some(park), ptr::from_ref(place).cast_mut().cast()) };
    }
    meter.made();
    for place in &parked {
        while place.load(Ordering::Acquire).is_null() {
            yield_now();
        }
        // SAFETY: `publish` is called when the goroutine has parked; only this makes it ready.
        unsafe { proc::goready(place.load(Ordering::Acquire), 0) };
    }
    RUNNING.wait();
    meter.released();
}

unsafe extern "C" fn park(place: *mut c_void) {
    // SAFETY: on a goroutine; `publish` touches the place and nothing of this stack, and returns
    // true.
    unsafe { proc::gopark(Some(publish), place, WaitReason::Zero, TraceBlockReason::Generic, 0) };
    RUNNING.done();
}

/// Publishes the G in `place`, for raw_parked to make it ready.
unsafe extern "C" fn publish(gp: *mut G, place: *mut c_void) -> bool {
    // SAFETY: raw_parked made the goroutine with a pointer to its place, which outlives it.
    unsafe { &*place.cast::<AtomicPtr<G>>() }.store(gp, Ordering::Release);
    true
}

/// Measures the goroutines from before the first is made until the last has ended.
struct Meter<'a> {
    args: &'a Args,
    name: &'static str,
    rss: f64,
    pte: f64,
    start: Instant,
}

impl<'a> Meter<'a> {
    fn start(args: &'a Args, name: &'static str) -> Self {
        Meter { args, name, rss: memory("VmRSS"), pte: memory("VmPTE"), start: Instant::now() }
    }

    /// Called when all goroutines have been made.
    fn made(&mut self) {
        // The last goroutines have yet to park.
        for _ in 0..3 {
            yield_now();
        }
        self.report("", self.start.elapsed().as_nanos() as f64, "ns/op");
        self.report("_rss", memory("VmRSS") - self.rss, "bytes");
        self.report("_pte", memory("VmPTE") - self.pte, "bytes");
        self.start = Instant::now();
    }

    /// Called when all goroutines have ended.
    fn released(self) {
        self.report("_release", self.start.elapsed().as_nanos() as f64, "ns/op");
    }

    fn report(&self, what: &str, total: f64, unit: &str) {
        self.args.report(&format!("{}{what}", self.name), total / f64::from(COUNT), unit);
    }
}
