//! Reports of a goroutine that overflows its stack while it touches the pages of a large frame, or
//! whose frames can't be walked: the report has everything that is known.

use std::hint::black_box;

use gosched::{Builder, run};

use super::overflow::announce;
use crate::asm::probes::{probes_astray, probes_constant, probes_loop, probes_variable};
use crate::harness::process::Ended;
use crate::harness::{Test, tests};

tests! {
    of_rustc_a_page
    of_rustc_a_few_pages
    of_rustc_in_a_loop
    of_gcc_a_few_pages
    of_gcc_in_a_loop
    of_gcc_in_a_variable_loop
    a_frame_that_no_unwinder_finds
}

/// Runs a goroutine that overflows its stack in `f`.
fn overflows(test: Test, f: fn()) -> Ended {
    let process = test.process(|| {
        run(|| {
            let handle = Builder::new().stack_size(256 << 10).go(move || {
                announce();
                f();
            });
            handle.unwrap().join().unwrap();
        });
    });
    process.env("GOTRACEBACK", "all").end()
}

/// Fails unless an overflow was reported, and the frames begin with these two functions, apart from
/// functions that the first one has called.
#[track_caller]
fn reported(ended: &Ended, inner: &str, outer: &str) {
    let (_, header) = ended.overflow().stderr.split_once(" [running").expect("a header");
    let (_, frames) = header.split_once('\n').expect("frames");
    let functions = frames.lines().step_by(2).map(|line| line.trim_end_matches("(...)"));
    let mut functions = functions.filter(|function| !function.ends_with("::black_box"));
    let both = [functions.next(), functions.find(|function| !function.ends_with(inner))];
    let ends = |found: Option<&str>, name| found.is_some_and(|function| function.ends_with(name));
    assert!(ends(both[0], inner) && ends(both[1], outer), "not {inner}, {outer}: {both:?}\n{}", ended.stderr);
    others_reported(ended);
}

/// Fails unless the report is complete.
#[track_caller]
fn others_reported(ended: &Ended) {
    ended.says(&format!("created at {}:", file!())).says("\n\ngoroutine 1 [");
}

/// Calls itself until the stack is full, with frames of at least `N` bytes.
#[inline(never)]
fn recurse<const N: usize>(depth: u64) -> u64 {
    let frame = black_box([depth as u8; N]);
    if black_box(false) { 0 } else { recurse::<N>(depth + 1) + u64::from(frame[N / 2]) }
}

#[inline(never)]
fn recurses<const N: usize>() {
    black_box(recurse::<N>(0));
}

fn of_rustc_a_page(test: Test) {
    reported(&overflows(test, recurses::<7_000>), "probes::recurse", "probes::recurses");
}

fn of_rustc_a_few_pages(test: Test) {
    reported(&overflows(test, recurses::<20_000>), "probes::recurse", "probes::recurses");
}

/// The frame is larger than the stack.
fn of_rustc_in_a_loop(test: Test) {
    #[inline(never)]
    fn large() {
        let frame = [1_u8; 1 << 20];
        black_box(&frame);
    }
    #[inline(never)]
    fn outer() {
        large();
        black_box(());
    }
    reported(&overflows(test, outer), "large", "outer");
}

/// Calls `f` deeper and deeper.
#[inline(never)]
fn deeper(f: unsafe extern "C" fn(), depth: u64) -> u64 {
    // SAFETY: it returns, or overflows the stack, which is what is tested.
    unsafe { f() };
    if black_box(false) { 0 } else { deeper(f, depth + 1) + black_box(depth) }
}

fn of_gcc_a_few_pages(test: Test) {
    let ended = overflows(test, || _ = deeper(probes_constant, 0));
    reported(&ended, "probes_constant", "probes::deeper");
    ended.says("...additional frames elided...\n");
}

fn of_gcc_in_a_loop(test: Test) {
    reported(&overflows(test, || _ = deeper(probes_loop, 0)), "probes_loop", "probes::deeper");
}

fn of_gcc_in_a_variable_loop(test: Test) {
    #[inline(never)]
    fn outer() {
        // SAFETY: as in `deeper`.
        unsafe { probes_variable(black_box(1 << 20)) };
        black_box(());
    }
    reported(&overflows(test, outer), "probes_variable", "outer");
}

fn a_frame_that_no_unwinder_finds(test: Test) {
    let ended = overflows(test, || _ = deeper(probes_astray, 0));
    ended
        .overflow()
        .says("probes_astray(...)\n")
        .says("\t(the unwinder failed here: no more frames)\ncreated");
    others_reported(&ended);
}
