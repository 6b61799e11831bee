//! How long a storm goes on.

use std::time::{Duration, Instant};

use super::explored::explores;
use super::rng::number;

/// After how long a storm does no more than it has to. A turn takes a time slice of each other process where a thread hands
/// over to another one: hundreds of times as long as on a machine that has nothing else to do.
const ENOUGH: Duration = Duration::from_secs(1);

/// The turns of a storm, counted from 0: `full` of them, or those that begin within a second. There is one at least, and
/// there are more until `seen` says that everything has happened that the storm is for. A schedule of an exploration has
/// `full` turns in any case, and a soak has no limit of time.
pub fn turns(full: usize, seen: impl Fn() -> bool) -> impl Iterator<Item = usize> {
    let (began, is_soak) = (Instant::now(), number("STRESS_TIMES").is_some());
    (0..).take_while(move |&turn| {
        if explores() {
            return turn < full;
        }
        turn == 0 || !seen() || turn < full && (is_soak || began.elapsed() < ENOUGH)
    })
}
