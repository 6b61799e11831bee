//! A run: its state, the choice of the goroutine that goes on, and the steps that are recorded for
//! reports. The choice is the exploration's part of `findRunnable`, and of each point.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use crate::runtime::data::runtime2::{G, GDEAD, GRUNNABLE, GWAITING, P, WaitReason, sched};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::explore::clock::{advance, reading};
use crate::runtime::g::callers::callers;
use crate::runtime::g::explored::{DRIVER, LOST, STEPS, act, alive, is_explored, stuck, woken_outside};
use crate::runtime::g::status::{casgstatus, readgstatus};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::runq::{runqdrain, take_all};
use crate::runtime::p::timer_heap::Taken;

/// The goroutines that may go on, and the timers that may fire; a strategy chooses one. There are
/// at least two. They have indices: first comes the goroutine that runs, if it can go on, then the
/// others in the order in which they became runnable, then the timers that are due. So 0 is the
/// choice of an ordinary scheduler.
pub(crate) struct Choice<'a> {
    /// The number of the goroutine that runs, if it can go on.
    pub(crate) current: Option<u32>,
    /// The other goroutines that can run.
    pub(in crate::runtime) others: &'a [&'static G],
    /// The number of timers that are due.
    pub(crate) timers: usize,
    /// The number of a goroutine among `others` that has just yielded.
    pub(crate) yielded: Option<u32>,
}

impl Choice<'_> {
    /// Returns the number of choices.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.current.is_some()) + self.others.len() + self.timers
    }

    /// Returns the number of the goroutine with this index; none for a timer.
    pub(crate) fn number(&self, index: usize) -> Option<u32> {
        let others = match self.current {
            Some(current) if index == 0 => return Some(current),
            Some(_) => index - 1,
            None => index,
        };
        self.others.get(others).map(|gp| gp.ext.number.load(Ordering::Relaxed))
    }
}

/// Makes the choices of a run. It is called on g0 and on goroutines' stacks, and must not use the
/// runtime.
pub(crate) trait Strategy {
    /// Returns the index of the goroutine or timer that goes on.
    fn choose(&mut self, choice: &Choice<'_>) -> usize;

    /// Returns a number below `n`, for choices other than the next goroutine, such as the case of a
    /// select.
    fn value(&mut self, n: usize) -> usize;
}

/// How a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The first goroutine has returned, and all others have ended.
    Done,
    /// A goroutine has panicked.
    Panic,
    /// All goroutines wait, the first among them, and there is no timer.
    Deadlock,
    /// The first goroutine has returned, and the others wait, and there is no timer.
    Leak,
    /// The number of choices has reached its maximum.
    TooLong,
    /// A thread, or a goroutine that isn't of the exploration, has woken a goroutine of the
    /// exploration.
    Foreign,
    /// A goroutine has come to no point for a long time.
    Stuck,
}

/// A choice that is yet to be carried out.
pub(in crate::runtime) enum Chosen {
    Goroutine(&'static G),
    Timer(Taken),
}

/// The run.
pub(in crate::runtime) struct Run {
    /// Whether a run is in progress.
    pub(in crate::runtime) goes: bool,
    pub(in crate::runtime) strategy: Option<NonNull<dyn Strategy>>,
    /// The goroutine that waits for the end of the run.
    pub(in crate::runtime) driver: Option<&'static G>,
    /// The goroutines that can run, without the running one.
    pub(in crate::runtime) ready: Vec<&'static G>,
    /// The timers that are due.
    pub(in crate::runtime) due: Vec<Taken>,
    /// The goroutines outside the exploration that can run.
    pub(in crate::runtime) outsiders: VecDeque<&'static G>,
    pub(in crate::runtime) chosen: Option<Chosen>,
    /// The goroutine that ran last.
    pub(in crate::runtime) last: Option<&'static G>,
    /// Whether an outsider has run since the last goroutine of the exploration.
    pub(in crate::runtime) foreign: bool,
    /// The goroutine that goes on when all others wait: `synctest::wait`.
    pub(in crate::runtime) waiter: Option<&'static G>,
    /// Whether goroutines go on at points, whatever the strategy says.
    pub(in crate::runtime) in_order: bool,
    pub(in crate::runtime) choices: u64,
    pub(in crate::runtime) max_choices: u64,
    /// How the run ends, at the next call of the scheduler.
    pub(in crate::runtime) end: Option<End>,
    /// The number of the goroutine whose panic ends the run, and the panic's text, if it has one.
    pub(in crate::runtime) panicked: Option<(u32, Option<String>)>,
    /// The steps so far, if they are recorded.
    pub(in crate::runtime) story: Option<Vec<Step>>,
}

struct RunCell(UnsafeCell<Run>);

// SAFETY: accessed only by the M that has the exploration's P and keeps it.
unsafe impl Sync for RunCell {}

static RUN: RunCell = RunCell(UnsafeCell::new(Run {
    goes: false,
    strategy: None,
    driver: None,
    ready: Vec::new(),
    due: Vec::new(),
    outsiders: VecDeque::new(),
    chosen: None,
    last: None,
    foreign: false,
    waiter: None,
    in_order: false,
    choices: 0,
    max_choices: 0,
    end: None,
    panicked: None,
    story: None,
}));

/// The run.
///
/// # Safety
/// The caller has the exploration's P and keeps it, and has no other reference to the run.
pub(in crate::runtime) unsafe fn run() -> &'static mut Run {
    // SAFETY: the caller has the exploration's P, and no other reference to the run.
    unsafe { &mut *RUN.0.get() }
}

