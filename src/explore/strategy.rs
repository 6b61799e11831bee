//! [`Strategy`]: how schedules are found.

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
