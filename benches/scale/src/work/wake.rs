//! Goroutines that wake others.

use std::cell::Cell;
use std::rc::Rc;

use crate::runtime::sched::{Task, go};
use crate::sim;
use crate::work::chan::{Chan, WaitGroup};
use crate::work::{Meter, rest};

/// `pairs` pairs hand a value to and fro. Each op is a round trip of one pair.
pub(super) fn pairs(meter: Meter, ops: u64, pairs: u64) -> Task {
    let done = Rc::new(Cell::new(0));
    let mut made = false;
    Box::new(move |_| {
        if !std::mem::replace(&mut made, true) {
            for _ in 0..pairs {
                let (ping, pong) = (Chan::new(), Chan::new());
                go(passer(ping, pong, || ()));
                let (meter, done) = (meter.clone(), done.clone());
                go(passer_first(ping, pong, move || {
                    done.set(done.get() + 1);
                    if done.get() == ops / 10 {
                        meter.begin();
                    }
                    if done.get() == ops {
                        meter.end(ops - ops / 10);
                    }
                }));
            }
        }
        rest()
    })
}

/// Receives from `from`, and sends to `to`, forever.
fn passer(from: &'static Chan, to: &'static Chan, mut after: impl FnMut() + 'static) -> Task {
    let mut received = false;
    Box::new(move |gp| {
        loop {
            received = !received;
            let step = if received { from.receive(gp) } else { to.send(gp) };
            if !received {
                after();
            }
            if let Some(step) = step {
                return step;
            }
        }
    })
}

/// The goroutine that begins: sends to `to`, and receives from `from`.
fn passer_first(to: &'static Chan, from: &'static Chan, mut after: impl FnMut() + 'static) -> Task {
    let mut sent = false;
    Box::new(move |gp| {
        loop {
            sent = !sent;
            if sent {
                after();
            }
            let step = if sent { to.send(gp) } else { from.receive(gp) };
            if let Some(step) = step {
                return step;
            }
        }
    })
}

/// How many goroutines a burst wakes, and how long each computes, in picoseconds.
const WOKEN: i64 = 64;
const BURST_WORK: u64 = 5_000_000;

/// One goroutine wakes others, each of which computes, and waits for them. Each op is one goroutine
/// that was woken.
pub(super) fn burst(meter: Meter, ops: u64) -> Task {
    let group = WaitGroup::new();
    let doors: Vec<&'static Chan> = (0..WOKEN).map(|_| Chan::new()).collect();
    let rounds = (ops / WOKEN as u64).max(2);
    let (mut made, mut round, mut next) = (false, 0, 0);
    Box::new(move |gp| {
        if !std::mem::replace(&mut made, true) {
            for &door in &doors {
                let mut woken = false;
                go(Box::new(move |gp| {
                    loop {
                        if std::mem::replace(&mut woken, true) {
                            sim::compute(BURST_WORK);
                            group.done();
                        }
                        if let Some(step) = door.receive(gp) {
                            return step;
                        }
                    }
                }));
            }
        }
        loop {
            if round == rounds / 10 {
                meter.begin();
            }
            if round == rounds {
                meter.end((rounds - rounds / 10) * WOKEN as u64);
                return rest();
            }
            if next == 0 {
                group.add(WOKEN);
            }
            while let Some(door) = doors.get(next) {
                next += 1;
                if let Some(step) = door.send(gp) {
                    return step;
                }
            }
            (round, next) = (round + 1, 0);
            if let Some(step) = group.wait(gp) {
                return step;
            }
        }
    })
}
