//! The end of a goroutine, the wait for that, and when its G may be used again: Go's `goexit1`,
//! `goexit0` and `gdestroy`. In Go no goroutine can be joined.
//!
//! A goroutine that may have a handle announces its end on its own stack ([`finish_goroutine`]).
//! Then it leaves for g0, which frees the G's resources ([`gdestroy`]), and the G itself if no
//! handle holds it.
//!
//! A G that has a handle isn't free when it ends, because its result is in its home page. It is
//! free when it has left its stack *and* the handle is gone. `ext.joiner` holds the state:
//!
//! ```text
//!     null ---------+--> ENDED ---------> EXITED --(handle dropped)--> free
//!      |  |         |      |
//!      |  +-> a G --+      +--(handle dropped)---> NO_HANDLE --+
//!      |     waits                                             |
//!      +---(handle dropped)---> NO_HANDLE ----------------- (off its stack) --> free
//! ```
//!
//! A raw goroutine has no handle and starts as NO_HANDLE.
//!
//! A goroutine with thread-locals of its own puts its result into the slot before it ends, while it
//! still has the thread-locals: a result that is never taken may use them when it is dropped. The
//! bit RETURNED, beside null or beside the G that waits, says that the result is there. From then
//! on, dropping the handle drops the result.
//!
//! A future leaves a waker in place of a G, with the bit FUTURE. The thread that takes the waker
//! out of the word owns the waker.
//!
//! When the limit of a wait comes, the G is taken out again. If the G isn't there yet, the bit LATE
//! is left, and the G doesn't park.
//!
//! The [`Slot`] holds the closure until the goroutine begins, and the result when it has ended.
//! Values are passed by address: without optimisation, each function that passed a value on would
//! have a copy on its stack.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;
use std::task::Waker;

use crate::runtime::arch::sanitizer::goroutine_ended;
use crate::runtime::arch::{gogo, mcall};
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{acquirem, getm, goroutine, releasem};
use crate::runtime::data::ext::{LeaveWait, SLOT_SIZE, Slot};
use crate::runtime::data::runtime2::{G, GDEAD, GRUNNING, M, TraceBlockReason, WaitReason, sched};
use crate::runtime::embed::hooks::hooks;
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::aborted::is_aborted;
use crate::runtime::g::extent::can_be_aborted;
use crate::runtime::g::gfree::{count_held, gfput};
use crate::runtime::g::proflabel::drop_labels;
use crate::runtime::g::status::casgstatus;
use crate::runtime::g::values::{drop_locals, forget_values, has_locals};
#[cfg(pthreads)]
use crate::runtime::m::sigmask;
use crate::runtime::mem::home::home_stack;
use crate::runtime::p::free_lists::purge_as_asked;
use crate::runtime::p::timer::release_timer;
use crate::runtime::prof::contention::Wait;
use crate::runtime::sched::claim::{Source, claim, run_claimed};
use crate::runtime::sched::park::{Leave, gopark_on};
use crate::runtime::sched::ready::goready;
use crate::runtime::sched::schedule::{dropg, schedule};

/// A bit beside a G or null. The G's function has returned, and its result is in the slot, but the
/// destructors of its thread-locals have yet to run.
const RETURNED: usize = 4;
/// A bit beside null: the waiter's time limit has passed before it waited, so it doesn't wait. The
/// bit is never beside the waiter's G.
const LATE: usize = 8;
/// A bit beside the address of an [`EndWaker`], which stands in place of a G.
const FUTURE: usize = 16;
/// The bits beside a G or null.
const BITS: usize = RETURNED | LATE;
/// The G has ended, and its result is in the slot.
const ENDED: *mut G = ptr::without_provenance_mut(1);
/// The G has ended, its result is in the slot, and it has left its stack.
const EXITED: *mut G = ptr::without_provenance_mut(2);
/// The G has no handle.
const NO_HANDLE: *mut G = ptr::without_provenance_mut(3);

/// A waiter for the end that isn't a goroutine but a future. Aligned so that the bits are free.
#[repr(align(32))]
pub(crate) struct EndWaker {
    pub(crate) waker: Waker,
    /// Wakes `waker`. It is called on the goroutine that ends, after the destructors of its
    /// thread-locals.
    pub(crate) wake: fn(Waker),
}

/// Notes that a new G gets no handle.
#[inline]
pub(super) fn init_without_handle(gp: &G) {
    gp.ext.joiner.store(NO_HANDLE, Ordering::Relaxed);
}

