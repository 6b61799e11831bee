//! Snapshots: the frames of a goroutine that runs and can't be stopped. Its thread gets a signal,
//! and the handler copies the stack. The goroutine goes on, and the thread that asked walks the
//! copy. One that waits for its turn in a signal handler stands still there: the thread that asks
//! copies the stack itself.
//!
//! As when a stack is moved, each word of the copy that looks like an address of the stack is
//! changed to point into the copy. Some may be numbers: no unwinder uses those.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::arch::{RED_ZONE, Regs};
use crate::runtime::base::debug::patience;
use crate::runtime::base::guarded::{Copied, as_walker};
use crate::runtime::base::os::{SIG_PREEMPT, nanotime, signal_m, usleep};
use crate::runtime::data::runtime2::{G, M, sched};
use crate::runtime::data::turns::Turn;
use crate::runtime::g::callers::{Pcs, gcallers, left_at};
use crate::runtime::lock::mutex::try_lock;
use crate::runtime::lock::unlock;

/// How many bytes of a stack are copied, at most, from its innermost frame on. The copy's memory
/// has room for the whole stack, and for [`BEYOND`] more: where a frame leads out of the copy,
/// there are zeros, and a walk ends.
const COPIED: usize = 1 << 20;
/// How far above the stack an unwinder may read in the outermost frame.
const BEYOND: usize = 4 << 10;

/// How long to wait for a thread, in nanoseconds: it may block the signal, or, where the machine
/// has much else to do, get no processor for a second.
const PATIENCE: i64 = 3 * 1000 * 1000 * 1000;

/// States of the request. Nobody has made one.
const FREE: u32 = 0;
/// A thread is about to ask, or walks the copy.
const TAKEN: u32 = 1;
/// The M's thread was asked for a copy.
const ASKED: u32 = 2;
/// Its handler is copying.
const COPYING: u32 = 3;
/// The copy is there.
const COPIED_IT: u32 = 4;
/// The thread had another goroutine, or its stack can't be copied.
const NOT_THERE: u32 = 5;

/// The one request at a time for a copy of a stack.
struct Request {
    /// How far it is. It publishes the other fields.
    state: AtomicU32,
    /// The goroutine whose stack is wanted.
    gp: AtomicPtr<G>,
    /// The M whose thread is to copy it.
    mp: AtomicPtr<M>,
    /// Where to.
    to: AtomicUsize,
    /// The bytes of the largest stack that there is room for.
    room: AtomicUsize,
    /// The goroutine's registers, changed to lead into the copy.
    regs: UnsafeCell<MaybeUninit<Regs>>,
}

// SAFETY: `regs` is written by the handler that has changed `state` from ASKED to COPYING, before
// it sets it to COPIED_IT, and read after that by the thread that asked.
unsafe impl Sync for Request {}

static REQUEST: Request = Request {
    state: AtomicU32::new(FREE),
    gp: AtomicPtr::new(ptr::null_mut()),
    mp: AtomicPtr::new(ptr::null_mut()),
    to: AtomicUsize::new(0),
    room: AtomicUsize::new(0),
    regs: UnsafeCell::new(MaybeUninit::uninit()),
};

/// The frames of `gp`, which runs on another thread; none if they can't be had.
pub(in crate::runtime) fn running(gp: &'static G) -> Option<Pcs> {
    // The signal stack of a thread that isn't ours may be too small for this CPU's vector
    // registers.
    let mp = gp.m.get().filter(|mp| !mp.isextra.get())?;
    let memory = memory_for(gp)?;
    let limit = nanotime() + patience(PATIENCE);
    // Acquire pairs with the store of FREE below: the request before this one is over.
    while REQUEST.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
        if nanotime() > limit {
            return None;
        }
        usleep(100);
    }
    let regs = copy_of_kept(gp, mp, &memory).or_else(|| request_snapshot(gp, mp, &memory));
    let pcs = regs.map(|regs| callers_of_copy(gp, &regs));
    REQUEST.state.store(FREE, Ordering::Release);
    pcs
}

