//! What a P keeps for itself goes to the shared lists, when the P is destroyed, idle, or asked to
//! give it away.

use std::sync::atomic::Ordering;

use crate::runtime::arch::systemstack;
use crate::runtime::data::runtime2::{P, sched};
use crate::runtime::g::gfree::{LOCAL_MAX, gfpurge};
use crate::runtime::g::sudog::Sudogs;
use crate::runtime::mem::cache::Cache;
use crate::runtime::mem::segment::stackcache_clear;

/// Empties the lists of `pp`, this M's P, which [`gfput`](crate::runtime::g::gfree::gfput) has
/// found asked to.
#[cold]
#[inline(never)]
pub(in crate::runtime) fn purge_as_asked(pp: Option<&P>) {
    let Some(pp) = pp else { return };
    pp.ext.max_free.store(LOCAL_MAX, Ordering::Relaxed);
    systemstack(|| purge(pp));
}

/// Empties the lists of `pp`: this M's P, or an idle one while `sched.lock` is held. Not on a
/// goroutine's stack.
pub(in crate::runtime) fn purge(pp: &P) {
    let common = &sched().ext;
    gfpurge(pp);
    stackcache_clear(pp);
    Sudogs.spill(&pp.sudogcache, usize::MAX);
    common.hchans.spill(&pp.ext.hchans, usize::MAX);
    common.timers.spill(&pp.ext.timers, usize::MAX);
    common.x_regs.spill(&pp.ext.x_regs, usize::MAX);
}
