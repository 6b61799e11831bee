//! With `GODEBUG=hogs=1`, reports each goroutine that keeps a P from others, with its stack.
//!
//! Sysmon finds such goroutines, and must not wait. But looking up names takes memory and std's
//! locks, which such a goroutine may hold. So a reporting thread reports them, one at a time; its M
//! has no P, like sysmon's. A goroutine that was asked to let its P go may wait in a signal
//! handler, where it leaves no copy of its stack. So sysmon asks the goroutine only after the
//! thread has copied the stack, and waits for the copy no longer than [`PATIENCE`]. While the
//! thread reports another goroutine, sysmon doesn't wait at all. Then the report gives only the
//! place where the goroutine was made ([`Untold`]), so that each place is reported at least once.
//!
//! A place is reported once a second at most. Meanwhile its other goroutines are counted, and the
//! count is reported after that second ([`Said`]).

use std::fmt::{self, Display, Formatter, Write};
use std::mem;
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
use crate::runtime::lock::note::{SharedNote, noteclear, notetsleep, notewakeup};
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
    /// The P and the time slice, which no other goroutine has.
    fn id(&self) -> (usize, u32) {
        (ptr::from_ref(self.pp).addr(), self.schedtick)
    }

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
    fn place(&self) -> Place {
        let created_at = self.gp.ext.created_at.get();
        let address = created_at.map_or(self.gp.gopc.get(), |location| ptr::from_ref(location).addr());
        Place { address, created_at }
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

/// A place where goroutines were made.
#[derive(Clone, Copy)]
struct Place {
    address: usize,
    created_at: Option<&'static Location<'static>>,
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.created_at {
            Some(location) => write!(f, "at {location}"),
            None => write!(f, "by pc={:#x}", self.address),
        }
    }
}

/// A goroutine that was asked to let its P go before its stack was copied. It may have ended since.
#[derive(Clone, Copy)]
struct Untold {
    place: Place,
    sleeps: bool,
    slice: i64,
}

impl Display for Untold {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "gosched: a goroutine created {} ", self.place)?;
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

/// A place that was reported.
#[derive(Clone, Copy)]
struct Said {
    place: Place,
    at: i64,
    /// How often goroutines of this place have kept a P since then, or since that was last counted.
    more: u32,
}

impl Said {
    /// No report.
    const NONE: Said = Said { place: Place { address: 0, created_at: None }, at: -SECOND, more: 0 };

    /// Whether the report was made within a second.
    fn is_recent(&self, now: i64) -> bool {
        now - self.at < period(SECOND)
    }
}

impl Display for Said {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Said { place, more, .. } = self;
        write!(
            f,
            "gosched: goroutines created {place} have kept a processor since the last report: {more} more"
        )
    }
}

/// The data that sysmon and the reporting thread share.
struct Shared {
    doing: Doing,
    /// The time slice that is being reported.
    reported: Option<(usize, u32)>,
    /// The places that were reported last.
    said: [Said; PLACES],
    /// Goroutines of places that weren't reported for a second. The list can't grow, because sysmon
    /// adds to it, and a hog may hold malloc's lock.
    untold: [Option<Untold>; PLACES],
    /// How often a goroutine was left out because the list was full.
    left_out: u32,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared {
    doing: Doing::Nothing,
    reported: None,
    said: [Said::NONE; PLACES],
    untold: [None; PLACES],
    left_out: 0,
});

