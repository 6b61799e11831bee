//! Copying stacks that grow under checks made by hand.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::{morestack_check, proc, run};

use crate::harness::tests;

tests! {
    a_list_in_the_frames_moves_with_them
}

/// A link of a list that lies in the frames of a recursion.
struct Node {
    next: *const Node,
    value: usize,
}

/// More than a frame of `recurse` takes in a debug build.
const FRAME: usize = 1024;

/// Adds up the list in `n` more frames and all frames above them.
fn recurse(n: usize, next: *const Node) -> usize {
    let node = Node { next, value: n };
    if n == 0 {
        let (mut sum, mut at) = (0, &raw const node);
        while !at.is_null() {
            // SAFETY: the node is in a frame that still exists, at its present address.
            unsafe {
                sum += (*at).value;
                at = (*at).next;
            }
        }
        return sum;
    }
    let sum = morestack_check!(FRAME, recurse, n - 1, &raw const node);
    sum + black_box(&node).value - n
}

/// The result of the last goroutine.
static SUM: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn sum_up(n: *mut c_void) {
    SUM.store(recurse(n.addr(), ptr::null()), Ordering::Release);
}

fn a_list_in_the_frames_moves_with_them() {
    run(|| {
        for n in [1, 10, 100, 1_000, 10_000, 100_000] {
            SUM.store(0, Ordering::Relaxed);
            // SAFETY: the goroutine checks before each frame, and doesn't panic.
            unsafe { proc::newproc(Some(sum_up), ptr::without_provenance_mut(n)) };
            while SUM.load(Ordering::Acquire) == 0 {
                gosched::yield_now();
            }
            assert_eq!(SUM.load(Ordering::Relaxed), n * (n + 1) / 2);
        }
    });
}
