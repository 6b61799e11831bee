//! The program, with a call that fails, and how it ends.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time after which a run counts as hanging. It usually takes some 30 ms; a report may have to
/// be given up after 30 seconds.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The calls that fail, and their error: `count` calls from number `first` on.
#[derive(Clone, Copy)]
pub struct Fault {
    pub call: &'static str,
    pub first: u32,
    pub count: u32,
    pub errno: i32,
}

/// All calls from the first on.
pub const EVER: u32 = 1_000_000;

/// How the program ended, and what it wrote to stderr.
pub struct Ended {
    /// None if it hung, and was killed.
    pub status: Option<ExitStatus>,
    pub stderr: String,
}

impl Ended {
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Describes the end in words.
    pub fn how(&self) -> String {
        match self.status {
            None => "hung".to_owned(),
            Some(status) => {
                status.signal().map_or_else(|| status.to_string(), |signal| format!("signal {signal}"))
            }
        }
    }
}

/// Returns the program, with a library that makes calls fail. Variables that the runtime and std
/// read are unset, except for those that the caller sets.
pub fn program(part: Option<&str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_program"));
    command.args(part).env("LD_PRELOAD", env!("PRELOAD"));
    for setting in
        ["GODEBUG", "GOMAXPROCS", "GOSCHED_GUARD", "GOTRACEBACK", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE"]
    {
        command.env_remove(setting);
    }
    command
}

/// Runs it with a fault.
pub fn end(mut command: Command, fault: Fault) -> Ended {
    let Fault { call, first, count, errno } = fault;
    command.env("FAULT", format!("{call},{first},{count},{errno}"));
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a process");
    let mut pipe = child.stderr.take().expect("a pipe");
    let reader = thread::spawn(move || {
        let mut stderr = Vec::new();
        pipe.read_to_end(&mut stderr).map(|_| String::from_utf8_lossy(&stderr).into_owned())
    });
    let begin = Instant::now();
    let status = loop {
        match child.try_wait().expect("it is a child") {
            None if begin.elapsed() > TIME_LIMIT => {
                child.kill().and_then(|()| child.wait()).expect("it is a child");
                break None;
            }
            None => thread::sleep(Duration::from_millis(2)),
            status => break status,
        }
    };
    Ended { status, stderr: reader.join().expect("no panic").expect("a pipe") }
}
