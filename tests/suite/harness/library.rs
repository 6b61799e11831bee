//! Libraries that tests compile, load and unload.

use std::env;
use std::ffi::{CStr, CString, OsStr, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, id};

use super::Test;
use super::process::Process;

/// The environment variable that names the library to a test's process.
const LIBRARY: &str = "GOSCHED_TEST_LIBRARY";

/// A library that is made for a test, and removed with it.
struct Made(PathBuf);

impl Made {
    /// Compiles `source`. Returns None if that isn't possible.
    fn new(test: Test, source: &str) -> Option<Made> {
        if test.skipped_in_emulator("there may be no compiler for it") {
            return None;
        }
        let compiler = if source.ends_with(".c") { "gcc" } else { "g++" };
        let name = source.rsplit('/').next().unwrap_or_default();
        let library =
            Made(env::temp_dir().join(format!("gosched-{}-{name}-{}.so", id(), test.path.replace(':', "-"))));
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

impl Drop for Made {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

/// In the harness, compiles `source` to a library, and calls `f` with a function that passes the
/// library's name to a process. Such a process calls `f`, too. Skips the test if there is no
/// compiler.
pub fn with_library(test: Test, source: &str, f: impl FnOnce(&dyn Fn(Process) -> Process)) {
    // A process of the test gets here as well, and has the library's name.
    let made = if env::var_os(LIBRARY).is_some() { None } else { Made::new(test, source) };
    let path = made.as_ref().map(|library| library.0.clone().into_os_string()).or(env::var_os(LIBRARY));
    if let Some(path) = path.as_deref().and_then(OsStr::to_str) {
        f(&|process| process.env(LIBRARY, path));
    }
}

/// The library, loaded.
pub struct Loaded(*mut c_void);

// SAFETY: a handle doesn't belong to a thread.
unsafe impl Send for Loaded {}

/// Loads the library, or counts one more user. Called in a process.
pub fn load() -> Loaded {
    let path = CString::new(env::var_os(LIBRARY).expect("a library was made").as_bytes()).unwrap();
    // SAFETY: a C string; the library does nothing when it is loaded.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "the library can be loaded");
    Loaded(library)
}

impl Loaded {
    /// Returns a function of the library.
    pub fn function(&self, name: &CStr) -> *mut c_void {
        // SAFETY: the handle of dlopen, and a C string.
        let function = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!function.is_null(), "it has the function");
        function
    }

    /// Returns the handle, which `dlclose` takes.
    pub fn into_raw(self) -> *mut c_void {
        self.0
    }

    /// Unloads the library, if it has no other user. None of its code is called afterwards.
    pub fn unload(self) {
        // SAFETY: the handle of dlopen, once.
        assert_eq!(unsafe { libc::dlclose(self.0) }, 0);
    }
}
