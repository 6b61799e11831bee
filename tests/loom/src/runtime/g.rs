//! Stand-in: the states of G's, which only the models of aborts read: elsewhere each G runs. And
//! their runs: there are none.

#[path = "../../../../src/runtime/g/aborted.rs"]
pub(crate) mod aborted;
#[path = "../../../../src/runtime/g/explored.rs"]
pub(crate) mod explored;

/// The list of all G's, which no model reads.
pub(crate) mod allgs {
    use crate::runtime::data::runtime2::G;

    pub(crate) fn for_each_g_race(_: impl FnMut(&'static G)) {}
}

/// Each wait has a sudog of its own.
pub(crate) mod sudog {
    use crate::runtime::data::runtime2::{M, Sudog};
    use crate::runtime::made::zeroed;

    pub(crate) fn acquire_sudog(_: &M) -> &'static Sudog {
        zeroed()
    }

    pub(crate) fn release_sudog(_: &M, s: &Sudog) {
        assert!(s.next.is_null() && s.prev.is_null(), "it is in a queue");
    }
}

pub(crate) mod status {
    use std::cell::Cell;

    use crate::runtime::data::atomic::Ordering;
    use crate::runtime::data::runtime2::{G, GRUNNING, WaitReason};

    pub(crate) fn casgstatus(_: &G, _old: u32, _new: u32) {}

    /// Changes a state as the shipped function does.
    pub(crate) fn cas(gp: &G, old: u32, new: u32) -> bool {
        gp.atomicstatus.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    pub(crate) fn castogscanstatus(gp: &G, old: u32, new: u32) -> bool {
        cas(gp, old, new)
    }

    pub(crate) fn casfrom_gscanstatus(gp: &G, old: u32, new: u32) {
        assert!(cas(gp, old, new));
    }

    thread_local! {
        /// Whether this is a model of aborts. All threads of a model run on one thread of the
        /// system's.
        pub(crate) static ABORTS: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn cas_g_to_waiting(_: &G, _old: u32, _: WaitReason) {}

    pub(crate) fn cas_g_from_waiting(_: &G) {}

    pub(crate) fn readgstatus(gp: &G) -> u32 {
        if ABORTS.get() { gp.atomicstatus.load(Ordering::Acquire) } else { GRUNNING }
    }

    pub(crate) fn dumpgstatus(_: &G) {}
}

/// No goroutine is in a run.
pub(crate) mod extent {
    use std::cell::Cell;
    use std::panic::resume_unwind;
    use std::sync::Arc;
    use std::thread::panicking;

    use crate::runtime::lock::cancel::Cancellation;

    pub(crate) trait EndsWaits {
        fn waits(&self) -> &Cancellation;
    }

    pub(crate) fn current_run() -> Option<Arc<dyn EndsWaits>> {
        None
    }

    loom::thread_local! {
        /// Whether this thread is in a run that is over.
        static OVER: Cell<bool> = Cell::new(false);
    }

    /// Makes the next wait of this thread unwind.
    pub(crate) fn set_over() {
        OVER.with(|over| over.set(true));
    }

    pub(crate) fn end_with_run() {
        if OVER.with(Cell::get) && !panicking() {
            resume_unwind(Box::new(()));
        }
    }

    pub(crate) fn can_be_aborted(_: &crate::runtime::data::runtime2::G) -> bool {
        true
    }

    pub(crate) fn in_run() -> bool {
        false
    }

    pub(crate) fn run_is_over() -> bool {
        false
    }

    pub(crate) fn unwind_to_run() -> ! {
        unreachable!("a goroutine is in a run")
    }

    pub(crate) fn outside_of_run<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}
