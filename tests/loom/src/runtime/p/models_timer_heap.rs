//! Models of timers that one thread sets and stops while another runs them, or puts their heap in
//! order. Each timer fires as often as it was set and not stopped, and none is late.

use std::ffi::c_void;
use std::ptr;

use loom::thread;

use crate::runtime::base::this;
use crate::runtime::data::atomic::{AtomicU32, Ordering, check};
use crate::runtime::data::runtime2::{M, P};
use crate::runtime::data::timer::*;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::made::new_timer;
use crate::runtime::p::procs::procs;
use crate::runtime::p::timer::release_timer;
use crate::runtime::p::timer_heap::{
    adjusttimers, cleantimers, clear_deleted_timers, nobarrier_wake_time, runtimer, verify_timer_heap,
};
use crate::runtime::time::modify::{addtimer, deltimer, modtimer};

/// Times, one after the other.
const SOON: i64 = 10;
const NOW: i64 = 20;
const LATE: i64 = 30;

/// Returns P 0, whose heap these models are about.
fn heap() -> &'static P {
    procs().allp[0]
}

/// A timer that this thread has set once, for `when`, and the count of its firings.
#[derive(Clone, Copy)]
struct Counted {
    timer: &'static Timer,
    fired: &'static AtomicU32,
}

// SAFETY: the timer's state gives its owner, which loom checks.
unsafe impl Send for Counted {}

impl Counted {
    fn set(when: i64) -> Self {
        let fired: &AtomicU32 = Box::leak(Box::default());
        let timer = new_timer(when, fire, ptr::from_ref(fired).cast_mut().cast());
        addtimer(timer);
        Counted { timer, fired }
    }

    /// Sets it anew. Returns whether it won't fire for the time that was set last.
    fn modify(self, when: i64) -> bool {
        modtimer(self.timer, when, 0, Some(fire), ptr::from_ref(self.fired).cast_mut().cast(), 0)
    }

    /// Stops it. Returns the same.
    fn stop(self) -> bool {
        deltimer(self.timer)
    }

    fn fired(self) -> u32 {
        self.fired.load(Ordering::Relaxed)
    }
}

/// The function of a [`Counted`].
unsafe extern "C" fn fire(fired: *mut c_void, _seq: usize) {
    // SAFETY: the timer was made with this argument.
    let fired: &AtomicU32 = unsafe { &*fired.cast() };
    fired.fetch_add(1, Ordering::Relaxed);
}

