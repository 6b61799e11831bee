//! The state of a run, and the choices that it asks its strategy for.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::runtime::data::runtime2::G;
use crate::runtime::explore::story::Step;
use crate::runtime::g::explored::STEPS;
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
    // SAFETY: as the caller says.
    unsafe { &mut *RUN.0.get() }
}

impl Run {
    /// Returns the index that the strategy chooses.
    pub(in crate::runtime) fn choose(&mut self, current: Option<u32>, yielded: Option<u32>) -> usize {
        self.step();
        let choice = Choice { current, others: &self.ready, timers: self.due.len(), yielded };
        let n = choice.len();
        let Some(mut strategy) = self.strategy.filter(|_| n > 1) else { return 0 };
        // SAFETY: the goroutine that has begun the run keeps the strategy until the run has ended,
        // and doesn't use it meanwhile.
        unsafe { strategy.as_mut() }.choose(&choice).min(n - 1)
    }

    /// Returns a number below `n` that the strategy chooses.
    pub(in crate::runtime) fn value(&mut self, n: usize) -> usize {
        self.step();
        let Some(mut strategy) = self.strategy.filter(|_| n > 1) else { return 0 };
        // SAFETY: as in `choose`.
        unsafe { strategy.as_mut() }.value(n).min(n - 1)
    }

    pub(super) fn step(&mut self) {
        self.choices += 1;
        if self.choices >= self.max_choices {
            self.end.get_or_insert(End::TooLong);
        }
        // Relaxed: sysmon only checks whether the number has changed.
        STEPS.store(STEPS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Called when the clock has jumped. A run without choices is endless only if its goroutines go
    /// on while time stands still, so the count begins anew.
    pub(super) fn time_goes_on(&mut self) {
        if self.in_order {
            self.choices = 0;
        }
    }

    pub(in crate::runtime) fn is_ready(&self) -> bool {
        !self.ready.is_empty() || !self.due.is_empty()
    }

    pub(in crate::runtime) fn add(&mut self, gp: &'static G) {
        self.ready.push(gp);
    }

    /// Takes the goroutine or the timer with this index; the running goroutine isn't counted.
    pub(in crate::runtime) fn take(&mut self, index: usize) -> Chosen {
        if index < self.ready.len() {
            Chosen::Goroutine(self.ready.remove(index))
        } else {
            // There may be a million timers, in no order.
            Chosen::Timer(self.due.swap_remove(index - self.ready.len()))
        }
    }
}
