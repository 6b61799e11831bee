//! With `GODEBUG=hogs=1`, reports each goroutine that keeps a P from others, with its stack.
//!
//! Sysmon finds such goroutines, and must not wait. But looking up names takes memory and std's
//! locks, which such a goroutine may hold. So a reporting thread reports them, one at a time; its M
//! has no P, like sysmon's. A goroutine that was asked to let its P go may wait in a signal
//! handler, where it leaves no copy of its stack. So sysmon asks the goroutine only after the
//! thread has copied the stack, and waits for the copy no longer than [`PATIENCE`]. While the
//! thread reports another goroutine, sysmon doesn't wait at all. Then the report gives only the
//! place where the goroutine was made ([`Untold`]), so that each place is reported at least once.

use std::fmt::{self, Display, Formatter, Write};
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::runtime::base::debug::{hogs, patience, period};
use crate::runtime::base::os::{nanotime, thread_cpu_time, thread_sleeps, usleep};
use crate::runtime::base::print::eprintln;
use crate::runtime::data::runtime2::{G, GRUNNING, GSCANRUNNING, M, Note, P};
use crate::runtime::g::status::{casfrom_gscanstatus, castogscanstatus};
use crate::runtime::lock::note::{SharedNote, noteclear, notesleep, notewakeup};
use crate::runtime::m::thread::new_system_m;
use crate::runtime::preempt::ask::fail_stack_checks;
use crate::runtime::report::panic::Whose;
use crate::runtime::report::symbols::Symbols;
use crate::runtime::report::traceback::{Origin, traceback};
use crate::runtime::signal::snapshot;

/// The maximum time that sysmon waits for the copy of a goroutine's stack before it asks the
/// goroutine to let its P go, in nanoseconds.
const PATIENCE: i64 = 20 * 1000 * 1000;

/// A goroutine that has computed for this many nanoseconds is assumed to have no checks. Meanwhile
/// it is asked several times to stop at a check.
const NO_CHECK_NS: i64 = 500 * 1000;

/// For this many nanoseconds after a report, no other goroutine that was made at the same place is
/// reported.
const SECOND: i64 = 1000 * 1000 * 1000;

/// The maximum number of places that are reported in a second.
const PLACES: usize = 64;

/// A goroutine that keeps a P.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Hog {
    pub(in crate::runtime) gp: &'static G,
    pub(in crate::runtime) mp: &'static M,
    pub(in crate::runtime) pp: &'static P,
    /// [`P::schedtick`] in this time slice.
    pub(in crate::runtime) schedtick: u32,
    /// Whether its thread sleeps, or did a moment ago.
    pub(in crate::runtime) sleeps: bool,
    /// The length of its time slice until now, in nanoseconds.
    pub(in crate::runtime) slice: i64,
}

// SAFETY: only atomics of the G, the M and the P are read, and fields that never change while the G
// is running. `report_hog` ensures that it is running.
unsafe impl Send for Hog {}

impl Hog {
    /// Whether the goroutine still has its P, in the same time slice.
    fn still_has_it(&self) -> bool {
        self.pp.schedtick.load(Ordering::Relaxed) == self.schedtick
            && self.pp.m.load(Ordering::Acquire).is_some_and(|mp| ptr::eq(mp, self.mp))
    }

    /// The time that its thread has been on a processor, in nanoseconds.
    fn computed(&self) -> i64 {
        thread_cpu_time(self.mp.procid.load(Ordering::Relaxed)).unwrap_or(i64::MAX)
    }

    /// Waits until it is certain whether the goroutine comes to a check. Returns its state now if
    /// it comes to none.
    fn without_check(mut self) -> Option<Hog> {
        let begun = self.computed();
        while !self.sleeps && self.still_has_it() && self.computed() - begun < NO_CHECK_NS {
            // Sysmon has asked the goroutine to stop, but such a request may get lost. No signal is
            // sent, because the thread may sleep.
            fail_stack_checks(self.mp, self.gp);
            usleep(20);
        }
        // Its thread may have begun to sleep since sysmon looked. The stack will show that.
        self.sleeps = self.sleeps || self.sleeps_now();
        self.still_has_it().then_some(self)
    }

