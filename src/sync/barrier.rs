//! [`Barrier`].

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::runtime::{must_wait, unwind_to_run};
use crate::sync::{Condvar, Mutex};

/// A point at which a number of goroutines wait for each other. Go has none; this is std's.
///
/// ```
/// use gosched::sync::Barrier;
///
/// static ALL_HERE: Barrier = Barrier::new(3);
///
/// gosched::run(|| {
///     let leaders = gosched::scope(|s| {
///         let handles = [(); 3].map(|()| s.go(|| ALL_HERE.wait().is_leader()));
///         handles.map(|handle| handle.join().unwrap())
///     });
///     assert_eq!(leaders.iter().filter(|leader| **leader).count(), 1);
/// });
/// ```
pub struct Barrier {
    arrived: Mutex<Arrived>,
    all_here: Condvar,
    n: usize,
}

struct Arrived {
    count: usize,
    /// Incremented each time that all have come, so that a waiter notices the end of its round.
    generation: usize,
}

/// The result of [`Barrier::wait`].
///
/// ```
/// use gosched::sync::{Barrier, BarrierWaitResult};
///
/// let result: BarrierWaitResult = Barrier::new(1).wait();
/// assert!(result.is_leader());
/// ```
pub struct BarrierWaitResult(bool);

// Nothing panics while it counts.
impl UnwindSafe for Barrier {}
impl RefUnwindSafe for Barrier {}

impl Barrier {
    /// A barrier for `n` goroutines; 0 means 1.
    ///
    /// ```
    /// use gosched::sync::Barrier;
    ///
    /// static PHASE: Barrier = Barrier::new(2);
    ///
    /// gosched::run(|| {
    ///     let other = gosched::go(|| drop(PHASE.wait()));
    ///     PHASE.wait(); // both are here
    ///     other.join().unwrap();
    /// });
    /// ```
    pub const fn new(n: usize) -> Self {
        Barrier { arrived: Mutex::new(Arrived { count: 0, generation: 0 }), all_here: Condvar::new(), n }
    }

    /// Waits until `n` goroutines have called this; one of them, the last, is the leader. After
    /// that the barrier can be used again.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use gosched::sync::Barrier;
    ///
    /// gosched::run(|| {
    ///     let (barrier, written) = (Barrier::new(4), AtomicU32::new(0));
    ///     gosched::scope(|s| {
    ///         for _ in 0..4 {
    ///             s.go(|| {
    ///                 written.fetch_add(1, Ordering::Relaxed);
    ///                 barrier.wait();
    ///                 assert_eq!(written.load(Ordering::Relaxed), 4);
    ///             });
    ///         }
    ///     });
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let mut arrived = self.arrived.lock();
        if arrived.count + 1 < self.n {
            let _guest = must_wait("Barrier::wait");
            arrived.count += 1;
            let generation = arrived.generation;
            loop {
                let waits;
                (arrived, waits) = self.all_here.wait_limited(arrived, None);
                if arrived.generation != generation {
                    return BarrierWaitResult(false);
                }
                // The wait has ended with its run, so this hasn't arrived.
                if !waits {
                    arrived.count -= 1;
                    drop(arrived);
                    unwind_to_run();
                }
            }
        } else {
            arrived.count = 0;
            arrived.generation = arrived.generation.wrapping_add(1);
            drop(arrived);
            self.all_here.notify_all();
            BarrierWaitResult(true)
        }
    }
}

impl BarrierWaitResult {
    /// Whether this goroutine is the leader of its round.
    ///
    /// ```
    /// use gosched::sync::Barrier;
    ///
    /// let barrier = Barrier::new(1);
    /// if barrier.wait().is_leader() {
    ///     println!("one of them says it");
    /// }
    /// ```
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("n", &self.n).finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}