/// Notes that a new G gets a handle.
#[inline]
pub(crate) fn init_with_handle(gp: &G) {
    gp.ext.joiner.store(ptr::null_mut(), Ordering::Relaxed);
}

/// Whether the G has no handle, or its handle was dropped: nothing will ask for the result.
#[inline]
pub(crate) fn has_no_handle(gp: &G) -> bool {
    // Acquire pairs with drop_handle.
    gp.ext.joiner.load(Ordering::Acquire) == NO_HANDLE
}

/// Whether the G's function has returned, and its result is in the slot.
pub(in crate::runtime) fn returned(gp: &G) -> bool {
    ended(gp) || gp.ext.joiner.load(Ordering::Acquire).addr() & RETURNED != 0
}

/// Whether the goroutine has ended.
#[inline]
pub(crate) fn ended(gp: &G) -> bool {
    // Acquire pairs with announce_end: the result is there.
    is_end(gp.ext.joiner.load(Ordering::Acquire))
}

/// Whether a G's word says that it has ended.
#[inline]
fn is_end(joiner: *mut G) -> bool {
    joiner == ENDED || joiner == EXITED
}

/// Ends the goroutine, whose result is in its slot: drops its locals, and wakes the G that waits
/// for the end. If the handle is gone, calls `discard` for the result, before the thread-locals
/// end, and returns the result of `discard`.
#[inline]
pub(crate) fn finish_goroutine(gp: &G, discard: impl FnOnce() -> bool) -> bool {
    let has_locals = has_locals(gp);
    let announced = if has_locals { announce_return(gp) } else { announce_end(gp) };
    let panicked = !announced && discard();
    if has_locals || !announced {
        // Also for a goroutine that had no locals: `discard` may have made some.
        drop_locals(gp);
    }
    if has_locals && announced {
        announce_end(gp);
    }
    panicked
}

/// Announces that the result is in its slot, and that the thread-locals are still there. Returns
/// false if the handle is gone, and the result still belongs to the caller.
fn announce_return(gp: &G) -> bool {
    let returned = |joiner: *mut G| (joiner != NO_HANDLE).then(|| joiner.map_addr(|addr| addr | RETURNED));
    // Release pairs with drop_handle and returned: the result is there. Acquire pairs with
    // drop_handle.
    gp.ext.joiner.fetch_update(Ordering::AcqRel, Ordering::Acquire, returned).is_ok()
}

/// Announces that the result is in its slot, and that no code of the goroutine runs any more.
/// Returns false if the handle is gone. The result still belongs to the caller then, unless the
/// caller has announced the return.
fn announce_end(gp: &G) -> bool {
    // Release pairs with ended: the result is there. Acquire pairs with drop_handle and joincommit.
    let joiner = gp.ext.joiner.swap(ENDED, Ordering::AcqRel);
    if joiner == NO_HANDLE {
        gp.ext.joiner.store(NO_HANDLE, Ordering::Relaxed);
        return false;
    }
    if let Some(waker) = end_waker(joiner) {
        (waker.wake)(waker.waker);
        return true;
    }
    // SAFETY: ENDED and EXITED are only set by this function and after it, and `joiner` isn't
    // NO_HANDLE. So, without the bits, `joiner` is null or a G that waits. G's are never freed.
    if let Some(joiner) = unsafe { who(joiner).as_ref() } {
        goready(joiner);
    }
    true
}

/// [`proc::goexit`](crate::proc::goexit). Go's `goexit1`.
///
/// # Safety
/// As the raw one, on any goroutine.
pub(crate) unsafe fn goexit1() -> ! {
    // SAFETY: on a goroutine, as the caller says; goexit0 makes it dead.
    unsafe { mcall(gosched_goexit0) }
    throw("goexit1: a dead goroutine runs")
}

/// Returns the function that mcall is to call at the end of a goroutine with thread-locals of its
/// own, which has just run their destructors. Assembly calls this.
#[unsafe(no_mangle)]
extern "C" fn gosched_claim_at_end() -> Leave {
    let (gp, mp) = goroutine();
    // A goroutine with labels claims nothing, because labels are dropped on g0.
    if gp.labels.get().is_null() && claim(gp, mp, Source::Local) { goexit0_claimed } else { gosched_goexit0 }
}

