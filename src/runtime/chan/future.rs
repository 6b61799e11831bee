//! Futures that wait at a channel. Go has no such thing: there, only goroutines wait.
//!
//! A future has no G. It stands in the same queues as goroutines, by a sudog whose `g` is null, and is served in its
//! turn: a value is moved to it, or taken from it, by who comes second. It isn't made ready then, but its waker is
//! called.
//!
//! - That sudog is the first field of a [`Waiting`], on the heap. The future has a share of it, and so has the queue;
//!   from there on who has taken it off.
//! - `outcome` is written with the channel's lock held, and read without. The waker is touched with the lock held, and
//!   is taken out when the outcome is written. No code of a waker's runs with the lock held.
//! - A value that was handed to a future which is dropped before it looks goes back ([`give_back`]): it is
//!   received before all others. Where there is no room in the buffer, a sudog that is nobody's has it, at the head of
//!   those who send; a channel that is closed keeps such ones.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::task::Waker;

use crate::runtime::arch::sanitizer::keep_waker;
use crate::runtime::base::this::whoami;
use crate::runtime::chan::buffer::{bufunrecv, swap_last};
use crate::runtime::chan::make::timer_of;
use crate::runtime::chan::ops::send;
use crate::runtime::data::atomic::{AtomicU32, Cell, Ordering};
use crate::runtime::data::hchan::{Hchan, Waitq};
use crate::runtime::data::runtime2::Sudog;
use crate::runtime::lock::{lock, lock_on, unlock, unlock_and_hold, unlock_on};
use crate::runtime::time::fire::locked;

/// It is in a queue.
const PENDING: u32 = 0;
/// A value was moved.
const DONE: u32 = 1;
/// The channel was closed.
const CLOSED: u32 = 2;

/// A future that waits, or what is left of it.
#[repr(C)]
pub(crate) struct Waiting {
    /// First: it is found by it.
    sudog: Sudog,
    /// Where its value is, or is to be.
    place: *mut c_void,
    outcome: AtomicU32,
    waker: Cell<Option<Waker>>,
    /// How many have a share: the future, the queue.
    shares: AtomicU32,
    /// What wakes it: calls the waker, whatever that does. It is called on any stack, and the caller may hold locks.
    wake: fn(Waker),
    /// Frees this.
    free: unsafe fn(NonNull<Waiting>),
}

impl Waiting {
    /// One that isn't in a queue. The caller has the share of the future.
    ///
    /// `free` is called when there is no share any more, on any thread.
    pub(crate) fn new(place: *mut c_void, wake: fn(Waker), free: unsafe fn(NonNull<Waiting>)) -> Self {
        Waiting {
            sudog: Sudog::default(),
            place,
            outcome: AtomicU32::new(PENDING),
            waker: Cell::new(None),
            shares: AtomicU32::new(1),
            wake,
            free,
        }
    }

    /// Where its value is, or is to be.
    pub(crate) fn place(&self) -> *mut c_void {
        self.place
    }

    /// Whether a value was moved, if its wait is over; false if the channel was closed.
    pub(crate) fn outcome(&self) -> Option<bool> {
        // Acquire pairs with end: the value is seen.
        match self.outcome.load(Ordering::Acquire) {
            PENDING => None,
            outcome => Some(outcome == DONE),
        }
    }
}

/// The sudog of a future, for a queue. Who gets that alone finds the whole by [`waiting`]: its provenance is exposed.
///
/// # Safety
/// It stays until it is in no queue.
unsafe fn sudog(w: NonNull<Waiting>) -> &'static Sudog {
    w.as_ptr().expose_provenance();
    // SAFETY: as the caller says.
    unsafe { &(*w.as_ptr()).sudog }
}

/// The future that a sudog without a G is the first field of.
fn waiting(sg: &'static Sudog) -> NonNull<Waiting> {
    let whole = ptr::with_exposed_provenance_mut(ptr::from_ref(sg).addr());
    // SAFETY: that of a reference isn't null.
    unsafe { NonNull::new_unchecked(whole) }
}

/// Gives up a share.
///
/// # Safety
/// The caller has one, and none after this.
pub(crate) unsafe fn release_future(w: NonNull<Waiting>) {
    // SAFETY: it stays as long as there is a share, and the caller has one. Release and acquire as in an Arc.
    unsafe {
        if w.as_ref().shares.fetch_sub(1, Ordering::AcqRel) == 1 {
            (w.as_ref().free)(w);
        }
    }
}

