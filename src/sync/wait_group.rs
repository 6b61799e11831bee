//! [`WaitGroup`]: Go's `sync/waitgroup.go`.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::runtime::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::runtime::runtime2::WaitReason;
use crate::runtime::{
    NotifyList, end_with_run, gosched, must_run, notify_list_add, notify_list_notify_all, point, semacquire,
    semacquire_limited, semrelease, unwind_to_run,
};

/// Counts goroutines, or other work, that other goroutines wait for. Go's `sync.WaitGroup`.
///
/// [`go`](Self::go) makes goroutines that are counted:
///
/// ```
/// use std::sync::Arc;
/// use gosched::sync::WaitGroup;
///
/// gosched::run(|| {
///     let group = Arc::new(WaitGroup::new());
///     for i in 0..10 {
///         group.go(move || i * i);
///     }
///     group.wait();
/// });
/// ```
///
/// Work that isn't a goroutine of its own is counted by a [`guard`](Self::guard), or by
/// [`add`](Self::add) and [`done`](Self::done). With these, a panic before `done` leaves
/// [`wait`](Self::wait) waiting forever.
pub struct WaitGroup {
    /// The count in the upper half; in the lower, [`TIMED`] and the number of waiters.
    state: AtomicU64,
    sema: AtomicU32,
    /// The waiters with a limit. They aren't counted, because they may leave.
    timed: NotifyList,
}

/// One in the count.
const ONE: u64 = 1 << 32;

/// Set if a goroutine may wait with a limit. The caller that begins such a wait sets it, while the
/// count isn't 0. It stays set until the count is 0, even if the waiters have left.
const TIMED: u64 = 1 << 31;

const TOO_MANY: &str = "gosched: the count of a WaitGroup is 2,147,483,647 at the most";

fn count(state: u64) -> i32 {
    (state >> 32) as i32
}

fn waiters(state: u64) -> u32 {
    (state & (TIMED - 1)) as u32
}

// It panics before it has changed anything.
impl UnwindSafe for WaitGroup {}
impl RefUnwindSafe for WaitGroup {}

impl WaitGroup {
    /// A group with a count of 0.
    ///
    /// ```
    /// use gosched::sync::WaitGroup;
    ///
    /// static REQUESTS: WaitGroup = WaitGroup::new();
    /// REQUESTS.wait(); // there are none
    /// ```
    pub const fn new() -> Self {
        WaitGroup { state: AtomicU64::new(0), sema: AtomicU32::new(0), timed: NotifyList::new() }
    }

    /// Adds `n` to the count. Call it before the goroutines are made that will call
    /// [`done`](Self::done). Go's `Add`.
    ///
    /// ```
    /// use gosched::sync::WaitGroup;
    ///
    /// static REQUESTS: WaitGroup = WaitGroup::new();
    ///
    /// gosched::run(|| {
    ///     REQUESTS.add(3);
    ///     for _ in 0..3 {
    ///         gosched::go(|| REQUESTS.done());
    ///     }
    ///     REQUESTS.wait();
    /// });
    /// ```
    ///
    /// # Panics
    /// The group is then as if this hadn't been called.
    /// - If the count was 0 and there are waiters, because it would depend on chance whether they
    ///   wait for the added work, too.
    /// - If the count would be more than `i32::MAX`.
    #[inline]
    #[track_caller]
    pub fn add(&self, n: u32) {
        point("add");
        let delta = u64::from(n) << 32;
        assert!(n <= i32::MAX as u32, "{TOO_MANY}");
        let state = self.change(delta, TOO_MANY);
        if waiters(state) != 0 && n != 0 && count(state) == n as i32 {
            self.refuse(delta, "gosched: WaitGroup::add called concurrently with wait, with a count of 0");
        }
    }

    /// Subtracts one from the count. When the count becomes 0, wakes all waiters. Go's `Done`.
    ///
    /// ```
    /// use gosched::sync::WaitGroup;
    ///
    /// let group = WaitGroup::new();
    /// group.add(1);
    /// group.done();
    /// group.wait();
    /// ```
    ///
    /// # Panics
    /// If the count is 0. The count stays 0 then.
    #[inline]
    #[track_caller]
    pub fn done(&self) {
        point("done");
        let state =
            self.change(ONE.wrapping_neg(), "gosched: negative WaitGroup count: more done than added");
        if count(state) == 0 && state != 0 {
            self.wake(state);
        }
    }

    /// Changes the count, and returns the new state. If the count would be negative, panics with
    /// `message`.
    #[inline(always)]
    #[track_caller]
    fn change(&self, delta: u64, message: &str) -> u64 {
        // Release: the work of each goroutine before `done` comes before the code of a waiter after
        // its wait. Acquire: the last `done` sees the work of the others, and passes it on to the
        // waiters that it wakes.
        let state = self.state.fetch_add(delta, Ordering::AcqRel).wrapping_add(delta);
        if count(state) < 0 {
            self.refuse(delta, message);
        }
        state
    }

