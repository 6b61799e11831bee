//! [`WaitGroup`]: Go's `sync/waitgroup.go`.

use std::fmt;

use crate::runtime::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::runtime::{must_wait, semacquire, semrelease};

/// Counts goroutines, or other work, that others wait for. Go's `sync.WaitGroup`.
///
/// ```
/// use gosched::sync::WaitGroup;
///
/// static DONE: WaitGroup = WaitGroup::new();
/// # // SAFETY: no thread-local is kept across a point that can park.
/// # unsafe {
/// gosched::run(|| {
///     DONE.add(10);
///     for _ in 0..10 {
///         gosched::go(|| DONE.done());
///     }
///     DONE.wait();
/// })
/// # };
/// ```
pub struct WaitGroup {
    /// The count in the upper half, the number of waiters in the lower.
    state: AtomicU64,
    sema: AtomicU32,
}

/// One of the count.
const ONE: u64 = 1 << 32;

fn count(state: u64) -> i32 {
    (state >> 32) as i32
}

fn waiters(state: u64) -> u32 {
    state as u32
}

impl WaitGroup {
    /// A group with a count of 0.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        WaitGroup { state: AtomicU64::new(0), sema: AtomicU32::new(0) }
    }

    /// A group with a count of 0. Not `const`: loom's atomics have no constants.
    #[cfg(loom)]
    pub fn new() -> Self {
        WaitGroup { state: AtomicU64::new(0), sema: AtomicU32::new(0) }
    }

    /// Adds `n` to the count, before the goroutines are made that will call [`done`](Self::done). Go's `Add`.
    ///
    /// # Panics
    /// If the count was 0 and there are waiters: whether they wait for these, too, would be by chance.
    #[inline]
    #[track_caller]
    pub fn add(&self, n: u32) {
        let state = self.change(u64::from(n) << 32);
        assert!(
            waiters(state) == 0 || n == 0 || count(state) != n as i32,
            "gosched: WaitGroup::add called concurrently with wait, with a count of 0"
        );
    }

    /// Takes one from the count; when it comes to 0, wakes all that wait. Go's `Done`.
    ///
    /// # Panics
    /// If the count is 0.
    #[inline]
    #[track_caller]
    pub fn done(&self) {
        let state = self.change(ONE.wrapping_neg());
        if count(state) == 0 && waiters(state) != 0 {
            self.wake(state);
        }
    }

    /// Changes the count; returns the new state.
    #[inline(always)]
    #[track_caller]
    fn change(&self, delta: u64) -> u64 {
        // Release: what each goroutine did before `done` comes before what a waiter does afterwards. Acquire:
        // the last one has all that from the others, and passes it on to those that it wakes.
        let state = self.state.fetch_add(delta, Ordering::AcqRel).wrapping_add(delta);
        assert!(count(state) >= 0, "gosched: negative WaitGroup count: more done than added");
        state
    }

    /// Wakes all that wait; the count has come to 0.
    #[cold]
    #[inline(never)]
    fn wake(&self, state: u64) {
        // No waiter can come, as the count is 0; nobody may add while there are waiters.
        assert!(
            self.state.load(Ordering::Relaxed) == state,
            "gosched: WaitGroup::add called concurrently with wait"
        );
        // Release: pairs with the acquire in `wait`, for a caller that comes now and needn't sleep.
        self.state.store(0, Ordering::Release);
        for _ in 0..waiters(state) {
            semrelease(&self.sema);
        }
    }

    /// Waits until the count is 0. Go's `Wait`.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn wait(&self) {
        loop {
            let state = self.state.load(Ordering::Acquire);
            if count(state) == 0 {
                return;
            }
            let _guest = must_wait("WaitGroup::wait");
            if self.state.compare_exchange(state, state + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                semacquire(&self.sema);
                assert!(
                    self.state.load(Ordering::Acquire) == 0,
                    "gosched: WaitGroup is reused before previous wait has returned"
                );
                return;
            }
        }
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
