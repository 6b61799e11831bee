//! Each case at each depth of a fresh stack, where each prologue can be the one that finds too
//! little of it.
//!
//! | tests | what happens to stacks |
//! | --- | --- |
//! | `growth_*` | they grow |
//! | `fenced_*` | they grow; what they have left is inaccessible, and looked for in what they have become |
//! | `forced_*` | they are moved by every check besides |

#[allow(dead_code, unused_imports, reason = "the suite's tests need more of it")]
#[path = "../../suite/harness/mod.rs"]
mod harness;
mod sweeping;

use gosched_split_stack::{Call, Case, Partner, Settings, available, cases, references};
use harness::{Test, run};
use sweeping::{SEED, sweep_with};

harness::tests! {
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

fn main() -> std::process::ExitCode {
    harness::main(TESTS)
}

/// A test for each level: what its name says is done to the stacks, at that level.
macro_rules! at_each_level {
    ($($test:ident: $mode:ident $level:literal;)*) => {
        $(fn $test(test: Test) {
            $mode(test, $level);
        })*
    };
}

at_each_level! {
    growth_o0: growth "o0";
    growth_o2: growth "o2";
    growth_o2fp: growth "o2fp";
    fenced_o0: fenced "o0";
    fenced_o2: fenced "o2";
    fenced_o2fp: fenced "o2fp";
    forced_o0: forced "o0";
    forced_o2: forced "o2";
    forced_o2fp: forced "o2fp";
}

/// Calls that the deepest recursion makes. Without optimisation, moving so much takes too long.
const DEEP: u64 = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

fn growth(test: Test, level: &str) {
    at(test, level, "stackkeep=0", DEEP);
}

fn fenced(test: Test, level: &str) {
    at(test, level, "stackkeep=0,stackverify=1,efence=1", DEEP);
}

/// Not so deep: what is moved is what there is of the stack, level by level.
fn forced(test: Test, level: &str) {
    at(test, level, "stackkeep=0,stackverify=1,efence=1,stackforcemove=1", 100);
}

fn at(test: Test, level: &str, godebug: &str, deep_levels: u64) {
    if available() {
        sweep_with(test, &[level], cases, godebug, deep_levels);
    }
}

/// One goroutine asks for 100 MB by alloca, one block after the other, none of which is on the stack.
fn blocks_are_freed(test: Test) {
    if !available() {
        return;
    }
    let process = test.process(|| {
        let settings = Settings { seed: SEED, levels: 6000, deep_levels: 1 };
        let cases: Vec<Case> = cases("o2").into_iter().filter(|case| case.name == "alloca_again").collect();
        let references = references(&cases, settings);
        run(|| {
            let partner = Partner::goroutines();
            harness::memory::allow(8 << 20);
            let result = Call::new(&cases[0], 0, settings, &partner).on_a_goroutine();
            assert!(references[0].agrees(result));
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "stackforcemove=1").end().with("exit status: 0");
}