impl Run {
    /// Returns the index that the strategy chooses.
    fn choose(&mut self, current: Option<u32>, yielded: Option<u32>) -> usize {
        self.step();
        let choice = Choice { current, others: &self.ready, timers: self.due.len(), yielded };
        let n = choice.len();
        let Some(mut strategy) = self.strategy.filter(|_| n > 1) else { return 0 };
        // SAFETY: the goroutine that has begun the run keeps the strategy until the run has ended,
        // and doesn't use it meanwhile.
        unsafe { strategy.as_mut() }.choose(&choice).min(n - 1)
    }

    /// Returns a number below `n` that the strategy chooses.
    fn value(&mut self, n: usize) -> usize {
        self.step();
        let Some(mut strategy) = self.strategy.filter(|_| n > 1) else { return 0 };
        // SAFETY: as in `choose`.
        unsafe { strategy.as_mut() }.value(n).min(n - 1)
    }

    fn step(&mut self) {
        self.choices += 1;
        if self.choices >= self.max_choices {
            self.end.get_or_insert(End::TooLong);
        }
        // Relaxed: sysmon only checks whether the number has changed.
        STEPS.store(STEPS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Called when the clock has jumped. A run without choices is endless only if its goroutines go
    /// on while time stands still, so the count begins anew.
    fn time_goes_on(&mut self) {
        if self.in_order {
            self.choices = 0;
        }
    }

    fn is_ready(&self) -> bool {
        !self.ready.is_empty() || !self.due.is_empty()
    }

    fn add(&mut self, gp: &'static G) {
        self.ready.push(gp);
    }

    /// Takes the goroutine or the timer with this index; the running goroutine isn't counted.
    fn take(&mut self, index: usize) -> Chosen {
        if index < self.ready.len() {
            Chosen::Goroutine(self.ready.remove(index))
        } else {
            // There may be a million timers, in no order.
            Chosen::Timer(self.due.swap_remove(index - self.ready.len()))
        }
    }
}

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
    // SAFETY: with the exploration's P, as the doc asks, and without another reference to the run.
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
    // SAFETY: the caller keeps the exploration's P, and there is no other reference to the run.
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
    // SAFETY: the caller keeps the exploration's P, and there is no other reference to the run.
    let run = unsafe { run() };
    if run.goes && run.end.is_none() {
        run.end = Some(End::Panic);
        run.panicked = Some((number, text));
    }
}

/// Notes that `gp`, which waits, goes on when no other goroutine can. Returns false if another
/// goroutine waits for that already. On g0, with the exploration's P.
pub(in crate::runtime) fn note_waiter(gp: &'static G) -> bool {
    // SAFETY: with the exploration's P, as the doc asks, and without another reference to the run.
    let run = unsafe { run() };
    match run.waiter {
        Some(waiter) => ptr::eq(waiter, gp),
        None => {
            run.waiter = Some(gp);
            true
        }
    }
}

/// An action or a change of state of a goroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum What {
    /// It does this operation next.
    Does(&'static str),
    /// It waits.
    Waits(WaitReason),
    /// It has ended.
    Ends,
    /// A timer has fired. This step belongs to no goroutine.
    Fires,
}

/// A step of a run.
pub(crate) struct Step {
    /// The goroutine's number.
    pub(in crate::runtime) number: u32,
    pub(in crate::runtime) what: What,
    /// The run's time, in nanoseconds.
    pub(in crate::runtime) at: i64,
    /// The goroutine's stack: addresses in its calls, the innermost first.
    pub(in crate::runtime) pcs: Vec<usize>,
}

impl Run {
    fn tell(&mut self, number: u32, what: What, pcs: &[usize]) {
        if let Some(story) = &mut self.story {
            story.push(Step { number, what, at: reading(), pcs: pcs.to_vec() });
        }
    }

    /// Records a step if the goroutine that ran last waits or has ended.
    fn tell_of_last(&mut self) {
        let Some(last) = self.last.take().filter(|_| self.story.is_some()) else { return };
        let number = last.ext.number.load(Ordering::Relaxed);
        match readgstatus(last) {
            GWAITING if is_explored(last) => self.tell(number, What::Waits(last.waitreason.get()), &[]),
            GDEAD => self.tell(number, What::Ends, &[]),
            _ => {}
        }
    }
}

/// Whether steps are recorded. The caller keeps the exploration's P.
pub(in crate::runtime) fn tells() -> bool {
    // SAFETY: the caller keeps the exploration's P, and there is no other reference to the run.
    unsafe { run() }.story.is_some()
}

/// Records the next operation of `gp`, which runs and keeps the exploration's P.
#[cold]
#[inline(never)]
pub(in crate::runtime) fn tell_of(gp: &G, what: &'static str) {
    // SAFETY: as said; nothing else uses the run meanwhile.
    let run = unsafe { run() };
    run.tell(gp.ext.number.load(Ordering::Relaxed), What::Does(what), callers().as_slice());
}
