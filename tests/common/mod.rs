//! Tests that have a process each: for what ends a process, for what needs an environment or a
//! limit of its own, and because a deadlock is found only where no foreign thread could end it,
//! and libtest's threads could.
//!
//! The test binary has no harness; [`tests!`] makes its `main`. A test is a function, and what it
//! passes to [`Test::process`] runs in a new process: the binary again, which calls the same
//! function and stays in that call.

pub mod emulator;

use std::env;
use std::io::{BufRead, BufReader};
use std::panic::catch_unwind;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio, exit};
use std::sync::atomic::{AtomicPtr, Ordering};

use gosched::runtime2::{G, GWAITING};

use emulator::{emulator, this_binary};

/// The environment variable that says which test a process is for.
const PROCESS_OF: &str = "GOSCHED_TEST_PROCESS_OF";

/// What the runtime and std read: a test sets what it needs, and nothing else is set.
const SETTINGS: [&str; 6] =
    ["GODEBUG", "GOMAXPROCS", "GOSCHED_GUARD", "GOTRACEBACK", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE"];

/// Seconds after which a process is killed, by SIGALRM: only one that hangs takes so long, on a machine with
/// much else to do, too. An emulator takes its time.
const TIME_LIMIT: u32 = if cfg!(target_arch = "aarch64") { 900 } else { 300 };

/// A test, by its name.
#[derive(Clone, Copy)]
pub struct Test {
    pub name: &'static str,
    pub f: fn(Test),
}

/// Makes the `main` of a test binary of these functions.
macro_rules! tests {
    ($($test:ident)*) => {
        fn main() -> std::process::ExitCode {
            common::main(&[$(common::Test { name: stringify!($test), f: $test }),*])
        }
    };
}

pub(crate) use tests;

/// Runs the tests that the command line names a part of, all if it names none.
pub fn main(tests: &[Test]) -> ExitCode {
    if let Ok(name) = env::var(PROCESS_OF) {
        let test = tests.iter().find(|test| test.name == name).expect("a process is for one of the tests");
        (test.f)(*test);
        unreachable!("{name} has no process");
    }
    let filters: Vec<String> = env::args().skip(1).take_while(|arg| !arg.starts_with('-')).collect();
    let wanted = |test: &&Test| filters.is_empty() || filters.iter().any(|part| test.name.contains(part));
    let mut failed = 0;
    for test in tests.iter().filter(wanted) {
        let ok = catch_unwind(|| (test.f)(*test)).is_ok();
        failed += usize::from(!ok);
        println!("test {} ... {}", test.name, if ok { "ok" } else { "FAILED" });
    }
    println!("{} tests, {failed} failed", tests.iter().filter(wanted).count());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Test {
    /// Whether an emulator runs this, and so the test is skipped, which is said: `why`.
    #[allow(dead_code)] // not every test needs it
    pub fn skipped_in_emulator(self, why: &str) -> bool {
        let skipped = emulator().is_some();
        if skipped {
            println!("skipped: {}: in an emulator, {why}", self.name);
        }
        skipped
    }

    /// Whether no deadlock is found here, and so the test is skipped.
    #[allow(dead_code)] // not every test needs it
    pub fn deadlock_unseen(self) -> bool {
        self.skipped_in_emulator("a thread of its own could end the deadlock, for all we know")
    }

    /// A process that does `body` on its first thread, and then ends well.
    pub fn process(self, body: impl FnOnce()) -> Process {
        if env::var_os(PROCESS_OF).is_some() {
            // SAFETY: sets a timer.
            unsafe { libc::alarm(TIME_LIMIT) };
            body();
            exit(0);
        }
        let mut command = this_binary();
        command.env(PROCESS_OF, self.name).stdin(Stdio::null());
        // The first that a thread allocates would map 128 MiB for an arena of its own, at any time: also
        // between the look at what the process has and the limit that is set from it. (An emulator limits
        // nothing, and needs those arenas itself when there are no mappings left.)
        if emulator().is_none() {
            command.env("MALLOC_ARENA_MAX", "1");
        }
        for setting in SETTINGS {
            command.env_remove(setting);
        }
        Process(command)
    }
}

/// A process to be started.
pub struct Process(Command);

impl Process {
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    /// Starts it, with pipes to and from it.
    #[allow(dead_code)] // not every test needs it
    pub fn start(mut self) -> Child {
        self.0.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.0.spawn().expect("a process can be made")
    }

    /// Starts it, and waits until what it has written to stderr is enough, or it has ended; then ends it.
    /// Returns what it has written.
    #[allow(dead_code)] // not every test needs it
    pub fn until(self, enough: impl Fn(&str) -> bool) -> String {
        let mut child = self.start();
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut text = String::new();
        while stderr.read_line(&mut text).expect("text") > 0 && !enough(&text) {}
        child.kill().expect("it is a child");
        child.wait().expect("it is a child");
        text
    }

    /// Starts it, and waits for its end.
    #[allow(dead_code)] // not every test needs it
    pub fn end(mut self) -> Ended {
        let output = self.0.output().expect("a process can be made");
        Ended { status: output.status, stderr: String::from_utf8_lossy(&output.stderr).into_owned() }
    }
}

/// How a process ended, and what it wrote to stderr.
pub struct Ended {
    pub status: ExitStatus,
    pub stderr: String,
}

impl Ended {
    /// Fails unless it ended like this: `exit status: 0`, `signal: 11`.
    #[track_caller]
    pub fn with(&self, status: &str) -> &Self {
        let ended = self.status.to_string();
        let same = ended.strip_prefix(status).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        assert!(same, "expected {status}, found {ended}, after:\n{}", self.stderr);
        self
    }

    /// Fails unless it wrote this.
    #[allow(dead_code)] // not every test needs it
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "expected {text:?} in:\n{}", self.stderr);
        self
    }
}

/// [`gosched::run`], with the promise that every test here makes.
pub fn run<T: Send>(main: impl FnOnce() -> T + Send) -> T {
    // SAFETY: nothing obtained from a thread-local is kept across a point that can park.
    unsafe { gosched::run(main) }
}

/// Lets others run until the goroutine that has stored its G here waits. With one P, it then doesn't run
/// before the caller lets others run again.
#[allow(dead_code)] // not every test needs it
pub fn until_it_waits(parked: &AtomicPtr<G>) -> *mut G {
    loop {
        let gp = parked.load(Ordering::Relaxed);
        // SAFETY: G's are never freed.
        if !gp.is_null() && unsafe { gosched::proc::readgstatus(gp) } == GWAITING {
            return gp;
        }
        gosched::yield_now();
    }
}
