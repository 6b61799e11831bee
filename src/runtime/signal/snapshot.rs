//! Snapshots: the frames of a goroutine that runs and can't be stopped. Its thread gets a signal,
//! and the handler copies the stack. The goroutine goes on, and the thread that asked walks the
//! copy. A goroutine that waits for its turn in a signal handler stands still there, so the thread
//! that asks copies the stack itself.
//!
//! As when a stack is moved, each word of the copy that looks like an address of the stack is
//! changed to point into the copy. Some of these words may be numbers, but no unwinder uses those.

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

/// The maximum number of bytes of a stack that are copied, from its innermost frame on. The copy's
/// memory has room for the whole stack, and for [`BEYOND`] more. A frame that leads out of the
/// copied part leads to zeros, and there a walk ends.
const COPIED: usize = 1 << 20;
/// How far above the stack an unwinder may read in the outermost frame.
const BEYOND: usize = 4 << 10;

/// How many nanoseconds to wait for a thread. The thread may block the signal, or, on a busy
/// machine, get no processor for a second.
const PATIENCE: i64 = 3 * 1000 * 1000 * 1000;

/// The first of the request's states: there is no request.
const FREE: u32 = 0;
/// A thread is about to ask, or walks the copy.
const TAKEN: u32 = 1;
/// The M's thread was asked for a copy.
const ASKED: u32 = 2;
/// The handler of that thread is copying.
const COPYING: u32 = 3;
/// The copy is there.
const COPIED_IT: u32 = 4;
/// The thread had another goroutine, or its stack can't be copied.
const NOT_THERE: u32 = 5;

/// The request for a copy of a stack. There is one at a time.
struct Request {
    /// The state of the request. It publishes the other fields.
    state: AtomicU32,
    /// The goroutine whose stack is wanted.
    gp: AtomicPtr<G>,
    /// The M whose thread is to copy it.
    mp: AtomicPtr<M>,
    /// The address of the copy.
    to: AtomicUsize,
    /// The size in bytes of the largest stack for which the copy has room.
    room: AtomicUsize,
    /// The goroutine's registers, changed to lead into the copy.
    regs: UnsafeCell<MaybeUninit<Regs>>,
}

// SAFETY: the handler that has changed `state` from ASKED to COPYING writes `regs`, and then sets
// `state` to COPIED_IT. The thread that asked reads `regs` after that.
unsafe impl Sync for Request {}

static REQUEST: Request = Request {
    state: AtomicU32::new(FREE),
    gp: AtomicPtr::new(ptr::null_mut()),
    mp: AtomicPtr::new(ptr::null_mut()),
    to: AtomicUsize::new(0),
    room: AtomicUsize::new(0),
    regs: UnsafeCell::new(MaybeUninit::uninit()),
};

/// Returns the frames of `gp`, which runs on another thread, or none if they can't be found.
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

/// Returns the frames of `gp` for the report of a fatal error, if `gp` waits for its turn in a
/// signal handler. Makes no request, because a thread that stands still may have the request. Such
/// a thread may also hold the scheduler's lock: only the first call waits for it in vain.
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

/// Whether `gp` waits for its turn in a signal handler. This is a hint, because `gp` may go on at
/// any time.
pub(in crate::runtime) fn is_kept(gp: &G) -> bool {
    gp.m.get().is_some_and(|mp| mp.ext.turn.get() == Turn::Kept)
}

/// Reserves room for a copy of the stack of `gp`. Little of the room will be touched.
fn memory_for(gp: &G) -> Option<MmapMut> {
    let stack = gp.stack.get();
    MmapOptions::new().len(stack.hi - stack.lo + BEYOND).no_reserve_swap().map_anon().ok()
}

/// Returns the frames of `gp` from registers that lead into a copy.
fn callers_of_copy(gp: &G, regs: &Regs) -> Pcs {
    // SAFETY: the copy belongs to the caller alone.
    as_walker(Copied::Snapshot, || unsafe { gcallers(gp, regs) })
}

