//! The cost of growing a stack, for each byte of its final size: from 4 KiB to 64 MiB.
//!
//! `cargo run --release --bin growth [ROUNDS]` prints a table, and draws it in
//! `docs/lab/growth.svg`.
//! Each measurement runs in a fresh process, each round goes through all sizes, and the results are
//! the medians of the rounds.

mod measure;
mod plot;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, exit};

use gosched_benches::machine::describe;
use gosched_benches::median::median;
use measure::Cost;

/// The final sizes of the stacks, as powers of two.
const SIZES: std::ops::RangeInclusive<u32> = 12..=26;

fn main() {
    match env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => report(11),
        [rounds] if rounds.parse().is_ok_and(|rounds: usize| rounds > 0) => report(rounds.parse().unwrap()),
        // Called by in_a_fresh_process.
        [word, size] if word == "measure" => println!("{}", measure::measure(size.parse().unwrap())),
        _ => {
            eprintln!("usage: growth [ROUNDS]");
            exit(2)
        }
    }
}

fn report(rounds: usize) {
    describe(&[]);
    let mut costs: Vec<Vec<Cost>> = SIZES.map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (size, costs) in SIZES.zip(&mut costs) {
            costs.push(in_a_fresh_process(1 << size));
        }
    }
    let of = |part: fn(&Cost) -> f64| -> Vec<f64> {
        costs.iter().map(|costs| median(costs.iter().map(part)).unwrap()).collect()
    };
    let (fresh, warm) = (of(|cost| cost.fresh), of(|cost| cost.warm));
    println!("| stack | fresh memory, ns/byte | warm segments, ns/byte |");
    println!("| ---: | ---: | ---: |");
    for ((size, fresh), warm) in SIZES.zip(&fresh).zip(&warm) {
        println!("| {} | {fresh:.3} | {warm:.3} |", readable(size));
    }
    let svg = plot::plot(SIZES, &[("fresh memory", &fresh), ("warm segments", &warm)]);
    fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/lab/growth.svg"), svg).unwrap();
}

fn in_a_fresh_process(size: usize) -> Cost {
    let mut command = Command::new(env::current_exe().unwrap());
    let output = command.args(["measure", &size.to_string()]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    text.parse().unwrap_or_else(|()| panic!("measure {size}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Spells out 2 to the power of `log2` bytes.
fn readable(log2: u32) -> String {
    match log2 {
        ..20 => format!("{} KiB", 1 << (log2 - 10)),
        20.. => format!("{} MiB", 1 << (log2 - 20)),
    }
}
