//! Runs each case at each depth of a fresh stack, so that each prologue is once the one that finds
//! too little stack.
//!
//! | tests | what happens to stacks |
//! | --- | --- |
//! | `growth_*` | they grow |
//! | `fenced_*` | they grow; the old stack is made inaccessible, and no address of it may be left |
//! | `forced_*`, `variable_*` | the same, and every check moves the stack |

#[allow(dead_code, unused_imports, reason = "the suite's tests need more of it")]
#[path = "../../suite/harness/mod.rs"]
mod harness;
mod sweeping;

use std::env;

use gosched::run;
use gosched_split_stack::{Call, Case, Partner, Settings, available, cases, flavours, references};
use harness::Test;
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
    growth_in_all_flavours
    variable_arguments_in_all_flavours
    fenced_clang
    forced_clang
    allocas_end
    arrays_end
}

fn main() -> std::process::ExitCode {
    harness::main(TESTS)
}

/// Defines a test for each level, which calls the function for the mode.
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

/// The number of calls of the deepest recursion. Without optimisation, to move a deeper stack takes
/// too long.
const DEEP: u64 = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

/// The flavours by clang that are tested most.
const CLANG: [&str; 2] = ["clang-o0", "clang-o2"];

const GROWING: &str = "stackkeep=0";
const FENCED: &str = "stackkeep=0,stackverify=1,efence=1";
const FORCED: &str = "stackkeep=0,stackverify=1,efence=1,stackforcemove=1";

fn growth(test: Test, level: &'static str) {
    in_flavours(test, &[level], cases, GROWING, DEEP);
}

fn fenced(test: Test, level: &'static str) {
    in_flavours(test, &[level], cases, FENCED, DEEP);
}

/// The recursion isn't as deep here, because each level moves the whole stack.
fn forced(test: Test, level: &'static str) {
    in_flavours(test, &[level], cases, FORCED, 100);
}

fn in_flavours(
    test: Test,
    flavours: &[&'static str],
    cases: fn(&'static str) -> Vec<Case>,
    godebug: &str,
    deep_levels: u64,
) {
    if available() {
        sweep_with(test, flavours, cases, godebug, deep_levels);
    }
}

/// Returns the flavours that clang has compiled, or those that gcc has compiled.
fn compiled_by(clang: bool) -> Vec<&'static str> {
    flavours().into_iter().filter(|flavour| flavour.starts_with("clang-") == clang).collect()
}

fn growth_in_all_flavours(test: Test) {
    in_flavours(test, &flavours(), cases, GROWING, 100);
}

/// The instructions behind the call in a prologue depend on the flavour.
fn variable_arguments_in_all_flavours(test: Test) {
    fn variable(flavour: &'static str) -> Vec<Case> {
        cases(flavour).into_iter().filter(|case| case.name.starts_with("variable_")).collect()
    }
    in_flavours(test, &compiled_by(false), variable, FORCED, 1);
}

fn fenced_clang(test: Test) {
    if has_clang() {
        in_flavours(test, &CLANG, cases, FENCED, 100);
    }
}

/// clang's allocas compare signed numbers. So the guard with which every check fails is positive.
fn forced_clang(test: Test) {
    if has_clang() {
        in_flavours(test, &CLANG, cases, FORCED, 100);
    }
}

/// Returns whether clang has compiled the cases. If not, prints so, or panics if
/// `GOSCHED_REQUIRE_TOOLS` is set.
fn has_clang() -> bool {
    let has = !compiled_by(true).is_empty();
    if available() && !has {
        println!("skipped: there is no clang with -fsplit-stack and -ftrivial-auto-var-init");
        assert!(env::var_os("GOSCHED_REQUIRE_TOOLS").is_none(), "clang is missing");
    }
    has
}

/// One goroutine asks for 100 MB by alloca, one block after the other, and each check fails. So the
/// blocks must be freed on the way.
fn allocas_end(test: Test) {
    ends(test, "alloca_again", 6000);
}

/// The same with arrays of variable length, all in one frame.
fn arrays_end(test: Test) {
    ends(test, "array_in_a_loop", 100_000);
}

/// Runs a case that takes memory `levels` times, in a process that may use only a little.
fn ends(test: Test, name: &str, levels: u64) {
    if !available() {
        return;
    }
    let process = test.process(|| {
        let settings = Settings { seed: SEED, levels, deep_levels: 1 };
        let some = |flavour: &&str| ["o0", "o2", "clang-o0", "clang-o2"].contains(flavour);
        let named = |flavour| cases(flavour).into_iter().find(|case| case.name == name);
        let cases: Vec<Case> = flavours().into_iter().filter(some).filter_map(named).collect();
        let references = references(&cases, settings);
        run(|| {
            let partner = Partner::goroutines();
            harness::memory::allow(8 << 20);
            for (case, reference) in cases.iter().zip(&references) {
                assert!(reference.agrees(Call::new(case, 0, settings, &partner).on_a_goroutine()));
            }
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "stackforcemove=1").end().with("exit status: 0");
}
