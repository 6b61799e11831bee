//! Goroutines that need more than the smallest stack: it grows, at checks in the source.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::time::Instant;

use gosched::chan::hchan::{Hchan, Type, chanrecv1, closechan, freechan, makechan};
use gosched::sync::WaitGroup;
use gosched::{morestack_check, proc};
use gosched_benches::Args;
use gosched_benches::deep::{ROOM, deep};

/// The workload of `run_cold`.
pub const COLD: &str = "raw_grow_cold";

/// The number of goroutines that this workload has at once.
const COLD_COUNT: u32 = 1_000;

/// The depth of a goroutine's recursion.
const DEPTH: usize = 300;

static RUNNING: WaitGroup = WaitGroup::new();

pub fn run(args: &Args) {
    unsafe extern "C" fn grow(_: *mut c_void) {
        black_box(morestack_check!(ROOM, deep, DEPTH));
        RUNNING.done();
    }
    args.timed("raw_grow", 20_000, |n| {
        for _ in 0..n {
            RUNNING.add(1);
            // SAFETY: `grow` checks before it takes more stack than it has.
            unsafe { proc::newproc(Some(grow), ptr::null_mut()) };
            RUNNING.wait();
        }
    });
}

/// Does the same as `run`, but no goroutine gets a stack that another has grown: all wait until the
/// last stack has grown, and end then. Must run once, in a process that hasn't done anything
/// before.
pub fn run_cold(args: &Args) {
    static GROWING: WaitGroup = WaitGroup::new();
    static NOTHING: Type = Type { size_: 0, align_: 1 };
    unsafe extern "C" fn grow(gate: *mut c_void) {
        black_box(morestack_check!(ROOM, deep, DEPTH));
        GROWING.done();
        // SAFETY: run_cold passes a channel of nothing, and keeps it until this is done.
        unsafe { chanrecv1(ptr::NonNull::new(gate.cast::<Hchan>()), ptr::null_mut()) };
        RUNNING.done();
    }
    let gate = makechan(&NOTHING, 0).unwrap_or_else(|| proc::throw("no memory for a channel"));
    let start = Instant::now();
    GROWING.add(COLD_COUNT);
    RUNNING.add(COLD_COUNT);
    // SAFETY: `grow` checks before it takes more stack than it has; the channel is open until all
    // have grown, and freed when nobody has it.
    unsafe {
        for _ in 0..COLD_COUNT {
            proc::newproc(Some(grow), gate.as_ptr().cast());
        }
        GROWING.wait();
        closechan(gate);
        RUNNING.wait();
        args.report(COLD, start.elapsed().as_nanos() as f64 / f64::from(COLD_COUNT), "ns/op");
        freechan(gate);
    }
}
