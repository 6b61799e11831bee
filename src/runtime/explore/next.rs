//! The choice of the goroutine that goes on: the exploration's part of `findRunnable`, and of each
//! point.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::data::runtime2::{G, GRUNNABLE, GWAITING, P, sched};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::explore::clock::advance;
use crate::runtime::explore::state::{Chosen, End, Run, run};
use crate::runtime::explore::story::What;
use crate::runtime::g::explored::{DRIVER, LOST, act, alive, is_explored, stuck, woken_outside};
use crate::runtime::g::status::casgstatus;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::runq::{runqdrain, take_all};

/// Returns the goroutine to run on `pp` next; none if there is no run, or if the run has to wait
/// for something outside. On g0.
#[cold]
#[inline(never)]
pub(in crate::runtime) fn next(pp: &'static P) -> Option<&'static G> {
    loop {
        // SAFETY: on g0 with the exploration's P; a timer's function, which is called below,
        // doesn't use it.
        let run = unsafe { run() };
        if !run.goes {
            run.collect(pp);
            return run.outsiders.pop_front();
        }
        run.tell_of_last();
        let yielded = run.collect(pp);
        if stuck() {
            run.end.get_or_insert(End::Stuck);
        }
        if run.end.is_some() {
            return Some(run.finish());
        }
        // Outsiders and the exploration's goroutines alternate, so neither keeps the other out
        // forever.
        if !run.foreign
            && let Some(gp) = run.outsiders.pop_front()
        {
            run.foreign = true;
            return Some(gp);
        }
        run.foreign = false;
        let chosen = match run.chosen.take() {
            Some(chosen) => chosen,
            None if run.is_ready() => {
                let index = run.choose(None, yielded);
                run.take(index)
            }
            None => match run.waiter.take() {
                Some(waiter) => {
                    // This counts as a choice, so that a goroutine that waits for the others again
                    // and again comes to the run's limit.
                    run.step();
                    casgstatus(waiter, GWAITING, GRUNNABLE);
                    trace(|| Event::GoUnpark(waiter));
                    Chosen::Goroutine(waiter)
                }
                None if advance(&mut run.due) => {
                    run.time_goes_on();
                    continue;
                }
                None => {
                    run.end = run.without_work();
                    if run.end.is_some() {
                        continue;
                    }
                    let gp = run.outsiders.pop_front();
                    run.foreign = gp.is_some();
                    return gp;
                }
            },
        };
        match chosen {
            Chosen::Goroutine(gp) => {
                run.last = Some(gp);
                return Some(gp);
            }
            Chosen::Timer(taken) => {
                run.tell(0, What::Fires, &[]);
                act(|| taken.run());
            }
        }
    }
}

/// Called on g0, before the exploration's P goes to other goroutines for a while.
#[cold]
#[inline(never)]
pub(in crate::runtime) fn leaves(pp: &'static P) {
    // SAFETY: on g0 with the exploration's P.
    let run = unsafe { run() };
    if run.goes {
        run.collect(pp);
        run.foreign = true;
    }
}

/// Whether `gp`, which runs and keeps the exploration's P, goes on at a point. Otherwise `gp` has
/// to leave, and this has chosen the goroutine or timer that goes on instead.
pub(in crate::runtime) fn stays(gp: &'static G, pp: &'static P) -> bool {
    // SAFETY: as said; the strategy doesn't use it.
    let run = unsafe { run() };
    if !run.goes || run.in_order {
        return true;
    }
    run.collect(pp);
    if run.end.is_some() {
        return false;
    }
    let index = run.choose(Some(gp.ext.number.load(Ordering::Relaxed)), None);
    if index == 0 {
        return run.end.is_none();
    }
    run.chosen = Some(run.take(index - 1));
    false
}

/// Makes `gp`, which has left at a point, ready to be chosen again. If `at_once`, returns the
/// goroutine that was chosen at the point, if that can go on without the scheduler; otherwise the
/// scheduler will ask [`next`]. On g0, with the exploration's P.
pub(in crate::runtime) fn put_back(gp: &'static G, at_once: bool) -> Option<&'static G> {
    // SAFETY: as said.
    let run = unsafe { run() };
    run.add(gp);
    run.last = match run.chosen {
        Some(Chosen::Goroutine(chosen))
            if at_once && run.outsiders.is_empty() && chosen.lockedm.is_null() =>
        {
            run.chosen = None;
            Some(chosen)
        }
        _ => None,
    };
    run.last
}

/// Whether the run ends at the next call of the scheduler. The caller keeps the exploration's P.
pub(in crate::runtime) fn is_over() -> bool {
    // SAFETY: as said.
    unsafe { run() }.end.is_some()
}

/// Returns a number below `n` that the strategy chooses. The caller keeps the exploration's P.
pub(in crate::runtime) fn chosen_value(n: usize) -> usize {
    // SAFETY: as said; the strategy doesn't use it.
    let run = unsafe { run() };
    if run.goes { run.value(n) } else { 0 }
}

impl Run {
    /// Sorts the goroutines on the queues. Returns the number of the goroutine that has yielded.
    fn collect(&mut self, pp: &'static P) -> Option<u32> {
        let mut yielded = None;
        if !pp.local().is_empty() {
            let (local, _) = runqdrain(pp.local());
            while let Some(gp) = local.pop() {
                self.sort(gp);
            }
        }
        if sched().runqsize.load(Ordering::Relaxed) != 0 {
            lock(&sched().lock);
            let global = take_all();
            unlock(&sched().lock);
            if woken_outside() {
                self.end.get_or_insert(End::Foreign);
            }
            while let Some(gp) = global.pop() {
                // A goroutine of the exploration in the global queue has yielded: all others are
                // made ready on this P.
                self.sort(gp);
                yielded = is_explored(gp).then(|| gp.ext.number.load(Ordering::Relaxed)).or(yielded);
            }
        }
        yielded
    }

    fn sort(&mut self, gp: &'static G) {
        match gp.ext.number.load(Ordering::Relaxed) {
            0 | DRIVER => self.outsiders.push_back(gp),
            // A goroutine that a run has left behind was woken: it never runs.
            LOST => {}
            _ => {
                if self.foreign {
                    self.end.get_or_insert(End::Foreign);
                }
                self.add(gp);
            }
        }
    }

    /// Returns how the run ends, if no goroutine can run and there is no timer. Returns none if a
    /// goroutine runs without its P or is in a system call: then the run goes on.
    fn without_work(&self) -> Option<End> {
        let mut end = End::Done;
        // SAFETY: on g0 with the exploration's P.
        for (gp, number) in unsafe { alive() } {
            if gp.atomicstatus.load(Ordering::Relaxed) != GWAITING {
                return None;
            }
            match (number, end) {
                (1, _) => end = End::Deadlock,
                (_, End::Done) => end = End::Leak,
                _ => {}
            }
        }
        Some(end)
    }

    /// Ends the run. Returns the goroutine that waits for the end.
    fn finish(&mut self) -> &'static G {
        self.goes = false;
        let driver = self.driver.take().unwrap_or_else(|| unreachable!("a run has a driver"));
        casgstatus(driver, GWAITING, GRUNNABLE);
        trace(|| Event::GoUnpark(driver));
        driver
    }
}

/// Notes that the run has failed by a panic of goroutine `number`, with this text. The run ends at
/// the next call of the scheduler. The caller keeps the exploration's P.
pub(in crate::runtime) fn note_end_by_panic(number: u32, text: Option<String>) {
    // SAFETY: as said.
    let run = unsafe { run() };
    if run.goes && run.end.is_none() {
        run.end = Some(End::Panic);
        run.panicked = Some((number, text));
    }
}

/// Notes that `gp`, which waits, goes on when no other goroutine can. Returns false if another
/// goroutine waits for that already. On g0, with the exploration's P.
pub(in crate::runtime) fn note_waiter(gp: &'static G) -> bool {
    // SAFETY: as said.
    let run = unsafe { run() };
    match run.waiter {
        Some(waiter) => ptr::eq(waiter, gp),
        None => {
            run.waiter = Some(gp);
            true
        }
    }
}
