//! Wrong maps of frames, and pointers that no map names: a move that meets them ends the process.

use std::ffi::c_void;
use std::hint::black_box;
use std::panic::catch_unwind;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use gosched::proc::{self, Frame, FrameMap};
use gosched::{morestack_check, run};

use super::morestack::{nothing, raw};
use crate::asm::at_the_stacks_end::{mapped, mapped_end};
use crate::harness::{Test, tests};

tests! {
    a_slot_above_its_frame
    a_slot_below_its_frame
    a_slot_between_two_words
    a_map_that_overlaps
    a_map_that_forgets_a_slot
    a_stale_pointer_into_a_segment
    a_stale_pointer_into_the_home_page
}

/// Names the word this far below the frame pointer.
struct Below(usize);

// SAFETY: a wrong map is what the tests need.
unsafe impl FrameMap for Below {
    fn slots(&self, frame: &Frame, slot: &mut dyn FnMut(usize)) {
        slot(frame.fp - self.0);
    }
}

fn register(map: &'static Below) -> proc::FrameMapRegistration {
    let code = mapped as *const () as usize..mapped_end as *const () as usize;
    // SAFETY: no goroutine runs that code when the map is dropped.
    unsafe { proc::register_frame_map(code, map) }
}

static MOVED: AtomicUsize = AtomicUsize::new(usize::MAX);

unsafe extern "C" fn call_mapped(_: *mut c_void) {
    // SAFETY: it checks its stack.
    MOVED.store(unsafe { mapped() }, Ordering::Relaxed);
}

/// Runs with a wrong map.
fn outside(test: Test, map: &'static Below) {
    let process = test.process(|| {
        run(|| {
            let _map = register(map);
            raw(call_mapped);
        });
    });
    let ended = process.end();
    ended.with("exit status: 2").says("runtime: slot 0x");
    ended.says("fatal error: frame map names a slot outside its frame\n");
}

fn a_slot_above_its_frame(test: Test) {
    outside(test, &Below(0));
}

fn a_slot_below_its_frame(test: Test) {
    outside(test, &Below(40));
}

fn a_slot_between_two_words(test: Test) {
    outside(test, &Below(12));
}

fn a_map_that_overlaps(test: Test) {
    let process = test.process(|| {
        run(|| {
            let map = register(&Below(8));
            let again = catch_unwind(|| register(&Below(8))).map(drop);
            assert!(again.is_err(), "two maps for the same code");
            drop(map);
            drop(register(&Below(8)));
        });
    });
    process.end().with("exit status: 0").says("a frame map's range must be its own and not empty");
}

fn a_map_that_forgets_a_slot(test: Test) {
    let body = || {
        run(|| {
            let map = register(&Below(8));
            raw(call_mapped);
            assert_eq!(MOVED.load(Ordering::Relaxed), 1, "the slot that is named, and not the other");
            drop(map);
        });
    };
    test.process(body).end().with("exit status: 0");
    let ended = test.process(body).env("GODEBUG", "stackverify=1").end();
    ended.with("exit status: 2").says("bytes from the end of its stack, is stale\n");
    ended.says("fatal error: stale stack pointer after a move\n");
}

/// A pointer to a local, where no move finds it.
static STALE: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());

fn keep_and_grow() {
    let mut local = black_box(7_u64);
    STALE.store(&raw mut local, Ordering::Relaxed);
    morestack_check!(1 << 20, nothing);
    // SAFETY: none. The debug modes must find this.
    let read = unsafe { STALE.load(Ordering::Relaxed).read_volatile() };
    // SAFETY: the closure doesn't park.
    unsafe { proc::systemstack(|| eprintln!("read {read:#x} from a stack that has moved on")) };
    black_box(local);
}

fn a_stale_pointer_into_a_segment(test: Test) {
    unsafe extern "C" fn grown(_: *mut c_void) {
        morestack_check!(100_000, keep_and_grow);
    }
    let ended = test.process(|| run(|| raw(grown))).env("GODEBUG", "efence=1").end();
    ended.with("signal: 11");
    assert!(!ended.stderr.contains("moved on"), "{}", ended.stderr);
}

fn a_stale_pointer_into_the_home_page(test: Test) {
    unsafe extern "C" fn at_home(_: *mut c_void) {
        keep_and_grow();
    }
    let ended = test.process(|| run(|| raw(at_home))).env("GODEBUG", "efence=1").end();
    ended.with("exit status: 0").says("read 0xfcfcfcfcfcfcfcfc from a stack that has moved on\n");
}
