//! Threads of C and C++ that are goroutines: the programs of `threads.c` and `threads.cpp`. The
//! same programs also run on threads of the system, as far as these are equal.

use std::ffi::CStr;

use gosched::run;

use super::programs::{call, end_well_on_threads, programs, says_yes};
use crate::harness::{Test, tests};

tests! {
    a_result
    an_identity
    an_exit
    values_of_keys
    threads_of_c11
    joins_with_a_limit
    misuse
    attributes
    attributes_of_a_thread_of_the_system
    names
    scheduling
    cancellation
    cancellation_is_held_back
    what_is_made_once
    an_exit_in_cpp
    threads_of_cpp
    programs_on_threads_of_the_system
}

const C: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/threads/threads.c");
const CPP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/threads/threads.cpp");

programs! {
    C: a_result an_identity an_exit values_of_keys threads_of_c11 joins_with_a_limit misuse attributes
    attributes_of_a_thread_of_the_system names scheduling cancellation cancellation_is_held_back what_is_made_once
}

programs! { CPP: an_exit_in_cpp threads_of_cpp }

fn programs_on_threads_of_the_system(test: Test) {
    const EQUAL: [&CStr; 9] = [
        c"a_result",
        c"an_identity",
        c"an_exit",
        c"values_of_keys",
        c"threads_of_c11",
        c"joins_with_a_limit",
        c"names",
        c"cancellation",
        c"cancellation_is_held_back",
    ];
    end_well_on_threads(test, C, &EQUAL, || run(|| call(c"a_result", says_yes)));
}
