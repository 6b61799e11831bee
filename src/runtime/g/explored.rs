//! The goroutines of an exploration (`explore/mod.rs`), and their numbers. The first goroutine has
//! number 1, and each further goroutine gets the next number when it is made. A goroutine's goid
//! depends on what else the process does; its number depends only on the order in which the
//! exploration's goroutines run.
//!
//! Nobody takes the P from these goroutines. A thread that asks for the P, such as sysmon, may have
//! looked before the run began, so the goroutine that is asked refuses ([`keeps_p`]).

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::runtime::arch::tsan;
use crate::runtime::data::runtime2::{G, GDEAD, P};
use crate::runtime::g::status::readgstatus;

/// Whether there is an exploration, on the one P that there is.
static EXPLORING: AtomicBool = AtomicBool::new(false);

/// Whether this P acts for the exploration though no goroutine of it runs, as when it makes the
/// first goroutine or runs timers.
static ACTING: AtomicBool = AtomicBool::new(false);

/// Whether a goroutine of the exploration has come to no point for long.
static STUCK: AtomicBool = AtomicBool::new(false);

/// Whether a thread without a P has woken a goroutine of the exploration.
static WOKEN_OUTSIDE: AtomicBool = AtomicBool::new(false);

/// The number of choices made. It shows sysmon that an exploration makes progress.
pub(in crate::runtime) static STEPS: AtomicU64 = AtomicU64::new(0);

/// The number of a goroutine that a run has left behind: it never runs again.
pub(in crate::runtime) const LOST: u32 = u32::MAX;

/// The number of the goroutine that waits for the run.
pub(in crate::runtime) const DRIVER: u32 = u32::MAX - 1;

/// The goroutines of the run, each with its number. The G of a goroutine that has ended may be
/// another goroutine by now.
struct Made(UnsafeCell<Vec<(&'static G, u32)>>);

// SAFETY: touched only by the M that has the exploration's P, and keeps it.
unsafe impl Sync for Made {}

static MADE: Made = Made(UnsafeCell::new(Vec::new()));

/// Whether there is an exploration. One load, and false nearly always.
#[inline(always)]
pub(in crate::runtime) fn exploring() -> bool {
    // Relaxed: an exploration begins on the P of this thread.
    EXPLORING.load(Ordering::Relaxed)
}

pub(in crate::runtime) fn set_exploring(on: bool) {
    EXPLORING.store(on, Ordering::Relaxed);
}

/// Whether the P acts for the exploration now, though no goroutine runs on it. Called with that P
/// held.
pub(in crate::runtime) fn acting() -> bool {
    ACTING.load(Ordering::Relaxed)
}

/// Calls `f`, which acts for the exploration. The caller keeps its P.
pub(in crate::runtime) fn act<R>(f: impl FnOnce() -> R) -> R {
    ACTING.store(true, Ordering::Relaxed);
    let result = f();
    ACTING.store(false, Ordering::Relaxed);
    result
}

/// Notes that a thread without a P makes `gp` runnable.
#[cold]
#[inline(never)]
pub(in crate::runtime) fn note_woken_outside(gp: &G) {
    if is_explored(gp) {
        WOKEN_OUTSIDE.store(true, Ordering::Relaxed);
    }
}

/// Whether [`note_woken_outside`] was called since the last call of this.
pub(in crate::runtime) fn woken_outside() -> bool {
    WOKEN_OUTSIDE.swap(false, Ordering::Relaxed)
}

/// Notes that a goroutine of the exploration has come to no point for long. Called by sysmon.
#[cold]
pub(in crate::runtime) fn note_stuck() {
    STUCK.store(true, Ordering::Relaxed);
}

/// Whether [`note_stuck`] was called since the last call of this.
pub(in crate::runtime) fn stuck() -> bool {
    STUCK.load(Ordering::Relaxed) && STUCK.swap(false, Ordering::Relaxed)
}

/// Whether `gp` is a goroutine of the run.
#[inline]
pub(in crate::runtime) fn is_explored(gp: &G) -> bool {
    !matches!(gp.ext.number.load(Ordering::Relaxed), 0 | DRIVER | LOST)
}

/// Whether `gp` is a goroutine of the run, or waits for it.
pub(in crate::runtime) fn is_part(gp: &G) -> bool {
    !matches!(gp.ext.number.load(Ordering::Relaxed), 0 | LOST)
}

/// Whether a run has left `gp` behind: whatever its status is, it never runs again.
pub(in crate::runtime) fn is_lost(gp: &G) -> bool {
    gp.ext.number.load(Ordering::Relaxed) == LOST
}

/// Whether `gp`, which runs, refuses to give up its P. It keeps the P until it leaves by itself,
/// unless it comes to no point for long. The world isn't stopped meanwhile, as the goroutine that
/// stops it needs the one P.
#[inline(always)]
pub(in crate::runtime) fn keeps_p(gp: &G) -> bool {
    exploring() && refuses(gp)
}

#[cold]
fn refuses(gp: &G) -> bool {
    is_part(gp) && !STUCK.load(Ordering::Relaxed)
}

/// Gives a new goroutine its number, if it belongs to an exploration: its `maker` does, or its P,
/// `pp`, acts for the exploration.
#[inline(always)]
pub(in crate::runtime) fn number_new(newg: &'static G, maker: Option<&'static G>, pp: Option<&P>) {
    newg.ext.number.store(0, Ordering::Relaxed);
    // A caller without a P is outside of the exploration, or has lost its P and with it its part.
    if exploring() && pp.is_some() {
        number(newg, maker);
    }
}

#[cold]
#[inline(never)]
fn number(newg: &'static G, maker: Option<&'static G>) {
    if acting() || maker.is_some_and(is_explored) {
        // SAFETY: a goroutine of the exploration has its P, or the P acts for it; newproc1 keeps
        // it.
        let made = unsafe { &mut *MADE.0.get() };
        let number = made.len() as u32 + 1;
        tsan::ignore_accesses(|| made.push((newg, number)));
        newg.ext.number.store(number, Ordering::Relaxed);
    }
}

/// The goroutines of the run that haven't ended, with their numbers.
///
/// # Safety
/// The caller has the exploration's P, and makes no goroutine meanwhile.
pub(in crate::runtime) unsafe fn alive() -> impl Iterator<Item = (&'static G, u32)> {
    // SAFETY: the caller has the exploration's P, and makes no goroutine meanwhile.
    let made = unsafe { &*MADE.0.get() };
    let is_alive = |(gp, number): &(&'static G, u32)| {
        gp.ext.number.load(Ordering::Relaxed) == *number && readgstatus(gp) != GDEAD
    };
    made.iter().copied().filter(is_alive)
}

/// Ends the run: goroutines that are left never run again, and G's that have ended may be used by
/// anybody.
///
/// # Safety
/// As [`alive`].
pub(in crate::runtime) unsafe fn forget_made() {
    // SAFETY: the caller has the exploration's P, and makes no goroutine meanwhile.
    unsafe {
        alive().for_each(|(gp, _)| gp.ext.number.store(LOST, Ordering::Relaxed));
        (*MADE.0.get())
            .drain(..)
            .filter(|(gp, _)| gp.ext.number.load(Ordering::Relaxed) != LOST)
            .for_each(|(gp, _)| gp.ext.number.store(0, Ordering::Relaxed));
    }
}