    /// Whether its thread sleeps, by the same check as sysmon's.
    fn sleeps_now(&self) -> bool {
        let before = self.computed();
        usleep(100);
        self.computed() == before && thread_sleeps(self.mp.procid.load(Ordering::Relaxed))
    }

    /// The place where the goroutine was made. One goroutine per place is reported in a second.
    fn place(&self) -> usize {
        let created_at = self.gp.ext.created_at.get();
        created_at.map_or(self.gp.gopc.get(), |location| ptr::from_ref(location).addr())
    }
}

impl Display for Hog {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_fault(f, self.sleeps, self.slice)
    }
}

/// Writes how a goroutine keeps its P.
fn write_fault(f: &mut Formatter<'_>, sleeps: bool, slice: i64) -> fmt::Result {
    let slice = Duration::from_nanos(slice.max(0) as u64);
    if sleeps {
        write!(f, "blocks its thread and keeps its processor, {slice:.1?} after it began to run:")
    } else {
        write!(f, "keeps its processor, has computed for {slice:.1?}, and comes to no check:")
    }
}

/// A goroutine that was asked to let its P go before its stack was copied. It may have ended since.
#[derive(Clone, Copy)]
struct Untold {
    place: usize,
    created_at: Option<&'static Location<'static>>,
    sleeps: bool,
    slice: i64,
}

impl Display for Untold {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("gosched: a goroutine created ")?;
        match self.created_at {
            Some(location) => write!(f, "at {location}")?,
            None => write!(f, "by pc={:#x}", self.place)?,
        }
        f.write_str(" ")?;
        write_fault(f, self.sleeps, self.slice)?;
        f.write_str(" its stack wasn't copied in time")
    }
}

/// The state of the reporting thread.
enum Doing {
    /// There is no such thread.
    Nothing,
    /// It waits for a goroutine to report.
    Waiting,
    /// It is to copy the stack of this goroutine. Sysmon has waited for the copy since this time.
    Copying(Hog, i64),
    /// It has copied the stack, and writes the report.
    Writing,
}

/// The data that sysmon and the reporting thread share.
struct Shared {
    doing: Doing,
    /// The places that were reported last, and the times of these reports.
    said: [(usize, i64); PLACES],
    /// Goroutines of places that weren't reported for a second. The list can't grow, because sysmon
    /// adds to it, and a hog may hold malloc's lock.
    untold: [Option<Untold>; PLACES],
}

static SHARED: Mutex<Shared> =
    Mutex::new(Shared { doing: Doing::Nothing, said: [(0, -SECOND); PLACES], untold: [None; PLACES] });

/// Woken when there is a goroutine to report.
static ASKED: SharedNote = SharedNote(Note { key: AtomicU32::new(0) });

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Whether `place` was reported within a second.
    fn was_said(&self, place: usize, now: i64) -> bool {
        self.said.iter().any(|said| said.0 == place && is_recent(said, now))
    }

    /// Whether `place` may be reported: neither this place nor too many others were reported within
    /// a second.
    fn may_say(&self, place: usize, now: i64) -> bool {
        !self.was_said(place, now) && self.said.iter().any(|said| !is_recent(said, now))
    }

    /// Notes a report of `place`, in the entry of `place` or in the oldest entry.
    fn note(&mut self, place: usize, now: i64) {
        let same = self.said.iter().position(|said| said.0 == place);
        let oldest = || (0..PLACES).min_by_key(|&at| self.said[at].1);
        if let Some(at) = same.or_else(oldest) {
            self.said[at] = (place, now);
        }
    }

    /// Keeps `hog` to be reported later, without a stack.
    fn leave_untold(&mut self, hog: Hog, now: i64) {
        let place = hog.place();
        let waits = |untold: &Option<Untold>| untold.is_some_and(|untold| untold.place == place);
        if self.was_said(place, now) || self.untold.iter().any(waits) {
            return;
        }
        if let Some(free) = self.untold.iter_mut().find(|untold| untold.is_none()) {
            let Hog { sleeps, slice, .. } = hog;
            *free = Some(Untold { place, created_at: hog.gp.ext.created_at.get(), sleeps, slice });
        }
    }

    /// Takes the next goroutine that was left unreported, for the thread to report. If there is
    /// none, the thread waits.
    fn next_untold(&mut self) -> Option<Untold> {
        let next = self.untold.iter_mut().find_map(Option::take);
        self.doing = if next.is_some() { Doing::Writing } else { Doing::Waiting };
        next
    }
}

