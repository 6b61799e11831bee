//! The emulator that runs a test, if the processor is another; or another tool that runs it.

use std::env;
use std::process::Command;

/// The variable with cargo's runner for these binaries where the system can't run them: an
/// emulator, which runs their processes, too.
const RUNNER: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER";

/// The environment variable that names the tool for each test's process: `valgrind -q`.
const UNDER: &str = "GOSCHED_TEST_UNDER";

/// Returns the emulator that runs this process, if one does.
pub fn emulator() -> Option<String> {
    env::var(RUNNER).ok().filter(|_| cfg!(target_arch = "aarch64"))
}

/// A process of this binary.
pub fn this_binary() -> Command {
    let path = env::current_exe().expect("this binary has a path");
    let Some(runner) = emulator().or_else(|| env::var(UNDER).ok()) else { return Command::new(path) };
    let mut words = runner.split_whitespace();
    let mut command = Command::new(words.next().expect("a runner has a name"));
    command.args(words).arg(path);
    command
}