/// Puts a future into the queue of those who send, or receive, if it has to wait there, to be woken by `waker`. Else
/// returns that, and the caller tries again.
///
/// # Safety
/// The channel stays until this returns, and as long as `w` is in its queue. The caller has the future's share of `w`, which
/// is in no queue, and whose place is one for a value of the channel's; if it sends, there is one.
pub(crate) unsafe fn enqueue_future(
    c: NonNull<Hchan>,
    w: NonNull<Waiting>,
    sends: bool,
    waker: Waker,
) -> Option<Waker> {
    // SAFETY: both stay, as the caller says; `w` as long as it is in a queue, which has a share then.
    let (c, sudog, w) = unsafe { (c.as_ref(), sudog(w), w.as_ref()) };
    let (_, mp) = whoami();
    lock_on(mp, &c.lock);
    let room = c.dataqsiz - c.qcount.load(Ordering::Relaxed);
    let waits = !c.is_closed()
        && if sends {
            room == 0 && c.recvq.first.is_null()
        } else {
            room == c.dataqsiz && c.sendq.first.is_null()
        };
    let back;
    if waits {
        w.sudog.elem.store(w.place, Ordering::Relaxed);
        w.sudog.c.set(c);
        back = w.waker.replace(Some(waker));
        w.shares.fetch_add(1, Ordering::Relaxed);
        let queue = if sends { &c.sendq } else { &c.recvq };
        queue.enqueue(sudog);
    } else {
        back = Some(waker);
    }
    unlock_on(mp, &c.lock);
    back
}

/// Has `waker` called when the wait of `w` is over; or returns how it ended.
///
/// # Safety
/// The channel stays until this returns, and the caller has the future's share of `w`, which was in its queue.
pub(crate) unsafe fn poll_future(c: NonNull<Hchan>, w: NonNull<Waiting>, waker: &Waker) -> Option<bool> {
    // SAFETY: both stay, as the caller says.
    let (c, w) = unsafe { (c.as_ref(), w.as_ref()) };
    if let Some(moved) = w.outcome() {
        return Some(moved);
    }
    let mut waker = Some(keep_waker(waker));
    let (_, mp) = whoami();
    lock_on(mp, &c.lock);
    let outcome = w.outcome();
    if outcome.is_none() {
        waker = w.waker.replace(waker);
    }
    unlock_on(mp, &c.lock);
    // Its code may be anything: not with the lock held.
    drop(waker);
    outcome
}

/// Takes `w` off the queue, if it is still there, and returns its waker, which is to be dropped when all else is done; or
/// returns how its wait ended.
///
/// # Safety
/// As [`poll_future`].
pub(crate) unsafe fn leave_future(
    c: NonNull<Hchan>,
    w: NonNull<Waiting>,
    sends: bool,
) -> Result<bool, Option<Waker>> {
    // SAFETY: both stay, as the caller says.
    let (c, waiting) = unsafe { (c.as_ref(), w.as_ref()) };
    lock(&c.lock);
    let outcome = waiting.outcome();
    let mut waker = None;
    if outcome.is_none() {
        let queue = if sends { &c.sendq } else { &c.recvq };
        // SAFETY: it is in the queue, which has a share.
        queue.dequeue_sudo_g(unsafe { sudog(w) });
        waker = waiting.waker.take();
    }
    unlock(&c.lock);
    if outcome.is_none() {
        // SAFETY: that of the queue, from which it was taken.
        unsafe { release_future(w) };
    }
    outcome.ok_or(waker)
}

/// Gives a value back that was moved to a future, which doesn't want it any more: who receives next gets it.
///
/// # Safety
/// As [`poll_future`]. The outcome is that a value was received, and it is still in its place; it is gone when this returns,
/// and so is the caller's share.
pub(crate) unsafe fn give_back(c: NonNull<Hchan>, w: NonNull<Waiting>) {
    // SAFETY: as the caller says.
    let woken = unsafe {
        match timer_of(c) {
            None => give_back_unwoken(c, w),
            Some(t) => locked(t, || {
                let setting = t.seq.load(Ordering::Relaxed);
                if w.as_ref().sudog.acquiretime.get() != setting as i64 {
                    // The timer was stopped or reset since. A time needs no drop.
                    release_future(w);
                    return None;
                }
                let woken = give_back_unwoken(c, w);
                woken.iter().for_each(|woken| woken.note_setting(setting));
                woken
            }),
        }
    };
    if let Some(woken) = woken {
        wake_future(woken);
    }
}

