//! Measures how many schedules of a program gosched's explorer and shuttle run in a second.

#[path = "programs/steps.rs"]
mod steps;

use std::time::Instant;

use gosched::explore::{Explorer, Strategy};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, Runner};

/// The number of schedules in a round. Each round has its own seed.
const SCHEDULES: u32 = 10_000;

/// The number of rounds. A round runs our explorer and then shuttle, so a change of the machine's
/// speed affects both.
const ROUNDS: u64 = 9;

fn main() {
    println!("| program | schedules/s | shuttle's | ratio |");
    println!("| --- | ---: | ---: | ---: |");
    for ((name, ours), (_, shuttles)) in steps::PROGRAMS.into_iter().zip(programs_on_shuttle::steps::PROGRAMS)
    {
        let rounds = (1..=ROUNDS).map(|seed| [explored(ours, seed), explored_by_shuttle(shuttles, seed)]);
        let rounds: Vec<_> = rounds.collect();
        let [here, there] = [0, 1].map(|peer| median(rounds.iter().map(|round| round[peer])));
        let ratio = median(rounds.iter().map(|[here, there]| here / there));
        println!("| {name} | {here:.0} | {there:.0} | {ratio:.2} |");
    }
}

fn explored(program: fn(), seed: u64) -> f64 {
    let explorer = Explorer::new().iterations(SCHEDULES.into()).seed(seed).strategy(Strategy::Random);
    per_second(|| explorer.run(program))
}

fn explored_by_shuttle(program: fn(), seed: u64) -> f64 {
    let runner = Runner::new(RandomScheduler::new_from_seed(seed, SCHEDULES as usize), Config::new());
    per_second(|| _ = runner.run(program))
}

fn per_second(run_all: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    run_all();
    f64::from(SCHEDULES) / begun.elapsed().as_secs_f64()
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
