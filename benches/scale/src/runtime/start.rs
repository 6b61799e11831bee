//! The start of a simulation: P's, all but one of them idle, and the first goroutine.

use crate::runtime::base::this::forget_ms;
use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{P, Schedt, sched, set_sched};
use crate::runtime::netpoll;
use crate::runtime::p::procs::{PMask, Procs, RandomOrder, set_procs};
use crate::runtime::sched::{Task, mstart_main};
use crate::sim;
use crate::sim::costs::Costs;
use crate::sim::lines::Of;

/// Runs `task` as the first goroutine on `nprocs` P's, until it stops the machine.
pub(crate) fn run(costs: &Costs, nprocs: i32, task: Task) {
    forget_ms();
    netpoll::reset();
    set_sched(Box::leak(Box::default()));
    let mut steal_order = RandomOrder::new();
    steal_order.reset(nprocs as u32);
    let procs: &'static Procs = Box::leak(Box::new(Procs {
        allp: (0..nprocs).map(P::new).collect(),
        // Each mask gets whole lines, so that no line has parts of both.
        idlep_mask: PMask::new(512),
        timerp_mask: PMask::new(512),
        steal_order,
    }));
    set_procs(procs);
    sched().lastpoll.store(1, Ordering::Relaxed);
    for pp in procs.allp[1..].iter().rev() {
        procs.idlep_mask.set(pp.id.get());
        pp.link.set(sched().pidle.get());
        sched().pidle.set(Some(pp));
        sched().npidle.fetch_add(1, Ordering::Relaxed);
    }
    procs.timerp_mask.set(0);
    let first = procs.allp[0];
    sim::run(
        costs,
        Box::new(move || {
            name_lines(procs, sched());
            mstart_main(first, task);
        }),
    );
}

fn name_lines(procs: &'static Procs, sched: &'static Schedt) {
    sim::name(sched, Of::Sched);
    for pp in &procs.allp {
        sim::name::<P>(pp, Of::P);
    }
    // The masks' words are private to them. Named are the lines that a look at each P touches.
    for mask in [&procs.idlep_mask, &procs.timerp_mask] {
        sim::name_touched(Of::Masks, || _ = mask.read(0));
    }
}