/// Does the work of the heap's owner.
fn with_heap(f: impl FnOnce(&'static P)) {
    lock(&heap().timers_lock);
    f(heap());
    unlock(&heap().timers_lock);
}

/// Runs timers as the scheduler does.
fn run_timers(pp: &'static P, now: i64) {
    adjusttimers(pp, now);
    while runtimer(pp, now) {}
}

/// When all is quiet, checks that the heap is in order, and that its P is awake when the next timer
/// is due.
fn assert_in_order() {
    with_heap(|pp| {
        verify_timer_heap(pp);
        let due = |t: &Timer, when| match t.status.load(Ordering::Relaxed) {
            TIMER_WAITING => Some(when),
            TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER => Some(t.nextwhen.get()),
            TIMER_DELETED | TIMER_DROPPED => None,
            status => panic!("a timer is left in state {status}"),
        };
        let entries = pp.timers.entries().iter().map(std::cell::Cell::get);
        let (there, deleted): (Vec<_>, Vec<_>) =
            entries.map(|entry| due(entry.timer, entry.when)).partition(Option::is_some);
        assert_eq!(pp.deleted_timers.load(Ordering::Relaxed), deleted.len() as u32);
        if let Some(next) = there.into_iter().flatten().min() {
            let awake = nobarrier_wake_time(pp);
            assert!((1..=next).contains(&awake), "a timer is due at {next}, and its P wakes at {awake}");
        }
    });
}

/// Runs all remaining timers.
fn drain() {
    for pp in &procs().allp {
        lock(&pp.timers_lock);
        run_timers(pp, LATE);
        unlock(&pp.timers_lock);
        assert_eq!((pp.timers.len.get(), nobarrier_wake_time(pp)), (0, 0));
    }
}

/// Gives this thread P `id`.
fn begin(id: usize) {
    this::set_m(M::new(procs().allp[id]));
}

/// A timer is set to an earlier time while the owner puts the heap in order.
fn against_earlier(put_in_order: fn(&'static P)) {
    check(Some(3), move || {
        begin(0);
        // One timer has to be moved, and one taken out.
        let [timer, moved, deleted] = [LATE; 3].map(Counted::set);
        moved.modify(NOW);
        deleted.stop();
        let other = thread::spawn(move || timer.modify(SOON));
        with_heap(put_in_order);
        assert!(other.join().unwrap());
        assert_in_order();
        drain();
        assert_eq!([timer, moved, deleted].map(Counted::fired), [1, 1, 0]);
    });
}

#[test]
fn an_earlier_time_while_timers_are_moved() {
    against_earlier(|pp| adjusttimers(pp, NOW));
}

#[test]
fn an_earlier_time_while_deleted_timers_are_cleared() {
    against_earlier(clear_deleted_timers);
}

#[test]
fn two_timers_are_set_to_earlier_times() {
    check(Some(3), || {
        begin(0);
        let [timer, another] = [LATE; 2].map(Counted::set);
        let other = thread::spawn(move || timer.modify(SOON));
        assert!(another.modify(NOW));
        assert!(other.join().unwrap());
        assert_in_order();
    });
}

/// One timer is due, and two threads use it. Each returns how often the timer won't fire, though it
/// was set. They set it `sets` times.
///
/// There are only two threads, because loom can't ensure that the right one continues if two spin.
fn fires_once_for_each_time(here: fn(Counted) -> u32, there: fn(Counted) -> u32, sets: u32) {
    check(Some(3), move || {
        begin(0);
        let timer = Counted::set(SOON);
        let other = thread::spawn(move || {
            begin(1);
            there(timer)
        });
        let wont = here(timer) + other.join().unwrap();
        assert_in_order();
        drain();
        assert_eq!(timer.fired() + wont, 1 + sets);
    });
}

/// The owner of the heap runs the due timer.
fn run(_: Counted) -> u32 {
    with_heap(|pp| run_timers(pp, NOW));
    0
}

fn clean(_: Counted) -> u32 {
    with_heap(cleantimers);
    0
}

fn clear(_: Counted) -> u32 {
    with_heap(clear_deleted_timers);
    0
}

fn stop(timer: Counted) -> u32 {
    u32::from(timer.stop())
}

fn set_earlier(timer: Counted) -> u32 {
    u32::from(timer.modify(SOON - 1))
}

fn set_later(timer: Counted) -> u32 {
    u32::from(timer.modify(LATE))
}

fn stop_and_set(timer: Counted) -> u32 {
    stop(timer) + set_earlier(timer)
}

fn set_and_stop(timer: Counted) -> u32 {
    set_earlier(timer) + stop(timer)
}

#[test]
fn a_timer_is_stopped_while_it_is_due() {
    fires_once_for_each_time(run, stop, 0);
}

#[test]
fn a_timer_is_set_while_it_is_due() {
    fires_once_for_each_time(run, set_later, 1);
}

#[test]
fn a_timer_is_stopped_and_set_while_it_is_due() {
    fires_once_for_each_time(run, stop_and_set, 1);
}

#[test]
fn a_timer_is_set_and_stopped_while_it_is_due() {
    fires_once_for_each_time(run, set_and_stop, 1);
}

#[test]
fn a_timer_is_set_and_stopped_while_its_heap_is_cleaned() {
    fires_once_for_each_time(clean, set_and_stop, 1);
}

#[test]
fn a_timer_is_stopped_and_set_while_its_heap_is_cleaned() {
    fires_once_for_each_time(clean, stop_and_set, 1);
}

#[test]
fn a_timer_is_stopped_and_set_while_deleted_ones_are_cleared() {
    fires_once_for_each_time(clear, stop_and_set, 1);
}

#[test]
fn two_stop_a_timer() {
    fires_once_for_each_time(stop, stop, 0);
}

#[test]
fn two_set_a_timer() {
    fires_once_for_each_time(set_later, set_earlier, 2);
}

/// A timer's user stops it and gives it back, while the owner takes it out of the heap.
fn goes_back_to_the_pool(owner: fn(Counted) -> u32) {
    check(Some(3), move || {
        begin(0);
        let timer = Counted::set(SOON);
        let user = thread::spawn(move || {
            let stopped = timer.stop();
            if stopped {
                release_timer(timer.timer);
            }
            stopped
        });
        owner(timer);
        let stopped = user.join().unwrap();
        drain();
        assert_eq!(timer.fired(), u32::from(!stopped));
        assert_eq!(timer.timer.status.load(Ordering::Relaxed), TIMER_NO_STATUS);
        assert_eq!(timer.timer.ext.waiter.get().is_null(), !stopped);
    });
}

#[test]
fn a_timer_is_given_back_while_it_is_due() {
    goes_back_to_the_pool(run);
}

#[test]
fn a_timer_is_given_back_while_deleted_ones_are_cleared() {
    goes_back_to_the_pool(clear);
}
