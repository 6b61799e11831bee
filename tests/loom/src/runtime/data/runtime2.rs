//! Stand-ins for the structs: the fields that the protocol code uses, under the same names.

use std::ffi::c_void;
use std::ptr;

use loom::cell::UnsafeCell;

use crate::runtime::data::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Cell,
};
use crate::runtime::data::ext::{MExt, PExt, SchedtExt};
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::link::Link;
use crate::runtime::data::timer::{TIMER_NO_STATUS, Timer, TimerExt, TimerFn, TimerWhen};
use crate::runtime::p::acquire::acquirep;

/// A ring that overflows soon.
pub(crate) const RUNQ_SIZE: usize = 4;
pub(crate) const PIDLE: u32 = 0;
pub(crate) const PRUNNING: u32 = 1;
pub(crate) const GRUNNABLE: u32 = 1;
pub(crate) const GWAITING: u32 = 4;

/// A G, with something in it that is written before it is queued and read by who gets it: loom
/// fails if nothing orders the two.
pub(crate) struct G {
    pub(crate) schedlink: Link<G>,
    pub(crate) m: Link<M>,
    pub(crate) preempt: AtomicBool,
    pub(crate) preempt_stop: AtomicBool,
    pub(crate) stackguard0: AtomicUsize,
    pub(crate) payload: UnsafeCell<u32>,
    pub(crate) id: u32,
}

/// One of the locks that there are, by its number: 0 is the scheduler's, then come those of the P's, and
/// one that no model takes.
pub(crate) struct Mutex(pub(crate) usize);

/// A one-shot event.
pub(crate) struct Note {
    pub(crate) key: AtomicU32,
}

pub(crate) struct P {
    pub(crate) id: Cell<i32>,
    pub(crate) status: AtomicU32,
    pub(crate) m: Link<M>,
    pub(crate) preempt: AtomicBool,
    pub(crate) link: Link<P>,
    pub(crate) runqhead: AtomicU32,
    pub(crate) runqtail: AtomicU32,
    pub(crate) runq: [Link<G>; RUNQ_SIZE],
    pub(crate) runnext: Link<G>,
    pub(crate) timers_lock: Mutex,
    pub(crate) timers: Slice<TimerWhen>,
    pub(crate) timer0_when: AtomicI64,
    pub(crate) timer_modified_earliest: AtomicI64,
    pub(crate) num_timers: AtomicU32,
    pub(crate) deleted_timers: AtomicU32,
    pub(crate) limiter_event: AtomicU64,
    pub(crate) ext: PExt,
}

pub(crate) struct Slice<T> {
    pub(crate) ptr: Cell<*mut T>,
    pub(crate) len: Cell<usize>,
    pub(crate) cap: Cell<usize>,
}

pub(crate) struct M {
    pub(crate) procid: AtomicU64,
    pub(crate) preempt_gen: AtomicU32,
    pub(crate) signal_pending: AtomicU32,
    pub(crate) isextra: Cell<bool>,
    pub(crate) spinning: Cell<bool>,
    pub(crate) blocked: Cell<bool>,
    pub(crate) g0: Link<G>,
    pub(crate) curg: Link<G>,
    pub(crate) p: Link<P>,
    pub(crate) ext: MExt,
}

pub(crate) struct Schedt {
    pub(crate) lastpoll: AtomicI64,
    pub(crate) poll_until: AtomicI64,
    pub(crate) lock: Mutex,
    pub(crate) pidle: Link<P>,
    pub(crate) npidle: AtomicI32,
    pub(crate) idle_time: AtomicI64,
    pub(crate) nmspinning: AtomicI32,
    pub(crate) needspinning: AtomicU32,
    pub(crate) runq: GQueue,
    pub(crate) runqsize: AtomicI32,
    /// The monitor never sleeps, and no model knows of it.
    pub(crate) sysmonwait: std::sync::atomic::AtomicBool,
    pub(crate) sysmonnote: Note,
    pub(crate) ext: SchedtExt,
}

