//! Runs each workload on gosched and on its peers, and prints a table of how they compare.
//!
//! `cargo bench -- [--rounds N] [--procs 1,2] [--only go,tokio] [--limit SECONDS] [--quick]
//! [--traced FILE] [WORKLOAD ...]`:
//!
//! - `--quick` runs one round instead of 7.
//! - `--only` runs gosched's default kind and the named contenders: `lean`, `raw`, `std`, `go`,
//!   `tokio`, `may`, `corosensei`.
//! - `--limit` is the time after which a run counts as endless: two minutes by default.
//! - `--traced` compares gosched and Go each with itself while its execution is traced into the
//!   file, instead of with each other.
//! - `beside_` names all workloads whose names begin with it.
//!
//! Machines are noisy. So each round runs all contenders, one after the other, each in a fresh
//! process, and every other round runs them in reverse. The ratio is the median of the rounds'
//! ratios.
//!
//! The Go program is built with the `go` on the PATH, or the one that the environment variable
//! `GO` names.

mod contender;
mod table;
mod traced;

use std::env;
use std::process::exit;
use std::time::Duration;

use gosched_benches::machine::describe;

use contender::{Contender, Lost, Outcome, contenders};
use table::Table;
use traced::Traced;

/// The workloads that run by default, in the table's order. `src/lib.rs` explains them.
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

/// The workloads that run only if they are named.
const LONG: [&str; 45] = [
    "wake",
    "pair",
    "blocked",
    "threads",
    "idle",
    "echo100",
    "echo2000",
    "echo5000",
    "echo9000",
    "idle_connections",
    "echo100_later",
    "echo5000_later",
    "idle_connections_later",
    "http100",
    "http5000",
    "hyper50",
    "hyper500",
    "hyper50_wait",
    "hyper500_wait",
    "resp50",
    "resp50_16",
    "resp1000",
    "resp1000_16",
    "fanout2000",
    "beside_nothing",
    "beside_loop",
    "beside_2_loops",
    "beside_100_loops",
    "beside_c",
    "beside_sleep",
    "beside_mutex",
    "beside_pipe",
    "beside_connect",
    "beside_lookup",
    "beside_drop",
    "beside_handler",
    "hogs",
    "library",
    "wake_cpu",
    "wake_cpu100",
    "trickle_pipe",
    "trickle_timer",
    "trickle_thread",
    "bursts",
    "pairs_idle",
];

fn main() {
    let options = Options::parse(env::args().skip(1)).unwrap_or_else(|| {
        eprintln!(
            "usage: cargo bench -- [--rounds N] [--procs 1,2] [--only go,tokio] [--limit SECONDS] [--quick] \
             [--traced FILE] [WORKLOAD ...]"
        );
        eprintln!("workloads: {}; if named: {}", WORKLOADS.join(" "), LONG.join(" "));
        eprintln!("a WORKLOAD that ends in _ is all that begin so");
        exit(2)
    });
    let go = contender::build_go();
    describe(&[go.as_ref().map_or("no Go", |go| &go.version)]);
    if let Some(file) = &options.traced {
        let contenders = contender::traced(go.as_ref(), file);
        let table = Traced::start(&contenders);
        return options.each(&contenders, |workload, procs, rounds| table.print(workload, procs, rounds));
    }
    let contenders = contenders(go.as_ref());
    let table = Table::start(&contenders);
    options.each(&contenders, |workload, procs, rounds| table.print(workload, procs, rounds));
}

/// The options of the command line.
struct Options {
    rounds: usize,
    procs: Vec<usize>,
    /// The contenders that run beside gosched's default kind, if not all do.
    only: Option<Vec<String>>,
    limit: Duration,
    traced: Option<String>,
    workloads: Vec<String>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let limit = Duration::from_secs(120);
        let (procs, workloads) = (vec![1, 2], Vec::new());
        let mut options = Options { rounds: 7, procs, only: None, limit, traced: None, workloads };
        while let Some(word) = words.next() {
            match word.as_str() {
                // Cargo adds this argument.
                "--bench" => {}
                "--quick" => options.rounds = 1,
                "--rounds" => options.rounds = positive(&words.next()?)?,
                "--procs" => options.procs = words.next()?.split(',').map(positive).collect::<Option<_>>()?,
                "--only" => options.only = Some(words.next()?.split(',').map(String::from).collect()),
                "--limit" => options.limit = Duration::from_secs(words.next()?.parse().ok()?),
                "--traced" => options.traced = Some(words.next()?),
                word => {
                    let prefix = word.ends_with('_');
                    let named = |workload: &&str| *workload == word || prefix && workload.starts_with(word);
                    let named: Vec<_> = WORKLOADS.into_iter().chain(LONG).filter(named).collect();
                    if named.is_empty() {
                        return None;
                    }
                    options.workloads.extend(named.into_iter().map(String::from));
                }
            }
        }
        if options.workloads.is_empty() {
            options.workloads = WORKLOADS.map(String::from).to_vec();
        }
        Some(options)
    }

    /// Runs each workload, at each number of P's, and prints its outcomes.
    fn each(&self, contenders: &[Contender], print: impl Fn(&str, usize, &[Vec<Outcome>])) {
        for workload in &self.workloads {
            for &procs in &self.procs {
                print(workload, procs, &self.rounds(contenders, workload, procs));
            }
        }
    }

    /// Returns the outcomes of each round, in the contenders' order. A contender that was lost once
    /// isn't run again.
    ///
    /// Every other round goes backwards, because a contender may leave something behind that helps
    /// or hinders the next one: warm memory, a hot processor.
    fn rounds(&self, contenders: &[Contender], workload: &str, procs: usize) -> Vec<Vec<Outcome>> {
        let mut lost: Vec<Option<Lost>> = vec![None; contenders.len()];
        let mut round = |round| {
            let mut these: Vec<Outcome> = contenders.iter().map(|_| Ok(Vec::new())).collect();
            for turn in 0..contenders.len() {
                let i = if round % 2 == 0 { turn } else { contenders.len() - 1 - turn };
                these[i] = match lost[i] {
                    Some(lost) => Err(lost),
                    None if !self.runs(contenders[i].name) => Ok(Vec::new()),
                    None => contenders[i].run(procs, workload, self.limit),
                };
                lost[i] = these[i].as_ref().err().copied();
            }
            these
        };
        (0..self.rounds).map(&mut round).collect()
    }

    /// Returns whether the contender with this name runs.
    fn runs(&self, name: &str) -> bool {
        let name = name.strip_prefix("ours, ").unwrap_or(name);
        name == "ours" || self.only.as_ref().is_none_or(|only| only.iter().any(|wanted| wanted == name))
    }
}

fn positive(word: &str) -> Option<usize> {
    word.parse().ok().filter(|&n| n > 0)
}
