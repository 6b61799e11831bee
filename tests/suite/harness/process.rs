//! A test's process: its environment, its end, and its output.

use std::env;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use super::emulator::{emulator, this_binary};

/// The variables that the runtime and std read. A test sets those that it needs, and no others are
/// set. (`GODEBUG` is kept as it was for the suite, behind [`PATIENT`]: the whole suite may run
/// with goroutines that lose their P's. A test that doesn't allow that sets `GODEBUG`.)
const SETTINGS: [&str; 6] = [
    "GOMAXPROCS",
    "GOSCHED_GUARD",
    "GOSCHED_STACK_SIZE",
    "GOTRACEBACK",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
];

/// The runtime waits twenty times as long as usual for a late thread, so that a busy machine
/// changes no report. A process's own settings follow this one.
const PATIENT: &str = "patience=2000";

/// A process that hasn't started.
pub struct Process(Command);

impl Process {
    /// A process of this binary, with one more environment variable.
    pub fn new(variable: &str, value: &str) -> Self {
        let mut command = this_binary();
        command.env(variable, value).stdin(Stdio::null());
        // When a thread first allocates, it would map 128 MiB for an arena of its own. That may
        // happen at any time, even after a test has read the process's size and before it has set a
        // limit from it. (An emulator limits nothing, and needs those arenas itself when no
        // mappings are left.)
        if emulator().is_none() {
            command.env("MALLOC_ARENA_MAX", "1");
        }
        for setting in SETTINGS {
            command.env_remove(setting);
        }
        let said = env::var("GODEBUG").unwrap_or_default();
        Process(command).env("GODEBUG", &said)
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        if name == "GODEBUG" {
            self.0.env(name, format!("{PATIENT},{value}"));
        } else {
            self.0.env(name, value);
        }
        self
    }

    /// Adds settings to `GODEBUG`, behind those of the whole suite.
    pub fn also(self, settings: &str) -> Self {
        let said = env::var("GODEBUG").unwrap_or_default();
        self.env("GODEBUG", &format!("{said},{settings}"))
    }

    /// Starts the process, with pipes to and from it.
    pub fn start(mut self) -> Child {
        self.0.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.0.spawn().expect("a process can be made")
    }

    /// Starts the process, and waits until its output on stderr is enough, or it has ended. Then
    /// ends it. Returns its output.
    pub fn until(self, enough: impl Fn(&str) -> bool) -> String {
        let mut child = self.start();
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut text = String::new();
        while stderr.read_line(&mut text).expect("text") > 0 && !enough(&text) {}
        child.kill().expect("it is a child");
        child.wait().expect("it is a child");
        text
    }

    /// Starts the process, and closes its stdin once it has written `text` to stderr. Waits for its
    /// end.
    pub fn end_after(self, text: &str) -> Ended {
        let mut child = self.start();
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut read = Vec::new();
        while stderr.read_until(b'\n', &mut read).expect("a pipe") > 0
            && !String::from_utf8_lossy(&read).contains(text)
        {}
        drop(child.stdin.take());
        stderr.read_to_end(&mut read).expect("a pipe");
        let status = child.wait().expect("it is a child");
        Ended { status, stderr: String::from_utf8_lossy(&read).into_owned() }
    }

    /// Returns the command of a debugger that starts the process.
    pub fn under(self, mut debugger: Command) -> Command {
        debugger.arg("--args");
        self.started_by(debugger).0
    }

    /// Returns this process, started by a program whose last arguments name it.
    pub fn started_by(self, mut program: Command) -> Process {
        program.arg(self.0.get_program()).args(self.0.get_args());
        Process(self.with_settings(program))
    }

    /// Returns this process, but of a copy of the binary.
    pub fn of_copy(self, path: &Path) -> Process {
        let mut copy = Command::new(path);
        copy.stdin(Stdio::null());
        Process(self.with_settings(copy))
    }

    /// Returns another command with this one's environment.
    fn with_settings(&self, mut command: Command) -> Command {
        for (name, value) in self.0.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Starts the process, and waits for its end.
    pub fn end(mut self) -> Ended {
        let output = self.0.output().expect("a process can be made");
        if env::args().any(|arg| arg == "--nocapture") {
            print!("{}", String::from_utf8_lossy(&output.stdout));
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
        }
        Ended { status: output.status, stderr: String::from_utf8_lossy(&output.stderr).into_owned() }
    }
}

/// Waits until this process's stdin is closed, on a thread that isn't the runtime's: see
/// [`Process::end_after`].
pub fn wait_for_end_of_stdin() {
    io::stdin().read_to_end(&mut Vec::new()).expect("it can be read");
}

/// The end of a process, and what it wrote to stderr.
pub struct Ended {
    pub status: ExitStatus,
    pub stderr: String,
}

impl Ended {
    /// Fails unless the process ended like this: `exit status: 0`, `signal: 11`.
    #[track_caller]
    pub fn with(&self, status: &str) -> &Self {
        let ended = self.status.to_string();
        let same = ended.strip_prefix(status).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        assert!(same, "expected {status}, found {ended}, after:\n{}", self.stderr);
        self
    }

    /// Fails unless the process wrote this.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "expected {text:?} in:\n{}", self.stderr);
        self
    }

    /// Fails if the process wrote anything.
    #[track_caller]
    pub fn says_nothing(&self) {
        assert_eq!(self.stderr, "");
    }
}