// SAFETY: what isn't an atomic is touched by one thread, or with the lock held.
unsafe impl Sync for G {}
// SAFETY: likewise.
unsafe impl Sync for M {}
// SAFETY: likewise.
unsafe impl Sync for P {}
// SAFETY: likewise.
unsafe impl Sync for Schedt {}

loom::lazy_static! {
    static ref SCHED: Schedt = Schedt {
        lastpoll: AtomicI64::new(0),
        poll_until: AtomicI64::new(0),
        lock: Mutex(0),
        pidle: Link::null(),
        npidle: AtomicI32::new(0),
        idle_time: AtomicI64::new(0),
        nmspinning: AtomicI32::new(0),
        needspinning: AtomicU32::new(0),
        runq: GQueue::default(),
        runqsize: AtomicI32::new(0),
        sysmonwait: false.into(),
        sysmonnote: Note { key: AtomicU32::new(0) },
        ext: SchedtExt::default(),
    };
}

pub(crate) fn sched() -> &'static Schedt {
    &SCHED
}

impl Mutex {
    /// How many there are.
    pub(crate) const N: usize = 5;

    /// The one that no model takes.
    pub(crate) const fn new() -> Self {
        Mutex(Mutex::N - 1)
    }
}

impl G {
    /// A new G, written by this thread.
    pub(crate) fn new(id: u32) -> &'static G {
        let gp = Box::leak(Box::new(G::unwritten(id)));
        // SAFETY: nobody else has it.
        gp.payload.with_mut(|payload| unsafe { *payload = id });
        gp
    }

    fn unwritten(id: u32) -> G {
        G {
            schedlink: Link::null(),
            m: Link::null(),
            preempt: AtomicBool::new(false),
            preempt_stop: AtomicBool::new(false),
            stackguard0: AtomicUsize::new(0),
            payload: UnsafeCell::new(0),
            id,
        }
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
            status: AtomicU32::new(PIDLE),
            m: Link::null(),
            preempt: AtomicBool::new(false),
            link: Link::null(),
            runqhead: AtomicU32::new(0),
            runqtail: AtomicU32::new(0),
            runq: [(); RUNQ_SIZE].map(|()| Link::null()),
            runnext: Link::null(),
            timers_lock: Mutex(1 + id as usize),
            timers: Slice { ptr: Cell::new(ptr::null_mut()), len: Cell::new(0), cap: Cell::new(0) },
            timer0_when: AtomicI64::new(0),
            timer_modified_earliest: AtomicI64::new(0),
            num_timers: AtomicU32::new(0),
            deleted_timers: AtomicU32::new(0),
            limiter_event: AtomicU64::new(0),
            ext: PExt::default(),
        }))
    }
}

impl M {
    /// An M that has `pp`, on this thread.
    pub(crate) fn new(pp: &'static P) -> &'static M {
        let mp = M::without_p();
        acquirep(mp, pp);
        mp
    }

    /// An M that has no P yet.
    pub(crate) fn without_p() -> &'static M {
        Box::leak(Box::new(M {
            procid: AtomicU64::new(0),
            preempt_gen: AtomicU32::new(0),
            signal_pending: AtomicU32::new(0),
            isextra: Cell::new(false),
            spinning: Cell::new(false),
            blocked: Cell::new(false),
            g0: Link::null(),
            curg: Link::null(),
            p: Link::null(),
            ext: MExt { g0: G::unwritten(0) },
        }))
    }
}

/// A timer that isn't started, due at `when`.
pub(crate) fn new_timer(when: i64, f: TimerFn, arg: *mut c_void) -> &'static Timer {
    Box::leak(Box::new(Timer {
        pp: Link::null(),
        when: Cell::new(when),
        period: Cell::new(0),
        f: Cell::new(Some(f)),
        arg: Cell::new(arg),
        seq: AtomicUsize::new(0),
        nextwhen: Cell::new(0),
        status: AtomicU32::new(TIMER_NO_STATUS),
        ext: TimerExt { send_lock: Mutex::new(), waiter: Cell::new(ptr::null_mut()), set: Cell::new(false) },
    }))
}
