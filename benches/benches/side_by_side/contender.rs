//! The programs that are compared.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A program that is compared: a column of the table.
pub struct Contender {
    pub name: &'static str,
    program: PathBuf,
    /// The prefix of its workloads' names.
    prefix: &'static str,
    /// Environment variables to add.
    settings: Vec<(&'static str, String)>,
}

/// The measurements that a run printed: none if the contender has no such workload.
pub type Outcome = Result<Vec<Measurement>, Lost>;

/// The end of a run that printed nothing usable.
#[derive(Clone, Copy)]
pub enum Lost {
    Died,
    /// It exceeded its time limit.
    Never,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lost::Died => "died",
            Lost::Never => "never",
        })
    }
}

/// A line that a program prints.
pub struct Measurement {
    pub name: String,
    pub value: f64,
    pub unit: String,
}

/// Returns all contenders: gosched first, and Go if there is a toolchain.
pub fn contenders(go: Option<&Go>) -> Vec<Contender> {
    let lean = vec![("LEAN", "1".to_string())];
    let mut all = vec![
        Contender::new("ours", OURS, ""),
        Contender { settings: lean, ..Contender::new("ours, lean", OURS, "") },
        Contender::new("ours, raw", OURS, "raw_"),
        Contender::new("ours, std", OURS, "std_"),
    ];
    all.extend(go.map(|go| Contender::new("go", go.program(), "")));
    all.push(Contender::new("tokio", env!("CARGO_BIN_EXE_tokio"), ""));
    all.push(Contender::new("may", env!("CARGO_BIN_EXE_may"), ""));
    all.push(Contender::new("corosensei", env!("CARGO_BIN_EXE_corosensei"), ""));
    all
}

/// Returns gosched and Go, each without tracing and then with its execution traced into `file`.
pub fn traced(go: Option<&Go>, file: &str) -> Vec<Contender> {
    let of_ours = vec![("GODEBUG", format!("tracefile={file}"))];
    let of_go = vec![("TRACE", file.to_string())];
    let mut all = vec![
        Contender::new("ours", OURS, ""),
        Contender { settings: of_ours, ..Contender::new("ours, traced", OURS, "") },
    ];
    all.extend(go.into_iter().flat_map(|go| {
        let traced = Contender { settings: of_go.clone(), ..Contender::new("go, traced", go.program(), "") };
        [Contender::new("go", go.program(), ""), traced]
    }));
    all
}

const OURS: &str = env!("CARGO_BIN_EXE_gosched");

impl Contender {
    fn new(name: &'static str, program: impl Into<PathBuf>, prefix: &'static str) -> Self {
        Contender { name, program: program.into(), prefix, settings: Vec::new() }
    }

    /// Runs a workload in a fresh process. A process that takes longer than `limit` counts as
    /// hanging.
    pub fn run(&self, procs: usize, workload: &str, limit: Duration) -> Outcome {
        let workload = format!("{}{workload}", self.prefix);
        let mut command = Command::new(&self.program);
        command.arg(procs.to_string()).arg(&workload);
        command.env("ECHO_CLIENT", env!("CARGO_BIN_EXE_echo_client"));
        command.env("FANOUT_CLIENT", env!("CARGO_BIN_EXE_fanout_client"));
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let lines = child.map_err(|_| Lost::Died).and_then(|child| output(child, limit));
        if let Err(lost) = lines {
            eprintln!("{lost}: {} {procs} {workload}", self.program.display());
        }
        lines?.lines().map(|line| self.measurement(line).ok_or(Lost::Died)).collect()
    }

    fn measurement(&self, line: &str) -> Option<Measurement> {
        let measurement: Measurement = line.parse().ok()?;
        let name = measurement.name.strip_prefix(self.prefix)?.to_string();
        Some(Measurement { name, ..measurement })
    }
}

impl FromStr for Measurement {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        match line.split('\t').collect::<Vec<_>>()[..] {
            [name, _, value, unit] => {
                Ok(Measurement { name: name.into(), value: value.parse().map_err(drop)?, unit: unit.into() })
            }
            _ => Err(()),
        }
    }
}

/// Returns the process's output. It is small enough for the pipe, so it can be read at the end.
fn output(mut child: Child, limit: Duration) -> Result<String, Lost> {
    let start = Instant::now();
    let mut lost = Lost::Died;
    while child.try_wait().map_err(|_| Lost::Died)?.is_none() {
        if start.elapsed() > limit {
            lost = Lost::Never;
            child.kill().map_err(|_| Lost::Died)?;
        }
        sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().ok().filter(|output| output.status.success());
    output.and_then(|output| String::from_utf8(output.stdout).ok()).ok_or(lost)
}

/// The Go program, in a folder that is removed when this is dropped.
pub struct Go {
    pub version: String,
    folder: PathBuf,
}

impl Go {
    fn program(&self) -> PathBuf {
        self.folder.join("workloads")
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        // If the folder can't be removed now, the system removes it later.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Builds the Go program. Prints a line if there is no toolchain, or if the build fails.
pub fn build_go() -> Option<Go> {
    let toolchain = env::var_os("GO").unwrap_or_else(|| "go".into());
    let version = Command::new(&toolchain).args(["env", "GOVERSION"]).output();
    let Some(version) = version.ok().and_then(|output| String::from_utf8(output.stdout).ok()) else {
        eprintln!("go is skipped: there is no toolchain; GO=/path/to/go names one");
        return None;
    };
    let folder = env::temp_dir().join(format!("gosched-benches-{}", std::process::id()));
    let go = Go { version: version.trim().into(), folder };
    let mut build = Command::new(&toolchain);
    build.args(["build", "-o"]).arg(go.program()).arg(".");
    build.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("go"));
    // The build needs nothing from the network.
    build.envs([("GOTOOLCHAIN", "local"), ("GOPROXY", "off"), ("GOFLAGS", ""), ("CGO_ENABLED", "1")]);
    if !build.status().is_ok_and(|status| status.success()) {
        eprintln!("go is skipped: the program wasn't built");
        return None;
    }
    Some(go)
}
