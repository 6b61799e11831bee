//! The commands of CONTRIBUTING.md by short names. Each calls cargo or a script of `.ci/`, and only
//! these define what a step does.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage:
  cargo xtask quick                     all quick tests
  cargo xtask room NAME... [OPTION...]  the quick tests of some rooms; an option is cargo's, as --release
  cargo xtask gate [STEP...]            .ci/run: what every change must pass, or some steps of it
  cargo xtask full [STEP...]            .ci/full: everything, or some steps of it
  cargo xtask list                      the rooms, and the steps of both scripts

GOSCHED_TESTS=all adds the slow tests to those of `quick` and `room`.";

/// Exit status for a usage error.
const USAGE_ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else { return usage_error(USAGE) };
    match (name.as_str(), rest) {
        ("quick", []) => become_process(cargo(&["test", "--workspace"])),
        ("room", [_, ..]) => room(rest),
        ("gate", steps) => become_process(script("run", steps)),
        ("full", steps) => become_process(script("full", steps)),
        ("list", []) => list(),
        ("help" | "--help" | "-h", []) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => usage_error(USAGE),
    }
}

/// Runs the quick tests of rooms. A filter that matches no test would pass, so this checks the
/// names.
fn room(arguments: &[String]) -> ExitCode {
    let (options, names): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.starts_with('-'));
    let rooms = rooms();
    if let Some(name) = names.iter().find(|&&name| !rooms.contains(name)) {
        return usage_error(&format!("no such room: {name}; there are: {}", words(&rooms)));
    }
    if names.is_empty() {
        return usage_error(USAGE);
    }
    let mut command = cargo(&["test", "-p", "gosched-suite", "--test", "suite"]);
    command.args(options).arg("--").args(names.iter().map(|name| format!("{name}::")));
    become_process(command)
}

/// Prints the rooms, and the steps of both scripts.
fn list() -> ExitCode {
    for (name, command) in [("run", "gate"), ("full", "full")] {
        println!(".ci/{name} (cargo xtask {command} STEP):");
        match script(name, &["--list".to_owned()]).status() {
            Ok(status) if status.success() => {}
            Ok(_) => return ExitCode::FAILURE,
            Err(error) => return failure(&format!(".ci/{name}"), &error),
        }
        println!();
    }
    println!("rooms (cargo xtask room NAME):\n{}", words(&rooms()));
    ExitCode::SUCCESS
}

/// The rooms that have tests: the modules whose `TESTS` the suite's main file names.
fn rooms() -> BTreeSet<String> {
    let path = root().join("tests/suite/main.rs");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut paths: Vec<&str> = text.split("::TESTS").collect();
    // The text after the last one.
    paths.pop();
    let begins = |c: char| !c.is_alphanumeric() && !"_:".contains(c);
    let module = |text: &str| text.rsplit(begins).next()?.split("::").next().map(str::to_owned);
    paths.into_iter().filter_map(module).collect()
}

fn words(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn root() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../.."].iter().collect()
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root()).args(arguments);
    command
}

fn script(name: &str, arguments: &[String]) -> Command {
    let mut command = Command::new(root().join(".ci").join(name));
    command.current_dir(root()).args(arguments);
    command
}

/// Replaces this process by a command: its exit status and its signals are the command's.
fn become_process(mut command: Command) -> ExitCode {
    let error = command.exec();
    failure(&command.get_program().display().to_string(), &error)
}

fn failure(program: &str, error: &io::Error) -> ExitCode {
    eprintln!("{program}: {error}");
    ExitCode::FAILURE
}

fn usage_error(text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::from(USAGE_ERROR)
}
