//! Each test has a process of its own. So it may end the process, set the process's environment and
//! limits, and count its goroutines and threads. Such a process has no threads of a harness: the
//! runtime finds a deadlock only where no foreign thread could end it.
//!
//! A module lists its tests with [`tests!`]. A test function without an argument runs in a new
//! process: the process runs the same binary, which calls the function on its first thread. The
//! harness itself calls a function that takes a [`Test`]. The closure that such a function passes
//! to [`Test::process`] runs in a new process. That process calls the same function, too, and runs
//! the closure when it gets to that call.

pub mod asked;
#[path = "../../common/emulator.rs"]
pub mod emulator;
pub mod explored;
pub mod futures;
pub mod goroutines;
pub mod interrupts;
pub mod library;
mod limit;
pub mod memory;
pub mod pages;
pub mod panics;
pub mod polled;
pub mod probe;
pub mod process;
pub mod rng;
mod runner;
pub mod sandbox;
pub mod sockets;
pub mod storm;

use std::env;
use std::process::{ExitCode, exit};

use gosched::run;

use emulator::emulator;
use process::Process;

/// The environment variable that names the test of a process.
const PROCESS_OF: &str = "GOSCHED_TEST_PROCESS_OF";

/// The environment variable that selects the tests to run.
const TESTS: &str = "GOSCHED_TESTS";

/// A selection of tests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    /// The tests that aren't slow: `GOSCHED_TESTS` isn't set.
    Quick,
    /// All, with a tenth of the [`rounds`] of the slow ones: `short`.
    Short,
    /// All, with all rounds: `all`.
    All,
}

impl Tests {
    /// Reads the environment.
    pub fn said() -> Tests {
        match env::var(TESTS).as_deref() {
            Err(_) => Tests::Quick,
            Ok("short") => Tests::Short,
            Ok("all") => Tests::All,
            Ok(other) => panic!("{TESTS}={other}: it is `short` or `all`"),
        }
    }
}

/// Returns how often a slow test does something, or how much: `full`, where all tests run whole.
pub fn rounds(full: usize) -> usize {
    if Tests::said() == Tests::All { full } else { full.div_ceil(10) }
}

/// A test.
#[derive(Clone, Copy)]
pub struct Test {
    /// Its path in the sources, from the crate on.
    pub path: &'static str,
    /// Whether it takes a second or more, and so doesn't run by default.
    pub slow: bool,
    pub f: fn(Test),
}

/// The function of a test.
pub trait Body<Args> {
    fn run(&self, test: Test);
}

impl<F: Fn()> Body<()> for F {
    fn run(&self, test: Test) {
        test.process(self).end().with("exit status: 0");
    }
}

impl<F: Fn(Test)> Body<(Test,)> for F {
    fn run(&self, test: Test) {
        self(test);
    }
}

/// Lists a module's tests: functions without an argument, or with a [`Test`]; slow ones behind
/// `#[slow]`.
macro_rules! tests {
    ($($(#[$mark:ident])? $test:ident)*) => {
        /// The tests of this module.
        pub const TESTS: &[$crate::harness::Test] = &[$($crate::harness::Test {
            path: concat!(module_path!(), "::", stringify!($test)),
            slow: $crate::harness::is_slow(&[$(stringify!($mark))?]),
            f: |test| $crate::harness::Body::run(&$test, test),
        }),*];
    };
}

pub(crate) use tests;

/// Returns whether a test's marks say that it is slow.
pub const fn is_slow(marks: &[&str]) -> bool {
    match marks {
        [] => false,
        [mark] if matches!(mark.as_bytes(), b"slow") => true,
        _ => panic!("a test is marked #[slow], or not at all"),
    }
}

/// Runs the tests that the command line selects. In a test's process, runs the function that the
/// test passed to the process.
pub fn main(tests: &[Test]) -> ExitCode {
    if let Ok(name) = env::var(PROCESS_OF) {
        if cfg!(target_feature = "crt-static") {
            // A static program has no other kind of goroutine.
            // SAFETY: nothing obtained from a thread-local is kept across a point that can park.
            unsafe { gosched::set_default_shared_locals() }.expect("it comes first");
        }
        let test = tests.iter().find(|test| test.name() == name).expect("a process is for one of the tests");
        (test.f)(*test);
        unreachable!("{name} has no process");
    }
    runner::main(tests)
}

impl Test {
    /// Returns the test's name: its path within the crate.
    pub fn name(self) -> &'static str {
        self.path.split_once("::").expect("a path begins with the crate").1
    }

    /// Prints that the test is skipped, and why.
    pub fn skip(self, why: &str) {
        println!("skipped: {}: {why}", self.name());
    }

    /// Returns whether the test is skipped because an emulator runs it, for the reason `why`.
    pub fn skipped_in_emulator(self, why: &str) -> bool {
        let skipped = emulator().is_some();
        if skipped {
            self.skip(&format!("in an emulator, {why}"));
        }
        skipped
    }

    /// Returns whether the test is skipped because no deadlock is found here.
    pub fn deadlock_unseen(self) -> bool {
        self.skipped_in_emulator("a thread of its own could end the deadlock, for all we know")
    }

    /// Returns a process that runs `body` on its first thread, and then ends well.
    pub fn process(self, body: impl FnOnce()) -> Process {
        if env::var_os(PROCESS_OF).is_some() {
            // SAFETY: no memory is passed. This process ends with the thread of the harness that
            // has started it.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            body();
            exit(0);
        }
        Process::new(PROCESS_OF, self.name())
    }
}

/// Runs `main` with goroutines that share the thread-locals of their threads: for tests of such
/// goroutines' needs and limits.
pub fn run_lean<T: Send>(main: impl FnOnce() -> T + Send) -> T {
    // SAFETY: nothing obtained from a thread-local is kept across a point that can park.
    unsafe { gosched::set_default_shared_locals() }.expect("it comes first");
    run(main)
}

/// [`run`] with `procs` P's, as if the environment had set that when the process began.
pub fn run_with_procs<T: Send>(procs: usize, main: impl FnOnce() -> T + Send) -> T {
    // SAFETY: there is one thread.
    unsafe { env::set_var("GOMAXPROCS", procs.to_string()) };
    run(main)
}
