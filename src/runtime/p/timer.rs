//! The states of a timer, and which thread may change which state: the head of Go's `time.go`. Also
//! the pool that timers come from.
//!
//! A timer stands in the heap of the P that it was started on. The M that runs that P looks at its
//! first timer in each round of the scheduler; an M that has nothing to do looks at all of them.
//!
//! A goroutine on another P may stop a timer or set it to another time, but can't sort the heap
//! that the timer is in. So it leaves a mark in the timer's state. The next thread that works on
//! the heap with its lock held takes the timer out, or puts it where it belongs.
//!
//! ```text
//!     NO_STATUS ---- started ----> WAITING ---- fires ----> RUNNING ----> NO_STATUS, or WAITING again
//!     WAITING, MODIFIED ---- stopped ----> DELETED ---- taken out ----> REMOVED
//!     WAITING, DELETED ---- set anew ----> MODIFIED_EARLIER, MODIFIED_LATER ---- moved ----> WAITING
//!     NO_STATUS, REMOVED ---- set anew ----> WAITING
//! ```
//!
//! To change a timer, a thread claims it by a compare-and-swap of its state: to `MODIFYING`, or,
//! with the heap's lock, to `RUNNING`, `REMOVING` or `MOVING`. The timer is in such a state for a
//! few instructions, and other threads wait that long.
//!
//! Go's collector keeps a timer that is stopped and dropped until it is out of its heap. Here such
//! a timer has the state `DROPPED`, and the thread that takes it out gives it back to the pool.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::osyield;
use crate::runtime::data::atomic::{Cell, Ordering};
use crate::runtime::data::ext::{FreeList, Pool};
use crate::runtime::data::runtime2::{P, sched};
use crate::runtime::data::timer::{
    TIMER_DELETED, TIMER_DROPPED, TIMER_NO_STATUS, TIMER_REMOVED, TIMER_REMOVING, Timer,
};
use crate::runtime::lock::rank::{LockRank, lock_init};
use crate::runtime::mem::arena::Arena;
use crate::runtime::mem::pool::{self, Linked, Pooled};

// SAFETY: the cells belong to the thread that has won the state by a CAS, or to the owner while the
// timer isn't started. The cells of `ext` are touched with `send_lock` held, or by the pool.
// Outside of the crate a timer is made by unsafe code, which promises to leave it to its functions.
unsafe impl Sync for Timer {}

impl Timer {
    /// Changes the state from `old` to `new`, if it is `old`. The next thread to claim the timer
    /// sees what the last one wrote to it. The change is sequentially consistent, which
    /// [`adjusttimers`](crate::runtime::p::timer_heap::adjusttimers) needs.
    #[inline(always)]
    pub(in crate::runtime) fn cas(&self, old: u32, new: u32) -> bool {
        self.status.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// [`cas`](Self::cas) for the thread that has claimed the timer. It can't fail.
    #[inline(always)]
    pub(in crate::runtime) fn settle(&self, old: u32, new: u32) {
        if !self.cas(old, new) {
            bad_timer();
        }
    }

    /// The timer as an argument of a [`TimerFn`](crate::runtime::data::timer::TimerFn).
    pub(in crate::runtime) fn as_arg(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }
}

/// Whether a heap has the timer. As long as one has it, the timer's memory must stay.
pub(crate) fn in_a_heap(t: &Timer) -> bool {
    !matches!(t.status.load(Ordering::Acquire), TIMER_NO_STATUS | TIMER_REMOVED)
}

/// Ends the process: a timer is in a state in which it can't be. Go's `badTimer`.
#[cold]
pub(in crate::runtime) fn bad_timer() -> ! {
    throw("timer data corruption")
}

/// The memory of all timers.
static ARENA: Arena = Arena::new(size_of::<Timer>(), c"gosched: timers");

impl Linked for Timer {
    unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void> {
        // SAFETY: `this` came from the pool, as the caller says, so it is a timer, and stays one: a
        // piece of ARENA, which is zero at first, as a timer may be.
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

/// Takes a timer from the pool. A caller that may have little stack calls this by way of
/// [`with_room`](crate::runtime::base::this::with_room).
///
/// Its `seq` continues from its last use. So a call that the timer's last user set off, and that is
/// still to come, is told apart by its old number.
pub(in crate::runtime) fn acquire_timer() -> &'static Timer {
    try_acquire_timer().unwrap_or_else(|| throw("out of memory for a timer"))
}

/// [`acquire_timer`] that returns none if there is no memory for a timer.
pub(in crate::runtime) fn try_acquire_timer() -> Option<&'static Timer> {
    let t = pool::alloc::<Timer>()?;
    // SAFETY: from the pool, so it is a timer or zero, which is one, too; timers are never freed.
    let t: &'static Timer = unsafe { &*t.as_ptr() };
    lock_init(&t.ext.send_lock, LockRank::TIMER_SEND);
    t.period.set(0);
    t.ext.feeds.set(false);
    Some(t)
}

/// Whether the next [`acquire_timer`] finds a timer, unless others need very many meanwhile.
#[cfg(any(feature = "std", loom))]
pub(in crate::runtime) fn has_timers() -> bool {
    try_acquire_timer().is_some_and(|t| {
        release_timer(t);
        true
    })
}

/// Gives a timer that isn't active back to the pool: at once if it is in no heap. Otherwise the
/// thread that takes the timer out of its heap gives it back.
pub(in crate::runtime) fn release_timer(t: &'static Timer) {
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

/// Ends the removal of a timer that was taken out of its heap. `deleted` is the state it had,
/// deleted or dropped. A dropped timer goes back to the pool.
pub(super) fn removed(t: &'static Timer, deleted: u32) {
    if deleted == TIMER_DROPPED {
        t.settle(TIMER_REMOVING, TIMER_NO_STATUS);
        pool::free(NonNull::from(t));
    } else {
        t.settle(TIMER_REMOVING, TIMER_REMOVED);
    }
}
