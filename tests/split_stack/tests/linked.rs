//! Tests that the program has this crate's `__morestack`, and what the linker has done about calls
//! of code without checks.

#[allow(dead_code, unused_imports, reason = "the suite's tests need more of it")]
#[path = "../../suite/harness/mod.rs"]
mod harness;
mod sweeping;

use std::env;
use std::fs;
use std::process::Command;

use gosched_split_stack::{available, flavours, rewrites_calls, unchecked_cases};
use harness::Test;
use sweeping::sweep_with;

harness::tests! {
    the_family_is_of_one_object
    calls_into_libc
    formats_with_little_stack
    formats_on_fenced_stacks
    formats_on_moving_stacks
}

fn main() -> std::process::ExitCode {
    harness::main(TESTS)
}

/// The functions that asm/x86_64/morestack.S defines.
const FAMILY: [&str; 6] = [
    "__morestack",
    "__morestack_allocate_stack_space",
    "__morestack_non_split",
    "gosched_morestack",
    "gosched_morestack_preempted",
    "gosched_morestack_prologue",
];

fn the_family_is_of_one_object(_: Test) {
    if !available() {
        return;
    }
    let exe = env::current_exe().expect("this binary has a path");
    let nm = Command::new("nm").arg("--numeric-sort").arg(exe).output().expect("nm comes with the linker");
    let nm = String::from_utf8(nm.stdout).expect("names are text");
    // A line has an address, a kind, and a name.
    let functions: Vec<&str> = nm
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().collect::<Vec<_>>().try_into().ok())
        .filter(|[_, kind, _]: &[&str; 3]| matches!(*kind, "T" | "t"))
        .map(|[_, _, name]| name)
        .collect();
    // In order of addresses, the functions of one object file are next to each other.
    let first = functions.iter().position(|name| FAMILY.contains(name)).expect("__morestack is there");
    let mut together = functions[first..first + FAMILY.len()].to_vec();
    together.sort_unstable();
    assert_eq!(together, FAMILY);
    assert_eq!(functions.iter().filter(|name| FAMILY.contains(name)).count(), FAMILY.len());
    // libgcc's `__morestack` needs this function.
    assert!(!nm.contains("__generic_morestack"), "libgcc's __morestack is there");
}

fn calls_into_libc(_: Test) {
    if !available() {
        return;
    }
    let exe = env::current_exe().and_then(fs::read).expect("this binary can be read");
    let lld = exe.windows(11).any(|bytes| bytes == b"Linker: LLD");
    let rewritten = rewrites_calls();
    println!("calls of code without checks: rewritten {rewritten}, linked by lld {lld}");
    // lld rewrites such calls, and so do some other linkers.
    assert!(rewritten || !lld);
}

fn formats_with_little_stack(test: Test) {
    formats(test, "stackkeep=0");
}

fn formats_on_fenced_stacks(test: Test) {
    formats(test, "stackkeep=0,stackverify=1,efence=1");
}

fn formats_on_moving_stacks(test: Test) {
    formats(test, "stackkeep=0,stackverify=1,efence=1,stackforcemove=1");
}

/// Calls libc and Rust at every depth. This is skipped with a linker that doesn't rewrite such
/// calls, because then nothing ensures that there is room for them.
fn formats(test: Test, godebug: &str) {
    if !available() {
        return;
    }
    if !rewrites_calls() {
        println!("skipped: this linker has split-stack code call libc with what stack there is");
        return;
    }
    // The linkers see no prologue behind a landing pad, so such flavours are left out. If gcc
    // optimises, static functions have no landing pad.
    let pads = |flavour: &str| flavour.ends_with("-branch") || flavour.ends_with("-full");
    let everywhere = |flavour: &str| flavour.starts_with("clang-") || flavour.starts_with("o0");
    let hidden = |flavour: &&str| pads(flavour) && everywhere(flavour);
    let flavours: Vec<_> = flavours().into_iter().filter(|flavour| !hidden(flavour)).collect();
    sweep_with(test, &flavours, unchecked_cases, godebug, 100);
}
