//! Goroutines made and gone.

use crate::runtime::sched::{Step, Task, go};
use crate::sim;
use crate::work::chan::{Chan, WaitGroup};
use crate::work::{Meter, rest};

/// One goroutine makes others that end at once, and waits for each hundred.
pub(super) fn spawn(meter: Meter, ops: u64) -> Task {
    let group = WaitGroup::new();
    let mut made = 0;
    Box::new(move |gp| {
        loop {
            if made == ops / 10 {
                meter.begin();
            }
            if made >= ops {
                meter.end(ops - ops / 10);
                return rest();
            }
            group.add(1);
            go(Box::new(move |_| {
                group.done();
                Step::Done
            }));
            made += 1;
            if made % 100 == 0
                && let Some(step) = group.wait(gp)
            {
                return step;
            }
        }
    })
}

/// The time in picoseconds that a goroutine of a large tree waits for memory that is in no cache.
/// The model doesn't compute it.
pub(super) const MEMORY: u64 = 520_000;

/// A tree of at least `ops` leaves, each of which computes for `leaf` picoseconds. Each op is a
/// goroutine, whose memory takes `memory` picoseconds.
pub(super) fn skynet(meter: Meter, ops: u64, memory: u64, leaf: u64) -> Task {
    let mut size = 10;
    while size < ops {
        size *= 10;
    }
    let out = Chan::new();
    let mut rounds = 0;
    // The first tree makes the goroutines that the second one uses.
    Box::new(move |gp| {
        loop {
            if rounds == 1 {
                meter.begin();
            }
            if rounds == 2 {
                meter.end((size * 10 - 1) / 9);
                return rest();
            }
            rounds += 1;
            go(node(out, size, memory, leaf));
            if let Some(step) = out.receive(gp) {
                return step;
            }
        }
    })
}

fn node(out: &'static Chan, size: u64, memory: u64, leaf: u64) -> Task {
    let mut sums = None;
    let (mut received, mut sent) = (0, false);
    Box::new(move |gp| {
        if size == 1 && !sent {
            sim::compute(memory + leaf);
        } else if size > 1 {
            let first = sums.is_none();
            let sums: &'static Chan = sums.get_or_insert_with(Chan::new);
            if first {
                sim::compute(memory);
                (0..10).for_each(|_| _ = go(node(sums, size / 10, memory, leaf)));
            }
            while received < 10 {
                received += 1;
                if let Some(step) = sums.receive(gp) {
                    return step;
                }
            }
        }
        if !sent {
            sent = true;
            if let Some(step) = out.send(gp) {
                return step;
            }
        }
        Step::Done
    })
}
