//! All P's: Go's `allp`, and what is indexed as that is.

use crate::atomic::{AtomicI32, AtomicPtr, Ordering, statics};
use crate::proc::order::RandomOrder;
use crate::proc::pmask::PMask;
use crate::runtime2::P;

/// The P's in use and what is kept for each: Go's `allp`, `idlepMask`,
/// `timerpMask` and `stealOrder`, which change together, when the world is stopped.
///
/// A table is never freed: an M that has dropped its P goes on with the table that it read before.
pub(crate) struct Procs {
    /// The P's, by their numbers.
    pub(crate) allp: Box<[&'static P]>,
    /// Those that are idle. A P's bit changes with its place on the idle list, under
    /// `sched.lock`.
    pub(crate) idlep_mask: PMask,
    /// Those that may have timers: see [`update_timer_p_mask`](crate::proc::timers).
    pub(crate) timerp_mask: PMask,
    /// The orders to steal in.
    pub(crate) steal_order: RandomOrder,
}

statics! {
    static PROCS: AtomicPtr<Procs> = AtomicPtr::new(std::ptr::null_mut());
    static GOMAXPROCS: AtomicI32 = AtomicI32::new(0);
}

/// The table in use; panics before the runtime has started.
#[inline]
pub(crate) fn procs() -> &'static Procs {
    // SAFETY: null, or the `&'static` that set_procs got. Acquire pairs with its release.
    unsafe { PROCS.load(Ordering::Acquire).as_ref() }.expect("the runtime has started")
}

/// Makes `procs` the table in use. The world is stopped.
pub(crate) fn set_procs(procs: &'static Procs) {
    // Release pairs with procs, and that of the number with gomaxprocs.
    PROCS.store(std::ptr::from_ref(procs).cast_mut(), Ordering::Release);
    GOMAXPROCS.store(procs.allp.len() as i32, Ordering::Release);
}

/// How many P's there are; 0 before the runtime has started. Go's `gomaxprocs`.
#[inline]
pub(crate) fn gomaxprocs() -> i32 {
    // Acquire pairs with set_procs: where there are P's, there is their table.
    GOMAXPROCS.load(Ordering::Acquire)
}
