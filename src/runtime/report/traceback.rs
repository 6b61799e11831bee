//! Printing goroutines and their stacks: Go's `goroutineheader`, `traceback`, `tracebackothers`,
//! and `printcreatedby` and `printAncestorTraceback`, for ancestors that were kept
//! (`g/ancestors.rs`).
//!
//! A header says how long a goroutine has waited: since `g.waitsince`, which is right to a minute.
//! A park doesn't read the clock. So sysmon looks at all goroutines about once a second
//! (`monitor/dead_stack.rs`), and notes the time for each goroutine that has begun to wait
//! ([`note_wait`]). (In Go the collector notes the time, at least every two minutes.)

use std::backtrace::Backtrace;
use std::ffi::{c_int, c_void};
use std::fmt::{self, Display, Formatter, Write};
use std::mem::{self, ManuallyDrop};
use std::panic::Location;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::getg;
use crate::runtime::base::debug::{gotraceback, patience, traceback_labels};
use crate::runtime::base::guarded::guarded;
use crate::runtime::base::os::{nanotime, usleep};
use crate::runtime::base::print::{Stderr, eprintln};
use crate::runtime::base::this::curg;
use crate::runtime::data::ext::Name;
use crate::runtime::data::runtime2::{
    G, GCOPYSTACK, GDEAD, GIDLE, GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL, GWAITING, WaitReason,
};
use crate::runtime::g::allgs::for_each_g_race;
use crate::runtime::g::callers::{
    _Unwind_Backtrace, _Unwind_GetCFA, _Unwind_GetIP, GO_ON, INNER_FRAMES, Pcs, STOP, callers,
    callers_of_still, gcallers, left_at,
};
use crate::runtime::g::callers::{AncestorInfo, ancestors_of};
use crate::runtime::g::proflabel::get_prof_label;
use crate::runtime::g::status::{casfrom_gscanstatus, castogscanstatus, readgstatus};
use crate::runtime::report::groups::{Groups, Noted};
use crate::runtime::report::symbols::{Symbols, lose_names};
use crate::runtime::report::watchdog::more_time;
use crate::runtime::signal::snapshot;

/// Prints the number, state, wait reason and labels of a goroutine that this thread has left. Go's
/// `goroutineheader`.
pub(super) fn goroutineheader(gp: &G) {
    write_header(&mut Stderr::new(), gp, gp.atomicstatus.load(Ordering::Relaxed), true);
}

/// Writes the header of a goroutine with the state `atomicstatus`, whose scan bit is ignored.
/// `still` says that nothing of its own changes meanwhile, so that its labels may be read.
pub(super) fn write_header(out: &mut impl Write, gp: &G, atomicstatus: u32, still: bool) {
    let minutes = match (atomicstatus & !GSCAN, gp.waitsince.get()) {
        (GWAITING | GSYSCALL, since) if since != 0 => ((nanotime() - since) / MINUTE).max(0) as u64,
        _ => 0,
    };
    let scan = if atomicstatus & GSCAN != 0 { " (scan)" } else { "" };
    let status = format_args!("{}{scan}", what_it_does(gp, atomicstatus));
    let _ = write!(out, "{}", Named(gp));
    let _ = write_bracket(out, status, (minutes, minutes), !gp.lockedm.is_null());
    if still {
        // In the report of a fatal error their memory may be broken.
        guarded(|| {
            let labels = get_prof_label(gp);
            let labels = labels.iter().flat_map(|map| map.iter());
            let _ = write_labels(out, labels.map(|(key, value)| (key.as_str(), value.as_str())));
        });
    }
    let _ = writeln!(out, ":");
}

/// Writes what goroutines do, and for how many minutes, from the shortest to the longest.
pub(super) fn write_bracket(
    out: &mut impl Write,
    what: impl Display,
    minutes: (u64, u64),
    locked: bool,
) -> fmt::Result {
    write!(out, " [{what}")?;
    match minutes {
        (_, 0) => {}
        (shortest, longest) if shortest == longest => write!(out, ", {longest} minutes")?,
        (shortest, longest) => write!(out, ", {shortest}-{longest} minutes")?,
    }
    write!(out, "{}]", if locked { ", locked to thread" } else { "" })
}