/// Copies the stack of `gp` if it waits for its turn in a signal handler, on the thread of `mp`.
/// Returns the registers. The alternative is to let `gp` go on and then ask it. But then its thread
/// waits for a processor, along with many others that were let go on: a hundred milliseconds for
/// each goroutine.
///
/// Doesn't wait for the lock: the caller may have set the scan bit of a goroutine, and threads that
/// hold the lock may wait for that bit.
fn copy_of_kept(gp: &G, mp: &M, memory: &MmapMut) -> Option<Regs> {
    if mp.ext.turn.get() != Turn::Kept || !try_lock(&sched().lock) {
        return None;
    }
    let is_there = mp.ext.turn.get() == Turn::Kept && mp.runs(gp);
    let regs = mp.ext.interrupted.get().cast::<Regs>();
    let copied = if is_there && !regs.is_null() {
        // SAFETY: the handler has left the registers. It doesn't return before the M is off the
        // list, which takes the lock. Until then the goroutine's stack stays as it is. The memory
        // has room.
        unsafe { copy(gp, &*regs, memory.as_ptr().expose_provenance(), memory.len() - BEYOND) }
    } else {
        None
    };
    unlock(&sched().lock);
    copied
}

/// Calls `f`, in which the goroutine of `mp`, this thread's M, may wait for its turn. The signal
/// has interrupted the goroutine with these registers. Called in the signal handler.
pub(super) fn may_be_kept(mp: &M, regs: &Regs, f: impl FnOnce()) {
    // An M is put on the list with the lock held, which orders this store before the load in
    // copy_of_kept.
    mp.ext.interrupted.set(ptr::from_ref(regs).cast());
    f();
    mp.ext.interrupted.set(ptr::null());
}

/// Makes the thread of `mp` copy the stack of `gp`. Returns the registers. The caller has the
/// request (TAKEN).
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
            // The goroutine may just have been asked to wait for its turn. Then no signal comes
            // until it goes on.
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

/// Copies the stack that was asked for, if it belongs to this M's goroutine. Called in a signal
/// handler on the thread of `mp`, which has interrupted `interrupted` with these registers.
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
            // The goroutine works on g0, or has just left for g0. Either way its stack stays as it
            // left it.
            left_at(gp)
        } else {
            return false;
        };
        let (to, room) = (REQUEST.to.load(Ordering::Relaxed), REQUEST.room.load(Ordering::Relaxed));
        // SAFETY: the stack is this thread's goroutine's. The thread that asked has `room` bytes
        // and more there, and waits for us. In state COPYING, only this handler uses the registers.
        unsafe { copy(gp, &regs, to, room).map(|regs| (*REQUEST.regs.get()).write(regs)).is_some() }
    });
    // Release pairs with `request_snapshot`, which finds the copy.
    REQUEST.state.store(if copied { COPIED_IT } else { NOT_THERE }, Ordering::Release);
}

/// Copies the stack of `gp`, from its stack pointer on, to `to`, where there is room for a stack of
/// `room` bytes. Returns the registers, changed to lead into the copy, or none if the stack pointer
/// isn't on the stack, or there isn't room.
///
/// # Safety
/// The goroutine was interrupted with these registers, and doesn't go on meanwhile. `to` is
/// aligned, and the memory there belongs to the caller.
unsafe fn copy(gp: &G, regs: &Regs, to: usize, room: usize) -> Option<Regs> {
    let stack = gp.stack.get();
    let mut regs = *regs;
    // The stack may have grown since the request.
    if stack.hi - stack.lo > room {
        return None;
    }
    if regs.sp < stack.lo + RED_ZONE || regs.sp > stack.hi || !regs.sp.is_multiple_of(size_of::<usize>()) {
        return None;
    }
    let from = regs.sp - RED_ZONE;
    // Addresses below the stack pointer count, too. In the loop that touches the pages of a large
    // frame, the rule that finds the frame uses a register that points there.
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
