//! Timers and the states that they are in: the head of Go's `time.go`.
//!
//! A timer stands in the heap of the P that it was started on. Whoever runs that P looks at its
//! first timer in each round of the scheduler; an M that has nothing to do looks at all of them.
//!
//! Another goroutine, on another P, may stop a timer or set it to another time, and can't sort that
//! P's heap. So it leaves word in the timer's state, and whoever has the heap's lock next and comes
//! by does what is to be done: takes the timer out, or puts it where it belongs.
//!
//! ```text
//!     NO_STATUS ---- started ----> WAITING ---- fires ----> RUNNING ----> NO_STATUS, or WAITING again
//!     WAITING, MODIFIED ---- stopped ----> DELETED ---- taken out ----> REMOVED
//!     WAITING, DELETED ---- set anew ----> MODIFIED_EARLIER, MODIFIED_LATER ---- moved ----> WAITING
//!     NO_STATUS, REMOVED ---- set anew ----> WAITING
//! ```
//!
//! To change a timer, a thread takes it by a compare-and-swap of its state: to `MODIFYING`, or, with
//! the heap's lock, to `RUNNING`, `REMOVING` or `MOVING`. The timer is in such a state for some
//! instructions, and others wait that long.
//!
//! Go's collector keeps a timer that is stopped and dropped until it is out of its heap. Here there
//! is a state for that, `DROPPED`: whoever takes such a timer out gives it back to the pool.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use crate::atomic::{AtomicU32, AtomicUsize, Cell, Ordering};
use crate::lock::rank::{LockRank, lock_init};
use crate::os::osyield;
use crate::panic::throw;
use crate::pool::{self, FreeList, Linked, Pool, Pooled};
use crate::runtime2::{Link, Mutex, P, sched};
use crate::stack::arena::Arena;

/// In no heap: new, or it has fired.
pub const TIMER_NO_STATUS: u32 = 0;
/// In a heap, waiting for its time.
pub const TIMER_WAITING: u32 = 1;
/// Being run.
pub const TIMER_RUNNING: u32 = 2;
/// Stopped, and still in a heap.
pub const TIMER_DELETED: u32 = 3;
/// Stopped, and being taken out of its heap.
pub const TIMER_REMOVING: u32 = 4;
/// Stopped, and out of its heap.
pub const TIMER_REMOVED: u32 = 5;
/// Being changed, perhaps by a thread that hasn't the heap's lock.
pub const TIMER_MODIFYING: u32 = 6;
/// In a heap, and to be moved to the earlier time in `nextwhen`.
pub const TIMER_MODIFIED_EARLIER: u32 = 7;
/// In a heap, and to be moved to the time in `nextwhen`, which isn't earlier.
pub const TIMER_MODIFIED_LATER: u32 = 8;
/// Being moved in its heap.
pub const TIMER_MOVING: u32 = 9;
/// Deleted, and without an owner. Not one of Go's states.
pub(crate) const TIMER_DROPPED: u32 = 10;

/// The end of time. Go's `maxWhen`.
pub const MAX_WHEN: i64 = i64::MAX;

/// The function of a timer, called with its `arg` and its `seq` when it fires: on g0, with a P, and
/// holding no lock. It must not park and must not unwind.
pub type TimerFn = unsafe extern "C" fn(*mut c_void, usize);

/// A timer. Go's `timer`, in `time.go`.
///
/// Before it is started, `when`, `period`, `f`, `arg` and `seq` are its owner's to set; after that
/// only the functions for it touch it, and its memory stays until its state is
/// [`TIMER_NO_STATUS`] or [`TIMER_REMOVED`].
#[repr(C)]
pub struct Timer {
    /// The P in whose heap it is, or null.
    pub pp: Link<P>,
    /// When it fires, in nanoseconds of the monotonic clock; positive.
    pub when: Cell<i64>,
    /// If it isn't 0, the timer fires again and again, this many nanoseconds apart.
    pub period: Cell<i64>,
    /// The function that is called when it fires.
    pub f: Cell<Option<TimerFn>>,
    /// The function's first argument.
    pub arg: Cell<*mut c_void>,
    /// The function's second argument: the number of this setting, see `time/channel.rs`.
    pub seq: AtomicUsize,
    /// In the states `MODIFIED`: what `when` will be.
    pub nextwhen: Cell<i64>,
    /// One of [`TIMER_NO_STATUS`] and so on.
    pub status: AtomicU32,
    /// What this port adds.
    pub ext: TimerExt,
}

