//! The choice of an M's next goroutine, as it ships; and goroutines, each of which is a task.

#[path = "../../../../../src/runtime/sched/ready.rs"]
pub(crate) mod ready;
#[path = "../../../../../src/runtime/sched/schedule.rs"]
mod schedule;
#[path = "../../../../../src/runtime/sched/poll.rs"]
mod shipped_poll;
mod steal;
#[path = "../../../../../src/runtime/sched/wake.rs"]
pub(crate) mod wake;

use crate::runtime::base::this::{add_m, getm};
use crate::runtime::data::runtime2::{G, GDEAD, GRUNNABLE, GRUNNING, GWAITING, M, Mutex, P, sched};
use crate::runtime::g::gfree::{gfget, gfput};
use crate::runtime::g::status::casgstatus;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::startm::take_nextp;
use crate::runtime::p::owner::acquirep;
use crate::runtime::p::runq::globrunqput;
use crate::sim::count::Event;
use crate::sim::{self, cost};

use schedule::{dropg, schedule};

/// The work that a goroutine does each time that it runs, until it leaves its thread.
pub(crate) type Task = Box<dyn FnMut(&'static G) -> Step>;

/// How a goroutine leaves its thread.
pub(crate) enum Step {
    /// It waits. The mutex is released once the goroutine is off its stack.
    Park(Option<&'static Mutex>),
    /// It waits. Once the goroutine is off its stack, the function sets what it waits for.
    ParkUntil(Box<dyn FnOnce()>),
    /// It lets others run: Go's `Gosched`.
    Yield,
    /// It has ended.
    Done,
}

/// Makes a goroutine, which runs next. Go's `newproc`.
pub(crate) fn go(task: Task) -> &'static G {
    let pp = getm().p().expect("on a goroutine");
    sim::work_about(cost(|costs| costs.make));
    let gp = gfget(pp);
    *gp.task.borrow_mut() = Some(task);
    casgstatus(gp, GDEAD, GRUNNABLE);
    ready::enqueue(gp);
    gp
}

/// Continues after `gogo`: runs the M's goroutine until it leaves, and then what `schedule` finds.
pub(crate) fn go_on() {
    let mp = getm();
    let gp = mp.curg.get().expect("execute has set it");
    sim::count(Event::Run);
    sim::work_about(cost(|costs| costs.switch));
    let mut task = gp.task.take().expect("a goroutine has a task");
    let step = task(gp);
    if !matches!(step, Step::Done) {
        *gp.task.borrow_mut() = Some(task);
    }
    match step {
        Step::Park(held) => {
            casgstatus(gp, GRUNNING, GWAITING);
            dropg(mp, gp);
            if let Some(held) = held {
                unlock(held);
            }
        }
        Step::ParkUntil(wait) => {
            casgstatus(gp, GRUNNING, GWAITING);
            dropg(mp, gp);
            wait();
        }
        Step::Yield => {
            casgstatus(gp, GRUNNING, GRUNNABLE);
            dropg(mp, gp);
            lock(&sched().lock);
            globrunqput(gp);
            unlock(&sched().lock);
        }
        Step::Done => {
            casgstatus(gp, GRUNNING, GDEAD);
            dropg(mp, gp);
            gfput(mp.p().expect("a goroutine has run"), gp);
        }
    }
    // SAFETY: the M has a P and no goroutine.
    unsafe { schedule(mp) }
}

/// The start of a thread.
pub(crate) fn mstart(mp: &'static M, f: Option<fn()>) {
    if let Some(f) = f {
        f();
    }
    if mp.p().is_none() {
        take_nextp(mp);
    }
    // SAFETY: the M has a P and no goroutine.
    unsafe { schedule(mp) }
}

/// Starts the first thread, which has `pp`, with a goroutine that does `task`.
pub(crate) fn mstart_main(pp: &'static P, task: Task) {
    let mp = M::new();
    add_m(mp);
    acquirep(mp, pp);
    go(task);
    mstart(mp, None);
}

/// Timers and the poller as they ship. A variant may change stealing.
pub(crate) mod poll {
    pub(crate) use super::shipped_poll::*;
    pub(super) use super::steal::steal_work;
}

/// No P is lost.
pub(crate) mod detach {
    use crate::runtime::data::runtime2::M;

    pub(crate) fn leave_m(_: &M) -> bool {
        false
    }
}

/// No goroutine is locked to its thread, and the world isn't stopped.
pub(crate) mod entersyscall {
    use crate::runtime::data::runtime2::{G, M, P};

    pub(crate) fn let_turn(_: &M, _: &P) -> bool {
        false
    }

    pub(crate) fn startlockedm(_: &M, _: &G) {}

    pub(crate) fn stoplockedm(_: &M) {}

    pub(crate) fn gcstopm(_: &M) {}
}
