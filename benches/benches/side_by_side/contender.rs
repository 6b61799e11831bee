//! The programs that are compared.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// One of those that are compared: a column of the table.
pub struct Contender {
    pub name: &'static str,
    program: PathBuf,
    /// What its workloads' names begin with.
    prefix: &'static str,
}

/// What a run printed: nothing if the contender has no such workload. `None` if it died.
pub type Outcome = Option<Vec<Measurement>>;

/// A line that a program prints.
pub struct Measurement {
    pub name: String,
    pub value: f64,
    pub unit: String,
}

/// All of them: gosched first, and Go if there is a toolchain.
pub fn contenders(go: Option<&Go>) -> Vec<Contender> {
    let contender = |name, program: &str, prefix| Contender { name, program: program.into(), prefix };
    let mut all = vec![
        contender("ours", env!("CARGO_BIN_EXE_gosched"), ""),
        contender("ours, raw", env!("CARGO_BIN_EXE_gosched"), "raw_"),
    ];
    all.extend(go.map(|go| Contender { name: "go", program: go.program(), prefix: "" }));
    all.push(contender("tokio", env!("CARGO_BIN_EXE_tokio"), ""));
    all.push(contender("may", env!("CARGO_BIN_EXE_may"), ""));
    all.push(contender("corosensei", env!("CARGO_BIN_EXE_corosensei"), ""));
    all
}

/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

impl Contender {
    /// Runs a workload in a fresh process.
    pub fn run(&self, procs: usize, workload: &str) -> Outcome {
        let workload = format!("{}{workload}", self.prefix);
        let mut command = Command::new(&self.program);
        command.arg(procs.to_string()).arg(&workload).env("ECHO_CLIENT", env!("CARGO_BIN_EXE_echo_client"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let lines = child.ok().and_then(output);
        if lines.is_none() {
            eprintln!("died: {} {procs} {workload}", self.program.display());
        }
        lines?.lines().map(|line| self.measurement(line)).collect()
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

/// What the process prints; nothing if it fails or hangs. The little that a workload prints
/// fits in the pipe, so it can be read at the end.
fn output(mut child: Child) -> Option<String> {
    let start = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if start.elapsed() > LIMIT {
            child.kill().ok()?;
        }
        sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok())?
}

/// The Go program, in a folder that goes when this is dropped.
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
        // What can't be removed now the system removes in its time.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Builds the Go program. Without a toolchain, or if that fails, says so.
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
    // It needs nothing from the network.
    build.envs([("GOTOOLCHAIN", "local"), ("GOPROXY", "off"), ("GOFLAGS", "")]);
    if !build.status().is_ok_and(|status| status.success()) {
        eprintln!("go is skipped: the program wasn't built");
        return None;
    }
    Some(go)
}