/// Writes labels in braces, if there are any and `GODEBUG` doesn't have `tracebacklabels=0`. As in
/// Go, a key or a value is in quotes if it has other characters than the usual ones.
pub(super) fn write_labels<'a>(
    out: &mut impl Write,
    labels: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> fmt::Result {
    let mut before = " {";
    for (key, value) in labels.into_iter().filter(|_| traceback_labels()) {
        write!(out, "{before}{}: {}", Quoted(key), Quoted(value))?;
        before = ", ";
    }
    write!(out, "{}", if before == ", " { "}" } else { "" })
}

/// Text that is in quotes, with Rust's escapes, if it has other characters than letters, digits,
/// `.`, `/` and `_`. Go's `tracebackStringNeedsQuoting`.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_');
        if self.0.bytes().all(is_usual) { f.write_str(self.0) } else { write!(f, "{:?}", self.0) }
    }
}

/// A minute in nanoseconds.
const MINUTE: i64 = 60 * 1000 * 1000 * 1000;

/// A goroutine by its number, and its name if it has one.
pub(super) struct Named<'a>(pub(super) &'a G);

impl Display for Named<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "goroutine {}", self.0.goid.get())?;
        write_name(f, Some(self.0.ext.name.get()))
    }
}

/// Writes a space and a name, in quotes, if there is one.
pub(super) fn write_name(out: &mut impl Write, name: Option<Name>) -> fmt::Result {
    match name.filter(|name| !name.as_str().is_empty()) {
        Some(name) => write!(out, " {name:?}"),
        None => Ok(()),
    }
}

/// Returns what `gp` waits for or does in the state `atomicstatus`, whose scan bit is ignored.
pub(super) fn what_it_does(gp: &G, atomicstatus: u32) -> &'static str {
    match (atomicstatus & !GSCAN, gp.waitreason.get()) {
        (GWAITING, reason) if reason != WaitReason::Zero => reason.as_str(),
        (GRUNNING, _) if is_detached(gp) => "running (detached)",
        (status, _) => status_name(status),
    }
}

/// Whether `gp`, which runs, has no P: see `sched/detach.rs`.
pub(super) fn is_detached(gp: &G) -> bool {
    gp.m.get().is_some_and(|mp| mp.ext.detached_since.load(Ordering::Relaxed) != 0)
}

fn status_name(status: u32) -> &'static str {
    match status {
        GIDLE => "idle",
        GRUNNABLE => "runnable",
        GRUNNING => "running",
        GSYSCALL => "syscall",
        GWAITING => "waiting",
        GDEAD => "dead",
        GCOPYSTACK => "copystack",
        GPREEMPTED => "preempted",
        _ => "???",
    }
}

/// Sets `waitsince` of `gp` to `now`, if `gp` waits or is in a system call, and `waitsince` wasn't
/// set yet.
pub(in crate::runtime) fn note_wait(gp: &G, now: i64) {
    let status = readgstatus(gp);
    if matches!(status, GWAITING | GSYSCALL) && castogscanstatus(gp, status, status | GSCAN) {
        // waitsince is 0 again when the goroutine runs. The time is made even: see
        // `monitor/dead_stack.rs`.
        if gp.waitsince.get() == 0 {
            gp.waitsince.set(now & !1);
        }
        casfrom_gscanstatus(gp, status | GSCAN, status);
    }
}

/// Prints the frames of a goroutine, if they are known, and its creator. Go's `traceback`.
pub(super) fn traceback(
    out: &mut impl Write,
    symbols: &mut Symbols,
    pcs: Option<&Pcs>,
    origin: &Origin,
) -> fmt::Result {
    print_frames(out, symbols, pcs.map(|pcs| (pcs.as_slice(), pcs.failed)))?;
    origin.print(out, symbols)
}

/// Prints frames, if they are known, and a note if an unwinder has failed to find more.
pub(super) fn print_frames(
    out: &mut impl Write,
    symbols: &mut Symbols,
    frames: Option<(&[usize], bool)>,
) -> fmt::Result {
    let Some((pcs, failed)) = frames else {
        return writeln!(out, "\tgoroutine running on other thread; stack unavailable");
    };
    symbols.print(out, pcs)?;
    if failed { writeln!(out, "\t(the unwinder failed here: no more frames)") } else { Ok(()) }
}

/// Where a goroutine comes from.
pub(super) struct Origin {
    made: Made,
    parent_goid: u64,
}

impl Origin {
    /// Returns the origin of `gp`, which doesn't end meanwhile.
    pub(in crate::runtime) fn of(gp: &G) -> Origin {
        Origin { made: Made::of(gp), parent_goid: gp.parent_goid.get() }
    }

