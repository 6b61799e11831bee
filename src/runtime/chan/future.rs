//! Futures that wait at a channel. In Go only goroutines wait.
//!
//! A future has no G. It waits in the same queues as goroutines, by a sudog whose `g` is null, and
//! is served in its turn. The goroutine or future that comes second moves a value to the waiting
//! future, or takes a value from it, and then calls the future's waker instead of making a
//! goroutine ready.
//!
//! - The sudog is the first field of a [`Waiting`], on the heap. The future has a share of the
//!   `Waiting`, and so has the queue. Code that takes the sudog off the queue gets the queue's
//!   share.
//! - `outcome` is written with the channel's lock held, and read without it. The waker is accessed
//!   with the lock held, and taken out when the outcome is written. No code of a waker runs with
//!   the lock held.
//! - If a future is dropped after a value was handed to it, but before it has looked, the value
//!   goes back ([`give_back`]) and is received before all others. If the buffer has no room, an
//!   ownerless sudog at the head of the send queue holds the value. Such a sudog stays in the queue
//!   when the channel is closed.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::task::Waker;

use crate::runtime::arch::tsan;
use crate::runtime::base::this::whoami;
use crate::runtime::chan::grow::make_room;
use crate::runtime::chan::make::timer_of;
use crate::runtime::chan::observe::{ready_any, take_any_observers};
use crate::runtime::chan::ops::{bufunrecv, send, swap_last};
use crate::runtime::data::atomic::{AtomicU32, Cell, Ordering};
use crate::runtime::data::hchan::{Hchan, Waitq};
use crate::runtime::data::runtime2::Sudog;
use crate::runtime::lock::{lock, lock_on, unlock, unlock_and_hold, unlock_on};
use crate::runtime::time::fire::locked;

/// The future is in a queue.
const PENDING: u32 = 0;
/// A value was moved.
const DONE: u32 = 1;
/// The channel was closed.
const CLOSED: u32 = 2;

/// A future that waits, or what is left of it.
#[repr(C)]
pub(crate) struct Waiting {
    /// The first field: [`waiting`] finds the `Waiting` by its address.
    sudog: Sudog,
    /// The place that holds the value, or that gets it.
    place: *mut c_void,
    outcome: AtomicU32,
    waker: Cell<Option<Waker>>,
    /// The number of shares: the future's and the queue's.
    shares: AtomicU32,
    /// Calls the waker, whose code is unknown. `wake` is called on any stack, and the caller may
    /// hold locks.
    wake: fn(Waker),
    /// Frees this.
    free: unsafe fn(NonNull<Waiting>),
}

impl Waiting {
    /// Makes a future that isn't in a queue. The caller has the future's share.
    ///
    /// `free` is called when the last share is given up, on any thread.
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

    /// The place that holds the value, or that gets it.
    pub(crate) fn place(&self) -> *mut c_void {
        self.place
    }

    /// Whether a value was moved, if its wait is over; false if the channel was closed.
    pub(crate) fn outcome(&self) -> Option<bool> {
        // Acquire pairs with the release in end: the value is seen.
        match self.outcome.load(Ordering::Acquire) {
            PENDING => None,
            outcome => Some(outcome == DONE),
        }
    }
}

/// Returns the sudog of a future, for a queue. Exposes the provenance of the `Waiting`, so that
/// [`waiting`] can find it by the sudog.
///
/// # Safety
/// The future stays as long as its sudog is in a queue.
unsafe fn sudog(w: NonNull<Waiting>) -> &'static Sudog {
    w.as_ptr().expose_provenance();
    // SAFETY: the caller says that the future stays as long as the sudog is in a queue.
    unsafe { &(*w.as_ptr()).sudog }
}

/// Returns the future whose first field is `sg`, a sudog without a G.
fn waiting(sg: &'static Sudog) -> NonNull<Waiting> {
    let whole = ptr::with_exposed_provenance_mut(ptr::from_ref(sg).addr());
    // SAFETY: the address of a reference isn't null.
    unsafe { NonNull::new_unchecked(whole) }
}

