//! Prints the tables of `docs/lab/scale.md`: `gosched-scale calibrate`, `two`, `table`, `counts`,
//! `sleeps` or `variants`.

use std::env::args;
use std::io::{self, Write};

use gosched_scale::calibrate;
use gosched_scale::sim::costs::Costs;
use gosched_scale::sim::count::{Event, Part};
use gosched_scale::sim::lines::Of;
use gosched_scale::variants::{Lock, Variant};
use gosched_scale::work::{ALL, Outcome, Work, run};

/// The numbers of P's in the tables.
const PROCS: [i32; 6] = [1, 8, 16, 32, 64, 128];

fn main() {
    let what = args().nth(1).unwrap_or_default();
    match what.as_str() {
        "calibrate" => calibrate::print(),
        "two" => two(),
        "table" => table(),
        "counts" => counts(),
        "sleeps" => sleeps(),
        "variants" => variants(),
        _ => panic!("calibrate, two, table, counts, sleeps or variants?"),
    }
}

/// The number of operations: enough to show the steady state.
fn ops(work: Work, procs: i32) -> u64 {
    match work {
        Work::Skynet | Work::Tree => 100_000,
        Work::Pairs => 20_000 + 2000 * procs as u64,
        _ => 20_000 + 400 * procs as u64,
    }
}

fn server(work: Work, procs: i32, variant: Variant) -> Outcome {
    run(work, procs, ops(work, procs), &Costs::server(), variant)
}

/// Prints the model's figures for the machine that it is compared with.
fn two() {
    println!("| workload | P's | ns | sleeps |\n| --- | ---: | ---: | ---: |");
    for work in ALL {
        for procs in [1, 2] {
            let is = run(work, procs, 50_000, &Costs::measured(), Variant::default());
            println!("| {work:?} | {procs} | {:.1} | {:.5} |", is.ns_per_op(), slept(&is));
        }
    }
}

/// Returns the sleeps of threads for each operation.
fn slept(is: &Outcome) -> f64 {
    let events = [Event::FutexSleep, Event::Usleep, Event::PollSlept];
    events.iter().map(|&event| is.counts.of(event)).sum::<u64>() as f64 / is.ops as f64
}

/// Prints how often threads sleep, and so are woken, and the time that this takes.
fn sleeps() {
    println!("| workload | P's | ns | sleeps |\n| --- | ---: | ---: | ---: |");
    for work in ALL {
        for procs in [2, 4, 8, 16, 32, 64, 128] {
            let is = server(work, procs, Variant::default());
            println!("| {work:?} | {procs} | {:.1} | {:.5} |", is.ns_per_op(), slept(&is));
        }
    }
}

/// Prints where the time goes.
fn table() {
    println!(
        "| workload | P's | ns | work | run | steal | lock: wait | held | kernel | lines | of these sched |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for work in ALL {
        for procs in PROCS {
            let is = server(work, procs, Variant::default());
            print!("| {work:?} | {procs} | {:.1} |", is.ns_per_op());
            let parts = [Part::Work, Part::Run, Part::Steal, Part::LockWait, Part::LockHeld, Part::Kernel];
            parts.iter().for_each(|&part| print!(" {:.0} % |", 100.0 * is.share(part)));
            let stall: u64 = is.counts.stall.values().sum();
            let sched = is.counts.stall.get(&Of::Sched).copied().unwrap_or(0);
            let all = is.elapsed as f64 * is.procs as f64;
            println!(" {:.0} % | {:.0} % |", 100.0 * stall as f64 / all, 100.0 * sched as f64 / all);
        }
    }
}

/// Prints the counts of events for each operation.
fn counts() {
    let events = [
        (Event::Lock, "lock"),
        (Event::LockContended, "contended"),
        (Event::LockSlept, "slept on"),
        (Event::SchedRmw, "sched RMWs"),
        (Event::StealRound, "steals tried"),
        (Event::Stolen, "stolen"),
        (Event::MaskLook, "looks at masks"),
        (Event::CasFailed, "CAS failed"),
        (Event::FutexWake, "wakes"),
        (Event::Usleep, "usleep"),
        (Event::Poll, "epoll"),
    ];
    println!("| workload | P's | {} |", events.map(|(_, name)| name).join(" | "));
    println!("| --- | ---: |{}", " ---: |".repeat(events.len()));
    for work in ALL {
        for procs in [8, 32, 128] {
            let is = server(work, procs, Variant::default());
            print!("| {work:?} | {procs} |");
            events
                .iter()
                .for_each(|&(event, _)| print!(" {:.4} |", is.counts.of(event) as f64 / is.ops as f64));
            println!();
        }
    }
}

/// Prints what changes of the scheduler would bring.
fn variants() {
    let shipped = Variant::default();
    let all = [
        ("shipped", shipped),
        ("no barrier", Variant { swap_unlock: true, ..shipped }),
        ("one spins", Variant { lock: Lock::OneSpins, ..shipped }),
        ("best lock", Variant { lock: Lock::Queue, ..shipped }),
        ("padded", Variant { padded: true, ..shipped }),
        ("2 tries", Variant { steal_tries: Some(2), ..shipped }),
        ("1 try", Variant { steal_tries: Some(1), ..shipped }),
    ];
    println!("| workload | P's | {} |", all.map(|(name, _)| name).join(" | "));
    println!("| --- | ---: |{}", " ---: |".repeat(all.len()));
    for work in [Work::Skynet, Work::Tree, Work::Burst, Work::Timers, Work::Echo] {
        for procs in [32, 128] {
            print!("| {work:?} | {procs} |");
            for (_, variant) in all {
                print!(" {:.1} |", server(work, procs, variant).ns_per_op());
                io::stdout().flush().unwrap();
            }
            println!();
        }
    }
}
