//! The length of storms.

use std::time::{Duration, Instant};

use super::explored::explores;
use super::rng::number;
use super::{Tests, rounds};

/// The time after which a storm does no more than the minimum. If other processes run, each turn in
/// which one thread hands over to another takes a time slice of each of them. That is hundreds of
/// times as long as on an idle machine.
const ENOUGH: Duration = Duration::from_secs(1);

/// Returns the turns of a storm, counted from 0: [`rounds`] of `full`, or `STRESS_TIMES`, as far as
/// they begin in time.
pub fn storm(full: usize) -> impl Iterator<Item = usize> {
    turns(number("STRESS_TIMES").map_or(rounds(full), |times| times as usize), || true)
}

/// Returns the turns of a storm, counted from 0: `full` turns, or those that begin within a second,
/// ten where all tests run whole. There is at least one turn, and there are more until `seen`
/// returns true: everything that the storm is for has happened. A schedule of an exploration always
/// has `full` turns, and a soak has no limit of time.
pub fn turns(full: usize, seen: impl Fn() -> bool) -> impl Iterator<Item = usize> {
    let enough = if Tests::said() == Tests::All { 10 * ENOUGH } else { ENOUGH };
    let (began, is_soak) = (Instant::now(), number("STRESS_TIMES").is_some());
    (0..).take_while(move |&turn| {
        if explores() {
            return turn < full;
        }
        turn == 0 || !seen() || turn < full && (is_soak || began.elapsed() < enough)
    })
}
