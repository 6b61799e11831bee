//! Stand-ins for the fields that the port adds to Go's structs.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicI32 as StdI32, AtomicI64 as StdI64, AtomicU32 as StdU32, AtomicU64 as StdU64};

use crate::runtime::data::atomic::{AtomicI64, AtomicU32, Cell};
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{G, M};
use crate::runtime::data::timer::Timer;
use crate::runtime::data::turns::{Turn, Turns};

/// The words of a mutex. `lock/key.rs` is their protocol.
#[derive(Default)]
pub(crate) struct MutexKey {
    pub(crate) locked: AtomicU32,
    pub(crate) sleeping: AtomicU32,
}

pub(crate) struct FreeList<T>(PhantomData<T>);

pub(crate) struct Pool<T>(PhantomData<T>);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackKind {
    Copying,
    Fixed(u8),
}

impl StackKind {
    pub(crate) fn has_own_locals(self) -> bool {
        false
    }
}

pub(crate) struct GExt {
    pub(crate) kind: Cell<StackKind>,
    pub(crate) x_regs: Cell<*mut u8>,
    pub(crate) ahead: Link<G>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwesWake {
    No,
    IfNeeded,
    Yes,
}

pub(crate) struct MExt {
    pub(crate) g0: G,
    pub(crate) asked: AtomicU32,
    pub(crate) asked_in: StdU32,
    pub(crate) detached_since: AtomicI64,
    pub(crate) cpu_seen: StdI64,
    pub(crate) spared: StdU32,
    pub(crate) turn: Cell<Turn>,
    pub(crate) owes_wake: Cell<OwesWake>,
    pub(crate) trace_buffer: TraceBuffer,
}

#[derive(Default)]
pub(crate) struct PExt {
    pub(crate) timers: FreeList<Timer>,
    pub(crate) detached_from: Link<M>,
    pub(crate) oldm: Link<M>,
    pub(crate) last_turn: LastTurn,
    pub(crate) trace_marks: ProcTrace,
}

/// Nothing is traced.
#[derive(Default)]
pub(crate) struct TraceBuffer;

/// Likewise.
#[derive(Default)]
pub(crate) struct ProcTrace;

impl ProcTrace {
    pub(crate) fn left_at(&self, _: &TraceBuffer) {}
}

/// Data for sysmon. No protocol relies on them.
#[derive(Default)]
pub(crate) struct LastTurn {
    pub(crate) tick: StdU32,
    pub(crate) ns: StdI64,
    pub(crate) ended: StdI64,
}

/// Counts. No protocol relies on them.
#[derive(Default)]
pub(crate) struct SchedtExt {
    pub(crate) timers: Pool<Timer>,
    pub(crate) turns: Turns,
    pub(crate) ndetached: StdI32,
    pub(crate) detachments: [StdU64; 2],
    pub(crate) detached_time: StdI64,
}

impl Default for GExt {
    fn default() -> Self {
        GExt { kind: Cell::new(StackKind::Fixed(0)), x_regs: Cell::new(ptr::null_mut()), ahead: Link::null() }
    }
}

impl MExt {
    pub(crate) fn new(g0: G) -> Self {
        MExt {
            g0,
            asked: AtomicU32::new(0),
            asked_in: StdU32::new(0),
            detached_since: AtomicI64::new(0),
            cpu_seen: StdI64::new(0),
            spared: StdU32::new(0),
            turn: Cell::new(Turn::None),
            owes_wake: Cell::new(OwesWake::No),
            trace_buffer: TraceBuffer,
        }
    }
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        FreeList(PhantomData)
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool(PhantomData)
    }
}
