//! Stand-ins for the structs: the fields that are used here, in the order of the shipped fields,
//! and as far apart.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic as std_atomic;

use crate::runtime::data::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering,
};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::ext::{GExt, MExt, MutexKey, PExt, StackKind};
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::held_p::HeldP;
use crate::runtime::data::link::Link;
use crate::runtime::sched::Task;

pub(crate) const RUNQ_SIZE: usize = 256;
pub(crate) const PIDLE: u32 = 0;
pub(crate) const PRUNNING: u32 = 1;
pub(crate) const GRUNNABLE: u32 = 1;
pub(crate) const GRUNNING: u32 = 2;
pub(crate) const GWAITING: u32 = 4;
pub(crate) const GDEAD: u32 = 6;
pub(crate) const GSCAN: u32 = 0x1000;

#[repr(C, align(64))]
pub(crate) struct G {
    pub(crate) stack: Cell<Stack>,
    pub(crate) stackguard0: Cell64,
    pub(crate) m: Link<M>,
    pub(crate) sched: Gobuf,
    pub(crate) atomicstatus: AtomicU32,
    pub(crate) schedlink: Link<G>,
    pub(crate) waitsince: Cell<i64>,
    pub(crate) tracking_seq: std_atomic::AtomicU8,
    pub(crate) preempt: AtomicBool,
    pub(crate) lockedm: Link<M>,
    pub(crate) ext: GExt,
    /// The work that this G does when it runs.
    pub(crate) task: RefCell<Option<Task>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Stack {
    pub(crate) lo: usize,
    pub(crate) hi: usize,
}

/// The point where a goroutine continues. Its task knows it.
pub(crate) struct Gobuf {
    pub(crate) sp: Cell<usize>,
}

/// A word whose cache line nobody waits for.
#[derive(Default)]
pub(crate) struct Cell64(Cell<usize>);

impl Cell64 {
    pub(crate) fn store(&self, value: usize, _: Ordering) {
        self.0.set(value);
    }
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Mutex {
    pub(crate) key: MutexKey,
}

impl Mutex {
    pub(crate) const fn new() -> Self {
        Mutex { key: MutexKey { locked: AtomicU32::new(0), sleeping: AtomicU32::new(0) } }
    }
}

#[repr(C, align(8))]
#[derive(Default)]
pub(crate) struct Note {
    pub(crate) key: AtomicU32,
}

/// A timer's time, a number that orders timers of the same time, and the timer's goroutine.
pub(crate) type Due = Reverse<(i64, u64, usize)>;

/// The heap of a P's timers.
#[derive(Default)]
pub(crate) struct Timers {
    pub(crate) len: Cell<usize>,
    pub(crate) heap: RefCell<BinaryHeap<Due>>,
}

#[repr(C, align(64))]
pub(crate) struct P {
    pub(crate) id: Cell<i32>,
    pub(crate) status: AtomicU32,
    pub(crate) link: Link<P>,
    pub(crate) schedtick: AtomicU32,
    pub(crate) m: Link<M>,
    /// Space for the P's own caches.
    unused: [u64; 40],
    pub(crate) runqhead: AtomicU32,
    pub(crate) runqtail: AtomicU32,
    pub(crate) runq: [Link<G>; RUNQ_SIZE],
    pub(crate) runnext: Link<G>,
    pub(crate) g_free: RefCell<Vec<&'static G>>,
    more_unused: [u64; 160],
    pub(crate) timer0_when: AtomicI64,
    pub(crate) timer_modified_earliest: AtomicI64,
    pub(crate) limiter_event: AtomicU64,
    still_unused: [u64; 64],
    pub(crate) timers_lock: Mutex,
    pub(crate) timers: Timers,
    pub(crate) num_timers: AtomicU32,
    pub(crate) deleted_timers: AtomicU32,
    pub(crate) preempt: AtomicBool,
    pub(crate) ext: PExt,
}

#[repr(C, align(64))]
pub(crate) struct M {
    pub(crate) g0: Link<G>,
    pub(crate) curg: Link<G>,
    pub(crate) p: HeldP,
    pub(crate) nextp: Link<P>,
    pub(crate) locks: Cell<i32>,
    pub(crate) spinning: Cell<bool>,
    pub(crate) blocked: Cell<bool>,
    pub(crate) park: Note,
    pub(crate) schedlink: Link<M>,
    pub(crate) lockedg: Link<G>,
    pub(crate) ext: MExt,
    pub(crate) part: Cell<Option<crate::sim::count::Part>>,
}

#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Schedt {
    goidgen: AtomicU64,
    pub(crate) lastpoll: AtomicI64,
    pub(crate) poll_until: AtomicI64,
    pub(crate) lock: Mutex,
    pub(crate) midle: Link<M>,
    pub(crate) nmidle: Cell<i32>,
    nmidlelocked: Cell<i32>,
    pub(crate) mnext: Cell<i64>,
    maxmcount: Cell<i32>,
    nmsys: Cell<i32>,
    nmfreed: Cell<i64>,
    pub(crate) ngsys: std_atomic::AtomicI32,
    pub(crate) pidle: Link<P>,
    pub(crate) npidle: AtomicI32,
    pub(crate) nmspinning: AtomicI32,
    pub(crate) needspinning: AtomicU32,
    pub(crate) runq: GQueue,
    pub(crate) runqsize: AtomicI32,
    pub(crate) disable: Disable,
    pub(crate) g_free: GFree,
    pub(crate) gcwaiting: AtomicBool,
    pub(crate) idle_time: AtomicI64,
}

/// Every goroutine may run. Nobody writes to the flag, so reading it is free.
#[derive(Default)]
pub(crate) struct Disable {
    pub(crate) user: std_atomic::AtomicBool,
    pub(crate) runnable: GQueue,
    pub(crate) n: Cell<i32>,
}

/// Dead G's that belong to no P.
#[derive(Default)]
pub(crate) struct GFree {
    pub(crate) lock: Mutex,
    pub(crate) list: RefCell<Vec<&'static G>>,
}

static SCHED: AtomicPtr<Schedt> = AtomicPtr::new(std::ptr::null_mut());

pub(crate) fn set_sched(sched: &'static Schedt) {
    SCHED.store(std::ptr::from_ref(sched).cast_mut(), Ordering::Relaxed);
}

pub(crate) fn sched() -> &'static Schedt {
    // SAFETY: the leaked struct that set_sched was given, before there was a second thread.
    unsafe { &*SCHED.peek() }
}

