//! The sums of a trace for each goroutine: the time that it spent in each state, and which
//! goroutine woke which.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::reader::{Event, Go, Proc, What};

/// The sums of a program.
#[derive(Default)]
pub struct Summary {
    pub goroutines: BTreeMap<u64, Goroutine>,
    /// How often the first goroutine, or a thread without one, has woken the second.
    pub wakes: BTreeMap<(Option<u64>, u64), usize>,
    pub tasks: BTreeMap<u64, Task>,
    pub logs: Vec<Log>,
}

/// The sums of a goroutine. Times are in nanoseconds.
#[derive(Default)]
pub struct Goroutine {
    /// The function with which it began, if the trace has its stack.
    pub name: Option<Rc<str>>,
    /// The goroutine that made it, if it was made during the trace.
    pub maker: Option<u64>,
    pub is_made: bool,
    pub has_ended: bool,
    pub running: u64,
    pub runnable: u64,
    /// The time in system calls, with a P and without.
    pub syscalls: u64,
    /// The part of that time without a P.
    pub without_p: u64,
    /// The time in waits, by reason.
    pub waiting: BTreeMap<Rc<str>, u64>,
    pub regions: Vec<Region>,
    pub labels: Vec<Rc<str>>,
    now: Option<Now>,
}

/// The present state of a goroutine, and when it began.
struct Now {
    state: Go,
    since: u64,
    reason: Rc<str>,
    /// The P with which it entered a system call, and when it lost that P.
    p: Option<u64>,
    lost_p: Option<u64>,
}

pub struct Region {
    pub task: u64,
    pub name: Rc<str>,
    pub length: Option<u64>,
    began: u64,
}

#[derive(Default)]
pub struct Task {
    pub name: Rc<str>,
    pub parent: u64,
    pub began: u64,
    pub length: Option<u64>,
}

pub struct Log {
    pub g: u64,
    pub task: u64,
    pub category: Rc<str>,
    pub message: Rc<str>,
}

impl Summary {
    pub fn of(events: &[Event]) -> Summary {
        let mut summary = Summary::default();
        for event in events {
            summary.add(event);
        }
        let end = events.last().map_or(0, |event| event.time);
        for goroutine in summary.goroutines.values_mut() {
            goroutine.pass(end);
        }
        summary
    }

    fn add(&mut self, event: &Event) {
        let time = event.time;
        match &event.what {
            What::Goroutine { g, from, to, reason, entry } => {
                if from == to {
                    return;
                }
                if *from == Go::Waiting {
                    *self.wakes.entry((event.at.g, *g)).or_default() += 1;
                }
                let goroutine = self.goroutines.entry(*g).or_default();
                goroutine.pass(time);
                if *from == Go::Absent {
                    (goroutine.is_made, goroutine.maker) = (true, event.at.g);
                }
                let own = event.at.g == Some(*g) || *from == Go::Unknown;
                let stack = if *from == Go::Absent { &entry[..] } else { &event.stack[..] };
                if let Some(first) = stack.last().filter(|_| own || *from == Go::Absent) {
                    goroutine.name.get_or_insert(first.function.clone());
                }
                goroutine.has_ended = *to == Go::Absent;
                let p = event.at.p.filter(|_| *to == Go::Syscall);
                goroutine.now =
                    Some(Now { state: *to, since: time, reason: reason.clone(), p, lost_p: None });
            }
            What::Proc { p, to: Proc::Idle, .. } => {
                let with_it = |now: &&mut Now| now.state == Go::Syscall && now.p == Some(*p);
                let all = self.goroutines.values_mut().filter_map(|goroutine| goroutine.now.as_mut());
                for now in all.filter(with_it) {
                    now.lost_p.get_or_insert(time);
                }
            }
            What::TaskBegin { task, parent, name } => {
                let task = self.tasks.entry(*task).or_default();
                *task = Task { name: name.clone(), parent: *parent, began: time, length: None };
            }
            What::TaskEnd { task, .. } => {
                let task = self.tasks.entry(*task).or_default();
                task.length = Some(time - task.began);
            }
            What::Log { task, category, message } => {
                let (category, message) = (category.clone(), message.clone());
                let g = event.at.g.expect("it is a goroutine's");
                self.logs.push(Log { g, task: *task, category, message });
            }
            what => {
                let Some(goroutine) = event.at.g.and_then(|g| self.goroutines.get_mut(&g)) else { return };
                goroutine.says(time, what);
            }
        }
    }

    /// Returns the goroutines that began with a function whose name contains `name`.
    pub fn named(&self, name: &str) -> Vec<(u64, &Goroutine)> {
        let has_it = |goroutine: &Goroutine| goroutine.name.as_ref().is_some_and(|own| own.contains(name));
        self.goroutines.iter().filter(|(_, goroutine)| has_it(goroutine)).map(|(&g, it)| (g, it)).collect()
    }
}

impl Goroutine {
    /// Counts the time up to now.
    fn pass(&mut self, time: u64) {
        let Some(now) = &mut self.now else { return };
        let took = time - now.since;
        match now.state {
            Go::Running => self.running += took,
            Go::Runnable => self.runnable += took,
            Go::Waiting => *self.waiting.entry(now.reason.clone()).or_default() += took,
            Go::Syscall => {
                self.syscalls += took;
                self.without_p += now.lost_p.map_or(0, |lost| time - lost);
            }
            Go::Unknown | Go::Absent => {}
        }
        now.since = time;
    }

    fn says(&mut self, time: u64, what: &What) {
        match what {
            What::Label(label) => self.labels.push(label.clone()),
            What::RegionBegin { task, name } => {
                self.regions.push(Region { task: *task, name: name.clone(), length: None, began: time });
            }
            What::RegionEnd { .. } => {
                let open = self.regions.iter_mut().rev().find(|region| region.length.is_none());
                if let Some(region) = open {
                    region.length = Some(time - region.began);
                }
            }
            _ => {}
        }
    }
}