/// The frames of `gp`, if it waits for its turn in a signal handler, in the report of a fatal
/// error: a thread that stands still may have the request, and also the scheduler's lock. That is
/// waited for once.
pub(in crate::runtime) fn kept(gp: &'static G) -> Option<Pcs> {
    static IS_LOCKED: AtomicBool = AtomicBool::new(false);
    const PATIENCE: i64 = 1000 * 1000 * 1000;

    let (mp, memory) = (gp.m.get()?, memory_for(gp)?);
    let limit = nanotime() + if IS_LOCKED.load(Ordering::Relaxed) { 0 } else { patience(PATIENCE) };
    while is_kept(gp) {
        if let Some(regs) = copy_of_kept(gp, mp, &memory) {
            return Some(callers_of_copy(gp, &regs));
        }
        if nanotime() > limit {
            IS_LOCKED.store(true, Ordering::Relaxed);
            break;
        }
        usleep(100);
    }
    None
}

/// Whether `gp` waits for its turn in a signal handler; a hint, as it may go on at any time.
pub(in crate::runtime) fn is_kept(gp: &G) -> bool {
    gp.m.get().is_some_and(|mp| mp.ext.turn.get() == Turn::Kept)
}

/// Room for a copy of the stack of `gp`. It is reserved only: little of it will be touched.
fn memory_for(gp: &G) -> Option<MmapMut> {
    let stack = gp.stack.get();
    MmapOptions::new().len(stack.hi - stack.lo + BEYOND).no_reserve_swap().map_anon().ok()
}

/// The frames of `gp`, whose registers lead into a copy.
fn callers_of_copy(gp: &G, regs: &Regs) -> Pcs {
    // SAFETY: the copy is the caller's alone.
    as_walker(Copied::Snapshot, || unsafe { gcallers(gp, regs) })
}

/// Copies the stack of `gp` if it waits for its turn in a signal handler, on the thread of `mp`;
/// returns the registers. To have it go on, and then ask it, takes as long as its thread waits for
/// a processor, with many others that were let go on: a hundred milliseconds, for each.
///
/// The lock isn't waited for: the caller may have set the scan bit of a goroutine, for which others
/// wait with the lock.
fn copy_of_kept(gp: &G, mp: &M, memory: &MmapMut) -> Option<Regs> {
    if mp.ext.turn.get() != Turn::Kept || !try_lock(&sched().lock) {
        return None;
    }
    let is_there = mp.ext.turn.get() == Turn::Kept && mp.curg.get().is_some_and(|curg| ptr::eq(curg, gp));
    let regs = mp.ext.interrupted.get().cast::<Regs>();
    let copied = if is_there && !regs.is_null() {
        // SAFETY: the handler has left them, and doesn't return before it is off the list, which
        // takes the lock. The goroutine's stack stays as it is as long. The memory has room.
        unsafe { copy(gp, &*regs, memory.as_ptr().expose_provenance(), memory.len() - BEYOND) }
    } else {
        None
    };
    unlock(&sched().lock);
    copied
}

/// Calls `f`, in which the goroutine of `mp`, this thread's M, may wait for its turn: it has been
/// interrupted with these registers. In the signal handler.
pub(super) fn may_be_kept(mp: &M, regs: &Regs, f: impl FnOnce()) {
    // The lock orders this before what reads it: with that, too, an M is put on the list.
    mp.ext.interrupted.set(ptr::from_ref(regs).cast());
    f();
    mp.ext.interrupted.set(ptr::null());
}

