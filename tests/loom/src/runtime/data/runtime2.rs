//! Stand-ins for the structs: the fields that the protocol code uses, under the same names.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{
    AtomicBool as StdBool, AtomicI64 as StdI64, AtomicPtr as StdPtr, AtomicU8 as StdU8, AtomicU32 as StdU32,
};

use loom::cell::UnsafeCell;

use crate::runtime::arch::SP;
use crate::runtime::data::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Cell, Ordering,
};
use crate::runtime::data::ext::{GExt, MExt, PExt, SchedtExt};
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::hchan::Hchan;
use crate::runtime::data::held_p::HeldP;
use crate::runtime::data::link::Link;
use crate::runtime::data::timer::{TIMER_NO_STATUS, Timer, TimerExt, TimerFn, TimerWhen};
use crate::runtime::p::owner::acquirep;

/// A ring that overflows soon.
pub(crate) const RUNQ_SIZE: usize = 4;
pub(crate) const PIDLE: u32 = 0;
pub(crate) const PRUNNING: u32 = 1;
pub(crate) const PSYSCALL: u32 = 2;
pub(crate) const PGCSTOP: u32 = 3;
pub(crate) const GRUNNABLE: u32 = 1;
pub(crate) const GRUNNING: u32 = 2;
pub(crate) const GSYSCALL: u32 = 3;
pub(crate) const GWAITING: u32 = 4;
pub(crate) const GSCAN: u32 = 0x1000;

/// A G, with a payload. The payload is written before the G is queued, and read by the thread that
/// dequeues the G. loom fails if nothing orders the two accesses.
pub(crate) struct G {
    pub(crate) schedlink: Link<G>,
    pub(crate) m: Link<M>,
    pub(crate) lockedm: Link<M>,
    pub(crate) preempt: AtomicBool,
    pub(crate) preempt_stop: AtomicBool,
    pub(crate) stackguard0: AtomicUsize,
    pub(crate) stack: Cell<Stack>,
    pub(crate) sched: Gobuf,
    pub(crate) syscallsp: Cell<usize>,
    pub(crate) syscallpc: Cell<usize>,
    pub(crate) throwsplit: Cell<bool>,
    pub(crate) waitsince: Cell<i64>,
    /// No model depends on its order.
    pub(crate) tracking_seq: StdU8,
    /// No model has a select.
    pub(crate) select_done: StdU32,
    pub(crate) ext: GExt,
    pub(crate) payload: UnsafeCell<u32>,
    pub(crate) id: u32,
}

/// A stack. No model uses its contents.
#[derive(Clone, Copy)]
pub(crate) struct Stack {
    pub(crate) lo: usize,
    pub(crate) hi: usize,
}

/// The point where a goroutine continues. No model's goroutine does.
pub(crate) struct Gobuf {
    pub(crate) pc: Cell<usize>,
    pub(crate) sp: Cell<usize>,
    pub(crate) bp: Cell<usize>,
}

/// An atomic of the crate's that only the owner of the P uses. loom fails if two threads use it,
/// and nothing orders them.
pub(crate) struct Owned<T>(Cell<T>);

impl<T: Copy> Owned<T> {
    pub(crate) fn load(&self, _: Ordering) -> T {
        self.0.get()
    }

    pub(crate) fn store(&self, value: T, _: Ordering) {
        self.0.set(value);
    }

    pub(crate) fn swap(&self, value: T, _: Ordering) -> T {
        self.0.replace(value)
    }
}

impl<T: Default> Default for Owned<T> {
    fn default() -> Self {
        Owned(Cell::new(T::default()))
    }
}

/// A link whose accesses are ordered by something else. loom checks that they are.
pub(crate) struct Handed<T: 'static>(Cell<Option<&'static T>>);

impl<T> Handed<T> {
    fn null() -> Self {
        Handed(Cell::new(None))
    }

    pub(crate) fn get(&self) -> Option<&'static T> {
        self.0.get()
    }

    pub(crate) fn set(&self, to: Option<&'static T>) {
        self.0.set(to);
    }

    pub(crate) fn is_null(&self) -> bool {
        self.get().is_none()
    }
}

/// A lock, by number: 0 is the scheduler's, the P's follow, and no model takes the last.
pub(crate) struct Mutex(pub(crate) usize);

/// A sudog, as far as channels need it.
pub(crate) struct Sudog {
    pub(crate) g: Link<G>,
    pub(crate) next: Link<Sudog>,
    pub(crate) prev: Link<Sudog>,
    pub(crate) elem: StdPtr<c_void>,
    pub(crate) acquiretime: Cell<i64>,
    pub(crate) ticket: Cell<u32>,
    pub(crate) is_select: Cell<bool>,
    pub(crate) c: Cell<*const Hchan>,
}

impl Default for Sudog {
    fn default() -> Self {
        Sudog {
            g: Link::null(),
            next: Link::null(),
            prev: Link::null(),
            elem: StdPtr::new(ptr::null_mut()),
            acquiretime: Cell::new(0),
            ticket: Cell::new(0),
            is_select: Cell::new(false),
            c: Cell::new(ptr::null()),
        }
    }
}

/// A one-shot event.
pub(crate) struct Note {
    pub(crate) key: AtomicU32,
}

