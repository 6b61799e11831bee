//! The table of the cost of tracing: the values of a traced run, in units of the same program's
//! untraced run.

use gosched_benches::median::median;

use crate::contender::{Contender, Outcome};
use crate::table::{cell, line, value};

/// Prints a row for each measurement.
pub struct Traced<'a> {
    contenders: &'a [Contender],
}

/// The highest ratio that a row may have, whatever Go's ratio is.
fn target(name: &str) -> Option<f64> {
    (name == "echo100").then_some(1.03)
}

impl<'a> Traced<'a> {
    /// Prints the head.
    pub fn start(contenders: &'a [Contender]) -> Self {
        let names = contenders.iter().map(|contender| contender.name);
        let ratios =
            contenders.chunks(2).map(|pair| format!("{}: on ÷ off", pair[0].name)).collect::<Vec<_>>();
        line(
            ["row", "procs"]
                .into_iter()
                .chain(names)
                .chain(ratios.iter().map(|ratio| &**ratio))
                .chain(["met"]),
        );
        line((0..3 * contenders.len() / 2 + 3).map(|column| if column == 0 { "---" } else { "---:" }));
        Traced { contenders }
    }

    /// Prints the rows of a workload: one for each measurement.
    pub fn print(&self, workload: &str, procs: usize, rounds: &[Vec<Outcome>]) {
        let said = rounds.iter().flatten().flatten().find(|said| !said.is_empty());
        let rows = said.map_or(vec![(workload, "")], |said| {
            said.iter().map(|row| (row.name.as_str(), row.unit.as_str())).collect()
        });
        for (name, unit) in rows {
            let columns = 0..self.contenders.len();
            let ratios: Vec<_> = columns.clone().step_by(2).map(|off| on_to_off(name, off, rounds)).collect();
            let mut cells = vec![name.to_string(), procs.to_string()];
            cells.extend(columns.map(|column| cell(name, unit, column, rounds)));
            cells.extend(
                ratios.iter().map(|ratio| ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"))),
            );
            cells.push(met(name, &ratios).into());
            line(cells);
        }
    }
}

/// Returns the median of the rounds' ratios: of the contender to the right of this column to this
/// column's.
fn on_to_off(name: &str, off: usize, rounds: &[Vec<Outcome>]) -> Option<f64> {
    median(rounds.iter().filter_map(|round| Some(value(name, &round[off + 1])? / value(name, &round[off])?)))
}

/// Returns whether gosched's ratio is at most Go's, and at most the row's own target.
fn met(name: &str, ratios: &[Option<f64>]) -> &'static str {
    let &[Some(ours), Some(go)] = ratios else { return "" };
    if ours <= go && target(name).is_none_or(|target| ours <= target) { "yes" } else { "no" }
}
