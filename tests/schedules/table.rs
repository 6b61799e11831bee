//! Measures how many schedules it takes to find the bugs of the suite's programs, here and with
//! shuttle; and how many plain runs it takes without either.
//!
//! The arguments are names of programs. Without arguments, all programs are in the table.

#[path = "../suite/explore/bugs/mod.rs"]
mod bugs;

use std::env::{args, current_exe};
use std::fmt::{self, Display, Formatter};
use std::io::{Read, Write, stdout};
use std::process::{Command, Stdio};
use std::time::Duration;

use gosched::explore::{Explorer, Strategy};
use gosched::testing::Test;
use gosched::{PanicMode, set_panic_mode};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

use bugs::{Program, programs};

/// A bug that isn't found within this number of schedules, or runs, counts as missed.
const LIMIT: usize = 10_000;

/// Each figure is the median of this number of explorations, or of this number of processes with
/// plain runs.
const SEEDS: u64 = 5;

/// The depth for PCT: how many orderings a bug may need.
const DEPTH: usize = 3;

/// The mended program has to pass this number of schedules.
const MENDED: usize = 1_000;

const COLUMNS: [&str; 5] = ["random", "PCT", "shuttle's random", "shuttle's PCT", "plain runs"];

/// The order of the variants is the order for the median.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Figure {
    Found(u64),
    Missed,
    NotApplicable,
}

impl Display for Figure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Found(schedules) => schedules.fmt(f),
            Figure::Missed => f.write_str("-"),
            Figure::NotApplicable => f.write_str("n/a"),
        }
    }
}

impl From<Option<u64>> for Figure {
    fn from(found: Option<u64>) -> Self {
        found.map_or(Figure::Missed, Figure::Found)
    }
}

fn main() {
    let args: Vec<_> = args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--plain", name, _] => run_plain(name),
        ["--shuttles-random", name, seed] => {
            run_by_shuttle(
                name,
                |program| program.wrong,
                RandomScheduler::new_from_seed(number(seed), LIMIT),
            );
        }
        ["--shuttles-pct", name, seed] => {
            let scheduler = PctScheduler::new_from_seed(number(seed), DEPTH, LIMIT);
            run_by_shuttle(name, |program| program.wrong, scheduler);
        }
        ["--mended", name, seed] => {
            run_by_shuttle(
                name,
                |program| program.right,
                RandomScheduler::new_from_seed(number(seed), MENDED),
            );
        }
        _ => print_table(&args),
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("it is a number")
}

fn print_table(names: &[String]) {
    println!("| program | {} |", COLUMNS.join(" | "));
    println!("| --- |{}", " ---: |".repeat(COLUMNS.len()));
    let chosen = |program: &&Program| names.is_empty() || names.iter().any(|name| name == program.name);
    let rows: Vec<_> = programs()
        .filter(chosen)
        .map(|program| {
            let row = row(program);
            print_row(program.name, row);
            row
        })
        .collect();
    let columns = std::array::from_fn(|i| rows.iter().map(|row| row[i]).collect::<Vec<_>>());
    let found = |figures: &Vec<_>| figures.iter().filter(|figure| matches!(figure, Figure::Found(_))).count();
    print_row("*found*", columns.each_ref().map(found));
    print_row("*median*", columns.map(median));
}

fn print_row(name: &str, cells: [impl Display; COLUMNS.len()]) {
    println!("| {name} | {} |", cells.map(|cell| cell.to_string()).join(" | "));
}

fn row(program: &'static Program) -> [Figure; COLUMNS.len()] {
    // What an exploration finds isn't the bug if it is found in the mended program too.
    let mended = Explorer::new().iterations(MENDED as u64).strategy(Strategy::Random).check(program.right);
    let explored = |strategy| {
        of_seeds(mended.is_ok(), |seed| {
            let explorer = Explorer::new().iterations(LIMIT as u64).seed(seed).strategy(strategy);
            explorer.check(program.wrong).err().map(|failure| failure.schedules())
        })
    };
    let mended_by_shuttle = runs_in_a_process("--mended", program.name, 1);
    let by_shuttle =
        |how| of_seeds(mended_by_shuttle.is_none(), |seed| runs_in_a_process(how, program.name, seed));
    let by_itself = of_seeds(true, |seed| runs_in_a_process("--plain", program.name, seed));
    [
        explored(Strategy::Random),
        explored(Strategy::Pct { depth: DEPTH as u32 }),
        by_shuttle("--shuttles-random"),
        by_shuttle("--shuttles-pct"),
        by_itself,
    ]
}

fn of_seeds(applicable: bool, found: impl Fn(u64) -> Option<u64>) -> Figure {
    if !applicable {
        return Figure::NotApplicable;
    }
    median((1..=SEEDS).map(|seed| found(seed).into()).collect())
}

fn median(mut figures: Vec<Figure>) -> Figure {
    figures.sort();
    figures[figures.len() / 2]
}

/// Returns the number of runs until one fails. They happen in a process of their own, because a run
/// may end the process.
fn runs_in_a_process(how: &str, name: &str, seed: u64) -> Option<u64> {
    let mut child = Command::new(current_exe().expect("there is a program"))
        .args([how, name, &seed.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("there can be a process");
    let mut begun = Vec::new();
    child.stdout.take().expect("it is piped").read_to_end(&mut begun).expect("it can be read");
    let ended = child.wait().expect("it is a child");
    (!ended.success()).then_some(begun.len() as u64)
}

/// Writes one byte for each run that begins. The parent process, in `runs_in_a_process`, counts the
/// bytes.
fn begin() {
    stdout().write_all(b".").and_then(|()| stdout().flush()).expect("somebody reads");
}

/// Runs a program again and again on the scheduler, without an exploration.
fn run_plain(name: &str) {
    set_panic_mode(PanicMode::Die);
    let program = programs().find(|program| program.name == name).expect("there is such a program");
    for _ in 0..LIMIT {
        begin();
        Test::new(program.name).timeout(Duration::from_secs(5)).run(program.wrong);
    }
}

type OnShuttle = programs_on_shuttle::bugs::Program;

fn run_by_shuttle(name: &str, which: fn(&OnShuttle) -> fn(), scheduler: impl Scheduler + 'static) {
    let mut programs = programs_on_shuttle::bugs::programs();
    let run = which(programs.find(|program| program.name == name).expect("there is such a program"));
    Runner::new(scheduler, Config::new()).run(move || {
        begin();
        run();
    });
}
