//! The workloads of `gosched/wakes.rs` on tokio, whose timers have a resolution of 1 ms.

use std::io::pipe;
use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use gosched_benches::Args;
use gosched_benches::wakes::{
    BURST, Cost, DURATION, NAP, SLEEPERS, STAMP, TRIPS, Work, burst_lateness, pause, report, report_trips,
    since, since_stamp, write_stamps,
};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::channel;
use tokio::task::spawn;
use tokio::time::{sleep, sleep_until};

use crate::{on_worker, pingpong};

/// Runs the workloads that are named.
pub fn run(args: &Args, runtime: &Runtime) {
    for (name, count) in SLEEPERS {
        if args.names(name) {
            let (cost, late) = on_worker(runtime, sleepers(count));
            report(args, name, cost, late.len(), &late);
        }
    }
    if args.names("trickle_pipe") {
        trickle(args, "trickle_pipe", || on_worker(runtime, from_pipe()));
    }
    if args.names("trickle_timer") {
        trickle(args, "trickle_timer", || on_worker(runtime, from_timer()));
    }
    if args.names("trickle_thread") {
        trickle(args, "trickle_thread", || on_worker(runtime, from_thread()));
    }
    if args.names("bursts") {
        let (cost, late) = on_worker(runtime, bursts());
        report(args, "bursts", cost, late.len() * BURST, &late);
    }
    if args.names("pairs_idle") {
        let (start, before) = (Instant::now(), Cost::of_process());
        on_worker(runtime, pingpong(TRIPS));
        report_trips(args, Cost::of_process() - before, start.elapsed());
    }
}

async fn sleepers(count: usize) -> (Cost, Vec<f64>) {
    let work = Work::new();
    let start = Instant::now() + 100 * NAP;
    let end = start + DURATION;
    let sleeper = |i| {
        spawn(async move {
            let mut late = Vec::with_capacity(DURATION.div_duration_f64(NAP) as usize);
            sleep_until((start + NAP * i as u32 / count as u32).into()).await;
            loop {
                let due = Instant::now() + NAP;
                if due > end {
                    return late;
                }
                sleep(NAP).await;
                late.push(since(due));
                work.run();
            }
        })
    };
    let tasks: Vec<_> = (0..count).map(sleeper).collect();
    sleep_until(start.into()).await;
    let before = Cost::of_process();
    sleep_until(end.into()).await;
    let cost = Cost::of_process() - before;
    let mut late = Vec::new();
    for task in tasks {
        late.extend(task.await.unwrap());
    }
    (cost, late)
}

/// How late the wakes were, and the waking thread, if there was one.
type Wakes = (Vec<f64>, Option<JoinHandle<Cost>>);

fn trickle(args: &Args, name: &str, wakes: impl FnOnce() -> Wakes) {
    let before = Cost::of_process();
    let (late, waker) = wakes();
    let cost = Cost::of_process() - before;
    let wakers = waker.map_or(Cost::default(), |thread| thread.join().unwrap());
    report(args, name, cost - wakers, late.len(), &late);
}

async fn from_pipe() -> Wakes {
    let (reader, writer) = pipe().unwrap();
    let mut reader = Receiver::from_owned_fd(OwnedFd::from(reader)).unwrap();
    let thread = thread::spawn(|| write_stamps(writer));
    let mut late = Vec::new();
    let mut stamp = [0; STAMP];
    while reader.read(&mut stamp).await.unwrap() == STAMP {
        late.push(since_stamp(stamp));
    }
    (late, Some(thread))
}

async fn from_timer() -> Wakes {
    let end = Instant::now() + DURATION;
    let mut late = Vec::new();
    for i in 0.. {
        let due = Instant::now() + pause(i);
        if due > end {
            break;
        }
        sleep_until(due.into()).await;
        late.push(since(due));
    }
    (late, None)
}

async fn from_thread() -> Wakes {
    let (tx, mut rx) = channel(128);
    let thread = thread::spawn(move || {
        let (start, before) = (Instant::now(), Cost::of_thread());
        for i in 0.. {
            thread::sleep(pause(i));
            tx.blocking_send(Instant::now()).unwrap();
            if start.elapsed() > DURATION {
                break;
            }
        }
        Cost::of_thread() - before
    });
    let mut late = Vec::new();
    while let Some(sent) = rx.recv().await {
        late.push(since(sent));
    }
    (late, Some(thread))
}

async fn bursts() -> (Cost, Vec<f64>) {
    let work = Work::new();
    let (senders, tasks): (Vec<_>, Vec<_>) = (0..BURST)
        .map(|_| {
            let (tx, mut rx) = channel(1);
            let task = async move {
                let mut ran = Vec::new();
                while let Some(()) = rx.recv().await {
                    work.run();
                    ran.push(Instant::now());
                }
                ran
            };
            (tx, spawn(task))
        })
        .unzip();
    let (start, before) = (Instant::now(), Cost::of_process());
    let mut begun = Vec::new();
    while start.elapsed() < DURATION {
        sleep(NAP).await;
        begun.push(Instant::now());
        for tx in &senders {
            tx.send(()).await.unwrap();
        }
    }
    let cost = Cost::of_process() - before;
    drop(senders);
    let mut ran = Vec::new();
    for task in tasks {
        ran.push(task.await.unwrap());
    }
    (cost, burst_lateness(&begun, &ran))
}
