//! The explorer finds the bugs of the wrong programs, and the right programs pass.

use gosched::explore::{Explorer, Strategy};

use super::bugs::programs;
use crate::harness::explored::schedules;
use crate::harness::tests;

tests! {
    wrong_ones_are_found
    right_ones_pass
}

fn explorer(iterations: u64) -> Explorer {
    Explorer::new().iterations(iterations).seed(1).strategy(Strategy::Mixed)
}

fn wrong_ones_are_found() {
    let missed: Vec<_> = programs()
        .filter(|program| explorer(10_000).check(program.wrong).is_ok())
        .map(|program| program.name)
        .collect();
    assert!(missed.is_empty(), "nothing was found to be wrong with {missed:?}");
}

fn right_ones_pass() {
    for program in programs() {
        if let Err(failure) = explorer(schedules() / 10).check(program.right) {
            panic!("{} fails:\n{}", program.name, failure.story());
        }
    }
}
