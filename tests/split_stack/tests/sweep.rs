//! Each case at each depth of a fresh stack, where each prologue can be the one that finds too
//! little of it.
//!
//! | tests | what happens to stacks |
//! | --- | --- |
//! | `growth_*` | they grow |
//! | `fenced_*` | they grow; what they have left is inaccessible, and looked for in what they have become |
//! | `forced_*` | they are moved by every check besides |

#[path = "../../common/mod.rs"]
mod common;

use std::fs;
use std::time::Instant;

use common::{Test, run};
use gosched_split_stack::{Call, Case, Partner, Settings, available, cases, count_moves, references, sweep};

common::tests! {
    growth_o0
    growth_o2
    growth_o2fp
    fenced_o0
    fenced_o2
    fenced_o2fp
    forced_o0
    forced_o2
    forced_o2fp
    blocks_are_freed
}

fn growth_o0(test: Test) {
    growth(test, "o0");
}

fn growth_o2(test: Test) {
    growth(test, "o2");
}

fn growth_o2fp(test: Test) {
    growth(test, "o2fp");
}

fn fenced_o0(test: Test) {
    fenced(test, "o0");
}

fn fenced_o2(test: Test) {
    fenced(test, "o2");
}

fn fenced_o2fp(test: Test) {
    fenced(test, "o2fp");
}

fn forced_o0(test: Test) {
    forced(test, "o0");
}

fn forced_o2(test: Test) {
    forced(test, "o2");
}

fn forced_o2fp(test: Test) {
    forced(test, "o2fp");
}

/// Calls that the deepest recursion makes. Without optimisation, moving so much takes too long.
const DEEP: u64 = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

fn growth(test: Test, level: &str) {
    sweep_with(test, level, "stackkeep=0", DEEP);
}

fn fenced(test: Test, level: &str) {
    sweep_with(test, level, "stackkeep=0,stackverify=1,efence=1", DEEP);
}

/// Not so deep: what is moved is what there is of the stack, level by level.
fn forced(test: Test, level: &str) {
    sweep_with(test, level, "stackkeep=0,stackverify=1,efence=1,stackforcemove=1", 100);
}

fn sweep_with(test: Test, level: &str, godebug: &str, deep_levels: u64) {
    if !available() {
        return;
    }
    let forced = godebug.contains("stackforcemove=1");
    let process = test.process(|| {
        let settings = Settings { seed: 0x0123_4567_89ab_cdef, levels: 30, deep_levels };
        let (cases, since) = (cases(level), Instant::now());
        let references = references(&cases, settings);
        count_moves();
        let summary = run(|| sweep(&cases, &references, settings, forced));
        eprintln!("{level}, {godebug}: {} cases, {summary:?}, {:?}", cases.len(), since.elapsed());
    });
    let ended = process.env("GOMAXPROCS", "1").env("GODEBUG", godebug).end();
    print!("{}", ended.with("exit status: 0").says("cases").stderr);
}

/// One goroutine asks for 100 MB by alloca, one block after the other, none of which is on the stack.
fn blocks_are_freed(test: Test) {
    if !available() {
        return;
    }
    let process = test.process(|| {
        let settings = Settings { seed: 0x0123_4567_89ab_cdef, levels: 6000, deep_levels: 1 };
        let cases: Vec<Case> = cases("o2").into_iter().filter(|case| case.name == "alloca_again").collect();
        let references = references(&cases, settings);
        run(|| {
            let partner = Partner::goroutines();
            allow(8 << 20);
            let result = Call::new(&cases[0], 0, settings, &partner).on_a_goroutine();
            assert!(references[0].agrees(result));
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "stackforcemove=1").end().with("exit status: 0");
}

/// Lets the process have so many bytes of address space more than it has now.
fn allow(more: u64) {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages: u64 = statm.split(' ').next().and_then(|size| size.parse().ok()).expect("the size in pages");
    let limit = libc::rlimit { rlim_cur: pages * 4096 + more, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel reads `limit`.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}