/// Gives up a share.
///
/// # Safety
/// The caller has a share, which this takes.
pub(crate) unsafe fn release_future(w: NonNull<Waiting>) {
    // SAFETY: the future stays as long as there is a share, and the caller has one. Release and
    // acquire as in an Arc.
    unsafe {
        if w.as_ref().shares.fetch_sub(1, Ordering::AcqRel) == 1 {
            (w.as_ref().free)(w);
        }
    }
}

/// Puts a future that has to wait into the send queue or the receive queue, to be woken by `waker`.
/// If the future needn't wait, returns `waker`, and the caller tries again.
///
/// # Safety
/// The channel stays until this returns, and as long as `w` is in its queue. The caller has the
/// future's share of `w`, which is in no queue. The place of `w` fits a value of the channel's
/// type. If the future sends, the place holds a value.
pub(crate) unsafe fn enqueue_future(
    c: NonNull<Hchan>,
    w: NonNull<Waiting>,
    sends: bool,
    waker: Waker,
) -> Option<Waker> {
    // SAFETY: both stay, as the caller says; the queue's share keeps `w` as long as it is in the
    // queue.
    let (c, sudog, w) = unsafe { (c.as_ref(), sudog(w), w.as_ref()) };
    let (_, mp) = whoami();
    lock_on(mp, &c.lock);
    let room = c.dataqsiz.get() - c.qcount.load(Ordering::Relaxed);
    let waits = !c.is_closed()
        && if sends {
            room == 0 && c.recvq.first.is_null()
        } else {
            room == c.dataqsiz.get() && c.sendq.first.is_null()
        };
    let back;
    let mut observers = None;
    if waits {
        w.sudog.elem.store(w.place, Ordering::Relaxed);
        w.sudog.c.set(c);
        back = w.waker.replace(Some(waker));
        w.shares.fetch_add(1, Ordering::Relaxed);
        let queue = if sends { &c.sendq } else { &c.recvq };
        queue.enqueue(sudog);
        observers = take_any_observers(c, !sends);
    } else {
        back = Some(waker);
    }
    unlock_on(mp, &c.lock);
    ready_any(observers);
    back
}

/// Makes `waker` the waker that is called when the wait of `w` is over. If the wait is over
/// already, returns how it ended.
///
/// # Safety
/// The channel stays until this returns, and the caller has the future's share of `w`, which was in
/// its queue.
pub(crate) unsafe fn poll_future(c: NonNull<Hchan>, w: NonNull<Waiting>, waker: &Waker) -> Option<bool> {
    // SAFETY: both stay, as the caller says.
    let (c, w) = unsafe { (c.as_ref(), w.as_ref()) };
    if let Some(moved) = w.outcome() {
        return Some(moved);
    }
    let mut waker = Some(tsan::clone_waker(waker));
    let (_, mp) = whoami();
    lock_on(mp, &c.lock);
    let outcome = w.outcome();
    if outcome.is_none() {
        waker = w.waker.replace(waker);
    }
    unlock_on(mp, &c.lock);
    // Dropping a waker may run any code, so the lock isn't held.
    drop(waker);
    outcome
}

/// Takes `w` off the queue and returns its waker, which the caller drops when all else is done. If
/// `w` isn't in the queue any more, returns how its wait ended.
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
        // SAFETY: this gives up the share of the queue from which `w` was taken.
        unsafe { release_future(w) };
    }
    outcome.ok_or(waker)
}