/// [`gosched_goexit0`] with a claim. A goroutine that is locked to a thread has none, because the
/// thread ends with it.
unsafe extern "C" fn goexit0_claimed(gp: *mut G) -> ! {
    let mp = getm();
    // SAFETY: mcall passes the G that was running; G's are never freed.
    gdestroy(mp, unsafe { &*gp });
    // SAFETY: on g0, where mcall calls this, with the P kept; gdestroy has dropped the goroutine.
    unsafe { run_claimed(mp) }
}

/// Ends a goroutine, on g0. Assembly jumps here when a goroutine's function has returned. Go's
/// `goexit0`.
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_goexit0(gp: *mut G) -> ! {
    let mp = getm();
    // SAFETY: mcall, or the assembly that ends a goroutine, passes the G that was running; G's are
    // never freed.
    if gdestroy(mp, unsafe { &*gp }) {
        end_thread(mp)
    }
    // SAFETY: on g0, where assembly calls this, with the P kept; gdestroy has dropped the
    // goroutine.
    unsafe { schedule(mp) }
}

/// Goes back to mstart, which ends the thread. Called on g0, whose frames aren't needed any more.
#[cold]
pub(super) fn end_thread(mp: &M) -> ! {
    // SAFETY: on g0, whose `sched` mstart has filled with the place where it goes on, for this one
    // return.
    unsafe { gogo(&mp.ext.g0.sched, 0) }
}

/// Frees the resources of a G that has ended, and the G itself unless a handle holds it. Returns
/// whether the G was locked to this thread. Then the thread must end, because the goroutine may
/// have changed it in ways that others don't expect. Go's `gdestroy`.
#[inline(always)]
pub(super) fn gdestroy(mp: &'static M, gp: &'static G) -> bool {
    trace(|| Event::GoEnd(gp));
    casgstatus(gp, GRUNNING, GDEAD);
    let locked = !gp.lockedm.is_null();
    gp.lockedm.set(None);
    mp.lockedg.set(None);
    gp.preempt_stop.store(false, Ordering::Relaxed);
    if gp.ext.system.take() {
        sched().ngsys.fetch_sub(1, Ordering::Relaxed);
    }
    gp.paniconfault.set(false);
    if let Some(gdestroy) = hooks().gdestroy {
        gdestroy(gp);
    }
    #[cfg(pthreads)]
    if gp.ext.as_thread.get() != 0 {
        sigmask::end(gp);
    }
    gp._defer.set(ptr::null_mut());
    gp._panic.set(ptr::null_mut());
    gp.waitreason.set(WaitReason::Zero);
    gp.param.store(ptr::null_mut(), Ordering::Relaxed);
    drop_labels(gp);
    forget_values(gp);
    if let Some(t) = gp.timer.get() {
        gp.timer.set(None);
        release_timer(t);
    }
    dropg(mp, gp);
    goroutine_ended(gp, home_stack);
    if mp.locked_int.get() != 0 {
        throw("internal lockOSThread error");
    }
    exited(mp, gp);
    locked
}

/// Frees the G, which has left its stack, unless its handle will.
#[inline(always)]
fn exited(mp: &'static M, gp: &'static G) {
    let pp = mp.p();
    // Release pairs with free_if_exited: the thread that drops the handle and finds EXITED may
    // reuse the G.
    if has_no_handle(gp)
        || gp.ext.joiner.compare_exchange(ENDED, EXITED, Ordering::AcqRel, Ordering::Acquire).is_err()
    {
        if gfput(pp, gp) {
            purge_as_asked(pp);
        }
    } else {
        count_held(pp, 1);
    }
}

/// Drops the handle. If the goroutine's function has returned, calls `take` to move or drop its
/// result.
#[inline]
pub(crate) fn drop_handle(gp: &'static G, take: impl FnOnce()) {
    // Release pairs with has_no_handle and announce_end: all uses of the handle come before the G's
    // reuse. Acquire pairs with announce_return, if the function has returned: the result is there.
    if ended(gp)
        || gp
            .ext
            .joiner
            .compare_exchange(ptr::null_mut(), NO_HANDLE, Ordering::AcqRel, Ordering::Acquire)
            .is_err()
    {
        take();
        free_if_exited(gp);
    }
}

/// Frees the G of a goroutine that has returned and whose handle is gone, unless the G has yet to
/// leave its stack.
fn free_if_exited(gp: &'static G) {
    // Acquire pairs with exited: the G has left its stack.
    if gp.ext.joiner.swap(NO_HANDLE, Ordering::AcqRel) == EXITED {
        let mp = acquirem();
        let pp = mp.and_then(|mp| mp.p());
        count_held(pp, -1);
        if gfput(pp, gp) {
            purge_as_asked(pp);
        }
        releasem(mp);
    }
}

