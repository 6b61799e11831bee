//! Stand-ins for the structs: the fields that the protocol code uses, under the same names.

use std::cell::Cell;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicI32, AtomicU32};

pub(crate) use crate::link::Link;
pub(crate) use crate::lock::Mutex;
use crate::proc::gqueue::GQueue;

/// A ring that overflows soon.
pub(crate) const RUNQ_SIZE: usize = 4;
pub(crate) const PRUNNING: u32 = 1;

/// A G, with something in it that is written before it is queued and read by who gets it: loom
/// fails if nothing orders the two.
pub(crate) struct G {
    pub(crate) schedlink: Link<G>,
    pub(crate) payload: UnsafeCell<u32>,
    pub(crate) id: u32,
}

pub(crate) struct P {
    pub(crate) id: Cell<i32>,
    pub(crate) status: AtomicU32,
    pub(crate) link: Link<P>,
    pub(crate) runqhead: AtomicU32,
    pub(crate) runqtail: AtomicU32,
    pub(crate) runq: [Link<G>; RUNQ_SIZE],
    pub(crate) runnext: Link<G>,
}

pub(crate) struct M {
    pub(crate) spinning: Cell<bool>,
    pub(crate) p: Link<P>,
}

pub(crate) struct Schedt {
    pub(crate) lock: Mutex,
    pub(crate) pidle: Link<P>,
    pub(crate) npidle: AtomicI32,
    pub(crate) nmspinning: AtomicI32,
    pub(crate) needspinning: AtomicU32,
    pub(crate) runq: GQueue,
    pub(crate) runqsize: AtomicI32,
}

// SAFETY: what isn't an atomic is touched by one thread, or with the lock held.
unsafe impl Sync for G {}
// SAFETY: likewise.
unsafe impl Sync for P {}
// SAFETY: likewise.
unsafe impl Sync for Schedt {}

loom::lazy_static! {
    static ref SCHED: Schedt = Schedt {
        lock: Mutex,
        pidle: Link::null(),
        npidle: AtomicI32::new(0),
        nmspinning: AtomicI32::new(0),
        needspinning: AtomicU32::new(0),
        runq: GQueue::default(),
        runqsize: AtomicI32::new(0),
    };
}

pub(crate) fn sched() -> &'static Schedt {
    &SCHED
}

impl G {
    /// A new G, written by this thread.
    pub(crate) fn new(id: u32) -> &'static G {
        let gp = Box::leak(Box::new(G { schedlink: Link::null(), payload: UnsafeCell::new(0), id }));
        // SAFETY: nobody else has it.
        gp.payload.with_mut(|payload| unsafe { *payload = id });
        gp
    }

    /// Runs it: this thread has it alone.
    pub(crate) fn run(&self) -> u32 {
        // SAFETY: loom checks that nobody else touches it.
        self.payload.with_mut(|payload| unsafe {
            assert_eq!(*payload, self.id);
            *payload
        })
    }
}

impl P {
    pub(crate) fn new(id: i32) -> &'static P {
        Box::leak(Box::new(P {
            id: Cell::new(id),
            status: AtomicU32::new(PRUNNING),
            link: Link::null(),
            runqhead: AtomicU32::new(0),
            runqtail: AtomicU32::new(0),
            runq: [(); RUNQ_SIZE].map(|()| Link::null()),
            runnext: Link::null(),
        }))
    }
}

impl M {
    /// An M that has `pp`.
    pub(crate) fn new(pp: &'static P) -> &'static M {
        let mp = Box::leak(Box::new(M { spinning: Cell::new(false), p: Link::null() }));
        mp.p.set(Some(pp));
        mp
    }
}
