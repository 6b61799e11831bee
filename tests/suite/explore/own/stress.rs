//! Scenarios of the stress, with few goroutines and little work, in many schedules.

#![allow(dead_code, reason = "the stress has more")]

#[path = "../../../stress/channels.rs"]
mod channels;
#[path = "../../../stress/coros.rs"]
mod coros;
#[path = "../../../stress/ledger.rs"]
mod ledger;
#[path = "../../../stress/locks.rs"]
mod locks;
#[path = "../../../stress/selects.rs"]
mod selects;
#[path = "../../../stress/spawns.rs"]
mod spawns;
#[path = "../../../stress/tally.rs"]
mod tally;
#[path = "../../../stress/timers.rs"]
mod timers;

/// Random numbers for the scenarios, small where they set the amount of work. Each is a choice of
/// the schedule.
mod rng {
    use gosched::explore::choose;
    use gosched::yield_now;

    pub struct Rng;

    impl Rng {
        pub fn fork(&mut self) -> Rng {
            Rng
        }

        pub fn below(&mut self, n: usize) -> usize {
            choose(n)
        }

        pub fn up_to(&mut self, n: usize) -> usize {
            1 + self.below(n.min(3))
        }

        pub fn one_in(&mut self, n: usize) -> bool {
            self.below(n) == 0
        }

        pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
            of[self.below(of.len())]
        }

        pub fn pause(&mut self) {
            if self.one_in(8) {
                yield_now();
            }
        }
    }
}

use crate::harness::Test;
use crate::harness::explored::{explore, in_any_order};
use rng::Rng;

macro_rules! scenarios {
    ($($area:ident::$scenario:ident)*) => {
        pub const TESTS: &[Test] = &[$(Test {
            path: concat!(module_path!(), "::", stringify!($area), "::", stringify!($scenario)),
            slow: false,
            f: |test| explore(test, || in_any_order(|| $area::$scenario(&mut Rng))),
        }),*];
    };
}

scenarios! {
    channels::crowd
    channels::requests
    channels::ring
    coros::failing
    coros::wanders
    locks::counter
    locks::once
    locks::permits
    locks::queue
    locks::readers_and_writers
    locks::rounds
    selects::fan_in
    selects::mesh
    selects::poll
    spawns::borrowers
    spawns::dropped_handles
    spawns::tree
    timers::few_permits
    timers::fickle
    timers::impatient
    timers::naps
}