    /// Returns the origin of `gp`, which may end at any time.
    pub(super) fn without_ancestors(gp: &G) -> Origin {
        Origin { made: Made::without_ancestors(gp), parent_goid: gp.parent_goid.get() }
    }

    /// Prints the goroutine's creator, and each ancestor.
    pub(super) fn print(&self, out: &mut impl Write, symbols: &mut Symbols) -> fmt::Result {
        self.made.print(out, symbols, format_args!(" in goroutine {}", self.parent_goid))
    }
}

/// The place where a goroutine was made, and its ancestors.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Made {
    gopc: usize,
    pub(super) created_at: Option<&'static Location<'static>>,
    ancestors: Vec<AncestorInfo>,
}

impl Made {
    /// Returns where `gp` was made, which doesn't end meanwhile.
    pub(super) fn of(gp: &G) -> Made {
        Made { ancestors: ancestors_of(gp).to_vec(), ..Made::without_ancestors(gp) }
    }

    /// Returns where `gp` was made, which may end at any time. Doesn't read its ancestors, which
    /// would be freed then.
    pub(super) fn without_ancestors(gp: &G) -> Made {
        Made { gopc: gp.gopc.get(), created_at: gp.ext.created_at.get(), ancestors: Vec::new() }
    }

    /// Returns an address in the function that made the goroutine, if nothing better is known.
    pub(super) fn by(&self) -> Option<usize> {
        // An address inside the call, which returns to gopc.
        (self.created_at.is_none() && self.gopc != 0).then(|| self.gopc - 1)
    }

    /// Prints the place, and `by` whom, and each ancestor. Go's `printcreatedby`.
    pub(super) fn print(
        &self,
        out: &mut impl Write,
        symbols: &mut Symbols,
        by: fmt::Arguments<'_>,
    ) -> fmt::Result {
        printcreatedby1(out, symbols, self.created_at, self.gopc, by)?;
        self.ancestors.iter().try_for_each(|ancestor| print_ancestor_traceback(out, symbols, ancestor))
    }
}

/// Prints where a goroutine was made: the place in the source, or the function. Go's
/// `printcreatedby1`.
fn printcreatedby1(
    out: &mut impl Write,
    symbols: &mut Symbols,
    created_at: Option<&Location<'_>>,
    gopc: usize,
    by: fmt::Arguments<'_>,
) -> fmt::Result {
    match (created_at, gopc) {
        (Some(location), _) => writeln!(out, "created at {location}{by}"),
        (None, 0) => Ok(()),
        (None, gopc) => {
            write!(out, "created by ")?;
            // An address inside the call, which returns to gopc.
            symbols.print_maker(out, gopc - 1, by)
        }
    }
}

/// Prints the frames that an ancestor had. Go's `printAncestorTraceback`.
fn print_ancestor_traceback(
    out: &mut impl Write,
    symbols: &mut Symbols,
    ancestor: &AncestorInfo,
) -> fmt::Result {
    writeln!(out, "[originating from goroutine {}]:", ancestor.goid)?;
    symbols.print(out, &ancestor.pcs)?;
    printcreatedby1(out, symbols, ancestor.created_at, ancestor.gopc, format_args!(""))
}

/// What a report still has to print about this thread's goroutine.
#[derive(Clone, Copy)]
pub(super) enum Mine {
    /// The whole goroutine, before the others.
    ToPrint,
    /// Nothing: its stack was printed.
    Printed,
}

/// Prints every goroutine that has begun and not ended, for a report that ends the process. Takes
/// no lock of the runtime's, because the thread that failed may hold it. Go's `tracebackothers`.
pub(super) fn tracebackothers(symbols: &mut Symbols, mine: Mine) {
    if matches!(mine, Mine::ToPrint) {
        traceback_mine(symbols);
    }
    for_each_g_race(|gp| {
        if !is_mine(gp) {
            print_goroutine(symbols, gp, PATIENCE_NS);
        }
    });
}

/// [`tracebackothers`], for this thread's goroutine alone.
pub(super) fn traceback_mine(symbols: &mut Symbols) {
    if let Some(gp) = curg() {
        print_goroutine(symbols, gp, PATIENCE_NS);
    }
}

