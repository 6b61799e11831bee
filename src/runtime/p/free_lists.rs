//! The lists of free objects that a P keeps. This file counts the G's on them, which tells how many
//! goroutines there are (Go's `gcount`), and empties them. The objects go to the shared lists when
//! the P is destroyed, is idle, or was asked to give them away.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::runtime::arch::systemstack;
use crate::runtime::data::runtime2::{P, sched};
use crate::runtime::g::allgs::allglen;
use crate::runtime::g::gfree::{LOCAL_MAX, gfpurge};
use crate::runtime::g::sudog::Sudogs;
use crate::runtime::mem::cache::Cache;
use crate::runtime::mem::segment::stackcache_clear;
use crate::runtime::p::procs::procs;

/// The maximum number of times that the counts are read for one estimate.
const MOST_READINGS: u32 = 8;

/// Returns an estimate of how many goroutines haven't ended. Go's `gcount`.
pub(crate) fn gcount() -> i32 {
    let (all, unused) = settled(counts);
    (all as i32 - unused).max(0)
}

/// Returns the first value that `read` returns twice in a row, or else the last one. A single
/// reading isn't of one moment: a G that is added or changes lists between the loads of two counts
/// is in both counts, or in neither.
fn settled<T: PartialEq>(mut read: impl FnMut() -> T) -> T {
    let mut last = read();
    for _ in 1..MOST_READINGS {
        let next = read();
        if next == last {
            break;
        }
        last = next;
    }
    last
}

/// Returns how many G's there are, and how many of them are no goroutines.
fn counts() -> (usize, i32) {
    // Read first: a G that is handed back meanwhile then counts as a goroutine too many, and not as
    // one too few.
    let all = allglen();
    let count = |n: &AtomicI32| n.load(Ordering::Relaxed);
    let mut unused = count(&sched().g_free.n) + count(&sched().ngsys) + count(&sched().ext.n_held);
    for pp in &procs().allp {
        unused += count(&pp.g_free.n)
            + count(&pp.ext.g_free_fixed.n)
            + count(&pp.ext.g_free_thread.n)
            + count(&pp.ext.n_held);
    }
    (all, unused)
}

/// Empties the lists of `pp`, this M's P. [`gfput`](crate::runtime::g::gfree::gfput) calls it when
/// it finds that the P was asked to give its lists away.
#[cold]
#[inline(never)]
pub(in crate::runtime) fn purge_as_asked(pp: Option<&P>) {
    let Some(pp) = pp else { return };
    pp.ext.max_free.store(LOCAL_MAX, Ordering::Relaxed);
    systemstack(|| purge(pp));
}

/// Empties the lists of `pp`: this M's P, or an idle P with `sched.lock` held. Not to be called on
/// a goroutine's stack.
pub(in crate::runtime) fn purge(pp: &P) {
    let common = &sched().ext;
    gfpurge(pp);
    stackcache_clear(pp);
    Sudogs.spill(&pp.sudogcache, usize::MAX);
    common.hchans.spill(&pp.ext.hchans, usize::MAX);
    common.timers.spill(&pp.ext.timers, usize::MAX);
    common.x_regs.spill(&pp.ext.x_regs, usize::MAX);
}

#[cfg(test)]
mod tests {
    use super::settled;

    /// Settles on one of `readings`, which are read one after the other.
    fn settled_of(readings: &[i32]) -> (i32, usize) {
        let mut left = readings.iter();
        let found = settled(|| *left.next().expect("so many readings"));
        (found, readings.len() - left.len())
    }

    #[test]
    fn one_reading_that_differs_is_none() {
        assert_eq!(settled_of(&[2, 2]), (2, 2));
        assert_eq!(settled_of(&[1, 2, 2]), (2, 3));
        assert_eq!(settled_of(&[2, 1, 2, 2]), (2, 4));
        // Counts that keep changing never settle.
        assert_eq!(settled_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8]), (7, 8));
    }
}