/// Woken when there is a goroutine to report.
static ASKED: SharedNote = SharedNote(Note { key: AtomicU32::new(0) });

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Returns the entry of `place`, if the place was reported within a second.
    fn said(&self, place: Place, now: i64) -> Option<usize> {
        self.said.iter().position(|said| said.place.address == place.address && said.is_recent(now))
    }

    /// Whether `place` may be reported: neither this place nor too many others were reported within
    /// a second.
    fn may_say(&self, place: Place, now: i64) -> bool {
        self.said(place, now).is_none() && self.said.iter().any(|said| !said.is_recent(now))
    }

    /// Notes a report of `place`, in the entry of `place` or in the oldest entry. Returns the entry
    /// of another place that is lost.
    fn note(&mut self, place: Place, now: i64) -> Option<Said> {
        let same = self.said.iter().position(|said| said.place.address == place.address);
        let oldest = || (0..PLACES).min_by_key(|&at| self.said[at].at);
        let at = same.or_else(oldest)?;
        let more = if same.is_some() { self.said[at].more } else { 0 };
        let before = mem::replace(&mut self.said[at], Said { place, at: now, more });
        (same.is_none() && before.more > 0).then_some(before)
    }

    /// Keeps `hog` to be reported later, without a stack, or counts it. `is_new` says whether it
    /// wasn't counted before.
    fn leave_untold(&mut self, hog: Hog, is_new: bool, now: i64) {
        let is_reported = self.reported.take_if(|reported| *reported == hog.id()).is_some();
        let place = hog.place();
        let waits =
            |untold: &Option<Untold>| untold.is_some_and(|untold| untold.place.address == place.address);
        if let Some(at) = self.said(place, now) {
            self.said[at].more += u32::from(is_new && !is_reported);
        } else if !self.untold.iter().any(waits) {
            let Hog { sleeps, slice, .. } = hog;
            match self.untold.iter_mut().find(|untold| untold.is_none()) {
                Some(free) => *free = Some(Untold { place, sleeps, slice }),
                None => self.left_out += u32::from(is_new),
            }
        }
    }

    /// Takes the next goroutine that was left unreported, for the thread to report. If there is
    /// none, the thread waits.
    fn next_untold(&mut self) -> Option<Untold> {
        let next = self.untold.iter_mut().find_map(Option::take);
        self.doing = if next.is_some() { Doing::Writing } else { Doing::Waiting };
        next
    }

    /// Takes the next count that is due: of a place that wasn't reported for a second.
    fn next_count(&mut self, now: i64) -> Option<Said> {
        let due = self.said.iter_mut().find(|said| said.more > 0 && !said.is_recent(now))?;
        let count = *due;
        due.more = 0;
        Some(count)
    }
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
/// reported without a stack. `is_new` says that this hasn't returned true in its time slice yet.
/// Called by sysmon, which calls again if this returns false.
pub(in crate::runtime) fn may_ask(hog: Hog, is_new: bool) -> bool {
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
        _ => shared.leave_untold(hog, is_new, now),
    }
    true
}

/// The function of the reporting thread's M; it never returns.
fn tell_of_hogs() {
    // The first look-up takes long, because it reads the program's debug information.
    Symbols::new().explain();
    loop {
        tell_of_untold();
        while !sleep_until_asked() {
            tell_counts();
        }
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

/// Sleeps until there is a goroutine to report, or until counts may be due. Returns whether there
/// is a goroutine.
fn sleep_until_asked() -> bool {
    let now = nanotime();
    let may_be_due = {
        let shared = shared();
        // Sysmon counts goroutines of places that were reported within a second.
        shared.left_out > 0 || shared.said.iter().any(|said| said.more > 0 || said.is_recent(now))
    };
    notetsleep(&ASKED.0, if may_be_due { period(SECOND) } else { -1 })
}

/// Reports each goroutine that was left unreported, with the place where it was made. Afterwards
/// none is left, and the thread waits.
fn tell_of_untold() {
    loop {
        let mut shared = shared();
        let Some(untold) = shared.next_untold() else { return };
        let lost = shared.note(untold.place, nanotime());
        drop(shared);
        tell_count(lost);
        eprintln!("{untold}\n");
    }
}

/// Prints the counts that are due.
fn tell_counts() {
    loop {
        let due = shared().next_count(nanotime());
        if due.is_none() {
            break;
        }
        tell_count(due);
    }
    let left_out = mem::take(&mut shared().left_out);
    if left_out > 0 {
        eprintln!("gosched: goroutines of other places have kept a processor: {left_out}\n");
    }
}

fn tell_count(count: Option<Said>) {
    if let Some(count) = count {
        eprintln!("{count}\n");
    }
}

/// Reports `hog`, with its stack.
fn report_hog(hog: Hog) {
    // With the scan bit set, the goroutine neither ends nor leaves its M.
    if !castogscanstatus(hog.gp, GRUNNING, GSCANRUNNING) {
        return;
    }
    let lost = shared().note(hog.place(), nanotime());
    let mut text = String::new();
    // Writing to a string doesn't fail.
    let _ = writeln!(text, "gosched: {}{hog}", Whose(hog.gp));
    let (pcs, origin) = (snapshot::running(hog.gp), Origin::of(hog.gp));
    casfrom_gscanstatus(hog.gp, GSCANRUNNING, GRUNNING);
    let mut shared = shared();
    (shared.doing, shared.reported) = (Doing::Writing, Some(hog.id()));
    drop(shared);
    let _ = traceback(&mut text, &mut Symbols::new(), pcs.as_ref(), &origin);
    tell_count(lost);
    eprintln!("{text}");
}
