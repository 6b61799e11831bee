//! All P's: Go's `allp`, and what is indexed as that is; `gomaxprocs`, `allpLock` and
//! `timeSleepUntil`.

use crate::runtime::data::atomic::{AtomicI32, AtomicPtr, Ordering, statics};
use crate::runtime::data::runtime2::{Mutex, P};
use crate::runtime::data::timer::MAX_WHEN;
use crate::runtime::lock::mutex::SharedMutex;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::pmask::PMask;
use crate::runtime::p::steal_order::RandomOrder;
use crate::runtime::p::timers::run::nobarrier_wake_time;

/// Protects the list of P's. Go's `allpLock`.
pub(in crate::runtime) static ALLP_LOCK: SharedMutex = SharedMutex(Mutex::new());

statics! {
    static PROCS: AtomicPtr<Procs> = AtomicPtr::new(std::ptr::null_mut());
    static GOMAXPROCS: AtomicI32 = AtomicI32::new(0);
}

/// The P's in use and what is kept for each: Go's `allp`, `idlepMask`,
/// `timerpMask` and `stealOrder`, which change together, when the world is stopped.
///
/// A table is never freed: an M that has dropped its P goes on with the table that it read before.
pub(in crate::runtime) struct Procs {
    /// The P's, by their numbers.
    pub(in crate::runtime) allp: Box<[&'static P]>,
    /// Those that are idle. A P's bit changes with its place on the idle list, under
    /// `sched.lock`.
    pub(in crate::runtime) idlep_mask: PMask,
    /// Those that may have timers: see `update_timer_p_mask`, in `idle.rs`.
    pub(in crate::runtime) timerp_mask: PMask,
    /// The orders to steal in.
    pub(in crate::runtime) steal_order: RandomOrder,
}

/// The table in use; panics before the runtime has started.
#[inline]
pub(in crate::runtime) fn procs() -> &'static Procs {
    // SAFETY: null, or the `&'static` that set_procs got. Acquire pairs with its release.
    unsafe { PROCS.load(Ordering::Acquire).as_ref() }.expect("the runtime has started")
}

/// Makes `procs` the table in use. The world is stopped.
pub(in crate::runtime) fn set_procs(procs: &'static Procs) {
    // Release pairs with procs, and that of the number with gomaxprocs.
    PROCS.store(std::ptr::from_ref(procs).cast_mut(), Ordering::Release);
    GOMAXPROCS.store(procs.allp.len() as i32, Ordering::Release);
}

/// How many P's there are; 0 before the runtime has started. Go's `gomaxprocs`.
#[inline]
pub(in crate::runtime) fn gomaxprocs() -> i32 {
    // Acquire pairs with set_procs: where there are P's, there is their table.
    GOMAXPROCS.load(Ordering::Acquire)
}

/// When the next timer of any P may be due, [`MAX_WHEN`] if there is none. For a thread without a
/// P. Go's `timeSleepUntil`.
pub(in crate::runtime) fn time_sleep_until() -> i64 {
    lock(&ALLP_LOCK.0);
    let times = procs().allp.iter().map(|pp| nobarrier_wake_time(pp));
    let next = times.filter(|&when| when != 0).min().unwrap_or(MAX_WHEN);
    unlock(&ALLP_LOCK.0);
    next
}
