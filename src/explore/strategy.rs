//! [`Strategy`]: how schedules are found. Each strategy makes the choices of a run.

use crate::runtime::{Choice, ExploreStrategy, Rng};

/// How an [`Explorer`](super::Explorer) finds schedules.
///
/// ```
/// use gosched::explore::{Explorer, Strategy};
///
/// let two = || {
///     gosched::go(|| {}).join().unwrap();
/// };
/// assert!(Explorer::new().strategy(Strategy::Exhaustive { preemptions: 2 }).check(two).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// [`Random`](Self::Random) and [`Pct`](Self::Pct) with a depth of 1, 2, 3 and 4, in turn. It
    /// finds most bugs fastest.
    #[default]
    Mixed,
    /// Each choice is random, and all outcomes are equally likely.
    Random,
    /// Probabilistic concurrency testing, by Burckhardt and others (ASPLOS 2010): each goroutine
    /// has a random priority, and the goroutine with the highest priority goes on. At `depth` - 1
    /// random points the running goroutine gets the lowest priority. If a bug needs `depth`
    /// orderings, among `n` goroutines in `k` steps, a run finds it with a probability of at least
    /// 1 / (`n` `k`^(`depth` - 1)), however unlikely the bug is otherwise.
    Pct {
        /// How many orderings a bug may need: 1 to 5 or so.
        depth: u32,
    },
    /// Every schedule that interrupts goroutines that could go on at most `preemptions` times, in
    /// depth-first order. It is for tiny programs: the number of schedules grows exponentially with
    /// `preemptions`. The runs end before [`iterations`](super::Explorer::iterations) if all
    /// schedules were run.
    Exhaustive {
        /// The most interruptions of goroutines in a schedule.
        preemptions: u32,
    },
}

/// [`Strategy::Random`] in one run.
pub(super) struct Random(pub(super) Rng);

impl ExploreStrategy for Random {
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        self.0.below(choice.len())
    }

    fn value(&mut self, n: usize) -> usize {
        self.0.below(n)
    }
}

/// [`Strategy::Pct`] in one run: the priorities.
pub(super) struct Pct {
    rng: Rng,
    /// By the goroutine's number; 0 if the goroutine has no priority yet.
    priorities: Vec<u64>,
    /// The priority of the timers.
    timers: u64,
    /// At which choices the running goroutine gets the lowest priority, in descending order, so
    /// that the next one is last.
    changes: Vec<u64>,
    choices: u64,
    /// The lowest priority.
    lowest: u64,
}

/// More orderings than any bug needs. Each takes memory.
const DEEPEST: u32 = 1 << 10;

/// Goroutines begin with priorities above this, and fall to priorities below it.
const BEGIN: u64 = 1 << 32;

impl Pct {
    /// Begins a run that takes about `length` choices.
    pub(super) fn new(mut rng: Rng, depth: u32, length: u64) -> Self {
        let length = length.max(1) as usize;
        let mut changes: Vec<u64> = (1..depth.min(DEEPEST)).map(|_| rng.below(length) as u64).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        let timers = BEGIN + (rng.next() >> 1);
        Pct { rng, priorities: Vec::new(), timers, changes, choices: 0, lowest: BEGIN }
    }

    fn priority(&mut self, number: u32) -> u64 {
        let number = number as usize;
        if number >= self.priorities.len() {
            self.priorities.resize(number + 1, 0);
        }
        if self.priorities[number] == 0 {
            self.priorities[number] = BEGIN + (self.rng.next() >> 1);
        }
        self.priorities[number]
    }

    fn lower(&mut self, number: u32) {
        self.lowest -= 1;
        self.priority(number);
        self.priorities[number as usize] = self.lowest;
    }
}

impl ExploreStrategy for Pct {
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        self.choices += 1;
        // A goroutine that yields waits for others. With its old priority, two such goroutines
        // could keep out a third.
        if let Some(yielded) = choice.yielded {
            self.lower(yielded);
        }
        if self.changes.last().is_some_and(|&change| change <= self.choices) {
            self.changes.pop();
            if let Some(number) = self.highest(choice).1 {
                self.lower(number);
            }
        }
        match self.highest(choice) {
            (index, Some(_)) => index,
            // Priorities don't decide between timers.
            (index, None) => index + self.rng.below(choice.timers),
        }
    }

    fn value(&mut self, n: usize) -> usize {
        self.rng.below(n)
    }
}

impl Pct {
    /// The goroutine or the timers, whichever has the highest priority: its index, and its number
    /// unless it is the timers.
    fn highest(&mut self, choice: &Choice<'_>) -> (usize, Option<u32>) {
        let goroutines = choice.len() - choice.timers;
        let mut highest = (goroutines, None);
        let mut priority = if choice.timers > 0 { self.timers } else { 0 };
        for index in 0..goroutines {
            let number = choice.number(index);
            let its = number.map_or(0, |number| self.priority(number));
            if its > priority {
                (highest, priority) = ((index, number), its);
            }
        }
        highest
    }
}

/// [`Strategy::Exhaustive`], a depth-first search, run by run: the path to the next schedule.
pub(super) struct Exhaustive {
    /// For each choice: the alternative that was taken, and the number of alternatives.
    path: Vec<(usize, usize)>,
    /// How far the run has come on the path.
    depth: usize,
    /// How many goroutines may still be interrupted in this run.
    left: u32,
    preemptions: u32,
}

impl Exhaustive {
    pub(super) fn new(preemptions: u32) -> Self {
        Exhaustive { path: Vec::new(), depth: 0, left: preemptions, preemptions }
    }

    /// Goes on to the next schedule. Returns false if there is none.
    pub(super) fn advance(&mut self) -> bool {
        // Choices that a run hasn't come to aren't part of its schedule.
        self.path.truncate(self.depth);
        (self.depth, self.left) = (0, self.preemptions);
        while let Some((taken, ways)) = self.path.pop() {
            if taken + 1 < ways {
                self.path.push((taken + 1, ways));
                return true;
            }
        }
        false
    }

    fn take(&mut self, ways: usize) -> usize {
        if self.depth == self.path.len() {
            self.path.push((0, ways));
        }
        let (taken, _) = self.path[self.depth];
        self.depth += 1;
        taken
    }
}

impl ExploreStrategy for Exhaustive {
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        let interrupts = choice.current.is_some();
        if interrupts && self.left == 0 {
            return 0;
        }
        let taken = self.take(choice.len());
        self.left -= u32::from(interrupts && taken != 0);
        taken
    }

    fn value(&mut self, n: usize) -> usize {
        self.take(n)
    }
}
