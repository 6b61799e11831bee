//! Frame maps: the knowledge of an embedder that compiles code about its frames.

use std::fmt;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use crate::runtime::arch::{RECORD_ON_TOP, morestack_preempted_pc, parked_caller};
use crate::runtime::base::fatal::throw;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::{Held, hold_p, this_m};
use crate::runtime::data::adjust_info::AdjustInfo;
use crate::runtime::data::runtime2::G;

/// A frame of a goroutine that isn't running, or whose stack is about to grow.
///
/// ```text
///     fp + 16 -> |  the caller's frame          |
///                |  return address              |
///          fp -> |  the caller's frame pointer  |
///                |  locals                      |
///                |  stack arguments of          |
///          sp -> |  the function called         |
///                |  its frame, with pc in it    |
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The address at which the function goes on, to which its call or its check returns.
    pub pc: usize,
    /// The frame's low end, above the frame of the function that it called.
    pub sp: usize,
    /// The function's frame pointer. The words up to `fp + 16` belong to the frame.
    pub fp: usize,
}

/// Says where the frames of a range of code have addresses of the stack. Go's compiler writes this
/// down as stack maps.
///
/// A frame that has a map is adjusted precisely: the words that the map names, if they point into
/// the stack, and the caller's frame pointer. No other word of the frame is changed, whatever it
/// looks like. (On aarch64 the called function needs a map, too, unless it is this crate's.
/// Otherwise the end of its frame isn't known there, and the caller's frame is adjusted as if it
/// had no map.)
///
/// # Safety
/// [`slots`](Self::slots) names every word of the frame that may hold an address of the stack when
/// the function goes on at `pc`. Functions of the range keep frame pointers: each begins with
/// `push rbp; mov rbp, rsp`, on aarch64 with `stp x29, x30, [sp, #-16]!; mov x29, sp`, and calls
/// nothing before that.
pub unsafe trait FrameMap: Sync {
    /// Calls `slot` with the address of each word of `frame` that may hold an address of the stack.
    /// An address that is outside the frame, or not aligned, is a fatal error.
    ///
    /// Called on g0, so it must not park and must not panic.
    fn slots(&self, frame: &Frame, slot: &mut dyn FnMut(usize));
}

struct Registered {
    code: Range<usize>,
    map: &'static dyn FrameMap,
}

static MAPS: RwLock<Vec<Registered>> = RwLock::new(Vec::new());
/// How many maps are registered. Relaxed: a map is registered before its code runs.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A registration by [`register_frame_map`], which lasts until this is dropped.
#[must_use = "dropping it takes the map back"]
pub struct FrameMapRegistration(Range<usize>);

impl fmt::Debug for FrameMapRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameMapRegistration({:#x}..{:#x})", self.0.start, self.0.end)
    }
}

impl Drop for FrameMapRegistration {
    fn drop(&mut self) {
        unregister_frame_map(&self.0);
    }
}

/// Locks the maps for a change. A thread that moves a stack meanwhile waits. So the caller keeps
/// its P, and doesn't park in the allocator.
fn change_maps() -> (Option<Held>, RwLockWriteGuard<'static, Vec<Registered>>) {
    let held = this_m().map(hold_p);
    (held, MAPS.write().unwrap_or_else(PoisonError::into_inner))
}

/// Takes back the map of `code`; false if there is none.
pub(crate) fn unregister_frame_map(code: &Range<usize>) -> bool {
    let (_held, mut maps) = change_maps();
    let before = maps.len();
    maps.retain(|registered| registered.code != *code);
    COUNT.store(maps.len(), Ordering::Relaxed);
    maps.len() != before
}

/// Registers the frame map of the functions whose code is in `code`, until the returned
/// registration is dropped.
///
/// Frames are found by their frame pointers, beginning with the frame whose check has failed. A
/// function without a map is passed over if it keeps frame pointers too. If it doesn't, its
/// caller's frame isn't found, or no frame above it. Frames that aren't found are adjusted as if
/// they had no map: every word that looks like an address of the stack is taken for one.
///
/// While a map is registered, a parked goroutine's stack is made smaller only if the function that
/// called [`mcall`](crate::proc::mcall) has a map. A function without a map, of this crate for
/// example, may keep no frame pointers, and then some frames with maps might not be found.
///
/// # Panics
/// If the range is empty, or overlaps one that is registered.
///
/// # Safety
/// The map is right for that code, as [`FrameMap`] says, and no goroutine is in it when the
/// registration is dropped.
pub unsafe fn register_frame_map(code: Range<usize>, map: &'static dyn FrameMap) -> FrameMapRegistration {
    // SAFETY: the map is right, as the caller says.
    let registered = unsafe { try_register_frame_map(&code, map) };
    assert!(registered, "gosched: a frame map's range must be its own and not empty");
    FrameMapRegistration(code)
}

/// Registers the map of `code`, until [`unregister_frame_map`]. Returns false if the range is
/// empty, or overlaps one that is registered.
///
/// # Safety
/// As [`register_frame_map`].
pub(crate) unsafe fn try_register_frame_map(code: &Range<usize>, map: &'static dyn FrameMap) -> bool {
    let (_held, mut maps) = change_maps();
    let overlaps = |other: &Registered| other.code.start < code.end && code.start < other.code.end;
    let free = !code.is_empty() && !maps.iter().any(overlaps);
    let at = maps.partition_point(|other| other.code.start < code.start);
    if free {
        maps.insert(at, Registered { code: code.clone(), map });
        COUNT.store(maps.len(), Ordering::Relaxed);
    }
    free
}

