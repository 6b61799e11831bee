//! [`Strategy::Pct`](super::Strategy::Pct) in one run.

use crate::runtime::{Choice, ExploreStrategy, Rng};

/// The priorities of a run.
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
