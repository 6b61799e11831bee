//! A P's timers: keeping their heap in order, and running the timers that are due. The bottom half
//! of Go's `time.go`; the room `time` starts and stops timers.
//!
//! - `timers_lock` protects the heap. A timer's state is changed by compare-and-swap, by anyone,
//!   without the lock: `timer.rs` has the states, and who may change which.
//! - Each node of the heap has four children. An entry contains the timer's time, as Go's does
//!   since 1.23, so sorting entries doesn't read the timers. A timer's `when` changes only together
//!   with its entry.
//! - Other threads only mark a timer. A thread with the lock takes a marked timer out if it is
//!   deleted, and puts it where it belongs if it is modified.
//! - A timer's `f` is called on g0 with a P, and with no lock held. From that moment on the timer
//!   belongs to its owner, which may set it anew, or be gone.
//! - The time of the next timer can be read without the lock (`nobarrierWakeTime`), also by an M
//!   without a P.

use std::alloc::{Layout, alloc, realloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::runtime::arch::getg;
use crate::runtime::arch::tsan;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::osyield;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::runtime2::{P, Slice};
use crate::runtime::data::timer::{
    TIMER_DELETED, TIMER_DROPPED, TIMER_MODIFIED_EARLIER, TIMER_MODIFIED_LATER, TIMER_MODIFYING,
    TIMER_MOVING, TIMER_NO_STATUS, TIMER_REMOVING, TIMER_RUNNING, TIMER_WAITING, Timer, TimerFn, TimerWhen,
};
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::netpoll::{netpoll_init_for_timers, netpollinited};
use crate::runtime::p::timer::{bad_timer, removed};

/// Returns when the next timer of `pp` may be due, or 0 if there is none. Needs no lock. Go's
/// `nobarrierWakeTime`.
#[inline(always)]
pub(in crate::runtime) fn nobarrier_wake_time(pp: &P) -> i64 {
    // SeqCst: see `P::timer0_when`.
    let next = pp.timer0_when.load(Ordering::SeqCst);
    let next_adj = pp.timer_modified_earliest.load(Ordering::SeqCst);
    if next == 0 || (next_adj != 0 && next_adj < next) { next_adj } else { next }
}

/// Runs the first timer of `pp` if it is due, and returns whether it was. The lock is held, and
/// released while the timer's function runs. Go's `runtimer`.
///
/// Go's returns when the next timer is due. That time would leave out a timer that is to be moved
/// to an earlier time; [`nobarrier_wake_time`] includes it.
pub(in crate::runtime) fn runtimer(pp: &'static P, now: i64) -> bool {
    match take_due(pp, now) {
        Some(taken) => {
            run_one_timer(pp, taken);
            true
        }
        None => false,
    }
}

/// Calls the function of a timer that was taken from `pp`. The lock is held, and released
/// meanwhile. The second half of Go's `runOneTimer`.
#[inline(always)]
fn run_one_timer(pp: &P, taken: Taken) {
    unlock(&pp.timers_lock);
    taken.run();
    lock(&pp.timers_lock);
}

/// The call that a timer's firing asks for. The timer belongs to its owner again: it may be reset,
/// or even have another owner.
pub(in crate::runtime) struct Taken {
    f: Option<TimerFn>,
    arg: *mut c_void,
    seq: usize,
}

impl Taken {
    /// Calls the timer's function. To be called on g0 with a P, with no lock held.
    pub(in crate::runtime) fn run(self) {
        if let Some(f) = self.f {
            // SAFETY: as a TimerFn demands: on g0 with a P, the heap's lock released, and with the
            // arguments that the timer's owner set for it, read while the timer was ours (RUNNING).
            tsan::observe_sync(|| unsafe { f(self.arg, self.seq) });
        }
    }
}

/// Takes the first timer of `pp` if it is due; the lock is held.
pub(in crate::runtime) fn take_due(pp: &'static P, now: i64) -> Option<Taken> {
    assert_lock_held(&pp.timers_lock);
    loop {
        let first = pp.timers.entries().first()?;
        let t = first.get().timer;
        check_p(pp, t);
        match t.status.load(Ordering::Acquire) {
            TIMER_WAITING => {
                if first.get().when > now {
                    return None;
                }
                if t.cas(TIMER_WAITING, TIMER_RUNNING) {
                    return Some(take_first(pp, t, now));
                }
            }
            s @ (TIMER_DELETED | TIMER_DROPPED) => take_out_first(pp, t, s),
            s @ (TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER) => move_first(pp, t, s),
            TIMER_MODIFYING => osyield(),
            _ => bad_timer(),
        }
    }
}

/// Takes `t`, the first timer of `pp`, in state [`TIMER_RUNNING`]; the lock is held. The first half
/// of Go's `runOneTimer`.
#[inline(always)]
fn take_first(pp: &'static P, t: &'static Timer, now: i64) -> Taken {
    let taken = Taken { f: t.f.get(), arg: t.arg.get(), seq: t.seq.load(Ordering::Relaxed) };
    let period = t.period.get();
    if period > 0 {
        // The timer stays in the heap, and is next due at the first multiple of its period in the
        // future.
        let late = now - t.when.get();
        let ahead = period.saturating_mul(1 + late / period);
        t.when.set(t.when.get().saturating_add(ahead));
        let timers = pp.timers.entries();
        timers[0].set(TimerWhen { timer: t, when: t.when.get() });
        siftdown_timer(timers, 0);
        t.settle(TIMER_RUNNING, TIMER_WAITING);
        update_timer0_when(pp);
    } else {
        dodeltimer0(pp);
        t.settle(TIMER_RUNNING, TIMER_NO_STATUS);
    }
    taken
}

/// Whether heaps are verified after they are put in order. Go's `verifyTimers`.
const VERIFY_TIMERS: bool = cfg!(debug_assertions);

/// Cleans up the head of the heap of `pp`, whose lock is held. Otherwise the stopped timers of a
/// program that starts and stops many would fill the heap. Go's `cleantimers`.
pub(in crate::runtime) fn cleantimers(pp: &'static P) {
    let gp = getg();
    while let Some(first) = pp.timers.entries().first() {
        // The loop may take a while, and an M that holds a lock isn't preempted.
        if gp.is_some_and(|gp| gp.preempt_stop.load(Ordering::Relaxed)) {
            return;
        }
        let t = first.get().timer;
        check_p(pp, t);
        match t.status.load(Ordering::Acquire) {
            s @ (TIMER_DELETED | TIMER_DROPPED) => {
                take_out_first(pp, t, s);
            }
            s @ (TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER) => {
                move_first(pp, t, s);
            }
            _ => return,
        }
    }
}

/// If a timer of `pp` was to be moved to a time that has come, puts all modified timers where they
/// belong, and takes the deleted ones out. The lock is held. Go's `adjusttimers`.
pub(in crate::runtime) fn adjusttimers(pp: &'static P, now: i64) {
    assert_lock_held(&pp.timers_lock);
    // Until that time, modified timers can stay where they are. So a program that resets timers
    // often, and seldom lets them fire, doesn't pay for each reset.
    // SeqCst: see `P::timer_modified_earliest`.
    let first = pp.timer_modified_earliest.load(Ordering::SeqCst);
    if first == 0 || first > now {
        if VERIFY_TIMERS {
            verify_timer_heap(pp);
        }
        return;
    }
    // Stored before the loop looks at the timers, since timers may be modified meanwhile. modtimer
    // claims the timer (MODIFYING), notes its time here, and only then gives it its new state. If
    // this store comes after the note, the loop sees MODIFYING or the new state; if it comes
    // before, the note stays. All of them are SeqCst.
    pp.timer_modified_earliest.store(0, Ordering::SeqCst);

    // Moved timers go back when all are out. Otherwise an entry might move to a place that the loop
    // has passed.
    let mut moved = Vec::new();
    let mut i = 0;
    while let Some(entry) = pp.timers.entries().get(i) {
        let t = entry.get().timer;
        check_p(pp, t);
        match t.status.load(Ordering::SeqCst) {
            TIMER_WAITING => i += 1,
            s @ (TIMER_DELETED | TIMER_DROPPED) => {
                if t.cas(s, TIMER_REMOVING) {
                    i = dodeltimer(pp, i);
                    removed(t, s);
                    // SeqCst: see `P::deleted_timers`.
                    pp.deleted_timers.fetch_sub(1, Ordering::SeqCst);
                }
            }
            s @ (TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER) => {
                if t.cas(s, TIMER_MOVING) {
                    t.when.set(t.nextwhen.get());
                    i = dodeltimer(pp, i);
                    moved.push(t);
                }
            }
            TIMER_MODIFYING => osyield(),
            _ => bad_timer(),
        }
    }
    add_adjusted_timers(pp, &moved);
    if VERIFY_TIMERS {
        verify_timer_heap(pp);
    }
}

/// Puts timers that are being moved back into the heap of `pp`, whose lock is held. Go's
/// `addAdjustedTimers`.
fn add_adjusted_timers(pp: &'static P, moved: &[&'static Timer]) {
    for t in moved {
        doaddtimer(pp, t);
        t.settle(TIMER_MOVING, TIMER_WAITING);
    }
}

