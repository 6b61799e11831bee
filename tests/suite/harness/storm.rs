//! How long storms go on.

use std::time::{Duration, Instant};

use super::explored::explores;
use super::rng::number;
use super::{Tests, rounds};

/// After how long a storm does no more than it has to. A turn takes a time slice of each other
/// process where a thread hands over to another one: hundreds of times as long as on a machine that
/// has nothing else to do.
const ENOUGH: Duration = Duration::from_secs(1);

/// The turns of a storm, counted from 0: [`rounds`] of `full`, or as many as `STRESS_TIMES` says,
/// of those that begin in time.
pub fn storm(full: usize) -> impl Iterator<Item = usize> {
    turns(number("STRESS_TIMES").map_or(rounds(full), |times| times as usize), || true)
}

/// The turns of a storm, counted from 0: `full` of them, or those that begin within a second, ten
/// where all tests run whole. There is one at least, and there are more until `seen` says that
/// everything has happened that the storm is for. A schedule of an exploration has `full` turns in
/// any case, and a soak has no limit of time.
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
