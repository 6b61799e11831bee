//! Telling of goroutines that keep a P from others, with `GODEBUG=hogs=1`: which it is, and where.
//!
//! Sysmon finds them, and waits for nobody; but to find out names takes memory and std's locks,
//! which one of them may hold. So a thread of its own tells of them, one at a time, an M without a
//! P as sysmon's is. Sysmon asks a goroutine to let its P go only when that has had a copy of its
//! stack, as it may then wait in a signal handler, where it leaves none; and waits for that no
//! longer than [`PATIENCE`]. While that thread tells of another goroutine sysmon doesn't wait at
//! all: then only the place is told where the goroutine was made ([`Untold`]), so that each place
//! is told of at least once.

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
use crate::runtime::m::new::new_system_m;
use crate::runtime::preempt::ask::ask;
use crate::runtime::report::ancestors::Origin;
use crate::runtime::report::goroutine_panic::Whose;
use crate::runtime::report::symbols::Symbols;
use crate::runtime::report::traceback::traceback;
use crate::runtime::signal::snapshot;

/// How long sysmon waits until it asks a goroutine whose stack wasn't copied yet, in nanoseconds.
const PATIENCE: i64 = 20 * 1000 * 1000;

/// How much a goroutine computes, in nanoseconds, until it is taken to have no checks: meanwhile it is asked to
/// stop at one several times.
const NO_CHECK_NS: i64 = 500 * 1000;

/// How long nothing is said of others that were made at the same place.
const SECOND: i64 = 1000 * 1000 * 1000;

/// Of how many places something is said in a second, at most.
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
    /// How long its time slice is until now, in nanoseconds.
    pub(in crate::runtime) slice: i64,
}

// SAFETY: of the G, the M and the P, atomics are read, and what never changes while the G is running, as tell
// sees to.
unsafe impl Send for Hog {}

impl Hog {
    /// Whether it still has its P, and its time slice is the same.
    fn still_has_it(&self) -> bool {
        self.pp.schedtick.load(Ordering::Relaxed) == self.schedtick
            && self.pp.m.load(Ordering::Acquire).is_some_and(|mp| ptr::eq(mp, self.mp))
    }

    /// How long its thread has been on a processor, in nanoseconds.
    fn computed(&self) -> i64 {
        thread_cpu_time(self.mp.procid.load(Ordering::Relaxed)).unwrap_or(i64::MAX)
    }

    /// It as it is now, if it comes to no check: waits until that is certain.
    fn without_check(mut self) -> Option<Hog> {
        let begun = self.computed();
        while !self.sleeps && self.still_has_it() && self.computed() - begun < NO_CHECK_NS {
            // Sysmon has asked it to stop, but such a request may get lost. Without a signal, as it may sleep.
            ask(self.mp, self.gp);
            usleep(20);
        }
        // Its thread may have begun to sleep since sysmon looked, and then its stack will say so.
        self.sleeps = self.sleeps || self.sleeps_now();
        self.still_has_it().then_some(self)
    }

    /// Whether its thread sleeps, found out as sysmon does.
    fn sleeps_now(&self) -> bool {
        let before = self.computed();
        usleep(100);
        self.computed() == before && thread_sleeps(self.mp.procid.load(Ordering::Relaxed))
    }

    /// Where it was made. What is said of those that were made there is said of one a second.
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

/// Writes what is wrong with a goroutine.
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

/// What the thread does that tells of goroutines.
enum Doing {
    /// There is no such thread.
    Nothing,
    /// It waits until somebody is to be told of.
    Waiting,
    /// It is to copy this one's stack, for which sysmon has waited since then.
    Copying(Hog, i64),
    /// It has done so, and writes.
    Writing,
}

/// What sysmon and that thread know.
struct Shared {
    doing: Doing,
    /// Of which places something was said last, and when.
    said: [(usize, i64); PLACES],
    /// Goroutines of places of which nothing was said for a second. No list that grows: sysmon adds
    /// to it, and malloc's lock may be one that a hog holds.
    untold: [Option<Untold>; PLACES],
}

static SHARED: Mutex<Shared> =
    Mutex::new(Shared { doing: Doing::Nothing, said: [(0, -SECOND); PLACES], untold: [None; PLACES] });

/// Woken when there is somebody to be told of.
static ASKED: SharedNote = SharedNote(Note { key: AtomicU32::new(0) });

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Whether something was said of `place` within a second.
    fn was_said(&self, place: usize, now: i64) -> bool {
        self.said.iter().any(|said| said.0 == place && is_recent(said, now))
    }

    /// Whether something may be said of `place`: nothing was within a second, nor of too many
    /// others.
    fn may_say(&self, place: usize, now: i64) -> bool {
        !self.was_said(place, now) && self.said.iter().any(|said| !is_recent(said, now))
    }

    /// Notes that something is said of `place`, in place of what was noted of it, or of the oldest.
    fn note(&mut self, place: usize, now: i64) {
        let same = self.said.iter().position(|said| said.0 == place);
        let oldest = || (0..PLACES).min_by_key(|&at| self.said[at].1);
        if let Some(at) = same.or_else(oldest) {
            self.said[at] = (place, now);
        }
    }

    /// Keeps `hog` to be told of later, without a stack.
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

    /// What the thread is to tell next that was left untold; if nothing, it waits.
    fn next_untold(&mut self) -> Option<Untold> {
        let next = self.untold.iter_mut().find_map(Option::take);
        self.doing = if next.is_some() { Doing::Writing } else { Doing::Waiting };
        next
    }
}

/// Whether this was said within a second.
fn is_recent(said: &(usize, i64), now: i64) -> bool {
    now - said.1 < period(SECOND)
}

/// Starts the thread that tells of goroutines, if `GODEBUG` wants that. For sysmon, when it begins.
pub(in crate::runtime) fn tell_of_hogs_if_wanted() {
    if hogs()
        && let Err(error) = new_system_m(tell_of_hogs)
    {
        eprintln!("gosched: GODEBUG=hogs=1 has no thread: {error}");
    }
}

/// Whether `hog` may be asked to let its P go: everything was found out that is to be said of it,
/// or it is left untold. For sysmon, which asks again.
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
        // It looks at what was left untold when it has written.
        _ => shared.leave_untold(hog, now),
    }
    true
}

/// What the M runs that tells of goroutines; it never ends.
fn tell_of_hogs() {
    // The first look-up reads the program's debug information, which takes long.
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
            tell(hog);
        }
    }
}

/// Writes of each goroutine that was left untold where it was made. Then nothing is left, and the
/// thread waits.
fn tell_of_untold() {
    loop {
        let mut shared = shared();
        let Some(untold) = shared.next_untold() else { return };
        shared.note(untold.place, nanotime());
        drop(shared);
        eprintln!("{untold}\n");
    }
}

/// Writes which goroutine `hog` is, and its stack.
fn tell(hog: Hog) {
    // With the scan bit set, it neither ends nor leaves its M.
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
