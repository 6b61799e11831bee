//! Whether an operation waits, how a select waits, and how an abort ends a wait (`sched/abort.rs`).

use std::ffi::c_void;
use std::ptr;

use crate::runtime::arch::{getg, tsan};
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::goroutine;
use crate::runtime::chan::observe::observedparkcommit;
use crate::runtime::chan::select::{Scase, channel, selparkcommit};
use crate::runtime::data::atomic::{AtomicU32, Ordering};
use crate::runtime::data::ext::LeaveWait;
use crate::runtime::data::gqueue::GList;
use crate::runtime::data::hchan::Hchan;
use crate::runtime::data::runtime2::{G, M, Sudog, TraceBlockReason, Unlockf, WaitReason};
use crate::runtime::g::aborted::has_no_values;
use crate::runtime::g::extent::can_be_aborted;
use crate::runtime::g::sudog::acquire_sudog;
use crate::runtime::lock::mutex::lock_ranked;
use crate::runtime::lock::rank::LockRank;
use crate::runtime::lock::unlock;
use crate::runtime::prof::contention::Wait;
use crate::runtime::sched::abort::until_aborted;
use crate::runtime::sched::park::{gopark, gopark_on};
use crate::runtime::sched::ready::goready;

/// Whether a channel's operation waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Block {
    No,
    Yes,
    /// Until there is a result, or the goroutine is aborted.
    UntilAborted,
    /// As `UntilAborted`. But not on a goroutine that may be in a run, whose end is to end the
    /// wait, or that was aborted: the face finds out.
    UnlessInRun,
}

impl Block {
    /// Whether `gp`, which runs here and may wait, does.
    #[inline(always)]
    pub(super) fn waits(self, gp: &G) -> bool {
        has_no_values(gp) || self != Block::UnlessInRun
    }

    /// A wait that an abort may end, if it may end one here.
    pub(crate) fn until_end() -> Self {
        if getg().is_some_and(can_be_aborted) { Block::UntilAborted } else { Block::Yes }
    }

    /// The way out of a wait, if an abort ends it.
    #[inline(always)]
    pub(super) fn leave(self, leave: LeaveWait) -> Option<LeaveWait> {
        (self as u8 >= Block::UntilAborted as u8).then_some(leave)
    }
}

impl From<bool> for Block {
    #[inline(always)]
    fn from(block: bool) -> Self {
        if block { Block::Yes } else { Block::No }
    }
}

