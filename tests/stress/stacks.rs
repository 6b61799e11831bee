//! Copying stacks that grow and shrink while a goroutine receives into them.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use gosched::chan::hchan::{Hchan, Type, chanrecv1, chansend1, freechan, makechan};
use gosched::runtime2::{G, GSCANWAITING, GWAITING};
use gosched::{go, morestack_check, proc, yield_now};

use crate::rng::Rng;
use crate::tally::{Op, count};

/// A bound of the size of a frame of `descend` in a debug build.
const FRAME: usize = 1500;

/// A goroutine that goes down `depth` frames and up again, `times` times.
struct Diver {
    c: NonNull<Hchan>,
    depth: usize,
    /// A value is received in one of `every` frames.
    every: usize,
    times: usize,
    gp: AtomicPtr<G>,
    /// The sum of the received values, added up from the frames that have received them.
    sum: AtomicU64,
    left: AtomicUsize,
}

// SAFETY: any thread may use a channel.
unsafe impl Send for Diver {}
// SAFETY: see `Send`.
unsafe impl Sync for Diver {}

/// A frame of a dive: the value that it has received, and the address of the frame above.
struct Frame {
    above: *const Frame,
    received: u64,
}

/// Goes `n` frames down, receives on the way, and then adds up the values of all these frames.
fn descend(diver: &Diver, n: usize, above: *const Frame) -> u64 {
    let mut frame = Frame { above, received: 0 };
    if n.is_multiple_of(diver.every) {
        // SAFETY: the channel is one of words, and `received` has room for one.
        unsafe { chanrecv1(Some(diver.c), (&raw mut frame.received).cast()) };
        count(Op::Receive);
    }
    if n > 0 {
        return morestack_check!(FRAME, descend, diver, n - 1, &raw const frame);
    }
    let (mut sum, mut at) = (0, &raw const frame);
    // SAFETY: the frames above are still there.
    while let Some(frame) = unsafe { at.as_ref() } {
        sum += frame.received;
        at = frame.above;
    }
    sum
}

unsafe extern "C" fn dive(diver: *mut c_void) {
    // SAFETY: `dives` passes an Arc's pointer.
    let diver = unsafe { Arc::from_raw(diver.cast::<Diver>()) };
    diver.gp.store(proc::getg(), Ordering::Release);
    for _ in 0..diver.times {
        let sum = morestack_check!(FRAME, descend, &diver, diver.depth, ptr::null());
        diver.sum.fetch_add(sum, Ordering::Relaxed);
    }
    diver.left.fetch_sub(1, Ordering::Release);
}

/// Halves the stack of a diver, if it is waiting.
fn shrink(diver: &Diver) {
    let gp = diver.gp.load(Ordering::Acquire);
    if gp.is_null() {
        return;
    }
    // SAFETY: G's are never freed. While the scan bit is set, this goroutine owns the diver's
    // stack.
    unsafe {
        if proc::castogscanstatus(gp, GWAITING, GSCANWAITING) {
            proc::shrinkstack(gp);
            proc::casfrom_gscanstatus(gp, GSCANWAITING, GWAITING);
        }
    }
}

static WORD: Type = Type { size_: size_of::<u64>(), align_: align_of::<u64>() };

/// Divers that receive from senders, one for each diver, while their stacks are shrunk.
pub fn dives(rng: &mut Rng) {
    let c = makechan(&WORD, rng.below(3)).expect("memory for a channel");
    let divers: Vec<_> = (0..rng.up_to(4))
        .map(|_| {
            Arc::new(Diver {
                c,
                depth: rng.below(200),
                every: rng.up_to(20),
                times: rng.up_to(10),
                gp: AtomicPtr::default(),
                sum: AtomicU64::new(0),
                left: AtomicUsize::new(1),
            })
        })
        .collect();
    let mut sent = 0;
    for diver in &divers {
        let values = (diver.depth / diver.every + 1) * diver.times;
        sent += (1..=values as u64).sum::<u64>();
        // SAFETY: `dive` checks its stack and doesn't panic.
        unsafe { proc::newproc(Some(dive), Arc::into_raw(diver.clone()).cast_mut().cast()) };
        let sender = diver.clone();
        go(move || {
            for value in 1..=values as u64 {
                // SAFETY: the channel is one of words, and `value` is one.
                unsafe { chansend1(Some(sender.c), (&raw const value).cast()) };
                count(Op::Send);
            }
        });
    }
    while divers.iter().any(|diver| diver.left.load(Ordering::Acquire) > 0) {
        shrink(&divers[rng.below(divers.len())]);
        yield_now();
    }
    assert_eq!(divers.iter().map(|diver| diver.sum.load(Ordering::Relaxed)).sum::<u64>(), sent);
    while divers.iter().any(|diver| Arc::strong_count(diver) > 1) {
        yield_now();
    }
    // SAFETY: all divers and senders have ended, so the channel isn't used any more.
    unsafe { freechan(c) };
}