/// Parks until `gp` has ended. The caller has its handle, and is on a goroutine. Returns false if
/// an abort of the caller has ended the wait.
pub(in crate::runtime) fn wait_for_end(gp: &'static G) -> bool {
    let mut leave: Option<LeaveWait> = Some(leave_join);
    let wait = Wait::begin();
    while !ended(gp) {
        let (me, mp) = goroutine();
        me.ext.joins.set(Some(gp));
        me.ext.leave.set(leave);
        park_for_end(me, mp, gp);
        if is_aborted(me) {
            if can_be_aborted(me) {
                break;
            }
            // An abort ends nothing here, so it mustn't try again.
            leave = None;
        }
    }
    wait.end_now();
    ended(gp)
}

/// Parks `me`, the goroutine of `mp`, unless `gp` has ended.
#[inline(always)]
fn park_for_end(me: &'static G, mp: &'static M, gp: &'static G) {
    let target = gp.as_ptr().cast();
    // SAFETY: on a goroutine, as the caller says, and at a point that can park. joincommit touches
    // neither stack; if it returns false, it hasn't left this G where it would be made ready.
    unsafe { gopark_on(me, mp, Some(joincommit), target, WaitReason::Semacquire, TraceBlockReason::Sync, 2) }
}

/// Takes `me` out of the word where the end of another would find it: a [`LeaveWait`].
fn leave_join(me: &'static G) -> bool {
    let leave = |joiner: *mut G| {
        (!is_end(joiner) && ptr::eq(who(joiner), me))
            .then(|| ptr::without_provenance_mut(joiner.addr() & BITS))
    };
    // SeqCst: see `sched/abort.rs`.
    let target = me.ext.joins.get();
    target.is_some_and(|target| {
        target.ext.joiner.fetch_update(Ordering::SeqCst, Ordering::SeqCst, leave).is_ok()
    })
}

/// [`wait_for_end`] with a limit. Also returns if `gave_up` is true: after [`take_out`] has ended
/// the wait, or before the wait begins.
pub(in crate::runtime) fn wait_for_end_unless(gp: &'static G, gave_up: impl Fn() -> bool) {
    let mut wait = None;
    while !ended(gp) && !gave_up() {
        wait.get_or_insert_with(Wait::begin);
        let (me, mp) = goroutine();
        // An abort ends this by `gave_up`, or not at all.
        me.ext.leave.set(None);
        park_for_end(me, mp, gp);
    }
    if let Some(wait) = wait {
        wait.end_now();
    }
}

/// Returns the waker in a word that was just replaced, if there is one.
fn end_waker(joiner: *mut G) -> Option<Box<EndWaker>> {
    let waker = joiner.map_addr(|addr| addr & !(BITS | FUTURE)).cast();
    // SAFETY: set_end_waker has put the box there with the bit, and the taker owns it.
    (joiner.addr() & FUTURE != 0).then(|| unsafe { Box::from_raw(waker) })
}

/// Lets the end of `gp` wake a future. Returns false if `gp` has ended. The caller has the handle,
/// and has set no other waker.
pub(crate) fn set_end_waker(gp: &G, waker: EndWaker) -> bool {
    let waker = Box::into_raw(Box::new(waker)).cast::<G>();
    let set = |joiner: *mut G| {
        (!is_end(joiner)).then(|| waker.map_addr(|addr| addr | FUTURE | (joiner.addr() & BITS)))
    };
    // Release pairs with announce_end: the waker is there.
    let is_set = gp.ext.joiner.fetch_update(Ordering::AcqRel, Ordering::Acquire, set).is_ok();
    if !is_set {
        drop(end_waker(waker.map_addr(|addr| addr | FUTURE)));
    }
    is_set
}

/// Takes back the waker of [`set_end_waker`], if the goroutine hasn't ended.
pub(crate) fn take_end_waker(gp: &G) -> Option<Box<EndWaker>> {
    let take = |joiner: *mut G| {
        (!is_end(joiner) && joiner.addr() & FUTURE != 0)
            .then(|| ptr::without_provenance_mut(joiner.addr() & BITS))
    };
    end_waker(gp.ext.joiner.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).ok()?)
}