impl G {
    pub(crate) fn new() -> &'static G {
        Box::leak(Box::new(G {
            stack: Cell::new(Stack { lo: 0, hi: 1 }),
            stackguard0: Cell64::default(),
            m: Link::null(),
            sched: Gobuf { sp: Cell::new(1) },
            atomicstatus: AtomicU32::new(GDEAD),
            schedlink: Link::null(),
            waitsince: Cell::new(0),
            tracking_seq: std_atomic::AtomicU8::new(0),
            preempt: AtomicBool::new(false),
            lockedm: Link::null(),
            ext: GExt { kind: Cell::new(StackKind::Fixed), system: Cell::new(false), ahead: Link::null() },
            task: RefCell::new(None),
        }))
    }
}

impl P {
    pub(crate) fn new(id: i32) -> &'static P {
        Box::leak(Box::new(P {
            id: Cell::new(id),
            status: AtomicU32::new(PIDLE),
            link: Link::null(),
            schedtick: AtomicU32::new(0),
            m: Link::null(),
            unused: [0; 40],
            runqhead: AtomicU32::new(0),
            runqtail: AtomicU32::new(0),
            runq: [(); RUNQ_SIZE].map(|()| Link::null()),
            runnext: Link::null(),
            g_free: RefCell::default(),
            more_unused: [0; 160],
            timer0_when: AtomicI64::new(0),
            timer_modified_earliest: AtomicI64::new(0),
            limiter_event: AtomicU64::new(0),
            still_unused: [0; 64],
            timers_lock: Mutex::new(),
            timers: Timers::default(),
            num_timers: AtomicU32::new(0),
            deleted_timers: AtomicU32::new(0),
            preempt: AtomicBool::new(false),
            ext: PExt::default(),
        }))
    }
}

impl M {
    pub(crate) fn new() -> &'static M {
        Box::leak(Box::new(M {
            g0: Link::null(),
            curg: Link::null(),
            p: HeldP::default(),
            nextp: Link::null(),
            locks: Cell::new(0),
            spinning: Cell::new(false),
            blocked: Cell::new(false),
            park: Note::default(),
            schedlink: Link::null(),
            lockedg: Link::null(),
            ext: MExt::default(),
            part: Cell::new(None),
        }))
    }
}
