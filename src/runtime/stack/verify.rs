//! `GODEBUG=stackverify=1`: after a move, nothing of the G may point into its old stack.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::adjust_info::AdjustInfo;
use crate::runtime::data::runtime2::G;
use crate::runtime::g::sudog::waiting;
use crate::runtime::mem::side::each_side_block;

/// Throws if a word of the G's stack, of its side blocks or of the G itself points into the old
/// stack.
pub(super) fn no_stale_word(gp: &G, adjinfo: &AdjustInfo) {
    let (sched, stack) = (&gp.sched, gp.stack.get());
    words("its stack", sched.sp.get(), stack.hi, adjinfo);
    each_side_block(gp, |from, to| words("a side block", from, to, adjinfo));
    one("sched.bp", sched.bp.get(), adjinfo);
    one("sched.ctxt", sched.ctxt.get().addr(), adjinfo);
    one("_defer", gp._defer.get().addr(), adjinfo);
    one("_panic", gp._panic.get().addr(), adjinfo);
    for sg in waiting(gp) {
        one("a sudog", sg.elem.load(Ordering::Relaxed).addr(), adjinfo);
    }
}

/// Throws if a word from `from` to `to` points into the old stack.
fn words(what: &str, from: usize, to: usize, adjinfo: &AdjustInfo) {
    for at in (from..to).step_by(size_of::<usize>()) {
        // SAFETY: an aligned word of the G's memory. A sender may be writing to it: volatile, so that it is
        // read once.
        let p = unsafe { ptr::with_exposed_provenance::<usize>(at).read_volatile() };
        if adjinfo.moved(p) != p {
            eprintln!("runtime: the word at {at:#x}, {} bytes from the end of {what}, is stale", to - at);
        }
        one(what, p, adjinfo);
    }
}

/// Throws if `p`, a word of `what`, points into the old stack.
fn one(what: &str, p: usize, adjinfo: &AdjustInfo) {
    if adjinfo.moved(p) != p {
        let old = adjinfo.old;
        eprintln!("runtime: {p:#x} in {what} points into the old stack [{:#x}, {:#x}]", old.lo, old.hi);
        throw("stale stack pointer after a move");
    }
}
