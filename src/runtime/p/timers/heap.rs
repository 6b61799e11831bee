//! A P's heap of timers: Go's `doaddtimer`, `dodeltimer` and `siftupTimer`. Each node has four
//! children.
//!
//! An entry has the timer's time in it, as Go's has since 1.23: to sort entries, the timers needn't
//! be read. A timer's `when` changes only together with its entry.

use std::alloc::{Layout, alloc, realloc};
use std::cell::Cell;
use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::runtime2::{P, Slice};
use crate::runtime::data::timer::{Timer, TimerWhen};
use crate::runtime::lock::assert_lock_held;
use crate::runtime::netpoll::{netpoll_init_for_timers, netpollinited};
use crate::runtime::p::timers::timer::bad_timer;

/// Whether heaps are verified after they were put in order. Go's `verifyTimers`.
pub(super) const VERIFY_TIMERS: bool = cfg!(debug_assertions);

impl Slice<TimerWhen> {
    /// The entries.
    #[inline(always)]
    pub(in crate::runtime) fn entries(&self) -> &[Cell<TimerWhen>] {
        if self.len.get() == 0 {
            return &[];
        }
        // SAFETY: push has written `len` entries. The heap's lock is held, so the buffer isn't
        // moved by another thread, and this one keeps no entries across a push. A Cell is laid out
        // as its value.
        unsafe { std::slice::from_raw_parts(self.ptr.get().cast(), self.len.get()) }
    }

    fn push(&self, entry: TimerWhen) {
        if self.len.get() == self.cap.get() {
            self.grow();
        }
        // SAFETY: `len` is below `cap` now, so this is in the buffer; the heap's lock is held.
        unsafe { self.ptr.get().add(self.len.get()).write(entry) };
        self.len.set(self.len.get() + 1);
    }

    #[cold]
    fn grow(&self) {
        let cap = (2 * self.cap.get()).max(16);
        let layout = |cap| Layout::array::<TimerWhen>(cap).unwrap_or_else(|_| throw("too many timers"));
        // SAFETY: the layouts aren't empty, and `ptr` was allocated here with the layout of `cap`
        // entries.
        let larger = unsafe {
            if self.cap.get() == 0 {
                alloc(layout(cap))
            } else {
                realloc(self.ptr.get().cast(), layout(self.cap.get()), layout(cap).size())
            }
        };
        if larger.is_null() {
            throw("out of memory for timers");
        }
        self.ptr.set(larger.cast());
        self.cap.set(cap);
    }

    /// Forgets all entries from `len` on.
    pub(super) fn truncate(&self, len: usize) {
        self.len.set(len);
    }
}

/// Adds `t` to the heap of `pp`, whose lock is held. Go's `doaddtimer`.
pub(in crate::runtime) fn doaddtimer(pp: &'static P, t: &'static Timer) {
    assert_lock_held(&pp.timers_lock);
    // An M that has nothing to do waits for timers in the poller.
    if !netpollinited() {
        netpoll_init_for_timers();
    }
    if !t.pp.is_null() {
        throw("doaddtimer: P already set in timer");
    }
    t.pp.set(Some(pp));
    let i = pp.timers.len.get();
    pp.timers.push(TimerWhen { timer: t, when: t.when.get() });
    if siftup_timer(pp.timers.entries(), i) == 0 {
        // SeqCst pairs with an M that goes to sleep: see wake_net_poller.
        pp.timer0_when.store(t.when.get(), Ordering::SeqCst);
    }
    pp.num_timers.fetch_add(1, Ordering::SeqCst);
}

/// Removes entry `i` from the heap of `pp`, whose lock is held; returns the lowest index whose
/// entry has changed. Go's `dodeltimer`.
pub(super) fn dodeltimer(pp: &'static P, i: usize) -> usize {
    assert_lock_held(&pp.timers_lock);
    let timers = pp.timers.entries();
    leave(pp, timers[i].get().timer);
    let last = timers.len() - 1;
    timers[i].set(timers[last].get());
    let timers = &timers[..last];
    pp.timers.truncate(last);
    let mut smallest_changed = i;
    if i != last {
        // The entry that took its place may be earlier than its new parent.
        smallest_changed = siftup_timer(timers, i);
        siftdown_timer(timers, i);
    }
    if i == 0 {
        update_timer0_when(pp);
    }
    one_less(pp);
    smallest_changed
}

