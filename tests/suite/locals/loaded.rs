//! Libraries that are loaded while there are such goroutines, and that have thread-locals.

use std::env;
use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, id};

use gosched::chan::bounded;

use super::{each, moves, own, with_procs_and};
use crate::harness::{Test, tests};

tests! {
    one_that_is_loaded_before
    one_that_is_loaded_meanwhile
    one_that_is_loaded_by_many
    exceptions_of_cpp
}

const C: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/locals/loaded.c");
const CPP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/locals/thrown.cc");

/// The environment variable that names the library to a test's process.
const LIBRARY: &str = "GOSCHED_TEST_LIBRARY";

/// A library that is made for a test, and goes with it.
struct Library(PathBuf);

impl Library {
    /// Compiles `source`; none where that can't be done.
    fn make(test: Test, source: &str) -> Option<Library> {
        if test.skipped_in_emulator("there may be no compiler for it") {
            return None;
        }
        let compiler = if source.ends_with(".c") { "gcc" } else { "g++" };
        let name = source.rsplit('/').next().unwrap_or_default();
        let library = Library(env::temp_dir().join(format!(
            "gosched-{}-{name}-{}.so",
            id(),
            test.path.replace(':', "-")
        )));
        let mut command = Command::new(compiler);
        command.args(["-O2", "-fPIC", "-shared", "-o"]).arg(&library.0).arg(source);
        match command.status() {
            Ok(status) => assert!(status.success(), "{command:?}: {status}"),
            Err(_) => {
                assert!(env::var_os("GOSCHED_REQUIRE_TOOLS").is_none(), "{compiler} is missing");
                test.skip("a compiler is missing");
                return None;
            }
        }
        Some(library)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

/// Runs `main` as [`with_procs_and`] does, with a library to load.
fn with_library(test: Test, source: &str, main: impl Fn() + Send + Sync) {
    // A process comes here again, and has the library's name.
    let made = if env::var_os(LIBRARY).is_some() { None } else { Library::make(test, source) };
    let path = made.as_ref().map(|library| library.0.clone().into_os_string()).or(env::var_os(LIBRARY));
    let Some(path) = path.as_deref().and_then(OsStr::to_str) else { return };
    with_procs_and(test, |process| process.env(LIBRARY, path), main);
}

/// A function of the library, which is loaded if it isn't yet.
fn function(name: &CStr) -> *mut c_void {
    let path = CString::new(env::var_os(LIBRARY).expect("a library was made").as_bytes()).unwrap();
    // SAFETY: the library does nothing when it is loaded, and the strings are C strings.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "the library can be loaded");
        let function = libc::dlsym(library, name.as_ptr());
        assert!(!function.is_null(), "it has the function");
        function
    }
}

/// The library's thread-local, one more than before.
fn next() -> c_int {
    // SAFETY: the type that it has in loaded.c.
    let next: extern "C" fn() -> c_int = unsafe { std::mem::transmute(function(c"next")) };
    next()
}

/// Counts from what the thread-local begins with.
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

/// There are goroutines that have begun, and homes of those that have ended.
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
            // SAFETY: the type that it has in thrown.cc.
            let thrown: extern "C" fn(c_int, extern "C" fn()) -> c_int =
                unsafe { std::mem::transmute(function(c"thrown")) };
            for n in 0..20 {
                let n = (100 * i + n) as c_int;
                assert_eq!(thrown(n, pause), n);
            }
        });
    });
}