/// [`give_back`] that returns the future that is to be woken.
///
/// # Safety
/// As [`give_back`].
unsafe fn give_back_unwoken(c: NonNull<Hchan>, w: NonNull<Waiting>) -> Option<Woken> {
    // SAFETY: both stay, as the caller says.
    let (c, waiting) = unsafe { (c.as_ref(), w.as_ref()) };
    let (_, mp) = whoami();
    lock_on(mp, &c.lock);
    // SAFETY: the place has a value, as the caller says, and the lock is held, which the closure releases. One that
    // receives waits only where the buffer is empty.
    unsafe {
        if let Some(sg) = c.recvq.dequeue() {
            let mut woken = None;
            send(mp, c, sg, waiting.place, || unlock_and_hold(mp, &c.lock), |future| woken = Some(future));
            release_future(w);
            return woken;
        }
        if c.qcount.load(Ordering::Relaxed) < c.dataqsiz {
            bufunrecv(c, waiting.place);
            unlock_on(mp, &c.lock);
            release_future(w);
            return None;
        }
        if c.dataqsiz != 0 {
            swap_last(c, waiting.place);
        }
    }
    waiting.outcome.store(PENDING, Ordering::Relaxed);
    waiting.sudog.elem.store(waiting.place, Ordering::Relaxed);
    // SAFETY: the share of the caller is the queue's now.
    c.sendq.enqueue_first(unsafe { sudog(w) });
    // Nobody polls it: it is nobody's.
    waiting.sudog.ticket.set(NOBODYS);
    unlock_on(mp, &c.lock);
    None
}

/// The ticket of a sudog that has a value which came back, and that is nobody's. Semaphores alone use tickets else.
const NOBODYS: u32 = 1;

/// Whether `sg` has a value that came back. The channel's lock is held.
pub(super) fn is_nobodys(sg: &Sudog) -> bool {
    sg.g.is_null() && sg.ticket.get() == NOBODYS
}

/// The wait of `sg`, which has no G and was taken off its queue, is over. The channel's lock is held; when it isn't any
/// more, [`wake_future`] is to be called with what this returns.
///
/// The waker is taken here, with the lock held: a value that came may go back before `wake_future` is called, and `sg` with it
/// into the other queue, from where it has another such caller.
pub(super) fn end(sg: &'static Sudog, moved: bool) -> Woken {
    let w = waiting(sg);
    // SAFETY: who has taken it off the queue has a share. The outcome is pending, and the lock held.
    unsafe {
        let waker = w.as_ref().waker.take();
        // Release pairs with outcome: the value is seen.
        w.as_ref().outcome.store(if moved { DONE } else { CLOSED }, Ordering::Release);
        Woken { w, waker }
    }
}

/// Who is to be woken, with the share of the queue that it was in.
#[must_use = "a future waits for it"]
pub(crate) struct Woken {
    w: NonNull<Waiting>,
    waker: Option<Waker>,
}

impl Woken {
    /// Notes with which setting of its timer the value came. With the timer's `send_lock` held.
    pub(super) fn note_setting(&self, setting: usize) {
        // SAFETY: there is a share.
        unsafe { self.w.as_ref().sudog.acquiretime.set(setting as i64) };
    }
}

/// Wakes the future after [`end`]. Where no lock is held.
#[cold]
#[inline(never)]
pub(crate) fn wake_future(Woken { w, waker }: Woken) {
    // SAFETY: as in end.
    unsafe {
        let wake = w.as_ref().wake;
        release_future(w);
        if let Some(waker) = waker {
            wake(waker);
        }
    }
}

/// The channel of `sg`, which has no G and was taken off its queue, is closed: as [`end`], for [`wake_all`].
pub(super) fn end_closed(sg: &'static Sudog) {
    let Woken { w, waker } = end(sg, false);
    // SAFETY: as in end. No value has come, so it stays out of the queues, and nobody else touches the waker.
    unsafe { w.as_ref().waker.set(waker) };
}

/// Wakes the futures of all sudogs of `list` after [`end_closed`].
pub(super) fn wake_all(list: &Waitq) {
    while let Some(sg) = list.dequeue() {
        let w = waiting(sg);
        // SAFETY: as in end_closed.
        let waker = unsafe { w.as_ref().waker.take() };
        wake_future(Woken { w, waker });
    }
}