/// Takes all deleted timers out of the heap of `pp`, whose lock is held. A program may start many
/// timers for a late time and stop them, and would fill the heap. Go's `clearDeletedTimers`.
pub(in crate::runtime) fn clear_deleted_timers(pp: &'static P) {
    assert_lock_held(&pp.timers_lock);
    // All modified timers are moved below. The store comes first and is SeqCst, for the reason
    // given in adjusttimers.
    pp.timer_modified_earliest.store(0, Ordering::SeqCst);
    let timers = pp.timers.entries();
    let mut cdel = 0;
    let mut to = 0;
    for entry in timers {
        let t = entry.get().timer;
        loop {
            // SeqCst: comes after the store above, see adjusttimers.
            match t.status.load(Ordering::SeqCst) {
                TIMER_WAITING => {
                    keep_timer(timers, &mut to, t);
                    break;
                }
                s @ (TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER) => {
                    if t.cas(s, TIMER_MOVING) {
                        t.when.set(t.nextwhen.get());
                        keep_timer(timers, &mut to, t);
                        t.settle(TIMER_MOVING, TIMER_WAITING);
                        break;
                    }
                }
                s @ (TIMER_DELETED | TIMER_DROPPED) => {
                    if t.cas(s, TIMER_REMOVING) {
                        t.pp.set(None);
                        cdel += 1;
                        removed(t, s);
                        break;
                    }
                }
                TIMER_MODIFYING => osyield(),
                _ => bad_timer(),
            }
        }
    }
    // SeqCst: see `P::num_timers` and `P::deleted_timers`.
    pp.deleted_timers.fetch_sub(cdel, Ordering::SeqCst);
    pp.num_timers.fetch_sub(cdel, Ordering::SeqCst);
    pp.timers.truncate(to);
    update_timer0_when(pp);
    if VERIFY_TIMERS {
        verify_timer_heap(pp);
    }
}

