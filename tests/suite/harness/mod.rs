//! Each test has a process of its own: it may end that, set its environment and its limits, and count its
//! goroutines and threads; and a deadlock is found only where no foreign thread could end it, as a harness's
//! threads could.
//!
//! A module lists its tests with [`tests!`]. A function without an argument runs in a new process: the binary
//! again, which calls the same function on its first thread. One that takes a [`Test`] is called by the
//! harness; what it passes to [`Test::process`] runs in a new process, which calls the same function, too, and
//! stays in that call.

pub mod asked;
#[path = "../../common/emulator.rs"]
pub mod emulator;
pub mod goroutines;
pub mod interrupts;
pub mod memory;
pub mod pages;
pub mod panics;
pub mod polled;
pub mod probe;
pub mod rng;
pub mod sockets;

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio, exit};
use std::sync::atomic::{AtomicPtr, Ordering};

use gosched::runtime2::{G, GWAITING};
use libtest_mimic::{Arguments, Trial};

use emulator::{emulator, this_binary};

/// The environment variable that says which test a process is for.
const PROCESS_OF: &str = "GOSCHED_TEST_PROCESS_OF";

/// What the runtime and std read: a test sets what it needs, and nothing else is set.
const SETTINGS: [&str; 6] =
    ["GODEBUG", "GOMAXPROCS", "GOSCHED_GUARD", "GOTRACEBACK", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE"];

/// Seconds after which a process is killed, by SIGALRM: only one that hangs takes so long, on a machine with
/// much else to do, too. An emulator takes its time.
const TIME_LIMIT: u32 = if cfg!(target_arch = "aarch64") { 900 } else { 300 };

/// A test.
#[derive(Clone, Copy)]
pub struct Test {
    /// Where it is in the sources, from the crate on.
    pub path: &'static str,
    pub f: fn(Test),
}

/// What a test is made of.
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

/// Lists a module's tests: functions without an argument, or with a [`Test`].
macro_rules! tests {
    ($($test:ident)*) => {
        pub const TESTS: &[$crate::harness::Test] = &[$($crate::harness::Test {
            path: concat!(module_path!(), "::", stringify!($test)),
            f: |test| $crate::harness::Body::run(&$test, test),
        }),*];
    };
}

pub(crate) use tests;

/// Runs the tests that the command line asks for; or what one of them has this process for.
pub fn main(tests: &[Test]) -> ExitCode {
    if let Ok(name) = env::var(PROCESS_OF) {
        let test = tests.iter().find(|test| test.name() == name).expect("a process is for one of the tests");
        (test.f)(*test);
        unreachable!("{name} has no process");
    }
    let trial = |&test: &Test| {
        Trial::test(test.name(), move || {
            (test.f)(test);
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), tests.iter().map(trial).collect()).exit_code()
}

impl Test {
    /// Its name: the path, in the crate.
    pub fn name(self) -> &'static str {
        self.path.split_once("::").expect("a path begins with the crate").1
    }

    /// Says that the test is skipped, and why.
    pub fn skip(self, why: &str) {
        println!("skipped: {}: {why}", self.name());
    }

    /// Whether an emulator runs this, and so the test is skipped: `why`.
    pub fn skipped_in_emulator(self, why: &str) -> bool {
        let skipped = emulator().is_some();
        if skipped {
            self.skip(&format!("in an emulator, {why}"));
        }
        skipped
    }

    /// Whether no deadlock is found here, and so the test is skipped.
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
        command.env(PROCESS_OF, self.name()).stdin(Stdio::null());
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
    pub fn start(mut self) -> Child {
        self.0.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.0.spawn().expect("a process can be made")
    }

    /// Starts it, and waits until what it has written to stderr is enough, or it has ended; then ends it.
    /// Returns what it has written.
    pub fn until(self, enough: impl Fn(&str) -> bool) -> String {
        let mut child = self.start();
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut text = String::new();
        while stderr.read_line(&mut text).expect("text") > 0 && !enough(&text) {}
        child.kill().expect("it is a child");
        child.wait().expect("it is a child");
        text
    }

    /// A debugger that starts it.
    pub fn under(self, mut debugger: Command) -> Command {
        debugger.arg("--args").arg(self.0.get_program()).args(self.0.get_args());
        for (name, value) in self.0.get_envs() {
            match value {
                Some(value) => debugger.env(name, value),
                None => debugger.env_remove(name),
            };
        }
        debugger
    }

    /// Starts it, and waits for its end.
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

/// [`run`], with so many P's: what the environment says of a process that has begun with this.
pub fn run_with_procs<T: Send>(procs: usize, main: impl FnOnce() -> T + Send) -> T {
    // SAFETY: there is one thread.
    unsafe { env::set_var("GOMAXPROCS", procs.to_string()) };
    run(main)
}

/// Lets others run until the goroutine that has stored its G here waits. With one P, it then doesn't run
/// before the caller lets others run again.
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
