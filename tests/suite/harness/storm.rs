//! How long storms go on.

use std::time::{Duration, Instant};

use super::rng::number;
use super::{Tests, rounds};

/// How long a storm goes on at most, where not all tests run whole.
const A_WHILE: Duration = Duration::from_secs(1);

/// The rounds of a storm: [`rounds`] of `full`, but only as many as there is time for, and one at least. A round may hand
/// something to another thread, which beside a few busy loops takes a time slice of the system's. The environment variable
/// `STRESS_TIMES` says another number, and there is time for all of them.
pub fn storm(full: usize) -> impl Iterator<Item = usize> {
    let said = number("STRESS_TIMES").map(|times| times as usize);
    let time = if Tests::said() == Tests::All { 10 * A_WHILE } else { A_WHILE };
    let end = Instant::now() + time;
    let is_time = move || said.is_some() || Instant::now() < end;
    (0..said.unwrap_or(rounds(full))).take_while(move |&round| round == 0 || is_time())
}
