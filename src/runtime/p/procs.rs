//! The table of all P's, Go's `allp`, and the tables with the same indices: `pMask`, a set of P's,
//! and `randomOrder`, the order in which a thief visits the P's. Also `gomaxprocs`, `allpLock` and
//! `timeSleepUntil`.

use crate::runtime::data::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};
use crate::runtime::data::runtime2::{Mutex, P};
use crate::runtime::data::timer::MAX_WHEN;
use crate::runtime::lock::mutex::SharedMutex;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::p::timer_heap::nobarrier_wake_time;

/// Protects the list of P's. Go's `allpLock`.
pub(in crate::runtime) static ALLP_LOCK: SharedMutex = SharedMutex(Mutex::new());

static PROCS: AtomicPtr<Procs> = AtomicPtr::new(std::ptr::null_mut());
static GOMAXPROCS: AtomicI32 = AtomicI32::new(0);

/// The P's in use and the data for each: Go's `allp`, `idlepMask`, `timerpMask` and `stealOrder`.
/// They change together, when the world is stopped.
///
/// A table is never freed: an M that has dropped its P goes on with the table that it read before.
pub(in crate::runtime) struct Procs {
    /// The P's, by their numbers.
    pub(in crate::runtime) allp: Box<[&'static P]>,
    /// Those that are idle. A P's bit changes with its place on the idle list, under
    /// `sched.lock`.
    pub(in crate::runtime) idlep_mask: PMask,
    /// Those that may have timers: see `update_timer_p_mask`, in `owner.rs`.
    pub(in crate::runtime) timerp_mask: PMask,
    /// The orders to steal in.
    pub(in crate::runtime) steal_order: RandomOrder,
}

/// The table in use; panics before the runtime has started.
#[inline]
pub(in crate::runtime) fn procs() -> &'static Procs {
    // SAFETY: null, or the `&'static` that set_procs got. Acquire pairs with its release.
    unsafe { PROCS.load(Ordering::Acquire).as_ref() }.expect("the runtime has started")
}

/// Makes `procs` the table in use. The world is stopped.
pub(in crate::runtime) fn set_procs(procs: &'static Procs) {
    // The first release pairs with procs, the second with gomaxprocs.
    PROCS.store(std::ptr::from_ref(procs).cast_mut(), Ordering::Release);
    GOMAXPROCS.store(procs.allp.len() as i32, Ordering::Release);
}

/// Returns how many P's there are; 0 before the runtime has started. Go's `gomaxprocs`.
#[inline]
pub(in crate::runtime) fn gomaxprocs() -> i32 {
    // Acquire pairs with set_procs: a caller that gets a number other than 0 also finds the table.
    GOMAXPROCS.load(Ordering::Acquire)
}

/// Returns when the next timer of any P may be due, or [`MAX_WHEN`] if there is none. For a thread
/// without a P. Go's `timeSleepUntil`.
pub(in crate::runtime) fn time_sleep_until() -> i64 {
    lock(&ALLP_LOCK.0);
    let times = procs().allp.iter().map(|pp| nobarrier_wake_time(pp));
    let next = times.filter(|&when| when != 0).min().unwrap_or(MAX_WHEN);
    unlock(&ALLP_LOCK.0);
    next
}

/// A set of P's, by their numbers: one bit per P. All accesses are sequentially consistent, because
/// an M that gives up spinning reads the sets after it has stopped: see `sched/wake.rs`. Go's
/// `pMask`.
pub(in crate::runtime) struct PMask(Box<[AtomicU32]>);

impl PMask {
    /// The empty set, with room for `nprocs` P's.
    pub(in crate::runtime) fn new(nprocs: i32) -> Self {
        PMask((0..(nprocs + 31) / 32).map(|_| AtomicU32::new(0)).collect())
    }

    /// Whether P `id` is in the set.
    pub(in crate::runtime) fn read(&self, id: i32) -> bool {
        let (word, mask) = bit(id);
        self.0[word].load(Ordering::SeqCst) & mask != 0
    }

    /// Adds P `id`.
    pub(in crate::runtime) fn set(&self, id: i32) {
        let (word, mask) = bit(id);
        self.0[word].fetch_or(mask, Ordering::SeqCst);
    }

    /// Takes P `id` out.
    pub(in crate::runtime) fn clear(&self, id: i32) {
        let (word, mask) = bit(id);
        self.0[word].fetch_and(!mask, Ordering::SeqCst);
    }
}

fn bit(id: i32) -> (usize, u32) {
    (id as usize / 32, 1 << (id % 32))
}

/// All orders in which a thief visits `count` P's. Go's `randomOrder`.
///
/// If `inc` and `count` have no common divisor, then `pos`, `pos + inc`, `pos + 2*inc`, ... modulo
/// `count` visits every number below `count` once. A random start and a random coprime make an
/// order that is as good as a shuffle.
pub(in crate::runtime) struct RandomOrder {
    count: u32,
    coprimes: Vec<u32>,
}

/// An order that is being walked through. Go's `randomEnum`.
pub(in crate::runtime) struct RandomEnum {
    i: u32,
    count: u32,
    pos: u32,
    inc: u32,
}

impl RandomOrder {
    /// The orders of no P's.
    pub(in crate::runtime) const fn new() -> Self {
        RandomOrder { count: 0, coprimes: Vec::new() }
    }

    /// Makes these the orders of `count` P's.
    pub(in crate::runtime) fn reset(&mut self, count: u32) {
        self.count = count;
        self.coprimes = (1..=count).filter(|&i| gcd(i, count) == 1).collect();
    }

    /// Returns the order that the random number `i` selects.
    pub(in crate::runtime) fn start(&self, i: u32) -> RandomEnum {
        RandomEnum {
            i: 0,
            count: self.count,
            pos: i % self.count,
            inc: self.coprimes[(i / self.count) as usize % self.coprimes.len()],
        }
    }
}

impl RandomEnum {
    /// Whether all P's have been visited.
    pub(in crate::runtime) fn done(&self) -> bool {
        self.i == self.count
    }

    /// Goes on to the next P.
    pub(in crate::runtime) fn next(&mut self) {
        self.i += 1;
        self.pos = (self.pos + self.inc) % self.count;
    }

    /// The P to visit.
    pub(in crate::runtime) fn position(&self) -> u32 {
        self.pos
    }
}

/// The greatest common divisor.
fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_order_visits_every_p_once() {
        for count in 1..=33 {
            let mut orders = RandomOrder::new();
            orders.reset(count);
            for start in 0..500 {
                let mut seen = vec![false; count as usize];
                let mut order = orders.start(start);
                while !order.done() {
                    let visited = std::mem::replace(&mut seen[order.position() as usize], true);
                    assert!(!visited, "{count} P's, order {start}: P {} twice", order.position());
                    order.next();
                }
                assert!(seen.iter().all(|&seen| seen), "{count} P's, order {start}: {seen:?}");
            }
        }
    }
}
