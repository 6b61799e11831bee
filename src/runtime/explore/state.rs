//! What an exploration knows of the run that it is in, and what it asks its strategy.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::runtime::data::runtime2::G;
use crate::runtime::explore::story::Step;
use crate::runtime::g::explored::STEPS;
use crate::runtime::p::timers::run::Taken;

/// Who may go on, or what may be: a strategy takes one. There are two at least. They have indices: first comes
/// the goroutine that runs, if it can go on, then the others in the order in which they became runnable, then
/// the timers that are due. So 0 is what happens if nobody interferes.
pub(crate) struct Choice<'a> {
    /// The number of the goroutine that runs, and would go on.
    pub(crate) current: Option<u32>,
    /// The others that can run.
    pub(in crate::runtime) others: &'a [&'static G],
    /// How many timers are due.
    pub(crate) timers: usize,
    /// The number of one of the others which has just let them have the processor.
    pub(crate) yielded: Option<u32>,
}

impl Choice<'_> {
    /// How many there are to choose from.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.current.is_some()) + self.others.len() + self.timers
    }

    /// The number of the goroutine with this index; none for a timer.
    pub(crate) fn number(&self, index: usize) -> Option<u32> {
        let others = match self.current {
            Some(current) if index == 0 => return Some(current),
            Some(_) => index - 1,
            None => index,
        };
        self.others.get(others).map(|gp| gp.ext.number.load(Ordering::Relaxed))
    }
}

/// What decides. It is called on g0, and on goroutines' stacks, and must not use the runtime.
pub(crate) trait Strategy {
    /// The index of who goes on.
    fn choose(&mut self, choice: &Choice<'_>) -> usize;

    /// A number below `n`, where it isn't a matter of who goes on: which case of a select is done, say.
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
    /// There were more choices than may be.
    TooLong,
    /// A goroutine that isn't of the exploration has woken one that is, or a thread has.
    Foreign,
    /// A goroutine has come to no point for long.
    Stuck,
}

/// What was chosen, if it is yet to be done.
pub(in crate::runtime) enum Chosen {
    Goroutine(&'static G),
    Timer(Taken),
}

/// The run.
pub(in crate::runtime) struct Run {
    /// Whether there is one.
    pub(in crate::runtime) goes: bool,
    pub(in crate::runtime) strategy: Option<NonNull<dyn Strategy>>,
    /// Who waits for the end of the run.
    pub(in crate::runtime) driver: Option<&'static G>,
    /// Who can run, without the goroutine that does.
    pub(in crate::runtime) ready: Vec<&'static G>,
    /// The timers that are due.
    pub(in crate::runtime) due: Vec<Taken>,
    /// The goroutines of others that can run.
    pub(in crate::runtime) outsiders: VecDeque<&'static G>,
    pub(in crate::runtime) chosen: Option<Chosen>,
    /// Who ran last.
    pub(in crate::runtime) last: Option<&'static G>,
    /// Whether a goroutine that isn't of the exploration has run since one that is.
    pub(in crate::runtime) foreign: bool,
    /// Who is to go on when all others wait: `synctest::wait`.
    pub(in crate::runtime) waiter: Option<&'static G>,
    /// Whether goroutines go on at points, whatever the strategy says.
    pub(in crate::runtime) in_order: bool,
    pub(in crate::runtime) choices: u64,
    pub(in crate::runtime) max_choices: u64,
    /// How the run ends, as soon as the scheduler has it.
    pub(in crate::runtime) end: Option<End>,
    /// The number of the goroutine whose panic ends it, and the text of that, if it has one.
    pub(in crate::runtime) panicked: Option<(u32, Option<String>)>,
    /// What has happened, if that is to be told.
    pub(in crate::runtime) story: Option<Vec<Step>>,
}

struct RunCell(UnsafeCell<Run>);

// SAFETY: touched by who has the exploration's P, and keeps it.
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
    /// What the strategy says.
    pub(in crate::runtime) fn choose(&mut self, current: Option<u32>, yielded: Option<u32>) -> usize {
        self.step();
        let choice = Choice { current, others: &self.ready, timers: self.due.len(), yielded };
        let n = choice.len();
        let Some(mut strategy) = self.strategy.filter(|_| n > 1) else { return 0 };
        // SAFETY: who has begun the run keeps its strategy until the run has ended, and leaves it to this.
        unsafe { strategy.as_mut() }.choose(&choice).min(n - 1)
    }

    /// What the strategy says of a number below `n`.
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
        // Relaxed: it tells sysmon that there was one, and nothing else.
        STEPS.store(STEPS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The clock has jumped. In a run without choices only those who go on while it stands still go on for ever.
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

    /// Takes what has this index among the others, and the timers.
    pub(in crate::runtime) fn take(&mut self, index: usize) -> Chosen {
        if index < self.ready.len() {
            Chosen::Goroutine(self.ready.remove(index))
        } else {
            // There may be a million of them, in no order.
            Chosen::Timer(self.due.swap_remove(index - self.ready.len()))
        }
    }
}