/// What this port adds to a [`Timer`].
#[repr(C)]
pub struct TimerExt {
    /// Held while the timer's waiter is told that it has fired, and while the timer is stopped or set, so
    /// that the waiter isn't told after that. Go's `sendLock`, since 1.23.
    pub send_lock: Mutex,
    /// The timer's waiter, protected by `send_lock`; in the pool, the next unused timer.
    pub waiter: Cell<*mut c_void>,
    /// Whether the waiter is still to be told; protected by `send_lock`.
    pub set: Cell<bool>,
}

// SAFETY: the cells belong to the thread that has won the state by a CAS, or, while the timer isn't
// started, to its owner; those of `ext` are touched with `send_lock` held, or by the pool.
unsafe impl Sync for Timer {}

impl Timer {
    /// Changes the state from `old` to `new`, if it is `old`: the next thread to have the timer sees what
    /// the last one wrote to it. Sequentially consistent, which
    /// [`adjusttimers`](crate::time::adjust::adjusttimers) needs.
    #[inline(always)]
    pub(crate) fn cas(&self, old: u32, new: u32) -> bool {
        self.status.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// [`cas`](Self::cas) by the thread that has the timer, and so can't fail.
    #[inline(always)]
    pub(crate) fn settle(&self, old: u32, new: u32) {
        if !self.cas(old, new) {
            bad_timer();
        }
    }

    /// The timer as an argument of a [`TimerFn`].
    pub(crate) fn as_arg(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }
}

/// Ends the process: a timer is in a state in which it can't be. Go's `badTimer`.
#[cold]
pub(crate) fn bad_timer() -> ! {
    throw("timer data corruption")
}

/// The memory of all timers.
static ARENA: Arena = Arena::new(size_of::<Timer>(), 0);

impl Linked for Timer {
    unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void> {
        // SAFETY: `this` came from the pool, as the caller says, so it is a timer, and stays one: a piece
        // of ARENA, which is zero at first, as a timer may be.
        unsafe { &(*this.as_ptr()).ext.waiter }
    }
}

impl Pooled for Timer {
    fn cache(pp: &P) -> &FreeList<Self> {
        &pp.ext.timers
    }

    fn pool() -> &'static Pool<Self> {
        &sched().ext.timers
    }

    fn arena() -> &'static Arena {
        &ARENA
    }
}

/// A new timer, from the pool. Where there may be little stack, by way of
/// [`with_room`](crate::stack::with_room).
///
/// Its `seq` goes on where it was: a call that the timer's last user set off, and that is still to come,
/// is known by its old number.
pub(crate) fn acquire_timer() -> &'static Timer {
    let Some(t) = pool::alloc::<Timer>() else { throw("out of memory for a timer") };
    // SAFETY: from the pool, so it is a timer or zero, which is one, too; timers are never freed.
    let t: &'static Timer = unsafe { &*t.as_ptr() };
    lock_init(&t.ext.send_lock, LockRank::TIMER_SEND);
    t.period.set(0);
    t
}

/// Gives a timer back that isn't active: at once, if it is in no heap; otherwise whoever takes it out
/// does.
pub(crate) fn release_timer(t: &'static Timer) {
    loop {
        match t.status.load(Ordering::Acquire) {
            TIMER_NO_STATUS => return pool::free(NonNull::from(t)),
            TIMER_REMOVED => t.settle(TIMER_REMOVED, TIMER_NO_STATUS),
            TIMER_DELETED if t.cas(TIMER_DELETED, TIMER_DROPPED) => return,
            TIMER_DELETED => {}
            TIMER_REMOVING => osyield(),
            _ => bad_timer(),
        }
    }
}

/// Ends the removal of a timer, now out of its heap, that was in the state `deleted`, deleted or
/// dropped: a dropped one goes back to the pool.
pub(crate) fn removed(t: &'static Timer, deleted: u32) {
    if deleted == TIMER_DROPPED {
        t.settle(TIMER_REMOVING, TIMER_NO_STATUS);
        pool::free(NonNull::from(t));
    } else {
        t.settle(TIMER_REMOVING, TIMER_REMOVED);
    }
}