/// Adds `t` to the heap that the first `to` entries make up.
fn keep_timer(timers: &[Cell<TimerWhen>], to: &mut usize, t: &'static Timer) {
    timers[*to].set(TimerWhen { timer: t, when: t.when.get() });
    siftup_timer(&timers[..=*to], *to);
    *to += 1;
}

/// Takes out `t`, the first timer of `pp`, if it is still in state `s`, deleted or dropped.
fn take_out_first(pp: &'static P, t: &'static Timer, s: u32) {
    if t.cas(s, TIMER_REMOVING) {
        dodeltimer0(pp);
        removed(t, s);
        // SeqCst: see `P::deleted_timers`.
        pp.deleted_timers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Moves `t`, the first timer of `pp`, to where it belongs, if it is still in state `s`, one of the
/// modified ones.
fn move_first(pp: &'static P, t: &'static Timer, s: u32) {
    if t.cas(s, TIMER_MOVING) {
        t.when.set(t.nextwhen.get());
        dodeltimer0(pp);
        doaddtimer(pp, t);
        t.settle(TIMER_MOVING, TIMER_WAITING);
    }
}

/// Gives all timers of `from`, a P that is being destroyed, to `pp`. The world is stopped.
pub(in crate::runtime) fn hand_timers(pp: &'static P, from: &'static P) {
    if from.timers.len.get() == 0 {
        return;
    }
    // The only place where two of these locks are held: their order doesn't matter.
    lock(&pp.timers_lock);
    lock(&from.timers_lock);
    move_timers(pp, from);
    from.timers.truncate(0);
    // The world is stopped, and starting it orders these. SeqCst, as everywhere else.
    from.num_timers.store(0, Ordering::SeqCst);
    from.deleted_timers.store(0, Ordering::SeqCst);
    from.timer0_when.store(0, Ordering::SeqCst);
    from.timer_modified_earliest.store(0, Ordering::SeqCst);
    unlock(&from.timers_lock);
    unlock(&pp.timers_lock);
}

/// Moves all timers of `from` to `pp`. The world is stopped; both locks are held. Go's
/// `moveTimers`.
fn move_timers(pp: &'static P, from: &'static P) {
    for entry in from.timers.entries() {
        let t = entry.get().timer;
        loop {
            match t.status.load(Ordering::Acquire) {
                s @ (TIMER_WAITING | TIMER_MODIFIED_EARLIER | TIMER_MODIFIED_LATER) => {
                    if t.cas(s, TIMER_MOVING) {
                        if s != TIMER_WAITING {
                            t.when.set(t.nextwhen.get());
                        }
                        t.pp.set(None);
                        doaddtimer(pp, t);
                        t.settle(TIMER_MOVING, TIMER_WAITING);
                        break;
                    }
                }
                s @ (TIMER_DELETED | TIMER_DROPPED) => {
                    if t.cas(s, TIMER_REMOVING) {
                        t.pp.set(None);
                        removed(t, s);
                        break;
                    }
                }
                TIMER_MODIFYING => osyield(),
                _ => bad_timer(),
            }
        }
    }
}

/// Takes all timers out of the heap of `pp`, whose lock is held. Their owners are gone, and won't
/// touch them.
pub(in crate::runtime) fn drop_timers(pp: &'static P) {
    while let Some(first) = pp.timers.entries().first() {
        let t = first.get().timer;
        let s = t.status.load(Ordering::Acquire);
        if matches!(s, TIMER_DELETED | TIMER_DROPPED) {
            take_out_first(pp, t, s);
        } else if t.cas(s, TIMER_REMOVING) {
            dodeltimer0(pp);
            removed(t, s);
        }
    }
    // SeqCst: see `P::timer_modified_earliest`.
    pp.timer_modified_earliest.store(0, Ordering::SeqCst);
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
        // This SeqCst store pairs with an M that goes to sleep: see wake_net_poller.
        pp.timer0_when.store(t.when.get(), Ordering::SeqCst);
    }
    // SeqCst: see `P::num_timers`.
    pp.num_timers.fetch_add(1, Ordering::SeqCst);
}

/// Removes entry `i` from the heap of `pp`, whose lock is held; returns the lowest index whose
/// entry has changed. Go's `dodeltimer`.
fn dodeltimer(pp: &'static P, i: usize) -> usize {
    assert_lock_held(&pp.timers_lock);
    let timers = pp.timers.entries();
    leave_heap(pp, timers[i].get().timer);
    let last = timers.len() - 1;
    timers[i].set(timers[last].get());
    let timers = &timers[..last];
    pp.timers.truncate(last);
    let mut smallest_changed = i;
    if i != last {
        // The last entry took the place, and may be earlier than its new parent.
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
fn dodeltimer0(pp: &'static P) {
    assert_lock_held(&pp.timers_lock);
    let timers = pp.timers.entries();
    leave_heap(pp, timers[0].get().timer);
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
fn leave_heap(pp: &P, t: &Timer) {
    check_p(pp, t);
    t.pp.set(None);
}

/// Throws unless `t` is one of the timers of `pp`.
#[inline(always)]
fn check_p(pp: &P, t: &Timer) {
    if !t.pp.get().is_some_and(|tpp| std::ptr::eq(tpp, pp)) {
        throw("timer of another P in the heap");
    }
}

fn one_less(pp: &P) {
    // SeqCst: see `P::num_timers`.
    if pp.num_timers.fetch_sub(1, Ordering::SeqCst) == 1 {
        // An empty heap has no modified timer. SeqCst: see `P::timer_modified_earliest`.
        pp.timer_modified_earliest.store(0, Ordering::SeqCst);
    }
}

/// Notes when the first timer of `pp` fires; the lock is held. Go's `updateTimer0When`.
fn update_timer0_when(pp: &P) {
    let first = pp.timers.entries().first().map_or(0, |first| first.get().when);
    // SeqCst: see `P::timer0_when`.
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

/// Moves entry `i` up to where it belongs, and returns its new index. Go's `siftupTimer`.
fn siftup_timer(t: &[Cell<TimerWhen>], mut i: usize) -> usize {
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
fn siftdown_timer(t: &[Cell<TimerWhen>], mut i: usize) {
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
    fn truncate(&self, len: usize) {
        self.len.set(len);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::runtime::base::rand::cheaprandn;
    use crate::runtime::base::testing::{dies, zeroed};
    use crate::runtime::data::timer::TIMER_NO_STATUS;
    use crate::runtime::p::timer::{acquire_timer, release_timer};

    /// A timer in the heap of `pp`.
    fn timer_at(pp: &'static P, when: i64) -> &'static Timer {
        let t = zeroed::<Timer>();
        t.when.set(when);
        t.status.store(TIMER_WAITING, Ordering::Relaxed);
        doaddtimer(pp, t);
        t
    }

    /// Does what another P would do to a timer of `pp`: deletes it, or sets it to another time.
    fn leave_word(pp: &P, t: &Timer, word: u32, when: i64) {
        t.nextwhen.set(when);
        t.status.store(word, Ordering::Relaxed);
        match word {
            TIMER_DELETED => _ = pp.deleted_timers.fetch_add(1, Ordering::Relaxed),
            TIMER_MODIFIED_EARLIER => {
                let first = pp.timer_modified_earliest.load(Ordering::Relaxed);
                let earliest = if first == 0 { when } else { first.min(when) };
                pp.timer_modified_earliest.store(earliest, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    fn random_time() -> i64 {
        1 + i64::from(cheaprandn(1_000))
    }

    /// Fills the heap with random timers, and deletes and modifies random ones; returns the times
    /// of the timers that are left.
    fn fill(pp: &'static P) -> Vec<i64> {
        let timers: Vec<_> = (0..cheaprandn(100)).map(|_| timer_at(pp, random_time())).collect();
        let left = timers.iter().filter_map(|t| {
            let (was, when) = (t.when.get(), random_time());
            match cheaprandn(3) {
                0 => return Some(was),
                1 => {
                    leave_word(pp, t, TIMER_DELETED, 0);
                    return None;
                }
                _ if when < was => leave_word(pp, t, TIMER_MODIFIED_EARLIER, when),
                _ => leave_word(pp, t, TIMER_MODIFIED_LATER, when),
            }
            Some(when)
        });
        left.collect()
    }

    /// Runs all timers of `pp`, one after the other; returns when each was due.
    fn drain(pp: &'static P) -> Vec<i64> {
        let mut times = Vec::new();
        let mut now = 0;
        lock(&pp.timers_lock);
        loop {
            adjusttimers(pp, now);
            if runtimer(pp, now) {
                times.push(now);
                continue;
            }
            now = nobarrier_wake_time(pp);
            if now == 0 {
                break;
            }
        }
        unlock(&pp.timers_lock);
        times
    }

    #[test]
    fn timers_run_in_order_whatever_was_done_to_them() {
        for round in 0..500 {
            let (pp, heir) = (zeroed::<P>(), zeroed::<P>());
            let mut expected = fill(pp);
            let mut from = pp;
            match round % 4 {
                0 => clear_deleted_timers(pp),
                1 => cleantimers(pp),
                2 => {
                    expected.extend(fill(heir));
                    hand_timers(heir, pp);
                    assert_eq!((pp.timers.len.get(), nobarrier_wake_time(pp)), (0, 0));
                    from = heir;
                }
                _ => adjusttimers(pp, random_time()),
            }
            verify_timer_heap(from);
            expected.sort_unstable();
            assert_eq!(drain(from), expected);
            let counts = [&from.num_timers, &from.deleted_timers].map(|n| n.load(Ordering::Relaxed));
            assert_eq!((counts, nobarrier_wake_time(from)), ([0, 0], 0));
        }
    }

    #[test]
    fn a_dropped_timer_goes_back_to_the_pool() {
        let pp = zeroed::<P>();
        let acquired = |i: i64| {
            let t = acquire_timer();
            t.when.set(1 + i);
            t.status.store(TIMER_WAITING, Ordering::Relaxed);
            doaddtimer(pp, t);
            t
        };
        let timers: Vec<_> = (0..10).map(acquired).collect();
        for t in &timers {
            leave_word(pp, t, TIMER_DELETED, 0);
            release_timer(t);
            assert_eq!(t.status.load(Ordering::Relaxed), TIMER_DROPPED);
        }
        clear_deleted_timers(pp);
        // The pool hands out first the timer that came back last.
        let again: Vec<_> = timers.iter().map(|_| acquire_timer()).collect();
        assert!(again.iter().zip(timers.iter().rev()).all(|(again, t)| std::ptr::eq(*again, *t)));
        assert!(again.iter().all(|t| t.status.load(Ordering::Relaxed) == TIMER_NO_STATUS));
    }

    #[test]
    fn a_heap_out_of_order_is_noticed() {
        let report = dies(|| {
            let pp = zeroed::<P>();
            (1..=6).for_each(|when| _ = timer_at(pp, when));
            let entries = pp.timers.entries();
            entries[5].swap(&entries[1]);
            verify_timer_heap(pp);
        });
        assert!(report.starts_with("bad timer heap at 5: 1: 6, 5: 2\n"), "{report}");
        assert!(report.contains("fatal error: bad timer heap\n"), "{report}");
    }
}