    /// Undoes a change, and panics.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn refuse(&self, delta: u64, message: &str) -> ! {
        // AcqRel: as in `change`, for others that change the state after this.
        self.state.fetch_sub(delta, Ordering::AcqRel);
        panic!("{message}")
    }

    /// Wakes all waiters. The count has become 0.
    #[cold]
    #[inline(never)]
    fn wake(&self, state: u64) {
        if waiters(state) == 0 {
            // Waiters with a limit read the count again, so others may add meanwhile. AcqRel: pairs
            // with `announce`, whose flag this may clear: its number is then among those notified
            // below.
            self.state.fetch_and(!TIMED, Ordering::AcqRel);
        } else {
            // No waiter can come, because the count is 0. No caller may add while there are
            // waiters. A surplus `done` may have subtracted from the count, and undoes that itself.
            let now = self.state.load(Ordering::Relaxed);
            assert!(
                count(now) <= 0 && now as u32 == state as u32,
                "gosched: WaitGroup::add called concurrently with wait"
            );
            // Release: pairs with the acquire in `wait`, for a caller that comes now and doesn't
            // have to sleep.
            self.state.fetch_sub(u64::from(state as u32), Ordering::Release);
        }
        if state & TIMED != 0 {
            notify_list_notify_all(&self.timed);
        }
        for _ in 0..waiters(state) {
            semrelease(&self.sema);
        }
    }

    /// Waits until the count is 0. Go's `Wait`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use gosched::sync::WaitGroup;
    ///
    /// gosched::run(|| {
    ///     static DONE: AtomicU32 = AtomicU32::new(0);
    ///     let group = Arc::new(WaitGroup::new());
    ///     for _ in 0..10 {
    ///         group.go(|| DONE.fetch_add(1, Ordering::Relaxed));
    ///     }
    ///     group.wait();
    ///     assert_eq!(DONE.load(Ordering::Relaxed), 10);
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait(&self) {
        point("wait");
        if !self.is_done() {
            end_with_run();
            if !self.wait_until_end() {
                unwind_to_run();
            }
        }
    }

    /// Waits until the count is 0. Returns false if the end of the run, or an abort, comes first.
    #[track_caller]
    pub(crate) fn wait_until_end(&self) -> bool {
        loop {
            let state = self.state.load(Ordering::Acquire);
            if count(state) == 0 {
                return true;
            }
            let _guest = must_run("WaitGroup::wait");
            if count(state) < 0 {
                // A surplus `done` is about to undo its change, and wakes nobody then.
                // SAFETY: on a goroutine, because must_run was called, and a point that can park.
                unsafe { gosched() };
                continue;
            }
            if self.state.compare_exchange(state, state + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                if !semacquire_limited(&self.sema, false, WaitReason::Semacquire, None) && self.leaves() {
                    return false;
                }
                let state = self.state.load(Ordering::Acquire);
                assert!(
                    count(state) <= 0 && state as u32 == 0,
                    "gosched: WaitGroup is reused before previous wait has returned"
                );
                return true;
            }
        }
    }

    /// Takes this waiter, which doesn't sleep any more, out of the number of waiters. Returns false
    /// if the count has become 0 before.
    #[cold]
    fn leaves(&self) -> bool {
        // Once the count is 0, `done` has counted this waiter.
        let leave = |state| (count(state) > 0 && waiters(state) > 0).then(|| state - 1);
        let leaves = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, leave).is_ok();
        if !leaves {
            // It wakes this waiter, sooner or later.
            semacquire(&self.sema);
        }
        leaves
    }

    /// Whether the count is 0.
    pub(crate) fn is_done(&self) -> bool {
        // Acquire: pairs with the release in `change`.
        count(self.state.load(Ordering::Acquire)) == 0
    }

    /// Begins a wait with a limit, on a goroutine: draws a number that is notified after the count
    /// has become 0. `None` if the count is 0.
    pub(super) fn announce(&self) -> Option<u32> {
        let number = notify_list_add(&self.timed);
        let mut state = self.state.load(Ordering::Acquire);
        while count(state) != 0 {
            if count(state) < 0 {
                // As in `wait`.
                // SAFETY: on a goroutine, as the caller has ensured, and a point that can park.
                unsafe { gosched() };
                state = self.state.load(Ordering::Acquire);
                continue;
            }
            // Release: a thread that reads the flag also sees that the number was drawn.
            match self.state.compare_exchange(state, state | TIMED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(number),
                Err(now) => state = now,
            }
        }
        None
    }

    /// The list on which the waiters with numbers of [`announce`](Self::announce) wait.
    pub(super) fn timed(&self) -> &NotifyList {
        &self.timed
    }
}

impl Default for WaitGroup {
    fn default() -> Self {
        WaitGroup::new()
    }
}

impl fmt::Debug for WaitGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.load(Ordering::Relaxed);
        f.debug_struct("WaitGroup").field("count", &count(state)).field("waiters", &waiters(state)).finish()
    }
}
