//! Small programs with one bug each, and the same programs without it: sanitizers must report the
//! former, and nothing of the latter.
//!
//! `planted TOOL NAME bug` runs the program with the bug, `planted TOOL NAME right` the other.
//! `planted list` lists all, with the required contents of a report.

/// Lists the programs of a file: modules with a function `bug`, a function `right`, and the report
/// of `bug`.
macro_rules! programs {
    ($($program:ident)*) => {
        /// The programs of this file.
        pub const PROGRAMS: &[crate::Program] = &[$(crate::Program {
            name: stringify!($program),
            report: $program::REPORT,
            bug: $program::bug,
            right: $program::right,
        }),*];
    };
}

mod address;
mod alias;
mod hint;
mod report;
mod thread;
mod valgrind;

use std::env;
use std::process::ExitCode;

use report::Report;

struct Program {
    name: &'static str,
    /// The tool's report of `bug`.
    report: Report,
    bug: fn(),
    right: fn(),
}

/// The programs for each tool, by files.
const TOOLS: [(&str, &[&[Program]]); 3] = [
    ("address", &[address::heap::PROGRAMS, address::stack::PROGRAMS, address::places::PROGRAMS]),
    (
        "thread",
        &[
            thread::locks::PROGRAMS,
            thread::channels::PROGRAMS,
            thread::ends::PROGRAMS,
            thread::callbacks::PROGRAMS,
        ],
    ),
    ("valgrind", &[valgrind::PROGRAMS]),
];

fn programs() -> impl Iterator<Item = (&'static str, &'static Program)> {
    TOOLS
        .iter()
        .flat_map(|(tool, files)| files.iter().copied().flatten().map(move |program| (*tool, program)))
}

fn main() -> ExitCode {
    let args: Vec<_> = env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    if args == ["list"] {
        programs().for_each(|(tool, Program { name, report, .. })| println!("{tool}\t{name}\t{report}"));
        return ExitCode::SUCCESS;
    }
    if let [tool, name, which] = args[..]
        && let Some((_, program)) = programs().find(|(of, program)| *of == tool && program.name == name)
        && let Some(run) =
            [("bug", program.bug), ("right", program.right)].iter().find(|(name, _)| *name == which)
    {
        gosched::run(run.1);
        return ExitCode::SUCCESS;
    }
    eprintln!("usage: planted list | TOOL NAME bug | TOOL NAME right");
    ExitCode::FAILURE
}
