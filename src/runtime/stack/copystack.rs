//! Moving a stack: Go's `copystack`, and the functions that adjust pointers.
//!
//! The used part is copied to the end of the new segment, so that every address in it moves by the
//! same distance. Then each word that points into the old stack is made to point into the new one:
//!
//! - in the G: `sched`, and the heads of the embedder's chains of defers and panics, which the
//!   embedder's hook follows;
//! - in the sudogs that the G waits on: the place that a value is sent from or received to;
//! - in the stack itself: the slots that a [frame map](crate::proc::FrameMap) names, and, in a
//!   frame without a map, every aligned word that looks like such an address.
//!
//! Callee-saved registers are in the stack by then: mcall and morestack have saved them there.
//!
//! **A parked receiver** is the delicate case. Its sudog points into its stack, and a sender may
//! write there at any time, with the channel locked. So all channels that the goroutine waits on
//! are locked while the sudogs are adjusted, and while the part of the stack up to the highest
//! place that the sudogs point to is copied. Once the channels are unlocked, senders write to the
//! new stack while its words are being adjusted. So words in that part are changed by
//! compare-and-swap, and a value that has just come stays as it is.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::runtime::arch::page_size;
use crate::runtime::arch::sanitizer::stack_moves;
use crate::runtime::base::debug::{efence, stack_verify};
use crate::runtime::base::fatal::throw;
use crate::runtime::data::adjust_info::AdjustInfo;
use crate::runtime::data::hchan::Hchan;
use crate::runtime::data::runtime2::{G, Stack};
use crate::runtime::embed::hooks::hooks;
use crate::runtime::g::sudog::waiting;
use crate::runtime::lock::mutex::lock_ranked;
use crate::runtime::lock::rank::LockRank;
use crate::runtime::lock::unlock;
use crate::runtime::mem::home::home_stack;
use crate::runtime::mem::segment::{stackalloc, stackfree};
use crate::runtime::mem::sizes::{POISON, running_guard};
use crate::runtime::mem::valgrind::make_defined;
use crate::runtime::preempt::xregs;
use crate::runtime::stack::frame_map::{self, Frame, adjustframes};
use crate::runtime::stack::verify;

/// How often a stack was moved to a larger one.
pub(in crate::runtime) static GROWTHS: AtomicU64 = AtomicU64::new(0);

/// The size of the smallest stack of at least `n` bytes that `gp` can move to.
pub(super) fn size_for(gp: &G, n: usize) -> usize {
    let home = home_stack(gp);
    let home_size = home.hi - home.lo;
    if n <= home_size && gp.stack.get() != home { home_size } else { n.max(page_size()).next_power_of_two() }
}

/// Moves the stack of `gp` to one of `newsize` bytes, a size from [`size_for`]. The G is in state
/// [`GCOPYSTACK`](crate::runtime2::GCOPYSTACK), or its stack is the caller's for another reason;
/// `innermost` is its innermost frame. Go's `copystack`.
pub(super) fn copystack(gp: &'static G, newsize: usize, innermost: Frame) {
    if gp.syscallsp.get() != 0 {
        throw("stack growth not allowed in system call");
    }
    let old = gp.stack.get();
    if old.lo == 0 {
        throw("nil stackbase");
    }
    if newsize > old.hi - old.lo {
        GROWTHS.fetch_add(1, Ordering::Relaxed);
    }
    let used = old.hi - gp.sched.sp.get();
    let home = home_stack(gp);
    let new = if newsize == home.hi - home.lo {
        home
    } else {
        match stackalloc(newsize) {
            Ok(new) => new,
            Err(error) => throw(&format!("out of memory (stackalloc of {newsize} bytes: {error})")),
        }
    };
    make_defined(old.hi - used, old.hi);
    make_defined(new.hi - used, new.hi);
    let adjinfo = AdjustInfo::new(old, new);
    stack_moves(gp, old, new);

    let mut ncopy = used;
    if gp.active_stack_chans.get() {
        ncopy -= syncadjustsudogs(gp, used, &adjinfo);
    } else {
        if newsize < old.hi - old.lo && gp.parking_on_chan.load(Ordering::Acquire) {
            // The G is about to set active_stack_chans and unlock its channel. Then a sender would
            // write to the old stack. (A G that grows its stack isn't parking.)
            throw("racy sudog adjustment due to parking on channel");
        }
        adjustsudogs(gp, &adjinfo);
    }
    // Without maps each word is adjusted as it is copied, except those that syncadjustsudogs has
    // copied.
    let maps = frame_map::any();
    // SAFETY: the upper ends of two different stacks of the G's, both of at least `used` bytes. No
    // code runs on them; senders use only the part that syncadjustsudogs has copied.
    unsafe {
        if maps {
            copy(old.hi - ncopy, new.hi - ncopy, ncopy);
        } else {
            adjinfo.adjust_received(new.hi - used, new.hi - ncopy);
            adjinfo.copy_adjusted(old.hi - ncopy, new.hi - ncopy, ncopy);
        }
    }

    adjustctxt(gp, &adjinfo);
    adjustdefers(gp, &adjinfo);
    adjustpanics(gp, &adjinfo);

    gp.stack.set(new);
    gp.stackguard0.store(running_guard(gp), Ordering::Relaxed);
    gp.sched.sp.set(new.hi - used);
    gp.stktopsp.set(gp.stktopsp.get().wrapping_add(adjinfo.delta));

    if maps {
        // SAFETY: everything was copied to the new stack, on which no code runs yet; the G isn't
        // running.
        unsafe { adjustframes(gp, &adjinfo, innermost) };
    }
    if let Some((regs, _)) = xregs::saved(gp) {
        // SAFETY: the G was stopped at a check and isn't running: its registers belong to the mover
        // of its stack.
        unsafe { xregs::adjust_saved(ptr::with_exposed_provenance_mut(regs), &adjinfo) };
    }
    if let Some(copystack) = hooks().copystack {
        copystack(gp, &adjinfo);
    }
    if stack_verify() {
        verify::no_stale_word(gp, &adjinfo);
    }

    if old != home {
        stackfree(old);
    } else if efence() {
        // SAFETY: the home page's stack, which the G has left for the new one.
        unsafe { ptr::with_exposed_provenance_mut::<u8>(old.lo).write_bytes(POISON, old.hi - old.lo) };
    }
}

