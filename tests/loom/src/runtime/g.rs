//! Stand-in: the states of G's, which no model reads: each G runs. And their runs: there are none.

#[path = "../../../../src/runtime/g/explored.rs"]
pub(crate) mod explored;

pub(crate) mod status {
    use crate::runtime::data::runtime2::{G, GRUNNING, WaitReason};

    pub(crate) fn casgstatus(_: &G, _old: u32, _new: u32) {}

    pub(crate) fn cas_g_to_waiting(_: &G, _old: u32, _: WaitReason) {}

    pub(crate) fn cas_g_from_waiting(_: &G) {}

    pub(crate) fn readgstatus(_: &G) -> u32 {
        GRUNNING
    }

    pub(crate) fn dumpgstatus(_: &G) {}
}

/// No goroutine is in a run.
pub(crate) mod extent {
    use std::sync::Arc;

    use crate::runtime::lock::cancel::Cancellation;

    pub(crate) trait EndsWaits {
        fn waits(&self) -> &Cancellation;
    }

    pub(crate) fn current_run() -> Option<Arc<dyn EndsWaits>> {
        None
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
