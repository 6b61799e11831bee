//! The processor time of a wake, and the sleeps of threads that it causes.
//!
//! `go/wakes.go` does the same.

use std::io::{Read, pipe};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use gosched::chan::bounded;
use gosched::net::Pollable;
use gosched::time::{sleep, sleep_until};
use gosched::{blocking, go};
use gosched_benches::Args;
use gosched_benches::wakes::{
    BURST, Cost, DURATION, NAP, SLEEPERS, STAMP, TRIPS, Work, burst_lateness, pause, report, report_trips,
    since, since_stamp, write_stamps,
};

use crate::workloads::pingpong;

pub fn run(args: &Args) {
    for (name, count) in SLEEPERS {
        if args.names(name) {
            sleepers(args, name, count);
        }
    }
    if args.names("trickle_pipe") {
        trickle(args, "trickle_pipe", from_pipe);
    }
    if args.names("trickle_timer") {
        trickle(args, "trickle_timer", from_timer);
    }
    if args.names("trickle_thread") {
        trickle(args, "trickle_thread", from_thread);
    }
    if args.names("bursts") {
        bursts(args);
    }
    if args.names("pairs_idle") {
        let (start, before) = (Instant::now(), Cost::of_process());
        pingpong(TRIPS);
        report_trips(args, Cost::of_process() - before, start.elapsed());
    }
}

/// Measures goroutines that sleep and work in turn. They begin one after the other, spread over the
/// first nap.
fn sleepers(args: &Args, name: &str, count: usize) {
    let work = Work::new();
    let start = Instant::now() + 100 * NAP;
    let end = start + DURATION;
    let goroutine = |i| {
        go(move || {
            let mut late = Vec::with_capacity(DURATION.div_duration_f64(NAP) as usize);
            sleep_until(start + NAP * i as u32 / count as u32);
            loop {
                let due = Instant::now() + NAP;
                if due > end {
                    return late;
                }
                sleep(NAP);
                late.push(since(due));
                work.run();
            }
        })
    };
    let goroutines: Vec<_> = (0..count).map(goroutine).collect();
    sleep_until(start);
    let before = Cost::of_process();
    sleep_until(end);
    let cost = Cost::of_process() - before;
    let late: Vec<f64> = goroutines.into_iter().flat_map(|each| each.join().unwrap()).collect();
    report(args, name, cost, late.len(), &late);
}

/// Measures a goroutine that is woken now and then. The cost of a thread that wakes it is left out.
fn trickle(args: &Args, name: &str, wakes: fn(&mut Vec<f64>) -> Option<JoinHandle<Cost>>) {
    let mut late = Vec::new();
    let before = Cost::of_process();
    let waker = wakes(&mut late);
    let cost = Cost::of_process() - before;
    let wakers = waker.map_or(Cost::default(), |thread| blocking(|| thread.join().unwrap()));
    report(args, name, cost - wakers, late.len(), &late);
}

fn from_pipe(late: &mut Vec<f64>) -> Option<JoinHandle<Cost>> {
    let (reader, writer) = pipe().unwrap();
    let reader = Pollable::new(reader).unwrap();
    let thread = thread::spawn(|| write_stamps(writer));
    let mut stamp = [0; STAMP];
    while reader.read_with(|mut reader| reader.read(&mut stamp)).unwrap() == STAMP {
        late.push(since_stamp(stamp));
    }
    Some(thread)
}

fn from_timer(late: &mut Vec<f64>) -> Option<JoinHandle<Cost>> {
    let end = Instant::now() + DURATION;
    for i in 0.. {
        let due = Instant::now() + pause(i);
        if due > end {
            break;
        }
        sleep_until(due);
        late.push(since(due));
    }
    None
}

fn from_thread(late: &mut Vec<f64>) -> Option<JoinHandle<Cost>> {
    let (tx, rx) = bounded(128);
    let thread = thread::spawn(move || {
        let (start, before) = (Instant::now(), Cost::of_thread());
        for i in 0.. {
            thread::sleep(pause(i));
            tx.send(Instant::now()).unwrap();
            if start.elapsed() > DURATION {
                break;
            }
        }
        Cost::of_thread() - before
    });
    late.extend(rx.iter().map(since));
    Some(thread)
}

/// Measures parked goroutines that become ready all at once, and work.
fn bursts(args: &Args) {
    let work = Work::new();
    let (senders, goroutines): (Vec<_>, Vec<_>) = (0..BURST)
        .map(|_| {
            let (tx, rx) = bounded::<()>(1);
            let burst = move |()| {
                work.run();
                Instant::now()
            };
            (tx, go(move || rx.iter().map(burst).collect::<Vec<_>>()))
        })
        .unzip();
    let (start, before) = (Instant::now(), Cost::of_process());
    let mut begun = Vec::new();
    while start.elapsed() < DURATION {
        sleep(NAP);
        begun.push(Instant::now());
        for tx in &senders {
            tx.send(()).unwrap();
        }
    }
    let cost = Cost::of_process() - before;
    drop(senders);
    let ran: Vec<_> = goroutines.into_iter().map(|each| each.join().unwrap()).collect();
    report(args, "bursts", cost, begun.len() * BURST, &burst_lateness(&begun, &ran));
}
