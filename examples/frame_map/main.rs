//! Code of a compiler that knows its frames. With a map of the frames, the runtime adjusts copied
//! stacks precisely.
//!
//! The "compiled" code is a function of a small language, as a compiler would emit it. Each call
//! has a cell of a list in its frame, which points to the cell of its caller:
//!
//! ```text
//!     count(n, list):
//!         cell = { value: n, next: list, seal: the number that its address is just now, check: !seal }
//!         if n == 0 { sum(cell) } else { count(n - 1, address of cell) }
//! ```
//!
//! `next` is an address of the stack and must move with it. `seal` looks like an address but is a
//! number, which must not change. Only the compiler's own map can tell the two apart.

use std::env;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::proc::{self, Frame, FrameMap};
use gosched::sync::WaitGroup;

#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
mod compiled;

unsafe extern "C" {
    fn count(n: usize, list: *const Cell) -> usize;
    fn count_end();
}

/// The cell in each frame of `count`.
#[repr(C)]
struct Cell {
    value: usize,
    next: *const Cell,
    seal: usize,
    check: usize,
}

/// The number of seals found broken.
static BROKEN: AtomicUsize = AtomicUsize::new(0);

/// Adds up a list, and counts broken seals. It runs on the goroutine's stack without a check, as it
/// needs little stack.
unsafe extern "C" fn sum(list: *const Cell) -> usize {
    let (mut sum, mut next) = (0, list);
    // SAFETY: the cells are in the frames of the callers; the map has kept their addresses right.
    while let Some(cell) = unsafe { next.as_ref() } {
        sum += cell.value;
        if cell.seal != !cell.check {
            BROKEN.fetch_add(1, Ordering::Relaxed);
        }
        next = cell.next;
    }
    sum
}

/// The compiler's map: in a frame of `count`, one word is an address of the stack.
struct CountFrames;

// SAFETY: `next` is the only such word, and `count` keeps a frame pointer.
unsafe impl FrameMap for CountFrames {
    fn slots(&self, frame: &Frame, slot: &mut dyn FnMut(usize)) {
        slot(frame.fp - 24);
    }
}

const DEPTH: usize = 10_000;

static RUNNING: WaitGroup = WaitGroup::new();
static SUM: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn goroutine(_: *mut c_void) {
    // SAFETY: `count` checks its stack; null is the empty list.
    SUM.store(unsafe { count(DEPTH, ptr::null()) }, Ordering::Relaxed);
    RUNNING.done();
}

/// Runs `count` in a goroutine, and returns the number of broken seals.
fn broken() -> usize {
    BROKEN.store(0, Ordering::Relaxed);
    RUNNING.add(1);
    // SAFETY: `goroutine` fits the smallest stack up to `count`, which checks it; it doesn't panic.
    unsafe { proc::newproc(Some(goroutine), ptr::null_mut()) };
    RUNNING.wait();
    assert_eq!(SUM.load(Ordering::Relaxed), DEPTH * (DEPTH + 1) / 2, "an address has not moved");
    BROKEN.load(Ordering::Relaxed)
}

fn main() {
    // Without this setting, stacks that have grown are kept, and nothing would move the second
    // time.
    // SAFETY: there is no other thread yet.
    unsafe { env::set_var("GODEBUG", "stackkeep=0") };
    let main = || {
        println!("without a map, {} of {DEPTH} numbers were taken for addresses", broken());
        let code = count as *const () as usize..count_end as *const () as usize;
        // SAFETY: the map is right for all of the code, which no goroutine runs when it is dropped.
        let map = unsafe { proc::register_frame_map(code, &CountFrames) };
        println!("with a map, {}", broken());
        drop(map);
    };
    gosched::run(main);
}