/// Whether this report was made within a second.
fn is_recent(said: &(usize, i64), now: i64) -> bool {
    now - said.1 < period(SECOND)
}

/// Starts the reporting thread if `GODEBUG` has `hogs=1`. Sysmon calls this when it begins.
pub(in crate::runtime) fn tell_of_hogs_if_wanted() {
    if hogs()
        && let Err(error) = new_system_m(tell_of_hogs)
    {
        eprintln!("gosched: GODEBUG=hogs=1 has no thread: {error}");
    }
}

/// Whether `hog` may be asked to let its P go: its data for the report was copied, or it will be
/// reported without a stack. Called by sysmon, which calls again if this returns false.
pub(in crate::runtime) fn may_ask(hog: Hog) -> bool {
    if !hogs() {
        return true;
    }
    let now = nanotime();
    let mut shared = shared();
    match shared.doing {
        Doing::Copying(other, since) if ptr::eq(hog.gp, other.gp) && now - since <= patience(PATIENCE) => {
            return false;
        }
        Doing::Waiting if shared.may_say(hog.place(), now) => {
            shared.doing = Doing::Copying(hog, now);
            notewakeup(&ASKED);
            return false;
        }
        // The thread looks at unreported goroutines when it has written its report.
        _ => shared.leave_untold(hog, now),
    }
    true
}

/// The function of the reporting thread's M; it never returns.
fn tell_of_hogs() {
    // The first look-up takes long, because it reads the program's debug information.
    Symbols::new().explain();
    loop {
        tell_of_untold();
        notesleep(&ASKED);
        noteclear(&ASKED);
        let asked = match shared().doing {
            Doing::Copying(hog, _) => Some(hog),
            _ => None,
        };
        if let Some(hog) = asked.and_then(Hog::without_check) {
            report_hog(hog);
        }
    }
}

/// Reports each goroutine that was left unreported, with the place where it was made. Afterwards
/// none is left, and the thread waits.
fn tell_of_untold() {
    loop {
        let mut shared = shared();
        let Some(untold) = shared.next_untold() else { return };
        shared.note(untold.place, nanotime());
        drop(shared);
        eprintln!("{untold}\n");
    }
}

/// Reports `hog`, with its stack.
fn report_hog(hog: Hog) {
    // With the scan bit set, the goroutine neither ends nor leaves its M.
    if !castogscanstatus(hog.gp, GRUNNING, GSCANRUNNING) {
        return;
    }
    shared().note(hog.place(), nanotime());
    let mut text = String::new();
    // Writing to a string doesn't fail.
    let _ = writeln!(text, "gosched: {}{hog}", Whose(hog.gp));
    let (pcs, origin) = (snapshot::running(hog.gp), Origin::of(hog.gp));
    casfrom_gscanstatus(hog.gp, GSCANRUNNING, GRUNNING);
    shared().doing = Doing::Writing;
    let _ = traceback(&mut text, &mut Symbols::new(), pcs.as_ref(), &origin);
    eprintln!("{text}");
}
