//! The table: medians, ratios, and whether they are what they should be.

use gosched_benches::median::median;

use crate::contender::{Contender, Measurement, Outcome};

/// Prints a row for each measurement.
pub struct Table<'a> {
    contenders: &'a [Contender],
}

/// What a row's ratio should be at most.
fn target(name: &str, procs: usize) -> Option<f64> {
    match name {
        "spawn" | "spawn_wait" => Some(0.35),
        "gosched" | "pingpong" => Some(0.4),
        "bufchan" | "select4" | "fib" => Some(0.6),
        "skynet" => Some(0.8),
        "grow" => Some(0.5),
        "grow_cold" => Some(0.8),
        "echo100_cpu" | "echo5000_cpu" => Some(0.9),
        "echo100" | "echo5000" | "http100" | "http5000" | "sleepers" | "mutex" | "syscall" | "threads" => {
            Some(1.0)
        }
        "preempt_p99" => Some(1.1),
        "blocked" => Some(1.05),
        "parked" => Some(if procs == 1 { 1.0 } else { 1.3 }),
        "switch_pair" => Some(1.6),
        "coroswitch" => Some(0.6),
        "coroswitch_pairs" => Some(4.0),
        "two_cpu" => Some(1.1),
        _ => None,
    }
}

impl<'a> Table<'a> {
    /// Prints the head.
    pub fn start(contenders: &'a [Contender]) -> Self {
        let names = contenders.iter().map(|contender| contender.name);
        line(["row", "procs"].into_iter().chain(names).chain(["ratio", "target", "met"]));
        line((0..contenders.len() + 5).map(|column| if column == 0 { "---" } else { "---:" }));
        Table { contenders }
    }

    /// Prints the rows of a workload: one for each thing that gosched says of it; or one that
    /// says that it died.
    pub fn print(&self, workload: &str, procs: usize, rounds: &[Vec<Outcome>]) {
        let ours = rounds.iter().find_map(|round| ours(round).as_ref());
        let rows = ours.map_or(vec![(workload, "")], |ours| {
            ours.iter().map(|Measurement { name, unit, .. }| (name.as_str(), unit.as_str())).collect()
        });
        for (name, unit) in rows {
            let ratio = self.ratio(name, unit, rounds);
            let target = target(name, procs);
            let met =
                target.zip(ratio).map_or("", |(target, ratio)| if ratio <= target { "yes" } else { "no" });
            let decimals = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
            let mut cells = vec![name.to_string(), procs.to_string()];
            cells.extend((0..self.contenders.len()).map(|column| cell(name, unit, column, rounds)));
            cells.extend([decimals(ratio), decimals(target), met.into()]);
            line(cells);
        }
    }

    /// The median of the rounds' ratios: of gosched to Go, or to corosensei in what Go doesn't
    /// have. What is a ratio of its own is that.
    fn ratio(&self, name: &str, unit: &str, rounds: &[Vec<Outcome>]) -> Option<f64> {
        if unit == "ratio" {
            return median(rounds.iter().filter_map(|round| value(name, ours(round))));
        }
        let to = |reference: &str| {
            let column = self.contenders.iter().position(|contender| contender.name == reference)?;
            median(
                rounds
                    .iter()
                    .filter_map(|round| Some(value(name, ours(round))? / value(name, &round[column])?)),
            )
        };
        to("go").or_else(|| to("corosensei"))
    }
}

/// What gosched says, in a round: on its raw layer, if the safe one has no such workload.
fn ours(round: &[Outcome]) -> &Outcome {
    if round[0].as_ref().is_some_and(Vec::is_empty) { &round[1] } else { &round[0] }
}

/// A contender's median.
fn cell(name: &str, unit: &str, column: usize, rounds: &[Vec<Outcome>]) -> String {
    if rounds.iter().any(|round| round[column].is_none()) {
        return "died".into();
    }
    let median = median(rounds.iter().filter_map(|round| value(name, &round[column])));
    median.map_or(String::new(), |median| readable(median, unit))
}

fn value(name: &str, outcome: &Outcome) -> Option<f64> {
    outcome.as_ref()?.iter().find(|measurement| measurement.name == name).map(|measurement| measurement.value)
}

fn readable(value: f64, unit: &str) -> String {
    match unit {
        "ns/op" | "ns" if value >= 1e6 => format!("{:.2} ms", value / 1e6),
        "ns/op" | "ns" if value >= 1e4 => format!("{:.1} µs", value / 1e3),
        "ns/op" | "ns" => format!("{value:.1} ns"),
        "bytes" => format!("{value:.0} B"),
        _ => format!("{value:.2}"),
    }
}

fn line(cells: impl IntoIterator<Item = impl AsRef<str>>) {
    let cells: Vec<_> = cells.into_iter().map(|cell| cell.as_ref().to_string()).collect();
    println!("| {} |", cells.join(" | "));
}
