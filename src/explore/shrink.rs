//! Making a failing schedule smaller: fewer switches that still fail.

use crate::explore::schedule::Schedule;

/// How many schedules are tried. Each that fails leaves goroutines behind.
const TRIES: u32 = 500;

/// A part of `schedule` that fails, too, as `fails` says, which returns what has come of it. Takes
/// out halves, quarters and so on, as Zeller's delta debugging does.
pub(super) fn shrink(schedule: Schedule, mut fails: impl FnMut(&Schedule) -> Option<Schedule>) -> Schedule {
    let mut tries = 0;
    let mut best = schedule;
    let mut part = best.0.len().div_ceil(2);
    while part > 0 {
        let mut begin = 0;
        let mut smaller = false;
        while begin < best.0.len() {
            if tries == TRIES {
                return best;
            }
            tries += 1;
            let end = (begin + part).min(best.0.len());
            let without = Schedule([&best.0[..begin], &best.0[end..]].concat());
            match fails(&without) {
                Some(failed) if failed.0.len() < best.0.len() => {
                    best = failed;
                    smaller = true;
                }
                _ => begin = end,
            }
        }
        if !smaller || part > 1 {
            part = if part == 1 { 0 } else { part.div_ceil(2) };
        }
    }
    best
}
