//! The emulator that runs a test, where the processor is another; or what else it is to run under.

use std::env;
use std::process::Command;

/// What cargo runs these binaries with where the system can't: an emulator, which runs their
/// processes, too.
const RUNNER: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER";

/// The environment variable that says what each test's process runs under: `valgrind -q`.
const UNDER: &str = "GOSCHED_TEST_UNDER";

/// The emulator that runs this, if one does.
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