pub(crate) struct P {
    pub(crate) id: Cell<i32>,
    pub(crate) status: AtomicU32,
    pub(crate) m: Link<M>,
    /// A hint.
    pub(crate) preempt: StdBool,
    pub(crate) schedtick: StdU32,
    pub(crate) syscalltick: Owned<u32>,
    /// No model has a function to run.
    pub(crate) run_safe_point_fn: StdU32,
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
    pub(crate) locks: Cell<i32>,
    pub(crate) mallocing: Cell<i32>,
    pub(crate) preemptoff: Cell<*const c_char>,
    pub(crate) syscalltick: Cell<u32>,
    pub(crate) park: Note,
    pub(crate) g0: Link<G>,
    pub(crate) curg: Link<G>,
    pub(crate) lockedg: Link<G>,
    pub(crate) alllink: Link<M>,
    pub(crate) schedlink: Link<M>,
    pub(crate) p: HeldP,
    pub(crate) oldp: Handed<P>,
    pub(crate) nextp: Handed<P>,
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
    pub(crate) sysmonwait: AtomicBool,
    pub(crate) sysmonnote: Note,
    pub(crate) gcwaiting: AtomicBool,
    pub(crate) stopwait: AtomicI32,
    pub(crate) stopnote: Note,
    pub(crate) safe_point_fn: Cell<Option<fn(*mut P)>>,
    pub(crate) safe_point_wait: Cell<i32>,
    pub(crate) safe_point_note: Note,
    pub(crate) stw_stopping_time_gc: TimeHistogram,
    pub(crate) stw_stopping_time_other: TimeHistogram,
    pub(crate) stw_total_time_gc: TimeHistogram,
    pub(crate) stw_total_time_other: TimeHistogram,
    pub(crate) ext: SchedtExt,
}

/// Times, which no model reads.
pub(crate) struct TimeHistogram;

impl TimeHistogram {
    pub(crate) fn record(&self, _: i64) {}
}

pub(crate) enum TraceBlockReason {
    Generic,
}

pub(crate) enum WaitReason {
    SyncMutexLock,
    Future,
    Preempted,
    StoppingTheWorld,
}

// SAFETY: one thread uses the fields that aren't atomics, or the lock is held.
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
        sysmonwait: AtomicBool::new(false),
        sysmonnote: Note::new(),
        gcwaiting: AtomicBool::new(false),
        stopwait: AtomicI32::new(0),
        stopnote: Note::new(),
        safe_point_fn: Cell::new(None),
        safe_point_wait: Cell::new(0),
        safe_point_note: Note::new(),
        stw_stopping_time_gc: TimeHistogram,
        stw_stopping_time_other: TimeHistogram,
        stw_total_time_gc: TimeHistogram,
        stw_total_time_other: TimeHistogram,
        ext: SchedtExt::default(),
    };
}

pub(crate) fn sched() -> &'static Schedt {
    &SCHED
}

impl Mutex {
    /// The number of locks.
    pub(crate) const N: usize = 5;

    /// Makes the lock that no model takes.
    pub(crate) const fn new() -> Self {
        Mutex(Mutex::N - 1)
    }
}

impl Note {
    fn new() -> Self {
        Note { key: AtomicU32::new(0) }
    }
}

impl G {
    /// Makes a new G, written by this thread.
    pub(crate) fn new(id: u32) -> &'static G {
        let gp = Box::leak(Box::new(G::unwritten(id)));
        // SAFETY: no other thread has it.
        gp.payload.with_mut(|payload| unsafe { *payload = id });
        gp
    }

    fn unwritten(id: u32) -> G {
        G {
            schedlink: Link::null(),
            m: Link::null(),
            lockedm: Link::null(),
            preempt: AtomicBool::new(false),
            preempt_stop: AtomicBool::new(false),
            stackguard0: AtomicUsize::new(0),
            stack: Cell::new(Stack { lo: SP - 1, hi: SP + 1 }),
            sched: Gobuf { pc: Cell::new(0), sp: Cell::new(0), bp: Cell::new(0) },
            syscallsp: Cell::new(0),
            syscallpc: Cell::new(0),
            throwsplit: Cell::new(false),
            waitsince: Cell::new(0),
            tracking_seq: StdU8::new(0),
            select_done: StdU32::new(0),
            ext: GExt::default(),
            payload: UnsafeCell::new(0),
            id,
        }
    }

    /// Runs the G, which only this thread has.
    pub(crate) fn run(&self) -> u32 {
        // SAFETY: loom checks that no other thread uses it.
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
            preempt: false.into(),
            schedtick: Default::default(),
            syscalltick: Owned::default(),
            run_safe_point_fn: 0.into(),
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
    /// Makes an M that has `pp`, on this thread.
    pub(crate) fn new(pp: &'static P) -> &'static M {
        let mp = M::without_p();
        acquirep(mp, pp);
        mp
    }

    /// Makes an M that has no P yet.
    pub(crate) fn without_p() -> &'static M {
        Box::leak(Box::new(M {
            procid: AtomicU64::new(0),
            preempt_gen: AtomicU32::new(0),
            signal_pending: AtomicU32::new(0),
            isextra: Cell::new(false),
            spinning: Cell::new(false),
            blocked: Cell::new(false),
            locks: Cell::new(0),
            mallocing: Cell::new(0),
            preemptoff: Cell::new(ptr::null()),
            syscalltick: Cell::new(0),
            park: Note::new(),
            g0: Link::null(),
            curg: Link::null(),
            lockedg: Link::null(),
            alllink: Link::null(),
            schedlink: Link::null(),
            p: HeldP::default(),
            oldp: Handed::null(),
            nextp: Handed::null(),
            ext: MExt::new(G::unwritten(0)),
        }))
    }
}

/// Makes a timer that isn't started, due at `when`.
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
        ext: TimerExt {
            send_lock: Mutex::new(),
            waiter: Cell::new(ptr::null_mut()),
            due: StdI64::new(0),
            feeds: Cell::new(false),
        },
    }))
}
