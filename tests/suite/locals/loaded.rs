//! Libraries with thread-locals that are loaded while there are goroutines with thread-locals of
//! their own.

use std::ffi::{CStr, c_int, c_void};

use gosched::chan::bounded;
use gosched::run;

use super::{each, moves, own, with_procs_and};
use crate::harness::{Test, library, tests};

tests! {
    one_that_is_loaded_before
    one_that_is_loaded_before_the_first_run
    one_that_is_loaded_meanwhile
    one_that_is_loaded_by_many
    exceptions_of_cpp
}

const C: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/locals/loaded.c");
const STATIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/locals/loaded_static.c");
const CPP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/locals/thrown.cc");

/// Calls [`with_procs_and`], with a library to load.
fn with_library(test: Test, source: &str, main: impl Fn() + Send + Sync) {
    library::with_library(test, source, |named| with_procs_and(test, named, main));
}

/// Returns a function of the library, which is loaded at the first call, and stays.
fn function(name: &CStr) -> *mut c_void {
    library::load().function(name)
}

/// Increments the library's thread-local, and returns it.
fn next() -> c_int {
    // SAFETY: its type in loaded.c.
    let next: extern "C" fn() -> c_int = unsafe { std::mem::transmute(function(c"next")) };
    next()
}

/// Counts from the thread-local's initial value.
fn count() {
    for n in 8..40 {
        assert_eq!(next(), n);
        moves();
    }
}

fn one_that_is_loaded_before(test: Test) {
    with_library(test, C, || {
        function(c"where");
        for _ in 0..3 {
            each(50, |_| count());
        }
    });
}

/// Its code never asks the C library for the address of its thread-local. The library may be
/// unloaded.
fn one_that_is_loaded_before_the_first_run(test: Test) {
    library::with_library(test, STATIC, |named| {
        let process = test.process(|| {
            let loaded = library::load();
            run(|| (0..3).for_each(|_| drop(each(50, |_| count()))));
            loaded.unload();
            run(|| drop(each(50, |_| moves())));
        });
        named(process).end().with("exit status: 0");
    });
}

/// There are goroutines that have begun, and homes of goroutines that have ended.
fn one_that_is_loaded_meanwhile(test: Test) {
    with_library(test, C, || {
        each(50, |_| moves());
        let (tx, rx) = bounded::<()>(0);
        let waiting: Vec<_> = (0..50)
            .map(|_| {
                let rx = rx.clone();
                own(move || {
                    _ = rx.recv();
                    count();
                })
            })
            .collect();
        moves();
        own(|| assert_eq!(next(), 8)).join().unwrap();
        drop(tx);
        waiting.into_iter().for_each(|handle| handle.join().unwrap());
        each(50, |_| count());
    });
}

fn one_that_is_loaded_by_many(test: Test) {
    with_library(test, C, || drop(each(50, |_| count())));
}

fn exceptions_of_cpp(test: Test) {
    extern "C" fn pause() {
        moves();
    }
    with_library(test, CPP, || {
        each(50, |i| {
            // SAFETY: its type in thrown.cc.
            let thrown: extern "C" fn(c_int, extern "C" fn()) -> c_int =
                unsafe { std::mem::transmute(function(c"thrown")) };
            for n in 0..20 {
                let n = (100 * i + n) as c_int;
                assert_eq!(thrown(n, pause), n);
            }
        });
    });
}
