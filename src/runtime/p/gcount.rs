//! How many goroutines there are: Go's `gcount`.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::runtime::data::runtime2::sched;
use crate::runtime::g::allgs::allglen;
use crate::runtime::p::procs::procs;

/// How many goroutines there are that have not ended; a moment's estimate. Go's `gcount`.
pub(crate) fn gcount() -> i32 {
    // First: what is handed back meanwhile counts too often then, and not too seldom.
    let all = allglen();
    let count = |n: &AtomicI32| n.load(Ordering::Relaxed);
    let mut unused = count(&sched().g_free.n) + count(&sched().ngsys) + count(&sched().ext.n_held);
    for pp in &procs().allp {
        unused += count(&pp.g_free.n)
            + count(&pp.ext.g_free_fixed.n)
            + count(&pp.ext.g_free_thread.n)
            + count(&pp.ext.n_held);
    }
    (all as i32 - unused).max(0)
}
