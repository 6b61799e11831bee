//! Stealing as it ships, counted, and in as many rounds as a variant says.

use crate::runtime::data::runtime2::{M, P};
use crate::runtime::sched::shipped_poll::{self, Stolen};
use crate::sim::count::{Event, Part};
use crate::sim::{count, in_part};
use crate::variants::variant;

pub(super) fn steal_work(mp: &M, pp: &'static P, tries: u32) -> Stolen {
    count(Event::StealRound);
    let tries = variant().steal_tries.unwrap_or(tries);
    let stolen = in_part(Part::Steal, || shipped_poll::steal_work(mp, pp, tries));
    if matches!(stolen, Stolen::Work(..)) {
        count(Event::Stolen);
    }
    stolen
}