/// Removes the first entry of the heap of `pp`, whose lock is held. Go's `dodeltimer0`.
pub(super) fn dodeltimer0(pp: &'static P) {
    assert_lock_held(&pp.timers_lock);
    let timers = pp.timers.entries();
    leave(pp, timers[0].get().timer);
    let last = timers.len() - 1;
    timers[0].set(timers[last].get());
    pp.timers.truncate(last);
    if last > 0 {
        siftdown_timer(&timers[..last], 0);
    }
    update_timer0_when(pp);
    one_less(pp);
}

/// Notes that `t` leaves the heap of `pp`.
fn leave(pp: &P, t: &Timer) {
    check_p(pp, t);
    t.pp.set(None);
}

/// Throws unless `t` is one of the timers of `pp`.
#[inline(always)]
pub(super) fn check_p(pp: &P, t: &Timer) {
    if !t.pp.get().is_some_and(|tpp| std::ptr::eq(tpp, pp)) {
        throw("timer of another P in the heap");
    }
}

fn one_less(pp: &P) {
    if pp.num_timers.fetch_sub(1, Ordering::SeqCst) == 1 {
        // Where there is no timer there is no modified one.
        pp.timer_modified_earliest.store(0, Ordering::SeqCst);
    }
}

/// Notes when the first timer of `pp` fires; the lock is held. Go's `updateTimer0When`.
pub(super) fn update_timer0_when(pp: &P) {
    let first = pp.timers.entries().first().map_or(0, |first| first.get().when);
    pp.timer0_when.store(first, Ordering::SeqCst);
}

/// Throws unless the heap of `pp` is in order. The lock is held. Go's `verifyTimerHeap`.
pub(super) fn verify_timer_heap(pp: &P) {
    let timers = pp.timers.entries();
    for (i, entry) in timers.iter().enumerate() {
        let (when, parent) = (entry.get().when, i.saturating_sub(1) / 4);
        if when < timers[parent].get().when {
            eprintln!("bad timer heap at {i}: {parent}: {}, {i}: {when}", timers[parent].get().when);
            throw("bad timer heap");
        }
    }
    let num_timers = pp.num_timers.load(Ordering::Relaxed) as usize;
    if timers.len() != num_timers {
        eprintln!("timer heap len {} != numTimers {num_timers}", timers.len());
        throw("bad timer heap len");
    }
}

/// Moves entry `i` up to where it belongs; returns where that is. Go's `siftupTimer`.
pub(super) fn siftup_timer(t: &[Cell<TimerWhen>], mut i: usize) -> usize {
    let tmp = entry_to_sift(t, i);
    while i > 0 {
        let p = (i - 1) / 4;
        if tmp.when >= t[p].get().when {
            break;
        }
        t[i].set(t[p].get());
        i = p;
    }
    t[i].set(tmp);
    i
}

/// Moves entry `i` down to where it belongs. Go's `siftdownTimer`.
pub(super) fn siftdown_timer(t: &[Cell<TimerWhen>], mut i: usize) {
    let tmp = entry_to_sift(t, i);
    loop {
        let children = 4 * i + 1..t.len().min(4 * i + 5);
        let Some(c) = children.min_by_key(|&c| t[c].get().when) else { break };
        if t[c].get().when >= tmp.when {
            break;
        }
        t[i].set(t[c].get());
        i = c;
    }
    t[i].set(tmp);
}

fn entry_to_sift(t: &[Cell<TimerWhen>], i: usize) -> TimerWhen {
    match t.get(i) {
        Some(entry) if entry.get().when > 0 => entry.get(),
        _ => bad_timer(),
    }
}
