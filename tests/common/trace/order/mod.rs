//! The order of events: what each goroutine, P and thread does, and whether an event can come next.
//!
//! Each thread writes its own events, and clocks differ. So an event waits until the goroutine or P
//! that it names is in the event's first state, and has reached the event's number. The trace is
//! wrong if an event can never come.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `annotations.rs` | what programs say: tasks, regions, logs, labels; and a stopped world |
//! | `goroutines.rs` | goroutines that begin, run, wait, end, and switch to one another |
//! | `procs.rs` | P's that start, stop, and are taken |
//! | `syscalls.rs` | goroutines in system calls |

mod annotations;
mod goroutines;
mod procs;
mod syscalls;

use std::collections::HashMap;
use std::fmt::Debug;
use std::mem;
use std::rc::Rc;

use super::bytes::Result;
use super::event::{Context, Event, Go, Proc, What};
use super::generation::{Generation, Raw};
use super::kinds::Kind;

/// What is known, after the events that have come.
#[derive(Default)]
pub struct Order {
    first: Option<u64>,
    goroutines: HashMap<u64, Goroutine>,
    procs: HashMap<u64, P>,
    threads: HashMap<u64, Held>,
    /// The names of tasks that have begun.
    tasks: HashMap<u64, Rc<str>>,
    told: Vec<Event>,
    last: u64,
}

struct Goroutine {
    state: Go,
    sequence: Sequence,
    regions: Vec<(u64, Rc<str>)>,
    stops_the_world: bool,
}

struct P {
    state: Proc,
    sequence: Sequence,
}

/// What a thread has.
#[derive(Clone, Copy, Default)]
struct Held {
    p: Option<u64>,
    g: Option<u64>,
}

/// The number of an event among those of one P, or of one goroutine, in a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sequence {
    generation: u64,
    number: u64,
}

impl Sequence {
    fn succeeds(self, other: Sequence) -> bool {
        self.generation == other.generation && other.number.checked_add(1) == Some(self.number)
    }
}

/// An event that may come next.
struct Step<'a> {
    raw: &'a Raw,
    generation: &'a Generation,
    at: Context,
    /// Whether this is the first generation: then some goroutines may be unknown.
    is_first: bool,
}

/// The thread's context after an event; None if the event has to come later.
type Next = Result<Option<Context>>;

impl Order {
    /// Makes a thread's event come, if it can now.
    pub fn advance(&mut self, thread: Option<u64>, raw: &Raw, generation: &Generation) -> Result<bool> {
        let is_first = *self.first.get_or_insert(generation.number) == generation.number;
        let held = thread.map(|m| *self.threads.entry(m).or_default()).unwrap_or_default();
        let at = Context { m: thread, p: held.p, g: held.g };
        let next = self.next(&Step { raw, generation, at, is_first }).map_err(|why| {
            format!(
                "{:?}{:?} on {at:?} at {}: {why}",
                raw.kind,
                &raw.args[..raw.kind.roles().len()],
                raw.time
            )
        })?;
        if let (Some(m), Some(next)) = (thread, next) {
            self.threads.insert(m, Held { p: next.p, g: next.g });
        }
        Ok(next.is_some())
    }