/// Gives back a value that was moved to a future which no longer wants it. The next receiver gets
/// the value.
///
/// # Safety
/// As [`poll_future`]. The future has received a value, which is still in its place. This takes the
/// value and the caller's share.
pub(crate) unsafe fn give_back(c: NonNull<Hchan>, w: NonNull<Waiting>) {
    // SAFETY: the caller keeps to the contract of give_back, which these functions share.
    let woken = unsafe {
        match timer_of(c) {
            None => give_back_unwoken(c, w),
            Some(t) => locked(t, || {
                let setting = t.seq.load(Ordering::Relaxed);
                if w.as_ref().sudog.acquiretime.get() != setting as i64 {
                    // The timer was stopped or reset since, so the value is stale. A time needs no
                    // drop.
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

/// [`give_back`] for a caller that wakes the returned future itself.
///
/// # Safety
/// As [`give_back`].
unsafe fn give_back_unwoken(c: NonNull<Hchan>, w: NonNull<Waiting>) -> Option<Woken> {
    // SAFETY: both stay, as the caller says.
    let (c, waiting) = unsafe { (c.as_ref(), w.as_ref()) };
    let (_, mut mp) = whoami();
    lock_on(mp, &c.lock);
    if c.grows() {
        (_, mp) = make_room(mp, c);
    }
    // SAFETY: the place has a value, as the caller says. The lock is held, and the closure releases
    // it. A receiver waits only while the buffer is empty.
    unsafe {
        if let Some(sg) = c.recvq.dequeue() {
            let mut woken = None;
            send(mp, c, sg, waiting.place, || unlock_and_hold(mp, &c.lock), |future| woken = Some(future));
            release_future(w);
            return woken;
        }
        if c.qcount.load(Ordering::Relaxed) < c.dataqsiz.get() {
            bufunrecv(c, waiting.place);
            let observers = take_any_observers(c, false);
            unlock_on(mp, &c.lock);
            ready_any(observers);
            release_future(w);
            return None;
        }
        if c.dataqsiz.get() != 0 {
            swap_last(c, waiting.place);
        }
    }
    waiting.outcome.store(PENDING, Ordering::Relaxed);
    waiting.sudog.elem.store(waiting.place, Ordering::Relaxed);
    // SAFETY: the caller's share becomes the queue's.
    c.sendq.enqueue_first(unsafe { sudog(w) });
    // The future is gone, so nobody polls this wait.
    waiting.sudog.ticket.set(NOBODYS);
    let observers = take_any_observers(c, false);
    unlock_on(mp, &c.lock);
    ready_any(observers);
    None
}

/// The ticket of an ownerless sudog, which holds a value that came back. Otherwise only semaphores
/// use tickets.
const NOBODYS: u32 = 1;

/// Whether `sg` holds a value that came back. The channel's lock is held.
pub(super) fn is_nobodys(sg: &Sudog) -> bool {
    sg.g.is_null() && sg.ticket.get() == NOBODYS
}

/// Ends the wait of `sg`, which has no G and was taken off its queue. The channel's lock is held.
/// After the unlock, the caller passes the result to [`wake_future`].
///
/// The waker is taken here, with the lock held. Before `wake_future` is called, a received value
/// may go back and put `sg` into the other queue, from which another caller of this function may
/// take `sg`.
pub(super) fn end_future_wait(sg: &'static Sudog, moved: bool) -> Woken {
    let w = waiting(sg);
    // SAFETY: the caller has taken `sg` off the queue, and so has its share. The outcome is
    // pending, and the lock is held.
    unsafe {
        let waker = w.as_ref().waker.take();
        // Release pairs with the acquire in outcome: the value is seen.
        w.as_ref().outcome.store(if moved { DONE } else { CLOSED }, Ordering::Release);
        Woken { w, waker }
    }
}

/// A future to wake, with the share of the queue that it was in.
#[must_use = "a future waits for it"]
pub(crate) struct Woken {
    w: NonNull<Waiting>,
    waker: Option<Waker>,
}

impl Woken {
    /// Notes the timer's setting with which the value came. The timer's `send_lock` is held.
    pub(super) fn note_setting(&self, setting: usize) {
        // SAFETY: there is a share.
        unsafe { self.w.as_ref().sudog.acquiretime.set(setting as i64) };
    }
}

/// Wakes the future after [`end_future_wait`]. No lock is held.
#[cold]
#[inline(never)]
pub(crate) fn wake_future(Woken { w, waker }: Woken) {
    // SAFETY: as in end_future_wait.
    unsafe {
        let wake = w.as_ref().wake;
        release_future(w);
        if let Some(waker) = waker {
            wake(waker);
        }
    }
}

/// [`end_future_wait`] for a closed channel: [`wake_all`] wakes the future later. `sg` has no G and
/// was taken off its queue.
pub(super) fn end_closed(sg: &'static Sudog) {
    let Woken { w, waker } = end_future_wait(sg, false);
    // SAFETY: as in end_future_wait. No value has come, so `sg` stays out of the queues, and nobody
    // else touches the waker.
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
