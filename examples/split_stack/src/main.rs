//! Ten thousand goroutines in C. Each recurses to a depth of its own.
//!
//! Each starts on 2 KiB and builds a tree in the frames of its recursion, of 1 to 10,000 nodes.
//! Such a stack grows to some 600 KiB, and moves up to nine times, with every pointer in it.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use gosched::proc;
use gosched::runtime2::G;
use gosched::sync::WaitGroup;

unsafe extern "C" {
    /// In tree.c: returns 0 if each node of a tree of `n` nodes was found.
    fn tree(n: u64) -> u64;
}

const GOROUTINES: usize = 10_000;

static RUNNING: WaitGroup = WaitGroup::new();
static WRONG: AtomicU64 = AtomicU64::new(0);
static MOVES: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn goroutine(n: *mut c_void) {
    // SAFETY: tree.c is compiled with -fsplit-stack, so it checks its stack; it doesn't unwind.
    if unsafe { tree(n.addr() as u64) } != 0 {
        WRONG.fetch_add(1, Ordering::Relaxed);
    }
    RUNNING.done();
}

/// A hook that is called for each move of a stack.
fn count(gp: &G, _: &proc::AdjustInfo) {
    let stack = gp.stack.get();
    MOVES.fetch_add(1, Ordering::Relaxed);
    LARGEST.fetch_max(stack.hi - stack.lo, Ordering::Relaxed);
}

fn main() {
    let start = Instant::now();
    // SAFETY: before the first run; `count` only counts.
    unsafe { proc::set_hooks(proc::Hooks { copystack: Some(count), ..Default::default() }) };
    let main = || {
        for n in 1..=GOROUTINES {
            RUNNING.add(1);
            // SAFETY: `goroutine` fits the smallest stack up to `tree`, which checks it; it doesn't
            // panic.
            unsafe { proc::newproc(Some(goroutine), ptr::without_provenance_mut(n)) };
        }
        RUNNING.wait();
    };
    gosched::run(main);
    assert_eq!(WRONG.load(Ordering::Relaxed), 0, "trees with a wrong sum");
    println!(
        "{GOROUTINES} trees, {} moves, the largest stack {} KiB, {} ms",
        MOVES.load(Ordering::Relaxed),
        LARGEST.load(Ordering::Relaxed) >> 10,
        start.elapsed().as_millis(),
    );
}