    fn next(&mut self, step: &Step<'_>) -> Next {
        match step.raw.kind {
            Kind::ProcStart => self.proc_start(step),
            Kind::ProcStop => self.proc_stop(step),
            Kind::ProcSteal => self.proc_steal(step),
            Kind::ProcStatus => self.proc_status(step),
            Kind::GoCreate => self.go_create(step, Go::Runnable),
            Kind::GoCreateBlocked => self.go_create(step, Go::Waiting),
            Kind::GoStart => self.go_start(step),
            Kind::GoStop => self.go_stop(step, Go::Runnable),
            Kind::GoBlock => self.go_stop(step, Go::Waiting),
            Kind::GoDestroy => self.go_stop(step, Go::Absent),
            Kind::GoUnblock => self.go_unblock(step),
            Kind::GoSwitch => self.go_switch(step, Go::Waiting),
            Kind::GoSwitchDestroy => self.go_switch(step, Go::Absent),
            Kind::GoStatus | Kind::GoStatusStack => self.go_status(step),
            Kind::GoCreateSyscall => self.create_in_syscall(step),
            Kind::GoDestroySyscall => self.destroy_in_syscall(step),
            Kind::GoSyscallBegin => self.syscall_begin(step),
            Kind::GoSyscallEnd => self.syscall_end(step),
            Kind::GoSyscallEndBlocked => self.syscall_end_blocked(step),
            Kind::ProcsChange | Kind::GoLabel | Kind::UserLog => self.note(step),
            Kind::STWBegin | Kind::STWEnd => self.world(step),
            Kind::UserTaskBegin | Kind::UserTaskEnd => self.task(step),
            Kind::UserRegionBegin | Kind::UserRegionEnd => self.region(step),
        }
    }

    /// Returns the events that have come since the last call.
    pub fn take(&mut self) -> Vec<Event> {
        mem::take(&mut self.told)
    }

    /// Makes a sample come.
    pub fn sample(&mut self, index: usize, generation: &Generation) -> Result<()> {
        let sample = &generation.samples[index];
        let at = Context { m: Some(sample.m), p: Some(sample.p), g: sample.g };
        self.push(sample.time, at, What::Sample, sample.stack, generation)
    }

    /// Says what happened, and where: in `at`.
    fn tell(&mut self, step: &Step<'_>, at: Context, what: What, stack: u64) -> Result<()> {
        self.push(step.raw.time, at, what, stack, step.generation)
    }

    fn push(&mut self, time: u64, at: Context, what: What, stack: u64, from: &Generation) -> Result<()> {
        self.last = self.last.max(from.nanoseconds(time));
        let stack = from.stack(stack)?;
        self.told.push(Event { time: self.last, generation: from.number, at, what, stack });
        Ok(())
    }

    /// A goroutine that a thread has: it must be known.
    fn goroutine(&mut self, g: u64) -> Result<&mut Goroutine> {
        self.goroutines.get_mut(&g).ok_or_else(|| format!("goroutine {g} isn't known"))
    }

    /// A P that a thread has.
    fn proc(&mut self, p: u64) -> Result<&mut P> {
        self.procs.get_mut(&p).ok_or_else(|| format!("P {p} isn't known"))
    }
}

impl Goroutine {
    fn new(state: Go, sequence: Sequence) -> Self {
        Goroutine { state, sequence, regions: Vec::new(), stops_the_world: false }
    }
}

impl Step<'_> {
    fn sequence(&self, number: u64) -> Sequence {
        Sequence { generation: self.generation.number, number }
    }

    /// The thread, which it must have.
    fn m(&self) -> Result<u64> {
        self.at.m.ok_or_else(|| "no thread wrote it".into())
    }

    /// The thread's P, which it must have.
    fn p(&self) -> Result<u64> {
        self.m()?;
        self.at.p.ok_or_else(|| "its thread has no P".into())
    }

    /// The thread's goroutine, which it must have.
    fn g(&self) -> Result<u64> {
        self.m()?;
        self.at.g.ok_or_else(|| "its thread has no goroutine".into())
    }

    /// The thread has both.
    fn p_and_g(&self) -> Result<(u64, u64)> {
        Ok((self.p()?, self.g()?))
    }

    /// The thread has none.
    fn no_g(&self) -> Result<()> {
        self.at.g.map_or(Ok(()), |g| Err(format!("its thread has goroutine {g} still")))
    }
}

/// Fails unless something is in the state that an event begins in.
fn expect<T: Debug + PartialEq>(what: &str, id: u64, state: T, wanted: T) -> Result<()> {
    if state == wanted { Ok(()) } else { Err(format!("{what} {id} is {state:?}, not {wanted:?}")) }
}