/// Returns the innermost frame of a parked G: the frame that its mcall returns to. If the G was
/// preempted at a check, it is the caller's frame of the function with the check. If the G hasn't
/// begun, it is the base of its stack.
pub(super) fn parked_frame(gp: &G) -> Frame {
    let bp = gp.sched.bp.get();
    if bp == 0 {
        return Frame { pc: gp.sched.pc.get(), sp: gp.sched.sp.get(), fp: 0 };
    }
    let (pc, sp) = parked_caller(bp, gp.sched.pc.get() == morestack_preempted_pc());
    Frame { pc: word(pc), sp, fp: word(bp) }
}

/// Returns the word of a stack at `at`.
fn word(at: usize) -> usize {
    // SAFETY: callers pass the aligned address of a word in a frame record, on the stack of a G
    // that isn't running. A sender may write to that stack, but not to a frame record.
    unsafe { ptr::with_exposed_provenance::<usize>(at).read() }
}

/// Whether the frame's record can be where `fp` points: it is aligned, not below `sp`, and in the
/// stack.
fn plausible(frame: &Frame, hi: usize) -> bool {
    frame.fp >= frame.sp
        && frame.fp.is_multiple_of(size_of::<usize>())
        && hi - frame.sp >= 16
        && frame.fp <= hi - 16
}

/// Whether a map is registered.
pub(super) fn any() -> bool {
    COUNT.load(Ordering::Relaxed) != 0
}

/// Returns the map of the code at `pc`, if it has one.
fn find(maps: &[Registered], pc: usize) -> Option<&'static dyn FrameMap> {
    let at = maps.partition_point(|registered| registered.code.end <= pc);
    maps.get(at).filter(|registered| registered.code.contains(&pc)).map(|registered| registered.map)
}

/// Whether every frame that may have a map can be found: there are no maps, or the innermost frame
/// has one and the frame pointers lead to the stack's base.
pub(super) fn frames_known(gp: &G, innermost: Frame) -> bool {
    if !any() {
        return true;
    }
    if find(&MAPS.read().unwrap_or_else(PoisonError::into_inner), innermost.pc).is_none() {
        return false;
    }
    let hi = gp.stack.get().hi;
    let mut frame = innermost;
    while frame.sp < hi && plausible(&frame, hi) {
        frame = Frame { pc: word(frame.fp + 8), sp: frame.fp + 16, fp: word(frame.fp) };
    }
    frame.fp == 0
}

/// Adjusts the words of the new stack, to which everything was copied. `innermost` is a frame of
/// the old stack. Go's loop over the frames in `copystack`.
///
/// # Safety
/// `gp.stack` is the new stack. No code runs on it, and none of its words was adjusted yet.
pub(super) unsafe fn adjustframes(gp: &G, adjinfo: &AdjustInfo, innermost: Frame) {
    let hi = gp.stack.get().hi;
    // Every word below this address is adjusted.
    let mut done = gp.sched.sp.get();
    let maps = MAPS.read().unwrap_or_else(PoisonError::into_inner);
    let mut frame = Frame { sp: adjinfo.moved(innermost.sp), fp: adjinfo.moved(innermost.fp), ..innermost };
    // Whether the frame's low end is known to be at its `sp`.
    let mut exact = true;
    while plausible(&frame, hi) {
        let next = Frame { pc: word(frame.fp + 8), sp: frame.fp + 16, fp: word(frame.fp) };
        let map = find(&maps, frame.pc);
        if exact && let Some(map) = map {
            // SAFETY: aligned words of the new stack, each adjusted once: first the words from
            // `done` to the frame's low end, then the frame.
            unsafe {
                adjinfo.adjustpointers(done, frame.sp);
                adjustframe(&frame, map, adjinfo);
            }
            done = frame.fp + 16;
        }
        exact = RECORD_ON_TOP || map.is_some();
        // The words above aren't adjusted yet, so the frame pointer that was read isn't, either.
        frame = Frame { fp: adjinfo.moved(next.fp), ..next };
    }
    // SAFETY: aligned words of the new stack, on which no code runs, as the caller says.
    unsafe { adjinfo.adjustpointers(done, hi) }
}

/// Adjusts the words of a frame that its map names. Go's `adjustframe`.
///
/// # Safety
/// The frame is in the new stack, on which no code runs, and isn't adjusted yet.
unsafe fn adjustframe(frame: &Frame, map: &dyn FrameMap, adjinfo: &AdjustInfo) {
    // SAFETY: only aligned words of the frame are passed: those of its record, and slots that are
    // checked below.
    let adjust = |slot: usize| unsafe { adjinfo.adjustpointers(slot, slot + size_of::<usize>()) };
    adjust(frame.fp);
    map.slots(frame, &mut |slot| {
        if !(frame.sp..frame.fp).contains(&slot) || !slot.is_multiple_of(size_of::<usize>()) {
            eprintln!("runtime: slot {slot:#x}, frame [{:#x}, {:#x}] pc={:#x}", frame.sp, frame.fp, frame.pc);
            throw("frame map names a slot outside its frame");
        }
        adjust(slot);
    });
}
