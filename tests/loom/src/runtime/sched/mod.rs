//! Letting a P go and getting one to work, and the poller's part in that.

#[cfg(test)]
mod models_timers;
#[cfg(test)]
mod models_wake;
#[path = "../../../../../src/runtime/sched/poll.rs"]
pub(crate) mod poll;
#[path = "../../../../../src/runtime/sched/timers.rs"]
pub(crate) mod timers;
#[path = "../../../../../src/runtime/sched/wake.rs"]
pub(crate) mod wake;

/// Letting others run.
pub(crate) mod gosched {
    pub(crate) unsafe fn gosched() {
        loom::thread::yield_now();
    }
}

/// The right to wait, which everybody has.
pub(crate) mod must_wait {
    pub(crate) struct Guest;

    pub(crate) fn must_wait(_what: &str) -> Option<Guest> {
        None
    }
}

/// Goroutines from the network, of which there are none.
pub(crate) mod ready {
    use crate::runtime::data::gqueue::GList;

    pub(crate) fn injectglist(list: &GList) {
        assert!(list.empty());
    }
}

/// System calls, in which a thread may sleep.
pub(crate) mod syscall {
    use crate::runtime::data::runtime2::Note;
    use crate::runtime::lock::note::notetsleep_internal;

    pub(crate) unsafe fn notetsleepg(n: &Note, ns: i64) -> bool {
        notetsleep_internal(n, ns, None)
    }
}