/// Has the thread of `mp` copy the stack of `gp`; returns the registers. The caller has the request
/// (TAKEN).
fn request_snapshot(gp: &G, mp: &M, memory: &MmapMut) -> Option<Regs> {
    REQUEST.gp.store(gp.as_ptr(), Ordering::Relaxed);
    REQUEST.mp.store(ptr::from_ref(mp).cast_mut(), Ordering::Relaxed);
    REQUEST.room.store(memory.len() - BEYOND, Ordering::Relaxed);
    REQUEST.to.store(memory.as_ptr().expose_provenance(), Ordering::Relaxed);
    // Release pairs with copy_if_asked: the handler finds the fields above.
    REQUEST.state.store(ASKED, Ordering::Release);
    let sent = signal_m(mp.procid.load(Ordering::Relaxed), SIG_PREEMPT);
    let limit = nanotime() + if sent { patience(PATIENCE) } else { 0 };
    let withdraw =
        || REQUEST.state.compare_exchange(ASKED, TAKEN, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    loop {
        // Acquire pairs with the end of copy_if_asked: the copy and the registers are there.
        match REQUEST.state.load(Ordering::Acquire) {
            // SAFETY: the handler has written them.
            COPIED_IT => return Some(unsafe { (*REQUEST.regs.get()).assume_init() }),
            NOT_THERE => return None,
            // The handler takes no lock, so it comes to an end.
            COPYING => {}
            // It may have been asked to wait just now. No signal comes there until it goes on.
            _ if is_kept(gp) && withdraw() => {
                if let Some(regs) = copy_of_kept(gp, mp, memory) {
                    return Some(regs);
                }
                REQUEST.state.store(ASKED, Ordering::Release);
            }
            _ if nanotime() > limit && withdraw() => return None,
            _ => {}
        }
        usleep(20);
    }
}

/// Copies the stack that was asked for, if it is that of this M's goroutine. In a signal handler on
/// the thread of `mp`, which has interrupted `interrupted` with these registers.
pub(super) fn copy_if_asked(mp: &M, interrupted: &G, regs: &Regs) {
    // Acquire pairs with `request_snapshot`. The signal also comes for preemption, and to other
    // threads.
    if REQUEST.state.load(Ordering::Acquire) != ASKED
        || !ptr::eq(REQUEST.mp.load(Ordering::Relaxed), mp)
        || REQUEST.state.compare_exchange(ASKED, COPYING, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return;
    }
    let wanted = REQUEST.gp.load(Ordering::Relaxed);
    let copied = mp.curg.get().filter(|gp| ptr::eq(gp.as_ptr(), wanted)).is_some_and(|gp| {
        let regs = if ptr::eq(interrupted, gp) {
            *regs
        } else if ptr::eq(interrupted, &mp.ext.g0) {
            // The goroutine works on g0, or has just left for it: either way its stack stays as it
            // left it.
            left_at(gp)
        } else {
            return false;
        };
        let (to, room) = (REQUEST.to.load(Ordering::Relaxed), REQUEST.room.load(Ordering::Relaxed));
        // SAFETY: the stack is this thread's goroutine's. The thread that asked has `room` bytes
        // and more there, and waits for us. In state COPYING, the registers are this handler's
        // alone.
        unsafe { copy(gp, &regs, to, room).map(|regs| (*REQUEST.regs.get()).write(regs)).is_some() }
    });
    // Release pairs with `request_snapshot`, which finds the copy.
    REQUEST.state.store(if copied { COPIED_IT } else { NOT_THERE }, Ordering::Release);
}

/// Copies the stack of `gp`, from its stack pointer on, to where there is room for a stack of
/// `room` bytes; returns the registers, changed to lead there. None if the stack pointer isn't on
/// the stack, or there isn't room.
///
/// # Safety
/// The goroutine was interrupted with these registers, and doesn't go on meanwhile. `to` is the
/// caller's, and aligned.
unsafe fn copy(gp: &G, regs: &Regs, to: usize, room: usize) -> Option<Regs> {
    let stack = gp.stack.get();
    let mut regs = *regs;
    // The stack may have grown since it was asked for.
    if stack.hi - stack.lo > room {
        return None;
    }
    if regs.sp < stack.lo + RED_ZONE || regs.sp > stack.hi || !regs.sp.is_multiple_of(size_of::<usize>()) {
        return None;
    }
    let from = regs.sp - RED_ZONE;
    // What points below the stack pointer counts, too: the loop that touches the pages of a large
    // frame finds the frame by a register that points there.
    let on_stack = |word: &usize| (stack.lo..=stack.hi).contains(word);
    let moved = |word: usize| if on_stack(&word) { word.wrapping_sub(from).wrapping_add(to) } else { word };
    for at in (0..(stack.hi - from).min(COPIED)).step_by(size_of::<usize>()) {
        // SAFETY: an aligned word of the goroutine's stack, which stays as it is, and one of the
        // copy's memory, as the caller says.
        unsafe {
            let word = ptr::with_exposed_provenance::<usize>(from + at).read_volatile();
            ptr::with_exposed_provenance_mut::<usize>(to + at).write_volatile(moved(word));
        }
    }
    regs.change(|word| *word = moved(*word));
    Some(regs)
}
