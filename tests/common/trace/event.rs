//! An event, as the reader understands it.

use std::rc::Rc;

/// An event, and where it happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// In nanoseconds, and no earlier than the event before.
    pub time: u64,
    /// The generation that holds it.
    pub generation: u64,
    /// The thread, P and goroutine before it.
    pub at: Context,
    pub what: What,
    /// The stack of the goroutine in which it happened, the innermost frame first.
    pub stack: Rc<[Frame]>,
}

/// A thread, its P and its goroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    pub m: Option<u64>,
    pub p: Option<u64>,
    pub g: Option<u64>,
}

/// A place in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub pc: u64,
    pub function: Rc<str>,
    pub file: Rc<str>,
    pub line: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The number of P's.
    Procs(u64),
    Proc {
        p: u64,
        from: Option<Proc>,
        to: Proc,
    },
    Goroutine {
        g: u64,
        from: Go,
        to: Go,
        /// Why the goroutine stopped or waits.
        reason: Rc<str>,
        /// Where a new goroutine begins.
        entry: Rc<[Frame]>,
    },
    StwBegin(Rc<str>),
    StwEnd,
    Label(Rc<str>),
    TaskBegin {
        task: u64,
        parent: u64,
        name: Rc<str>,
    },
    TaskEnd {
        task: u64,
        /// None if the task had begun before the trace did.
        name: Option<Rc<str>>,
    },
    RegionBegin {
        task: u64,
        name: Rc<str>,
    },
    RegionEnd {
        task: u64,
        name: Rc<str>,
    },
    Log {
        task: u64,
        category: Rc<str>,
        message: Rc<str>,
    },
    /// A sample of the profiler's.
    Sample,
}

/// What a P does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proc {
    Running,
    Idle,
    Syscall,
    /// It is in a system call of a goroutine that is gone. The thread that takes the P finds no
    /// goroutine there.
    Abandoned,
}

/// What a goroutine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Go {
    /// It existed before the trace.
    Unknown,
    /// It doesn't exist yet, or any more.
    Absent,
    Runnable,
    Running,
    Syscall,
    Waiting,
}

impl Proc {
    /// The state that has this number in Go.
    pub fn of(number: u64) -> Option<Proc> {
        [Proc::Running, Proc::Idle, Proc::Syscall, Proc::Abandoned]
            .get(number.wrapping_sub(1) as usize)
            .copied()
    }
}

impl Go {
    /// The state that has this number in Go.
    pub fn of(number: u64) -> Option<Go> {
        [Go::Runnable, Go::Running, Go::Syscall, Go::Waiting].get(number.wrapping_sub(1) as usize).copied()
    }
}
