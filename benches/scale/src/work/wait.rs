//! Goroutines that wait for time, or for the network.

use std::cell::Cell;
use std::rc::Rc;

use crate::runtime::base::this::getm;
use crate::runtime::netpoll;
use crate::runtime::p::timer_heap::add;
use crate::runtime::sched::{Step, Task, go};
use crate::sim;
use crate::work::{Meter, rest};

/// How long each goroutine computes, and how long it sleeps, in picoseconds.
const TIMER_WORK: u64 = 5_000_000;
const TIMER_SLEEP: u64 = 100_000_000;

/// A counter of ops, which begins and ends the measurement.
fn counter(meter: Meter, ops: u64) -> Rc<dyn Fn()> {
    let done = Cell::new(0);
    Rc::new(move || {
        done.set(done.get() + 1);
        if done.get() == ops / 5 {
            meter.begin();
        }
        if done.get() == ops {
            meter.end(ops - ops / 5);
        }
    })
}

/// `sleepers` goroutines compute and sleep in turn. Each op is one sleep.
pub(super) fn timers(meter: Meter, ops: u64, sleepers: u64) -> Task {
    let done = counter(meter, ops);
    let mut made = false;
    Box::new(move |_| {
        if !std::mem::replace(&mut made, true) {
            for i in 0..sleepers {
                let done = done.clone();
                let mut first = true;
                go(Box::new(move |gp| {
                    // The goroutines begin at different times.
                    let late =
                        if std::mem::replace(&mut first, false) { TIMER_SLEEP / sleepers * i } else { 0 };
                    sim::compute(TIMER_WORK);
                    done();
                    let pp = getm().p().expect("a goroutine has a P");
                    let when = sim::time() + TIMER_SLEEP + late;
                    Step::ParkUntil(Box::new(move || add(pp, gp, 1 + (when / 1000) as i64)))
                }));
            }
        }
        rest()
    })
}

/// How long a request takes, half of it in system calls; and the time until the next one comes, in
/// picoseconds.
const REQUEST_WORK: u64 = 10_000_000;
const THINK: u64 = 200_000_000;

/// `connections` connections. Each op is a request.
pub(super) fn echo(meter: Meter, ops: u64, connections: u64) -> Task {
    let done = counter(meter, ops);
    let mut made = false;
    Box::new(move |_| {
        if !std::mem::replace(&mut made, true) {
            for i in 0..connections {
                let done = done.clone();
                let mut first = true;
                go(Box::new(move |gp| {
                    let late = if std::mem::replace(&mut first, false) { THINK / connections * i } else { 0 };
                    sim::compute(REQUEST_WORK);
                    done();
                    let when = sim::time() + THINK + late;
                    Step::ParkUntil(Box::new(move || netpoll::expect(gp, when)))
                }));
            }
        }
        rest()
    })
}