/// Copies `n` bytes of a stack.
///
/// # Safety
/// Both places have `n` bytes, in two different stacks of a G, and no other thread uses them.
unsafe fn copy(from: usize, to: usize, n: usize) {
    let (from, to) = (ptr::with_exposed_provenance::<u8>(from), ptr::with_exposed_provenance_mut(to));
    // SAFETY: `n` bytes each that only we use, as the caller says; two stacks don't overlap.
    unsafe { ptr::copy_nonoverlapping(from, to, n) }
}

/// Adjusts the context and the frame pointer that the G goes on with. Go's `adjustctxt`.
fn adjustctxt(gp: &G, adjinfo: &AdjustInfo) {
    gp.sched.ctxt.set(gp.sched.ctxt.get().map_addr(|p| adjinfo.moved(p)));
    gp.sched.bp.set(adjinfo.moved(gp.sched.bp.get()));
}

/// Adjusts the head of the chain of defers; the embedder adjusts the rest of the chain. Go's
/// `adjustdefers`.
fn adjustdefers(gp: &G, adjinfo: &AdjustInfo) {
    gp._defer.set(gp._defer.get().map_addr(|p| adjinfo.moved(p)));
}

/// Adjusts the head of the chain of panics. Go's `adjustpanics`.
fn adjustpanics(gp: &G, adjinfo: &AdjustInfo) {
    gp._panic.set(gp._panic.get().map_addr(|p| adjinfo.moved(p)));
}

/// Adjusts the places that sudogs point to. Go's `adjustsudogs`.
fn adjustsudogs(gp: &G, adjinfo: &AdjustInfo) {
    for sg in waiting(gp) {
        let elem = sg.elem.load(Ordering::Relaxed);
        sg.elem.store(elem.map_addr(|p| adjinfo.moved(p)), Ordering::Relaxed);
    }
}

/// Returns the end of the highest place in the stack that a sudog points to, or 0 if none points
/// there. Go's `findsghi`.
fn findsghi(gp: &G, stk: Stack) -> usize {
    waiting(gp).fold(0, |sghi, sg| {
        // SAFETY: the G waits on this channel, so it isn't freed.
        let elemsize = usize::from(unsafe { (*sg.c.get()).elemsize });
        let p = sg.elem.load(Ordering::Relaxed).addr();
        if (stk.lo..stk.hi).contains(&p) { sghi.max(p + elemsize) } else { sghi }
    })
}

/// Adjusts the sudogs, and copies the part of the stack that they point to, while no goroutine can
/// send or receive. Returns how many bytes it has copied. Go's `syncadjustsudogs`.
fn syncadjustsudogs(gp: &G, used: usize, adjinfo: &AdjustInfo) -> usize {
    // Visits each channel once: equal channels are next to each other.
    let each_channel = |f: fn(&Hchan)| {
        let mut last: *const Hchan = ptr::null();
        for sg in waiting(gp) {
            if sg.c.get() != last {
                last = sg.c.get();
                // SAFETY: the G waits on this channel, so it isn't freed.
                f(unsafe { &*last });
            }
        }
    };
    // These locks have a rank of their own: as a rule the scan bit is set after a channel was
    // locked, and here it is the other way round. This can't deadlock: the G is suspended, and a
    // thread that holds one of its channels doesn't wait for the scan bit.
    each_channel(|c| lock_ranked(&c.lock, LockRank::HCHAN_LEAF));
    // An operation that was done before this lock has set its sudog's elem to null.
    let sghi = findsghi(gp, adjinfo.old);
    adjustsudogs(gp, adjinfo);
    let bottom = adjinfo.old.hi - used;
    let sgsize = sghi.saturating_sub(bottom).next_multiple_of(size_of::<usize>());
    if sgsize != 0 {
        adjinfo.sghi.set((bottom + sgsize).wrapping_add(adjinfo.delta));
        // SAFETY: within the used parts of both stacks; with the channels locked, no thread writes
        // there.
        unsafe { copy(bottom, bottom.wrapping_add(adjinfo.delta), sgsize) };
    }
    each_channel(|c| unlock(&c.lock));
    sgsize
}
