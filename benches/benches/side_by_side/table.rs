//! The table: medians, ratios, and whether they meet their targets.

use gosched_benches::median::median;

use crate::contender::{Contender, Measurement, Outcome};

/// Prints a row for each measurement.
pub struct Table<'a> {
    contenders: &'a [Contender],
}

/// The highest ratio that a row should have: to tokio for [`servers`](is_server), and to Go
/// otherwise.
fn target(name: &str, procs: usize) -> Option<f64> {
    match name {
        "gosched" | "select4" | "fib" => Some(0.6),
        "spawn" => Some(0.55),
        "pingpong" => Some(0.5),
        "spawn_wait" | "bufchan" => Some(0.45),
        "skynet" => Some(0.75),
        "coroswitch" | "grow_cold" => Some(0.8),
        "grow" => Some(0.5),
        "sleepers" | "mutex" | "syscall" | "threads" => Some(1.0),
        "preempt_p99" => Some(1.1),
        "blocked" => Some(1.05),
        "parked" => Some(if procs == 1 { 1.0 } else { 1.3 }),
        "switch_pair" => Some(1.6),
        "coroswitch_pairs" => Some(4.0),
        "two_cpu" => Some(1.1),
        _ if is_server(name) && (name.ends_with("_cpu") || name.ends_with("_p99")) => Some(1.0),
        _ if name.starts_with("beside_") && name.ends_with("_p99") => Some(1.0),
        _ => None,
    }
}

/// Whether the row is one of a server's, whose clients are another process.
fn is_server(name: &str) -> bool {
    ["echo", "http", "hyper", "resp", "fanout"].iter().any(|prefix| name.starts_with(prefix))
}

/// The highest value that a row should have, whatever Go's value is.
fn most(name: &str, procs: usize) -> Option<f64> {
    match name {
        "hogs" => Some(procs as f64 * 1.1),
        "library" => Some(120e6),
        "library_late" => Some(12e6),
        _ if name.starts_with("beside_") && name.ends_with("_p99") => Some(25e6),
        _ => None,
    }
}

impl<'a> Table<'a> {
    /// Prints the head.
    pub fn start(contenders: &'a [Contender]) -> Self {
        let names = contenders.iter().map(|contender| contender.name);
        line(["row", "procs"].into_iter().chain(names).chain(["÷ lean", "ratio", "target", "met"]));
        line((0..contenders.len() + 6).map(|column| if column == 0 { "---" } else { "---:" }));
        Table { contenders }
    }

    /// Prints the rows of a workload: one for each measurement of gosched's. If gosched was lost,
    /// prints the rows of another contender, or one row if all were lost.
    pub fn print(&self, workload: &str, procs: usize, rounds: &[Vec<Outcome>]) {
        let said = rounds
            .iter()
            .find_map(|round| ours(round).as_ref().ok())
            .or_else(|| rounds.iter().flatten().flatten().find(|said| !said.is_empty()));
        let rows = said.map_or(vec![(workload, "")], |said| {
            said.iter().map(|Measurement { name, unit, .. }| (name.as_str(), unit.as_str())).collect()
        });
        for (name, unit) in rows {
            let ratio = self.ratio(name, unit, rounds);
            let (target, most) = (target(name, procs), most(name, procs));
            let decimals = |value: f64| format!("{value:.2}");
            let targets = [target.map(decimals), most.map(|most| readable(most, unit))];
            let mut cells = vec![name.to_string(), procs.to_string()];
            cells.extend((0..self.contenders.len()).map(|column| cell(name, unit, column, rounds)));
            let to_lean = ratio_of(name, rounds, |round| &round[LEAN]);
            cells.push(to_lean.map_or(String::new(), decimals));
            cells.push(ratio.map_or(String::new(), decimals));
            cells.push(targets.into_iter().flatten().collect::<Vec<_>>().join(", "));
            cells.push(met(target.zip(ratio), most, name, rounds).into());
            line(cells);
        }
    }

    /// Returns the median of the rounds' ratios: of gosched to tokio for servers, otherwise to Go,
    /// or to corosensei for workloads that Go lacks. A row that is a ratio itself is returned as it
    /// is.
    fn ratio(&self, name: &str, unit: &str, rounds: &[Vec<Outcome>]) -> Option<f64> {
        if unit == "ratio" {
            return ours_median(name, rounds);
        }
        let to = |reference: &str| {
            let column = self.contenders.iter().position(|contender| contender.name == reference)?;
            ratio_of(name, rounds, |round| &round[column])
        };
        if is_server(name) {
            return to("tokio");
        }
        to("go").or_else(|| to("corosensei"))
    }
}

/// The columns of gosched with goroutines that share thread-locals, and of its raw layer.
const LEAN: usize = 1;
const RAW: usize = 2;

/// Returns gosched's outcome in a round: that of its raw layer, if the safe one has no such
/// workload.
fn ours(round: &[Outcome]) -> &Outcome {
    if round[0].as_ref().is_ok_and(Vec::is_empty) { &round[RAW] } else { &round[0] }
}

/// Returns the median of the rounds' ratios of gosched to another contender.
fn ratio_of(name: &str, rounds: &[Vec<Outcome>], other: impl Fn(&[Outcome]) -> &Outcome) -> Option<f64> {
    median(rounds.iter().filter_map(|round| Some(value(name, ours(round))? / value(name, other(round))?)))
}

/// Returns whether gosched's ratio is at most its target, and its median at most `most`.
fn met(ratio: Option<(f64, f64)>, most: Option<f64>, name: &str, rounds: &[Vec<Outcome>]) -> &'static str {
    let fast = ratio.map(|(target, ratio)| ratio <= target);
    let low = most.map(|most| ours_median(name, rounds).is_some_and(|ours| ours <= most));
    match (fast, low) {
        (None, None) => "",
        (Some(false), _) | (_, Some(false)) => "no",
        _ => "yes",
    }
}

/// Returns gosched's median, or None if gosched was lost in a round.
fn ours_median(name: &str, rounds: &[Vec<Outcome>]) -> Option<f64> {
    let values: Option<Vec<f64>> = rounds.iter().map(|round| value(name, ours(round))).collect();
    median(values?.into_iter())
}

/// Returns a contender's median, formatted for reading.
pub(super) fn cell(name: &str, unit: &str, column: usize, rounds: &[Vec<Outcome>]) -> String {
    if let Some(lost) = rounds.iter().find_map(|round| round[column].as_ref().err()) {
        return lost.to_string();
    }
    let median = median(rounds.iter().filter_map(|round| value(name, &round[column])));
    median.map_or(String::new(), |median| readable(median, unit))
}

pub(super) fn value(name: &str, outcome: &Outcome) -> Option<f64> {
    let said = outcome.as_ref().ok()?;
    said.iter().find(|measurement| measurement.name == name).map(|measurement| measurement.value)
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

pub(super) fn line(cells: impl IntoIterator<Item = impl AsRef<str>>) {
    let cells: Vec<_> = cells.into_iter().map(|cell| cell.as_ref().to_string()).collect();
    println!("| {} |", cells.join(" | "));
}
