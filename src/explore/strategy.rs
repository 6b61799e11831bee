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
    /// [`Random`](Self::Random) and [`Pct`](Self::Pct) with a depth of 1, 2, 3 and 4, in turn. It finds most bugs
    /// soonest.
    #[default]
    Mixed,
    /// Each choice is taken at random, each way as likely as the others.
    Random,
    /// Probabilistic concurrency testing, by Burckhardt and others (ASPLOS 2010): each goroutine has a random
    /// priority, and who has the highest goes on. At `depth` - 1 random points the one that runs gets the lowest.
    /// A bug that needs `depth` orderings, among `n` goroutines in `k` steps, is found in a run with a probability of
    /// at least 1 / (`n` `k`^(`depth` - 1)), however unlikely it is otherwise.
    Pct {
        /// How many orderings a bug may need: 1 to 5 or so.
        depth: u32,
    },
    /// Each schedule in which no more than so many goroutines are interrupted that could go on, depth first. For
    /// tiny programs: their number grows with that power. The runs end before
    /// [`iterations`](super::Explorer::iterations) if all were seen.
    Exhaustive {
        /// How often goroutines are interrupted in a schedule, at most.
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
