//! What is counted, and where the time goes.

use std::collections::BTreeMap;

use crate::sim::lines::Of;

/// What an M does with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A goroutine computes.
    Work,
    /// The scheduler, and what goroutines call of it, but for what follows.
    Run,
    /// Looking for work in others' queues.
    Steal,
    /// Waiting for `sched.lock`.
    LockWait,
    /// Holding it.
    LockHeld,
    /// System calls: futexes, barriers, the poller.
    Kernel,
}

/// What is counted, each time that it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// `sched.lock` was taken.
    Lock,
    /// And somebody else had it.
    LockContended,
    /// An M slept until it got a mutex, having made a barrier in all threads.
    LockSlept,
    /// An M went round all P's: a call of `steal_work`.
    StealRound,
    /// It found a goroutine there.
    Stolen,
    /// A read-modify-write of `sched.nmspinning` or `sched.npidle`, or of what lies beside them.
    SchedRmw,
    /// A look at a mask.
    MaskLook,
    /// A compare-exchange that found another value.
    CasFailed,
    /// A futex's wake that woke somebody.
    FutexWake,
    /// A futex's sleep.
    FutexSleep,
    /// `usleep`, before a `runnext` is stolen.
    Usleep,
    /// A look at epoll.
    Poll,
    /// And a sleep there.
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
    /// How many of these were spent waiting for a cache line, by whose it was.
    pub stall: BTreeMap<Of, u64>,
}

impl Counts {
    pub(crate) fn event(&mut self, event: Event) {
        *self.events.entry(event).or_default() += 1;
    }

    /// How often it has happened.
    pub fn of(&self, event: Event) -> u64 {
        self.events.get(&event).copied().unwrap_or(0)
    }

    /// Picoseconds in this part.
    pub fn time_in(&self, part: Part) -> u64 {
        self.time.get(&part).copied().unwrap_or(0)
    }

    /// What has happened since `before` was taken.
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
