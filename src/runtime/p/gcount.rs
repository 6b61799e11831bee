//! How many goroutines there are: Go's `gcount`.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::runtime::data::runtime2::sched;
use crate::runtime::g::allgs::allglen;
use crate::runtime::p::procs::procs;

/// How often the counts are read for one estimate, at most.
const MOST_READINGS: u32 = 8;

/// How many goroutines there are that have not ended; a moment's estimate. Go's `gcount`.
pub(crate) fn gcount() -> i32 {
    let (all, unused) = settled(counts);
    (all as i32 - unused).max(0)
}

/// What `read` returns twice in a row, or at last. One reading is no moment: a G that is added, or
/// goes from one list to another, between the loads of two counts is in both, or in none.
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

/// How many G's there are, and how many of them are no goroutines.
fn counts() -> (usize, i32) {
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
    (all, unused)
}

#[cfg(test)]
mod tests {
    use super::settled;

    /// Reads one after the other of these.
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
        // What changes all the time has no number.
        assert_eq!(settled_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8]), (7, 8));
    }
}
