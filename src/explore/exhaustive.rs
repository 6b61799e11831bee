//! [`Strategy::Exhaustive`](super::Strategy::Exhaustive): a depth-first search, run by run.

use crate::runtime::{Choice, ExploreStrategy};

/// The path to the schedule that is next.
pub(super) struct Exhaustive {
    /// For each choice: what was taken, and how many ways there are.
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

    /// Goes on to the next schedule; false if there is none.
    pub(super) fn advance(&mut self) -> bool {
        // What a run hasn't come to is no part of its schedule.
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
