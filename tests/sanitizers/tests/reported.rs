//! Each program with a bug is reported by its tool, and nothing is reported of the programs without
//! one. `TOOL` names the tool for which the program was built: `address`, `thread` or `valgrind`.
//! Without it, only the programs without a bug run.

use std::env;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};

const PLANTED: &str = env!("CARGO_BIN_EXE_planted");

/// How often a program without a bug runs, with one P and with two in turn. `TIMES` overrides it.
const TIMES: usize = 20;

const PS: [&str; 2] = ["1", "2"];

/// A line of the program's list.
#[derive(Clone)]
struct Program {
    tool: String,
    name: String,
    kind: String,
    frames: Vec<String>,
    maker: String,
}

impl Program {
    fn parse(line: &str) -> Self {
        let fields: Vec<_> = line.split('\t').map(str::to_owned).collect();
        let [tool, name, kind, frames, maker] = fields.try_into().expect("five fields");
        let frames = frames.split(' ').map(str::to_owned).collect();
        Program { tool, name, kind, frames, maker }
    }
}

/// Returns the command that runs the program under the tool.
fn command(tool: Option<&str>) -> Command {
    let mut command = if tool == Some("valgrind") {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["-q", "--error-exitcode=9", PLANTED]);
        valgrind
    } else {
        Command::new(PLANTED)
    };
    for setting in ["GODEBUG", "GOSCHED_GUARD", "GOTRACEBACK", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE"] {
        command.env_remove(setting);
    }
    let suppressions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tsan.supp");
    command
        .env("ASAN_OPTIONS", "detect_stack_use_after_return=1")
        .env("TSAN_OPTIONS", format!("atexit_sleep_ms=0:suppressions={}", suppressions.display()))
        .stdin(Stdio::null());
    command
}

fn end(tool: Option<&str>, program: &Program, which: &str, ps: &str) -> Result<Output, Failed> {
    Ok(command(tool).args([&program.tool, &program.name, which]).env("GOMAXPROCS", ps).output()?)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The exit status of a tool that has reported.
fn status_of(tool: &str) -> i32 {
    match tool {
        "address" => 1,
        "thread" => 66,
        _ => 9,
    }
}

/// With two P's, a lock of the scheduler's may happen to order the two accesses, in one run of
/// sixty: then the program runs again.
fn is_reported(program: &Program) -> Result<(), Failed> {
    for (ps, attempts) in PS.into_iter().zip([1, 3]) {
        let run = || reports(program, ps);
        (1..attempts).find_map(|_| run().ok()).map_or_else(run, Ok)?;
    }
    Ok(())
}

/// Runs the program once, and checks the report.
fn reports(program: &Program, ps: &str) -> Result<(), Failed> {
    let output = end(Some(&program.tool), program, "bug", ps)?;
    let report = stderr(&output);
    let missing = |what: &str| Failed::from(format!("GOMAXPROCS={ps}: no {what} in this report:\n{report}"));
    if output.status.code() != Some(status_of(&program.tool)) {
        return Err(format!("GOMAXPROCS={ps}: {}:\n{report}", output.status).into());
    }
    if !report.contains(&program.kind) {
        return Err(missing(&program.kind));
    }
    for frame in &program.frames {
        if !report.contains(&format!("{}::{frame}", program.name)) {
            return Err(missing(frame));
        }
    }
    if !program.maker.is_empty() && !tells_maker(&report, program) {
        return Err(missing("maker"));
    }
    Ok(())
}

/// Returns whether the report tells where a goroutine was made. ThreadSanitizer knows goroutines,
/// and reports the maker's stack: it must have a function of the program, and not only a closure in
/// it. After AddressSanitizer's report, the runtime tells which goroutine it was.
fn tells_maker(report: &str, program: &Program) -> bool {
    if program.tool == "address" {
        return report.contains(&format!("created at {}:", program.maker));
    }
    let maker = format!("{}::{}", program.name, program.maker);
    let closure = format!("{maker}::{{");
    let parts = report.split("\n\n");
    let stacks = parts.filter(|part| part.lines().next().is_some_and(|line| line.contains("created by")));
    stacks.flat_map(str::lines).any(|line| line.contains(&maker) && !line.contains(&closure))
}

fn is_silent(tool: Option<&str>, program: &Program, times: usize) -> Result<(), Failed> {
    for ps in PS.into_iter().cycle().take(times) {
        let output = end(tool, program, "right", ps)?;
        let report = stderr(&output);
        // Lines of the runtime's own don't count.
        let silent = report.lines().all(|line| line.starts_with("gosched: "));
        if !output.status.success() || !silent {
            return Err(format!("GOMAXPROCS={ps}: {}:\n{report}", output.status).into());
        }
    }
    Ok(())
}

fn programs() -> Vec<Program> {
    let list = Command::new(PLANTED).arg("list").output().expect("the program runs");
    String::from_utf8(list.stdout).expect("text").lines().map(Program::parse).collect()
}

fn main() {
    let tool = env::var("TOOL").ok();
    let times = env::var("TIMES").ok().map_or(TIMES, |times| times.parse().expect("a number"));
    let mut trials = Vec::new();
    for program in programs() {
        if tool.as_ref().is_some_and(|tool| *tool != program.tool) {
            continue;
        }
        let name = format!("{}::{}", program.tool, program.name);
        if tool.is_some() {
            let program = program.clone();
            trials.push(Trial::test(format!("{name}::bug"), move || is_reported(&program)));
        }
        let tool = tool.clone();
        trials
            .push(Trial::test(format!("{name}::right"), move || is_silent(tool.as_deref(), &program, times)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
