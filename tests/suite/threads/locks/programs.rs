//! Programs in C and C++ that use locks: `locks.c` and `locks.cpp`, on goroutines and on threads of
//! the system.

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;

use super::super::run_live;
use crate::harness::library::{load, with_library};
use crate::harness::{Test, tests};

tests! {
    programs_in_c
    programs_in_cpp
    programs_in_c_on_threads_of_the_system
    programs_in_cpp_on_threads_of_the_system
}

const C: (&str, &[&CStr]) = (
    concat!(env!("CARGO_MANIFEST_DIR"), "/threads/locks.c"),
    &[
        c"static_mutexes",
        c"static_rwlocks",
        c"barriers_and_more",
        c"canceled_waits",
        c"waits_that_arent_canceled",
    ],
);

const CPP: (&str, &[&CStr]) = (
    concat!(env!("CARGO_MANIFEST_DIR"), "/threads/locks.cpp"),
    &[c"a_queue", c"a_shared_mutex", c"timed_mutexes", c"a_call_that_throws"],
);

fn call_all(programs: &[&CStr]) {
    let library = load();
    for &program in programs {
        // SAFETY: the library has such a function.
        let line = unsafe { transmute::<*mut c_void, extern "C" fn() -> c_int>(library.function(program))() };
        assert_eq!(line, 0, "the line of {program:?} that found an error");
    }
}

fn on_goroutines(test: Test, (source, programs): (&str, &[&CStr])) {
    with_library(test, source, |named| {
        for procs in ["1", "4"] {
            let process = named(test.process(|| run_live(|| call_all(programs))));
            process.env("GOMAXPROCS", procs).end().with("exit status: 0");
        }
    });
}

fn on_threads(test: Test, (source, programs): (&str, &[&CStr])) {
    with_library(test, source, |named| {
        named(test.process(|| call_all(programs))).end().with("exit status: 0");
    });
}

fn programs_in_c(test: Test) {
    on_goroutines(test, C);
}

fn programs_in_cpp(test: Test) {
    on_goroutines(test, CPP);
}

fn programs_in_c_on_threads_of_the_system(test: Test) {
    on_threads(test, C);
}

fn programs_in_cpp_on_threads_of_the_system(test: Test) {
    on_threads(test, CPP);
}