/// Takes `me`, whose wait has reached its limit, out of the word where the end of `target` would
/// find it. If `me` isn't there yet, keeps it from parking, until [`on_time`]. Returns whether `me`
/// was there: then the caller wakes it.
pub(in crate::runtime) fn take_out(target: &G, me: &G) -> bool {
    let late = |joiner: *mut G| {
        if is_end(joiner) {
            return None;
        }
        let bits = joiner.addr() & BITS;
        Some(if ptr::eq(who(joiner), me) {
            ptr::without_provenance_mut(bits)
        } else {
            joiner.map_addr(|addr| addr | LATE)
        })
    };
    // Acquire pairs with joincommit: the G is seen as parked. Release, so that a thread that finds
    // the bit sees the caller's flag.
    let before = target.ext.joiner.fetch_update(Ordering::AcqRel, Ordering::Acquire, late);
    before.is_ok_and(|joiner| ptr::eq(who(joiner), me))
}

/// Ends a wait with a limit, so that the next wait isn't late. The caller has the handle of
/// `target`.
pub(in crate::runtime) fn on_time(target: &G) {
    let on_time = |joiner: *mut G| {
        (!is_end(joiner) && joiner.addr() & LATE != 0).then(|| joiner.map_addr(|addr| addr & !LATE))
    };
    let _ = target.ext.joiner.fetch_update(Ordering::AcqRel, Ordering::Acquire, on_time);
}

/// Returns the G that waits, without the bits.
fn who(joiner: *mut G) -> *mut G {
    joiner.map_addr(|addr| addr & !BITS)
}

/// Leaves the parked G where the end of `target` will find it. Returns false if `target` has ended,
/// or the limit of the wait has come.
unsafe extern "C" fn joincommit(gp: *mut G, target: *mut c_void) -> bool {
    // SAFETY: gopark passes what wait_for_end gave it, a G, and G's are never freed.
    let target = unsafe { &*target.cast::<G>() };
    // Release pairs with announce_end, which makes the G ready: the G is seen as parked. SeqCst:
    // see `sched/abort.rs`.
    let waits = |joiner: *mut G| {
        let free = joiner.is_null() || joiner.addr() == RETURNED;
        free.then(|| gp.map_addr(|addr| addr | joiner.addr()))
    };
    target.ext.joiner.fetch_update(Ordering::SeqCst, Ordering::Acquire, waits).is_ok()
}

impl Slot {
    /// Whether a `V` fits into the slot; if not, it goes into a box.
    const fn fits<V>() -> bool {
        size_of::<V>() <= SLOT_SIZE && align_of::<V>() <= align_of::<Slot>()
    }

    /// Returns the slot's address. The caller knows that nobody else uses the slot: a goroutine
    /// that C has made has nothing in it.
    pub(crate) fn for_port(&self) -> *mut c_void {
        self.0.get().cast()
    }

    /// Makes a place for a value, and returns it.
    ///
    /// # Safety
    /// The slot is the caller's alone, and empty.
    #[inline(always)]
    pub(crate) unsafe fn place<V>(&self) -> *mut V {
        if !Self::fits::<V>() {
            // SAFETY: the slot is the caller's alone, and large enough for an address.
            unsafe { self.0.get().cast::<*mut V>().write(Box::into_raw(Box::<V>::new_uninit()).cast()) }
        }
        // SAFETY: there is a place.
        unsafe { self.value() }
    }

    /// Returns where the value is.
    ///
    /// # Safety
    /// The slot is the caller's alone, and has a [`place`](Self::place) for a `V`.
    #[inline(always)]
    pub(crate) unsafe fn value<V>(&self) -> *mut V {
        let slot = self.0.get().cast::<V>();
        // SAFETY: by the same rule as in `place`, which has left the box's address there.
        if Self::fits::<V>() { slot } else { unsafe { slot.cast::<*mut V>().read() } }
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// As [`value`](Self::value). The value is there, and nobody uses it any more.
    #[inline]
    pub(crate) unsafe fn take<V>(&self) -> V {
        // SAFETY: the value is there, and isn't used again.
        unsafe {
            let value = self.value::<V>().read();
            self.clear::<V>();
            value
        }
    }

    /// Empties the slot, whose value has been moved out or dropped.
    ///
    /// # Safety
    /// As [`value`](Self::value), and nobody uses the value any more.
    #[inline(always)]
    pub(crate) unsafe fn clear<V>(&self) {
        if !Self::fits::<V>() {
            // SAFETY: the box of `place`, whose value isn't to be dropped.
            drop(unsafe { Box::from_raw(self.value::<V>().cast::<std::mem::MaybeUninit<V>>()) });
        }
    }
}
