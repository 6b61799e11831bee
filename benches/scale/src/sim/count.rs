//! Counts of events, and where the time goes.

use std::collections::BTreeMap;

use crate::sim::lines::Of;

/// A kind of work that an M spends its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A goroutine computes.
    Work,
    /// The scheduler, and what goroutines call of it, except for the parts below.
    Run,
    /// Looking for work in others' queues.
    Steal,
    /// Waiting for `sched.lock`.
    LockWait,
    /// Holding `sched.lock`.
    LockHeld,
    /// System calls: futexes, barriers, the poller.
    Kernel,
}

/// An event, counted each time that it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// `sched.lock` was taken.
    Lock,
    /// `sched.lock` was taken, and another M had it.
    LockContended,
    /// An M slept for a mutex, after a barrier in all threads.
    LockSlept,
    /// An M tried all P's: a call of `steal_work`.
    StealRound,
    /// A `steal_work` found a goroutine.
    Stolen,
    /// A read-modify-write of `sched.nmspinning`, of `sched.npidle`, or of their neighbours.
    SchedRmw,
    /// A look at a mask.
    MaskLook,
    /// A compare-exchange that found another value.
    CasFailed,
    /// A futex's wake that woke a thread.
    FutexWake,
    /// A futex's sleep.
    FutexSleep,
    /// `usleep`, before a `runnext` is stolen.
    Usleep,
    /// A look at epoll.
    Poll,
    /// A sleep in epoll.
    PollSlept,
    /// A barrier in all threads of the process.
    Barrier,
    /// A goroutine was run.
    Run,
}

/// The counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often each thing has happened.
    pub events: BTreeMap<Event, u64>,
    /// Picoseconds of all M's.
    pub time: BTreeMap<Part, u64>,
    /// The part of the time that M's waited for cache lines, by the lines' owner.
    pub stall: BTreeMap<Of, u64>,
}

impl Counts {
    pub(crate) fn event(&mut self, event: Event) {
        *self.events.entry(event).or_default() += 1;
    }

    /// Returns how often the event has happened.
    pub fn of(&self, event: Event) -> u64 {
        self.events.get(&event).copied().unwrap_or(0)
    }

    /// Returns the picoseconds spent in this part.
    pub fn time_in(&self, part: Part) -> u64 {
        self.time.get(&part).copied().unwrap_or(0)
    }

    /// Returns what has happened since `before` was taken.
    pub fn since(&self, before: &Counts) -> Counts {
        fn less<K: Ord + Copy>(a: &BTreeMap<K, u64>, b: &BTreeMap<K, u64>) -> BTreeMap<K, u64> {
            a.iter().map(|(k, v)| (*k, v - b.get(k).copied().unwrap_or(0))).collect()
        }
        Counts {
            events: less(&self.events, &before.events),
            time: less(&self.time, &before.time),
            stall: less(&self.stall, &before.stall),
        }
    }
}
