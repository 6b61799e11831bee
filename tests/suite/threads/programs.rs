//! How programs of C and C++ run, each in a process of its own: on goroutines, with one P and with
//! several, and on threads of the system.

use std::ffi::{CStr, c_int};

use super::{is_goroutine, run_live};
use crate::harness::Test;
use crate::harness::library::{load, with_library};

extern "C" fn says_whether_goroutine() -> c_int {
    is_goroutine().into()
}

pub extern "C" fn says_yes() -> c_int {
    1
}

/// Calls a program of the library, which asks `is_goroutine` where it is.
pub fn call(program: &CStr, is_goroutine: extern "C" fn() -> c_int) {
    let library = load();
    // SAFETY: the library has such a variable, and such a function.
    let line = unsafe {
        library.function(c"is_goroutine").cast::<extern "C" fn() -> c_int>().write(is_goroutine);
        std::mem::transmute::<*mut _, extern "C" fn() -> c_int>(library.function(program))()
    };
    assert_eq!(line, 0, "the line that found an error");
}

/// Fails unless a program of `source` ends well on goroutines. Calls `first` before there are any.
pub fn ends_well(test: Test, source: &str, first: fn(), program: &CStr) {
    with_library(test, source, |named| {
        for procs in ["1", "4"] {
            let process = named(test.process(|| {
                first();
                run_live(|| call(program, says_whether_goroutine));
            }));
            process.env("GOMAXPROCS", procs).end().with("exit status: 0");
        }
    });
}

/// Fails unless these programs of `source` end well on threads of the system.
pub fn end_well_on_threads(test: Test, source: &str, programs: &[&CStr], last: fn()) {
    with_library(test, source, |named| {
        named(test.process(|| {
            for program in programs {
                call(program, says_yes);
            }
            last();
        }))
        .end()
        .with("exit status: 0");
    });
}

/// Defines tests that run the programs of the same names.
macro_rules! programs {
    ($source:ident: $($name:ident)*) => {$(
        fn $name(test: crate::harness::Test) {
            // The name with its zero, which concat! can't make of an identifier for a C string.
            let name = concat!(stringify!($name), "\0").as_bytes();
            let name = std::ffi::CStr::from_bytes_with_nul(name).unwrap();
            $crate::threads::programs::ends_well(test, $source, || {}, name);
        }
    )*};
}
pub(super) use programs;
