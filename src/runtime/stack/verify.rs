//! `GODEBUG=stackverify=1`: checks after a move that no word of the G points into its old stack.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::adjust_info::AdjustInfo;
use crate::runtime::data::runtime2::G;
use crate::runtime::g::sudog::waiting;

/// Throws if a word of the G's stack or of the G itself points into the old stack.
pub(super) fn no_stale_word(gp: &G, adjinfo: &AdjustInfo) {
    let (sched, stack) = (&gp.sched, gp.stack.get());
    stack_words(sched.sp.get(), stack.hi, adjinfo);
    one("sched.bp", sched.bp.get(), adjinfo);
    one("sched.ctxt", sched.ctxt.get().addr(), adjinfo);
    one("_defer", gp._defer.get().addr(), adjinfo);
    one("_panic", gp._panic.get().addr(), adjinfo);
    for sg in waiting(gp) {
        one("a sudog", sg.elem.load(Ordering::Relaxed).addr(), adjinfo);
    }
}

/// Throws if a word from `from` to `to` points into the old stack, unless it is `adjusted`.
fn words(what: &str, from: usize, to: usize, adjinfo: &AdjustInfo, adjusted: impl Fn(usize, usize) -> bool) {
    for at in (from..to).step_by(size_of::<usize>()) {
        let p = word(at);
        if adjinfo.moved(p) != p && !adjusted(at, p) {
            eprintln!("runtime: the word at {at:#x}, {} bytes from the end of {what}, is stale", to - at);
            one(what, p, adjinfo);
        }
    }
}

/// Returns a word of the G's memory.
fn word(at: usize) -> usize {
    // SAFETY: aligned, and in a stack of the G's that isn't free. A sender may be writing to the
    // word, so the read is volatile, which reads it once.
    unsafe { ptr::with_exposed_provenance::<usize>(at).read_volatile() }
}

/// [`words`] for the new stack. A word that was adjusted isn't stale. A word that a deeper frame
/// has left behind pointed below the used part. Adjusted, it may point below the new stack, and the
/// old stack may be there.
fn stack_words(from: usize, to: usize, adjinfo: &AdjustInfo) {
    words("its stack", from, to, adjinfo, |at, p| {
        let was = word(at.wrapping_sub(adjinfo.delta));
        was != p && adjinfo.moved(was) == p
    });
}

/// Throws if `p`, a word of `what`, points into the old stack.
fn one(what: &str, p: usize, adjinfo: &AdjustInfo) {
    if adjinfo.moved(p) != p {
        let old = adjinfo.old;
        eprintln!("runtime: {p:#x} in {what} points into the old stack [{:#x}, {:#x}]", old.lo, old.hi);
        throw("stale stack pointer after a move");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::base::testing::dies;
    use crate::runtime::data::runtime2::Stack;

    /// Returns the check of a stack of 16 KiB that has shrunk to 8 KiB, right above the old one.
    /// The word `at` bytes from the end of both is set.
    fn moved(at: usize, was: impl Fn(Stack) -> usize, now: impl Fn(usize) -> usize) -> impl Fn() {
        move || {
            let memory = Box::leak(Box::new([0_usize; 24 * 1024 / 8]));
            let lo = memory.as_mut_ptr().expose_provenance();
            let [old, new] = [(lo, lo + 16384), (lo + 16384, lo + 24576)].map(|(lo, hi)| Stack { lo, hi });
            let adjinfo = AdjustInfo::new(old, new);
            memory[(old.hi - at - lo) / 8] = was(old);
            memory[(new.hi - at - lo) / 8] = now(adjinfo.moved(was(old)));
            stack_words(new.hi - 1024, new.hi, &adjinfo);
        }
    }

    #[test]
    fn what_was_adjusted_is_not_stale() {
        moved(512, |old| old.lo + 256, |adjusted| adjusted)();
        moved(512, |old| old.hi - 256, |adjusted| adjusted)();
    }

    #[test]
    fn what_was_missed_is_stale() {
        let missed = dies(moved(512, |old| old.hi - 256, |adjusted| adjusted - 8192));
        assert!(missed.contains(", 512 bytes from the end of its stack, is stale"), "{missed}");
        let another = dies(moved(512, |old| old.hi - 256, |adjusted| adjusted - 8192 - 64));
        assert!(another.contains("stale stack pointer after a move"), "{another}");
    }
}
