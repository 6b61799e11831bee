//! Signals of threads that are goroutines: the programs of `signals.c`. Most also run on threads of
//! the system.

use std::ffi::CStr;

use super::programs::{call, end_well_on_threads, ends_well, programs, says_yes};
use crate::harness::{Test, tests};

tests! {
    signals
    masks
    a_signal_that_a_thread_waits_for
    a_signal_that_one_thread_lets_come
    a_signal_for_a_thread_that_blocks_it
    a_signal_that_is_unblocked
    waits_for_signals_of_a_thread
    suspensions
    signal_stacks
    waits_that_a_signal_ends
    waits_that_go_on_after_a_signal
    waits_that_a_handler_leaves
    faults_that_are_left
    programs_on_threads_of_the_system
}

const C: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/threads/signals.c");

programs! {
    C: signals masks a_signal_that_a_thread_waits_for a_signal_that_one_thread_lets_come
    a_signal_for_a_thread_that_blocks_it a_signal_that_is_unblocked waits_for_signals_of_a_thread suspensions
    signal_stacks waits_that_a_signal_ends waits_that_go_on_after_a_signal waits_that_a_handler_leaves
}

fn faults_that_are_left(test: Test) {
    ends_well(test, C, || call(c"jumps_out_of_faults", says_yes), c"faults_that_are_left");
}

fn programs_on_threads_of_the_system(test: Test) {
    const EQUAL: [&CStr; 11] = [
        c"signals",
        c"a_signal_for_a_thread_that_blocks_it",
        c"a_signal_that_is_unblocked",
        c"waits_for_signals_of_a_thread",
        c"suspensions",
        c"signal_stacks",
        c"waits_that_a_signal_ends",
        c"waits_that_go_on_after_a_signal",
        c"waits_that_a_handler_leaves",
        c"jumps_out_of_faults",
        c"faults_that_are_left",
    ];
    end_well_on_threads(test, C, &EQUAL, || {});
}
