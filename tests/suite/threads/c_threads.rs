//! Threads of C and C++ that are goroutines: the programs of `threads.c` and `threads.cpp`, with
//! one P and with several. The same programs also run on threads of the system, as far as these are
//! equal.

use std::ffi::{CStr, c_int};

use gosched::run;

use super::{is_goroutine, run_live};
use crate::harness::library::{load, with_library};
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
    signals
    scheduling
    masks
    a_signal_that_a_thread_waits_for
    a_signal_that_one_thread_lets_come
    cancellation
    cancellation_is_held_back
    what_is_made_once
    an_exit_in_cpp
    threads_of_cpp
    programs_on_threads_of_the_system
}

const C: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/threads/threads.c");
const CPP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/threads/threads.cpp");

extern "C" fn says_whether_goroutine() -> c_int {
    is_goroutine().into()
}

extern "C" fn says_yes() -> c_int {
    1
}

/// Calls a program of the library, which asks `is_goroutine` where it is.
fn call(program: &CStr, is_goroutine: extern "C" fn() -> c_int) {
    let library = load();
    // SAFETY: the library has such a variable, and such a function.
    let line = unsafe {
        library.function(c"is_goroutine").cast::<extern "C" fn() -> c_int>().write(is_goroutine);
        std::mem::transmute::<*mut _, extern "C" fn() -> c_int>(library.function(program))()
    };
    assert_eq!(line, 0, "the line that found an error");
}

/// Fails unless a program of `source` ends well on goroutines.
fn ends_well(test: Test, source: &str, program: &CStr) {
    with_library(test, source, |named| {
        for procs in ["1", "4"] {
            let process = named(test.process(|| run_live(|| call(program, says_whether_goroutine))));
            process.env("GOMAXPROCS", procs).end().with("exit status: 0");
        }
    });
}

macro_rules! programs {
    ($source:ident: $($name:ident)*) => {$(
        fn $name(test: Test) {
            // The name with its zero, which concat! can't make of an identifier for a C string.
            let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()).unwrap();
            ends_well(test, $source, name);
        }
    )*};
}

programs! {
    C: a_result an_identity an_exit values_of_keys threads_of_c11 joins_with_a_limit misuse attributes
    attributes_of_a_thread_of_the_system names signals scheduling masks
    a_signal_that_a_thread_waits_for a_signal_that_one_thread_lets_come cancellation cancellation_is_held_back
    what_is_made_once
}

programs! { CPP: an_exit_in_cpp threads_of_cpp }

fn programs_on_threads_of_the_system(test: Test) {
    const EQUAL: [&CStr; 10] = [
        c"a_result",
        c"an_identity",
        c"an_exit",
        c"values_of_keys",
        c"threads_of_c11",
        c"joins_with_a_limit",
        c"names",
        c"signals",
        c"cancellation",
        c"cancellation_is_held_back",
    ];
    with_library(test, C, |named| {
        named(test.process(|| {
            for program in EQUAL {
                call(program, says_yes);
            }
            run(|| call(c"a_result", says_yes));
        }))
        .end()
        .with("exit status: 0");
    });
}