/// Makes a sudog of the running goroutine for each case, which `enter` puts where the goroutine is
/// to be found. Its `waiting` list is in lock order. The channels are locked.
///
/// # Safety
/// As [`sellock`].
#[inline(always)]
pub(super) unsafe fn enter_all(
    gp: &'static G,
    mp: &'static M,
    scases: &[Scase],
    lockorder: &[u16],
    wait: Wait,
    enter: impl Fn(&'static Sudog, u16, &Hchan),
) {
    if !gp.waiting.is_null() {
        throw("gp.waiting != nil");
    }
    let mut last: Option<&'static Sudog> = None;
    for &o in lockorder {
        // SAFETY: the caller keeps the channels.
        let c = unsafe { channel(scases, o) };
        let sg = acquire_sudog(mp);
        sg.g.set(Some(gp));
        sg.is_select.set(true);
        sg.releasetime.set(wait.releasetime());
        sg.c.set(c);
        match last {
            None => gp.waiting.set(Some(sg)),
            Some(last) => last.waitlink.set(Some(sg)),
        }
        last = Some(sg);
        enter(sg, o, c);
    }
}

/// Parks the running goroutine after [`enter_all`]. Once it is off its stack, unlocks the channels
/// and makes the `observers` ready.
///
/// # Safety
/// As [`sellock`]. The goroutine is where a thread finds it that ends its wait.
#[inline(always)]
pub(super) unsafe fn park_on_all(
    gp: &'static G,
    mp: &'static M,
    scases: &[Scase],
    lockorder: &[u16],
    block: Block,
    observers: &GList,
) {
    gp.param.store(ptr::null_mut(), Ordering::Relaxed);
    gp.ext.leave.set(block.leave(leave_channels));
    gp.parking_on_chan.store(true, Ordering::Relaxed);
    let (commit, list) = if observers.empty() {
        (selparkcommit as Unlockf, ptr::null_mut())
    } else {
        (observedparkcommit as Unlockf, ptr::from_ref(observers).cast_mut().cast())
    };
    // SAFETY: the caller keeps the channels. selparkcommit and observedparkcommit keep off the
    // stack once a channel is unlocked, and return true.
    unsafe {
        lockorder.iter().for_each(|&o| tsan::release(&channel(scases, o).lock.key.locked));
        gopark_on(gp, mp, Some(commit), list, WaitReason::Select, TraceBlockReason::Select, 1);
    }
    gp.active_stack_chans.set(false);
}

/// Takes `gp` out of the queue of a channel: a [`LeaveWait`].
pub(super) fn leave_channel(gp: &'static G) -> bool {
    // In a later wait it is in no queue, or in those of a select that doesn't end.
    let Some(sg) = gp.waiting.get().filter(|sg| !sg.is_select.get()) else { return false };
    // SAFETY: the waiting operation keeps the channel.
    let c = unsafe { &*sg.c.get() };
    lock_ranked(&c.lock, LockRank::HCHAN_LEAF);
    let q = if gp.waitreason.get() == WaitReason::ChanSend { &c.sendq } else { &c.recvq };
    let left = q.dequeue_sudo_g(sg);
    if left {
        sg.success.set(false);
        sg.elem.store(ptr::null_mut(), Ordering::Relaxed);
    }
    unlock(&c.lock);
    left
}

/// Wins the right to wake `gp` from a select: see [`LeaveWait`](crate::runtime2::LeaveWait).
pub(super) fn leave_channels(gp: &'static G) -> bool {
    // In another wait it is in no select, or in one that doesn't end.
    let Some(sg) = gp.waiting.get().filter(|sg| sg.is_select.get()) else { return false };
    // SAFETY: the waiting operation keeps the channels.
    let c = unsafe { &*sg.c.get() };
    // The park holds the lock until the goroutine is off its stack.
    lock_ranked(&c.lock, LockRank::HCHAN_LEAF);
    unlock(&c.lock);
    // As in `win_select`.
    gp.select_done.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Parks forever, or until an abort ends that: without a channel there is nothing to wait for.
///
/// # Safety
/// Called on a goroutine.
#[cold]
pub(super) unsafe fn park_forever(block: Block, reason: WaitReason) {
    const PARKED: u32 = 1;
    const GAVE_UP: u32 = 2;

    /// # Safety
    /// `state` is the word of the goroutine that parks.
    unsafe extern "C" fn commit(_gp: *mut G, state: *mut c_void) -> bool {
        // SAFETY: it is on the goroutine's stack, and stays until the goroutine goes on.
        unsafe { &*state.cast::<AtomicU32>() }.swap(PARKED, Ordering::AcqRel) != GAVE_UP
    }

    let (gp, _) = goroutine();
    let state = AtomicU32::new(0);
    let arg = ptr::from_ref(&state).cast_mut().cast();
    // SAFETY: on a goroutine. commit touches only the word, and only give_up makes the goroutine
    // ready, once, and after commit.
    let park = || unsafe { gopark(Some(commit), arg, reason, TraceBlockReason::Forever, 2) };
    if block == Block::Yes {
        return park();
    }
    let give_up = || (state.swap(GAVE_UP, Ordering::AcqRel) == PARKED).then_some(|| goready(gp));
    // SAFETY: the word stays while give_up may be called, and `gp` stays in its wait until it is
    // woken.
    unsafe { until_aborted(gp, &give_up, park) }
}
