//! The stack of a goroutine that runs and can't be stopped: its thread gets a signal, and the handler makes
//! a copy of it. The goroutine goes on, and who asked walks the copy.
//!
//! As when a stack is moved, each word in it that is an address of it is changed to lead into the copy. That
//! can be wrong of a number, which no unwinder takes for anything.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use memmap2::{MmapMut, MmapOptions};

use crate::arch::{RED_ZONE, Regs};
use crate::os::{nanotime, usleep};
use crate::runtime2::{G, M};
use crate::signal_unix::{SIG_PREEMPT, signal_m};
use crate::traceback::callers::{Pcs, gcallers, left_at};

/// So much of a stack is copied, from its innermost frame on. There is room for the whole stack, and behind it
/// for [`BEYOND`]: where a frame leads out of the copy, there are zeros, and a walk ends.
const COPIED: usize = 1 << 20;
/// What an outermost frame may look at.
const BEYOND: usize = 4 << 10;

/// How long to wait for a thread, in nanoseconds: it may block the signal, or find no processor for a while.
const PATIENCE: i64 = 1000 * 1000 * 1000;

const FREE: u32 = 0;
/// Somebody is about to ask, or looks at what was copied.
const TAKEN: u32 = 1;
const ASKED: u32 = 2;
const COPYING: u32 = 3;
const COPIED_IT: u32 = 4;
/// The thread had another goroutine, or its stack isn't one that can be looked at.
const NOT_THERE: u32 = 5;

/// Whose stack somebody wants to be copied by which thread, where to, and how large a stack there is room for; one
/// at a time.
struct Request {
    state: AtomicU32,
    gp: AtomicPtr<G>,
    mp: AtomicPtr<M>,
    to: AtomicUsize,
    room: AtomicUsize,
    regs: UnsafeCell<MaybeUninit<Regs>>,
}

// SAFETY: `regs` is written by who has changed `state` from ASKED to COPYING, before it is COPIED_IT, and
// read after that.
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
pub(crate) fn running(gp: &'static G) -> Option<Pcs> {
    // A thread that isn't ours may have a signal stack that is too small for this CPU's vector registers.
    let mp = gp.m.get().filter(|mp| !mp.isextra.get())?;
    let stack = gp.stack.get();
    let room = stack.hi - stack.lo + BEYOND;
    // Reserved only: little of it will be touched.
    let memory = MmapOptions::new().len(room).no_reserve_swap().map_anon().ok()?;
    let limit = nanotime() + PATIENCE;
    // Acquire and release: what the one before has done with it is done.
    while REQUEST.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
        if nanotime() > limit {
            return None;
        }
        usleep(100);
    }
    let pcs = ask(gp, mp, &memory);
    REQUEST.state.store(FREE, Ordering::Release);
    pcs
}

/// Has the thread of `mp` copy the stack of `gp`, and walks the copy. The request is the caller's.
fn ask(gp: &G, mp: &M, memory: &MmapMut) -> Option<Pcs> {
    REQUEST.gp.store(gp.as_ptr(), Ordering::Relaxed);
    REQUEST.mp.store(ptr::from_ref(mp).cast_mut(), Ordering::Relaxed);
    REQUEST.room.store(memory.len() - BEYOND, Ordering::Relaxed);
    REQUEST.to.store(memory.as_ptr().expose_provenance(), Ordering::Relaxed);
    // Release: the handler finds all of it.
    REQUEST.state.store(ASKED, Ordering::Release);
    signal_m(mp.procid.load(Ordering::Relaxed), SIG_PREEMPT);
    let limit = nanotime() + PATIENCE;
    loop {
        match REQUEST.state.load(Ordering::Acquire) {
            COPIED_IT => break,
            NOT_THERE => return None,
            // It takes no lock, and so it comes to an end.
            COPYING => {}
            _ if nanotime() > limit
                && REQUEST
                    .state
                    .compare_exchange(ASKED, TAKEN, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok() =>
            {
                return None;
            }
            _ => {}
        }
        usleep(20);
    }
    // SAFETY: they were written, and lead into the copy, which is nobody else's.
    unsafe { Some(gcallers(gp, &(*REQUEST.regs.get()).assume_init())) }
}

/// On the thread of `mp`, in a signal handler that has interrupted `interrupted` with these registers: copies
/// the stack that somebody wants, if it is that of the M's goroutine.
pub(crate) fn copy_if_asked(mp: &M, interrupted: &G, regs: Regs) {
    // Acquire pairs with `ask`. Others get this signal, too, for other reasons.
    if REQUEST.state.load(Ordering::Acquire) != ASKED
        || !ptr::eq(REQUEST.mp.load(Ordering::Relaxed), mp)
        || REQUEST.state.compare_exchange(ASKED, COPYING, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return;
    }
    let wanted = REQUEST.gp.load(Ordering::Relaxed);
    let copied = mp.curg.get().filter(|gp| ptr::eq(gp.as_ptr(), wanted)).is_some_and(|gp| {
        let regs = if ptr::eq(interrupted, gp) {
            regs
        } else if ptr::eq(interrupted, &mp.ext.g0) {
            // It works on g0, or has just left for it: either way it stands still.
            left_at(gp)
        } else {
            return false;
        };
        copy(gp, regs)
    });
    // Release: who asked finds the copy.
    REQUEST.state.store(if copied { COPIED_IT } else { NOT_THERE }, Ordering::Release);
}

/// Copies the stack of `gp` from where its registers say; says whether that is on it.
fn copy(gp: &G, mut regs: Regs) -> bool {
    let stack = gp.stack.get();
    // It may have grown since then.
    if stack.hi - stack.lo > REQUEST.room.load(Ordering::Relaxed) {
        return false;
    }
    if regs.sp < stack.lo + RED_ZONE || regs.sp > stack.hi || !regs.sp.is_multiple_of(size_of::<usize>()) {
        return false;
    }
    let from = regs.sp - RED_ZONE;
    let to = REQUEST.to.load(Ordering::Relaxed);
    let moved = |word: usize| if (from..=stack.hi).contains(&word) { word - from + to } else { word };
    for at in (0..(stack.hi - from).min(COPIED)).step_by(size_of::<usize>()) {
        // SAFETY: a word of this thread's own stack, and of the memory of who asked, which waits.
        unsafe {
            let word = ptr::with_exposed_provenance::<usize>(from + at).read_volatile();
            ptr::with_exposed_provenance_mut::<usize>(to + at).write_volatile(moved(word));
        }
    }
    regs.change(|word| *word = moved(*word));
    // SAFETY: the request is being served by this thread alone.
    unsafe { (*REQUEST.regs.get()).write(regs) };
    true
}