/// [`tracebackothers`], with goroutines that have equal stacks in one group, after `first`. Groups
/// need memory. If the thread that has malloc's lock doesn't go on, the goroutines are printed one
/// by one.
pub(super) fn traceback_grouped(symbols: &mut Symbols, first: Option<&'static G>) {
    if let Some(first) = first {
        print_goroutine(symbols, first, PATIENCE_NS);
    }
    let is_first = |gp: &G| first.is_some_and(|first| ptr::eq(first, gp));
    let mut groups = ManuallyDrop::new(Vec::new());
    let grouped = guarded(|| {
        let mut made = ManuallyDrop::new(Groups::new());
        for_each_g_race(|gp| {
            if !is_first(gp)
                && let Some(found) = find_goroutine(gp, PATIENCE_NS)
            {
                let pcs = found.frames(gp);
                made.add(pcs.as_ref(), Noted::of(gp, found.status, found.origin(gp).made, found.still));
            }
        });
        *groups = ManuallyDrop::into_inner(made).finish();
    });
    if !grouped {
        // The first attempt has set scan bits, which nobody clears.
        return for_each_g_race(|gp| {
            if !is_first(gp) {
                print_goroutine(symbols, gp, 0);
            }
        });
    }
    for group in &*groups {
        more_time();
        let _ = group.print(&mut Stderr::new(), symbols);
        eprintln!();
    }
}

/// A goroutine that a report has found.
struct Found {
    status: u32,
    /// Whether it stands still for good, or is this thread's.
    still: bool,
}

/// Finds the state of a goroutine that has begun and not ended. Waits for `patience` nanoseconds at
/// most until another thread clears the goroutine's scan bit.
fn find_goroutine(gp: &'static G, patience: i64) -> Option<Found> {
    let mine = is_mine(gp);
    let status = if mine { gp.atomicstatus.load(Ordering::Relaxed) } else { hold_goroutine(gp, patience) };
    if matches!(status & !GSCAN, GIDLE | GDEAD) {
        return None;
    }
    more_time();
    Some(Found { status, still: mine || !matches!(status & !GSCAN, GRUNNING | GCOPYSTACK) })
}

impl Found {
    /// Returns the frames of the goroutine, if they can be found.
    fn frames(&self, gp: &'static G) -> Option<Pcs> {
        if is_mine(gp) {
            frames_of_mine(gp)
        } else if self.still {
            // SAFETY: with the scan bit set, the goroutine can't go on, and its stack stays as it
            // is.
            Some(unsafe { callers_of_still(gp) })
        } else if snapshot::is_kept(gp) {
            // Its thread waits in a signal handler, so no signal comes.
            snapshot::kept(gp)
        } else {
            snapshot::running(gp)
        }
    }

    fn origin(&self, gp: &'static G) -> Origin {
        if self.still { Origin::of(gp) } else { Origin::without_ancestors(gp) }
    }
}

/// Prints a goroutine that has begun and not ended: see [`find_goroutine`].
fn print_goroutine(symbols: &mut Symbols, gp: &'static G, patience: i64) {
    if let Some(found) = find_goroutine(gp, patience) {
        write_header(&mut Stderr::new(), gp, found.status, found.still);
        let pcs = found.frames(gp);
        let _ = traceback(&mut Stderr::new(), symbols, pcs.as_ref(), &found.origin(gp));
        eprintln!();
    }
}

/// Whether `gp` is this thread's goroutine.
fn is_mine(gp: &G) -> bool {
    curg().is_some_and(|me| ptr::eq(me, gp))
}

/// Returns the frames of this thread's goroutine, if the thread is on g0.
fn frames_of_mine(gp: &G) -> Option<Pcs> {
    let on_g0 = getg().zip(gp.m.get()).is_some_and(|(g, mp)| ptr::eq(g, &mp.ext.g0));
    // SAFETY: the goroutine's stack stays as it left it while this thread, its own, is on g0.
    on_g0.then(|| unsafe { gcallers(gp, &left_at(gp)) })
}

/// How many nanoseconds to wait until another thread clears its scan bit.
const PATIENCE_NS: i64 = 1_000_000_000;

