//! Stand-in for epoll: it knows in advance when which data come. The first M that polls gets them.

#[path = "../../../../src/runtime/netpoll/count.rs"]
mod count;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Deref;
use std::ptr;

use crate::runtime::data::atomic::{AtomicI32, AtomicU32, Ordering};
use crate::runtime::data::runtime2::G;

pub(super) use count::{netpoll_adjust_waiters, netpoll_any_waiters};

/// The number of goroutines that wait.
static NETPOLL_WAITERS: Own<AtomicI32> = Own(AtomicI32::new(0));

/// The kernel's own lock of the poller.
static EPOLL: Own<AtomicU32> = Own(AtomicU32::new(0));

/// Set if the poller is to look again.
static BREAK: Own<AtomicU32> = Own(AtomicU32::new(0));

/// A word on a line of its own.
#[repr(align(64))]
struct Own<T>(T);

impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

thread_local! {
    /// For each expected arrival of data: the time in picoseconds, a number that orders arrivals of
    /// the same time, and the goroutine.
    static TO_COME: RefCell<BinaryHeap<Reverse<(u64, u32, usize)>>> = const { RefCell::new(BinaryHeap::new()) };
}

pub(crate) fn reset() {
    TO_COME.with_borrow_mut(BinaryHeap::clear);
    for word in [&EPOLL, &BREAK] {
        word.store(0, Ordering::Relaxed);
    }
    NETPOLL_WAITERS.store(0, Ordering::Relaxed);
}

pub(crate) fn netpollinited() -> bool {
    true
}

/// Makes data for `gp`, which is about to wait for them, come at `when`, in picoseconds.
pub(crate) fn expect(gp: &'static G, when: u64) {
    netpoll_adjust_waiters(1);
    let number = crate::sim::random();
    TO_COME.with_borrow_mut(|all| all.push(Reverse((when, number, ptr::from_ref(gp).expose_provenance()))));
    epoll::sooner(when);
}

pub(crate) mod epoll {
    use std::cell::Cell;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    use std::{iter, ptr};

    use super::{BREAK, EPOLL, TO_COME};
    use crate::runtime::data::atomic::Ordering;
    use crate::runtime::data::gqueue::{GList, GQueue};
    use crate::runtime::data::runtime2::G;
    use crate::sim::count::{Event, Part};
    use crate::sim::{self, cost};

    thread_local! {
        /// The time until which the M in the poller sleeps; 0 if no M sleeps there.
        static UNTIL: Cell<u64> = const { Cell::new(0) };
    }

    /// The most goroutines that one look finds.
    const EVENTS: usize = 128;

    pub(crate) fn netpoll_break() {
        if BREAK.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            wake();
        }
    }

    /// Makes the M that sleeps in the poller wake at `when`, if that is sooner.
    pub(super) fn sooner(when: u64) {
        if when < UNTIL.get() {
            UNTIL.set(when);
            sim::sooner(place(), when + cost(|costs| costs.wake_latency));
        }
    }

    fn wake() {
        sim::in_part(Part::Kernel, || {
            let woken = sim::wake(place());
            sim::work(cost(|costs| if woken { costs.futex_wake } else { costs.syscall }));
        });
    }

    fn place() -> usize {
        ptr::from_ref(&EPOLL).addr()
    }

    pub(crate) fn netpoll(delay: i64) -> (GList, i32) {
        sim::in_part(Part::Kernel, || look(delay))
    }

    fn look(delay: i64) -> (GList, i32) {
        let deadline = if delay < 0 { u64::MAX } else { sim::time() + delay as u64 * 1000 };
        let mut slept = false;
        loop {
            sim::count(Event::Poll);
            // Every M that polls takes the kernel's lock.
            EPOLL.fetch_add(1, Ordering::SeqCst);
            sim::work(cost(|costs| costs.epoll));
            let (list, n) = ready();
            if n > 0 || BREAK.peek() != 0 && delay != 0 || sim::time() >= deadline {
                if delay != 0 {
                    BREAK.store(0, Ordering::SeqCst);
                }
                return (list, -n);
            }
            if !slept {
                sim::work(cost(|costs| costs.futex_sleep));
                slept = true;
                sim::count(Event::PollSlept);
            }
            let first = TO_COME.with_borrow(|all| all.peek().map_or(u64::MAX, |Reverse(first)| first.0));
            let until = deadline.min(first);
            UNTIL.set(until);
            let latency = cost(|costs| costs.wake_latency + if deadline < first { costs.slack } else { 0 });
            let left = until.saturating_sub(sim::time()).saturating_add(latency);
            sim::sleep(place(), (until != u64::MAX).then_some(left), false);
            UNTIL.set(0);
        }
    }

    /// Returns the goroutines whose data have come.
    fn ready() -> (GList, i32) {
        let now = sim::time();
        sim::look();
        let come: Vec<usize> = TO_COME.with_borrow_mut(|all| {
            let due = |all: &BinaryHeap<Reverse<(u64, u32, usize)>>| {
                all.peek().is_some_and(|Reverse((when, ..))| *when <= now)
            };
            iter::from_fn(|| due(all).then(|| all.pop()).flatten())
                .map(|Reverse((.., gp))| gp)
                .take(EVENTS)
                .collect()
        });
        let list = GQueue::default();
        for &gp in &come {
            // SAFETY: the address of a leaked G, which `expect` has put there.
            list.push_back(unsafe { &*ptr::with_exposed_provenance::<G>(gp) });
        }
        (list.pop_list(), come.len() as i32)
    }
}
