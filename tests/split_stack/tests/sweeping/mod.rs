//! Runs a sweep in a process of its own.

use std::time::Instant;

use gosched::run;
use gosched_split_stack::{Case, Settings, count_moves, references, sweep};

use crate::harness::Test;

/// The seed of the values in the cases.
pub const SEED: u64 = 0x0123_4567_89ab_cdef;

/// Sweeps over `cases(level)` for each of the levels, with the stacks that `godebug` asks for. The
/// deepest recursion makes `deep_levels` calls.
pub fn sweep_with(
    test: Test,
    levels: &[&'static str],
    cases: fn(&'static str) -> Vec<Case>,
    godebug: &str,
    deep_levels: u64,
) {
    let forced = godebug.contains("stackforcemove=1");
    let process = test.process(|| {
        let settings = Settings { seed: SEED, levels: 30, deep_levels };
        count_moves();
        for level in levels {
            let (cases, since) = (cases(level), Instant::now());
            let references = references(&cases, settings);
            let summary = run(|| sweep(&cases, &references, settings, forced));
            eprintln!("{level}, {godebug}: {} cases, {summary:?}, {:?}", cases.len(), since.elapsed());
        }
    });
    let ended = process.env("GOMAXPROCS", "1").env("GODEBUG", godebug).end();
    print!("{}", ended.with("exit status: 0").says("cases").stderr);
}
