//! Runs each workload on gosched and on its peers, and prints a table of how they compare.
//!
//! `cargo bench -- [--rounds N] [--procs 1,2] [--quick] [WORKLOAD ...]`; `--quick` is one
//! round, in place of 7. Machines are noisy: so each round runs all contenders, one after the
//! other, each in a fresh process, forth in one round and back in the next; and the ratio is the
//! median of the rounds' ratios.
//!
//! The Go program is built with the `go` on the PATH, or the one that the environment variable
//! `GO` names.

mod contender;
mod table;

use std::env;
use std::process::exit;

use gosched_benches::machine::describe;

use contender::{Contender, Outcome, contenders};
use table::Table;

/// What `src/lib.rs` explains, in the table's order.
const WORKLOADS: [&str; 18] = [
    "gosched",
    "spawn",
    "spawn_wait",
    "pingpong",
    "bufchan",
    "select4",
    "skynet",
    "fib",
    "grow",
    "grow_cold",
    "sleepers",
    "mutex",
    "syscall",
    "preempt_p99",
    "parked",
    "switch_pair",
    "coroswitch",
    "two_cpu",
];

/// Those that are only run if they are named.
const LONG: [&str; 10] = [
    "wake",
    "pair",
    "blocked",
    "threads",
    "idle",
    "echo100",
    "echo5000",
    "idle_connections",
    "http100",
    "http5000",
];

fn main() {
    let options = Options::parse(env::args().skip(1)).unwrap_or_else(|| {
        eprintln!("usage: cargo bench -- [--rounds N] [--procs 1,2] [--quick] [WORKLOAD ...]");
        eprintln!("workloads: {}; if named: {}", WORKLOADS.join(" "), LONG.join(" "));
        exit(2)
    });
    let go = contender::build_go();
    describe(&[go.as_ref().map_or("no Go", |go| &go.version)]);
    let contenders = contenders(go.as_ref());
    let table = Table::start(&contenders);
    for workload in &options.workloads {
        for &procs in &options.procs {
            table.print(workload, procs, &rounds(&contenders, workload, procs, options.rounds));
        }
    }
}

/// The outcomes of each round, in the contenders' order. Who has died isn't asked again.
///
/// Every other round goes backwards: what one leaves behind (memory that is warm, a processor that
/// is hot) may help or hinder the one after it.
fn rounds(contenders: &[Contender], workload: &str, procs: usize, rounds: usize) -> Vec<Vec<Outcome>> {
    let mut outcomes: Vec<Vec<Outcome>> = Vec::new();
    for round in 0..rounds {
        let died = |i: usize| outcomes.last().is_some_and(|before| before[i].is_none());
        let mut these: Vec<Outcome> = contenders.iter().map(|_| None).collect();
        for turn in 0..contenders.len() {
            let i = if round % 2 == 0 { turn } else { contenders.len() - 1 - turn };
            if !died(i) {
                these[i] = contenders[i].run(procs, workload);
            }
        }
        outcomes.push(these);
    }
    outcomes
}

/// What the command line asks for.
struct Options {
    rounds: usize,
    procs: Vec<usize>,
    workloads: Vec<String>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Options { rounds: 7, procs: vec![1, 2], workloads: Vec::new() };
        while let Some(word) = words.next() {
            match word.as_str() {
                // Cargo adds it.
                "--bench" => {}
                "--quick" => options.rounds = 1,
                "--rounds" => options.rounds = positive(&words.next()?)?,
                "--procs" => options.procs = words.next()?.split(',').map(positive).collect::<Option<_>>()?,
                word if WORKLOADS.contains(&word) || LONG.contains(&word) => {
                    options.workloads.push(word.into())
                }
                _ => return None,
            }
        }
        if options.workloads.is_empty() {
            options.workloads = WORKLOADS.map(String::from).to_vec();
        }
        Some(options)
    }
}

fn positive(word: &str) -> Option<usize> {
    word.parse().ok().filter(|&n| n > 0)
}