/// Sets the scan bit of `gp` for good, if it has begun and doesn't run. Returns the state that it
/// had. Waits for `patience_ns` at most for another thread's bit.
///
/// A bit that another thread has set doesn't hold the goroutine: that thread clears the bit, and
/// the goroutine goes on. If the bit is never cleared, the thread that has set it waits for the end
/// of the process, or is this thread.
fn hold_goroutine(gp: &G, patience_ns: i64) -> u32 {
    let mut limit = None;
    loop {
        let status = gp.atomicstatus.load(Ordering::Relaxed);
        if matches!(status & !GSCAN, GIDLE | GDEAD | GRUNNING | GCOPYSTACK) {
            return status;
        }
        if status & GSCAN != 0 {
            if nanotime() > *limit.get_or_insert_with(|| nanotime() + patience(patience_ns)) {
                return status;
            }
            usleep(1000);
            continue;
        }
        // SeqCst: see `G::atomicstatus`. This thread sees the frames that the goroutine has written
        // before it left its thread.
        let scan = status | GSCAN;
        let set = gp.atomicstatus.compare_exchange(status, scan, Ordering::SeqCst, Ordering::Relaxed);
        if set.is_ok() {
            return status;
        }
    }
}

/// Prints the calling stack, from g0 on through the goroutine that switched to it. Nothing can
/// return on that stack afterwards, because a deep stack is cut. std's backtrace needs memory and a
/// lock. If it fails, the frames are printed like those of other goroutines.
pub(super) fn print_backtrace(symbols: &mut Symbols) {
    if gotraceback().frames == 0 {
        return;
    }
    more_time();
    let mut out = Stderr::new();
    let mut elided = false;
    let by_std = || {
        elided = cut_stack();
        // A backtrace ends with a newline.
        let _ = write!(out, "{}", Backtrace::force_capture());
    };
    if !guarded(by_std) {
        let _ = writeln!(out);
        lose_names();
        let pcs = callers();
        let _ = print_frames(&mut out, symbols, Some((pcs.as_slice(), pcs.failed)));
    } else if elided {
        let _ = writeln!(out, "...additional frames elided...");
    }
}

/// If the calling stack has more frames than are printed, cuts it there by a return address of 0.
/// To walk the millions of frames that an overflow can have would take seconds. Returns whether it
/// has cut the stack.
fn cut_stack() -> bool {
    /// The maximum size of a frame. A larger distance isn't a frame but a change of stacks.
    const MAX_FRAME: usize = 1 << 20;

    struct Walk {
        /// How many frames were seen.
        frames: usize,
        /// The maximum number of frames that are left.
        most: usize,
        /// Where the last frame begins: the CFA of its callee.
        sp: usize,
        /// Whether the stack was cut.
        cut: bool,
    }

    unsafe extern "C" fn trace(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes its context, and cut_stack's walk. The words between the CFAs
        // of two neighbours are a frame, whose return address is near the end where the search
        // begins. This holds for the frame of systemstack, too, which leads to another stack. (A
        // frame that a signal has interrupted has no return address there, but it is within the
        // first frames.) Nothing returns by the changed address.
        unsafe {
            let walk = &mut *walk.cast::<Walk>();
            walk.frames += 1;
            let (ip, cfa) = (_Unwind_GetIP(context), _Unwind_GetCFA(context));
            let low = mem::replace(&mut walk.sp, cfa);
            if walk.frames <= walk.most || cfa.saturating_sub(low) > MAX_FRAME {
                return GO_ON;
            }
            let mut words = (low..cfa).step_by(size_of::<usize>()).rev();
            let saved = words.find(|word| ptr::with_exposed_provenance::<usize>(*word).read() == ip);
            let Some(word) = saved else { return GO_ON };
            // An unwinder stops at a return address of 0.
            ptr::with_exposed_provenance_mut::<usize>(word).write(0);
            walk.cut = true;
            STOP
        }
    }

    let mut most = INNER_FRAMES;
    loop {
        let mut walk = Walk { frames: 0, most, sp: 0, cut: false };
        // SAFETY: `trace` gets the walk, which nobody else uses meanwhile.
        unsafe { _Unwind_Backtrace(trace, (&raw mut walk).cast()) };
        if !walk.cut {
            return most > INNER_FRAMES;
        }
        // Walks again, because the word may have been another word with the same value. Then the
        // next frame is cut.
        most += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::base::testing::zeroed;

    #[test]
    fn the_first_look_counts() {
        let gp: &'static G = zeroed();
        gp.atomicstatus.store(GRUNNABLE, Ordering::Relaxed);
        note_wait(gp, 1);
        assert_eq!(gp.waitsince.get(), 0);
        gp.atomicstatus.store(GWAITING, Ordering::Relaxed);
        note_wait(gp, 3);
        note_wait(gp, 4);
        assert_eq!((gp.waitsince.get(), readgstatus(gp)), (2, GWAITING));
    }
}
