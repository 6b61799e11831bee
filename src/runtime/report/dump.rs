//! The states of all goroutines, in a program that goes on: as text, with the stacks (Go's
//! `runtime.Stack` with `all`), and as groups of goroutines with equal stacks
//! (`goroutineProfileWithLabels`, in `mprof.go`).
//!
//! The world isn't stopped. [`look_at_goroutine`] suspends one goroutine at a time, if it can,
//! while it finds the goroutine's frames.

use std::io;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::arch::{getg, systemstack, systemstack_scannable};
use crate::runtime::base::debug::patience;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::this::whoami;
use crate::runtime::data::runtime2::{G, GRUNNING, GSCAN, GSCANRUNNING, WaitReason};
use crate::runtime::g::allgs::{atomic_all_g, atomic_all_g_index};
use crate::runtime::g::callers::{Pcs, callers_of_still, gcallers, left_at};
use crate::runtime::g::status::{
    cas_g_from_waiting, cas_g_to_waiting, casfrom_gscanstatus, castogscanstatus, readgstatus,
};
use crate::runtime::report::groups::{Group, Groups, Noted, Stacks};
use crate::runtime::report::symbols::Symbols;
use crate::runtime::report::traceback::{Made, Origin, traceback, write_header};
use crate::runtime::sched::entersyscall::{entersyscall, exitsyscall};
use crate::runtime::sched::exploration::explored_number;
use crate::runtime::signal::snapshot;
use crate::runtime::world::suspend::{resume_g, suspend_g_until};

/// Writes the state and the stack of every goroutine, the caller's first. Go's `runtime.Stack` with
/// `all`.
///
/// ```text
/// goroutine 7 "worker" [chan receive, 3 minutes]:
/// example::work(...)
///         /src/example.rs:12 +0x1d
/// created at src/main.rs:7:5 in goroutine 1
/// ```
///
/// The world isn't stopped. Each goroutine is stopped while its stack is walked. If a running
/// goroutine doesn't stop, its stack is printed as it was at one moment. If even that isn't
/// possible, the line `goroutine running on other thread; stack unavailable` is printed. Goroutines
/// that begin or end meanwhile may be missing. The frames of the runtime itself are left out unless
/// [`set_traceback`](crate::set_traceback) or `GOTRACEBACK` says otherwise.
///
/// Other goroutines may use the caller's P meanwhile, as in [`blocking`](crate::blocking). `out`
/// gets pieces of about 64 KiB.
///
/// If a running goroutine comes to no check for 10 ms, its thread gets a signal, `SIGURG`, even if
/// no code is preemptible, and with `GODEBUG=asyncpreemptoff=1`. If the goroutine is in a sleep or
/// a poll in C outside of [`blocking`](crate::blocking), that call may then return `EINTR`. The
/// program gets the signal too if it had a handler for it before the runtime started, or has asked
/// for it by [`signal::notify`](crate::signal::notify).
///
/// This can also be called from a thread that doesn't run a goroutine, but neither on a copying
/// stack nor in [`systemstack`](crate::proc::systemstack).
///
/// # Errors
/// The errors of `out`.
///
/// # Panics
/// As `out` does.
pub fn dump_goroutines(out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let me = getg();
    let mut symbols = Symbols::new();
    let mut all = all_goroutines(me);
    write_parts(out, me, |text, separator| {
        let Some(gp) = all.next() else { return false };
        print(text, &mut symbols, gp, me, separator);
        true
    })
}

/// Writes the states and the stacks of all goroutines, each stack once, with the number of the
/// goroutines that have it. The largest groups come first. Go's profile `goroutine` with `debug=1`,
/// in the form of a traceback.
///
/// ```text
/// 120 goroutines "worker" [chan receive, 2-5 minutes] {service: mail}:
/// goroutines 7, 8, 9, 11, 12, 13, 14, 15, 16, 17 and 110 more
/// example::work(...)
///         /src/example.rs:12 +0x1d
/// created at src/main.rs:7:5 in goroutine 1
///
/// goroutine 1 [sleep]:
/// ...
/// ```
///
/// Goroutines are in one group if they do or wait for the same, have equal stacks, and were made at
/// the same place. The header has their least and their longest wait, the name that all of them
/// have, and the labels that all of them have with the same values. The second line has the numbers
/// of the ten that have waited longest, and their names if these differ. A goroutine alone in its
/// group is shown as [`dump_goroutines`] shows it.
///
/// Goroutines are looked at as by [`dump_goroutines`], each once, before the first byte is written.
/// That takes memory for each different stack, and less than 200 bytes for each goroutine. `out`
/// gets pieces of about 64 KiB.
///
/// ```
/// use gosched::chan::bounded;
///
/// gosched::run(|| {
///     let (_tx, rx) = bounded::<()>(0);
///     for _ in 0..100 {
///         let rx = rx.clone();
///         gosched::go(move || rx.recv());
///     }
///     let mut report = Vec::new();
///     gosched::dump_goroutines_grouped(&mut report).unwrap();
///     println!("{}", String::from_utf8_lossy(&report));
/// });
/// ```
///
/// # Errors
/// The errors of `out`.
///
/// # Panics
/// As `out` does.
pub fn dump_goroutines_grouped(out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let mut symbols = Symbols::new();
    let mut groups = goroutine_groups().into_iter();
    write_parts(out, getg(), |text, separator| {
        let Some(group) = groups.next() else { return false };
        text.push_str(separator);
        // Writing to a string doesn't fail.
        let _ = group.print(text, &mut symbols);
        true
    })
}

/// Looks at all goroutines, the runtime's own included, and groups them by equal stacks. The
/// addresses of their frames aren't looked up.
pub(crate) fn goroutine_groups() -> Vec<Group> {
    let me = getg();
    without_p(me, || {
        let mut groups = Groups::new();
        for gp in all_goroutines(me) {
            let looked =
                look_at_goroutine(gp, me, |looked| Noted::of(gp, looked.status, Made::of(gp), looked.still));
            if let Some((pcs, noted)) = looked {
                groups.add(pcs.as_ref(), noted);
            }
        }
        groups.finish()
    })
}

/// Looks at all goroutines, as [`goroutine_groups`], and looks up the addresses of their frames.
/// Called where [`dump_goroutines`] may be called. Each address is looked up once.
pub(crate) fn goroutine_stacks() -> Stacks {
    let groups = goroutine_groups();
    without_p(getg(), || Stacks::new(groups))
}

/// Returns all G's that exist now, `me` first.
fn all_goroutines(me: Option<&'static G>) -> impl Iterator<Item = &'static G> {
    let others = (0..atomic_all_g())
        .filter_map(atomic_all_g_index)
        .filter(move |gp| !me.is_some_and(|me| ptr::eq(me, *gp)));
    me.into_iter().chain(others)
}

/// Writes what `add` appends to a text until it returns false, in pieces of about
/// [`WRITTEN_AT_ONCE`]. `add` is called [`without_p`], with the text that separates what it appends
/// from what comes before.
pub(super) fn write_parts(
    out: &mut (impl io::Write + ?Sized),
    me: Option<&'static G>,
    mut add: impl FnMut(&mut String, &str) -> bool,
) -> io::Result<()> {
    let mut text = String::new();
    let mut separator = "";
    loop {
        text.clear();
        without_p(me, || {
            while text.len() < WRITTEN_AT_ONCE && add(&mut text, separator) {
                separator = if text.is_empty() { separator } else { "\n" };
            }
        });
        if text.is_empty() {
            return Ok(());
        }
        out.write_all(text.as_bytes())?;
    }
}

/// The number of bytes that are written at once. A write may be a little larger.
const WRITTEN_AT_ONCE: usize = 64 << 10;

/// Calls `f` on g0, or on a foreign thread. Meanwhile the caller's goroutine is in a system call,
/// so others get its P. `f` computes for long, and may wait for a library that another goroutine
/// loads or unloads. A goroutine that can't park keeps its P.
fn without_p<R>(me: Option<&'static G>, f: impl FnOnce() -> R) -> R {
    if !may_park() {
        return while_waiting(me, f);
    }
    // SAFETY: on a goroutine that holds no lock of the runtime's. `f` doesn't unwind, and the
    // system call ends here.
    unsafe {
        entersyscall();
        let result = systemstack(f);
        exitsyscall();
        result
    }
}

/// Calls `f` on g0, with the caller's goroutine in the state `GWAITING`: two running goroutines
/// that suspend each other would wait forever.
fn while_waiting<R>(me: Option<&'static G>, f: impl FnOnce() -> R) -> R {
    systemstack_scannable(|| match me.filter(|me| readgstatus(me) & !GSCAN == GRUNNING) {
        Some(me) => {
            cas_g_to_waiting(me, GRUNNING, WaitReason::TraceGoroutineStatus);
            let result = f();
            cas_g_from_waiting(me);
            result
        }
        None => f(),
    })
}

/// Whether the caller is a goroutine that could park now, and isn't in an exploration.
fn may_park() -> bool {
    let (on, mp) = whoami();
    on.is_some() && mp.is_some_and(|mp| mp.locks.get() == 0) && explored_number().is_none()
}

/// Prints `gp` if it has begun and not ended. Called on g0, or on a foreign thread.
fn print(out: &mut String, symbols: &mut Symbols, gp: &'static G, me: Option<&G>, separator: &str) {
    let looked = look_at_goroutine(gp, me, |looked| {
        out.push_str(separator);
        write_header(out, gp, looked.status, looked.still);
        Origin::of(gp)
    });
    if let Some((pcs, origin)) = looked {
        // Writing to a string doesn't fail.
        let _ = traceback(out, symbols, pcs.as_ref(), &origin);
    }
}

/// A goroutine that this thread looks at, and that doesn't end meanwhile.
struct Looked {
    /// Its state, without the scan bit.
    status: u32,
    /// Whether it stands still, so that nothing of its own changes.
    still: bool,
}

/// Calls `note` for `gp`, and finds its frames, if that is possible. Returns none if `gp` hasn't
/// begun or has ended. `me` is the caller's goroutine. Called on g0, or on a thread that isn't
/// ours.
fn look_at_goroutine<T>(
    gp: &'static G,
    me: Option<&G>,
    mut note: impl FnMut(&Looked) -> T,
) -> Option<(Option<Pcs>, T)> {
    if me.is_some_and(|me| ptr::eq(me, gp)) {
        let noted = note(&Looked { status: GRUNNING, still: true });
        // SAFETY: `gp` is the caller's, and this thread is on g0, so the stack stays as `gp` left
        // it.
        return Some((Some(unsafe { gcallers(gp, &left_at(gp)) }), noted));
    }
    let state = loop {
        // In the first case it stands still, and a request to stop would let it go on. In the
        // second it has lost its P because it came to no check.
        if (snapshot::is_kept(gp) || has_run_long_without_p(gp))
            && let Some(found) = look_at_running(gp, &mut note)
        {
            return Some(found);
        }
        match suspend_g_until(gp, nanotime() + patience(PATIENCE)) {
            Some(state) => break state,
            None => {
                if let Some(found) = look_at_running(gp, &mut note) {
                    return Some(found);
                }
            }
        }
    };
    if state.dead {
        return None;
    }
    let status = if state.stopped { GRUNNING } else { readgstatus(gp) & !GSCAN };
    let noted = note(&Looked { status, still: true });
    // SAFETY: it is suspended until resume_g.
    let found = unsafe { (Some(callers_of_still(gp)), noted) };
    resume_g(state);
    Some(found)
}

/// How many nanoseconds to wait until a running goroutine stops.
const PATIENCE: i64 = 10 * 1000 * 1000;

/// Whether `gp` has run without a P for longer than [`look_at_goroutine`] would wait for it to
/// stop.
fn has_run_long_without_p(gp: &G) -> bool {
    let since = gp.m.get().map_or(0, |mp| mp.ext.detached_since.load(Ordering::Relaxed));
    since != 0 && nanotime() - since > patience(PATIENCE)
}

/// [`look_at_goroutine`] for a goroutine that runs and doesn't stop; none if it has stopped
/// meanwhile.
fn look_at_running<T>(gp: &'static G, note: &mut impl FnMut(&Looked) -> T) -> Option<(Option<Pcs>, T)> {
    // With the scan bit set, it neither ends nor leaves its M.
    if !castogscanstatus(gp, GRUNNING, GSCANRUNNING) {
        return None;
    }
    let noted = note(&Looked { status: GRUNNING, still: false });
    let found = (snapshot::running(gp), noted);
    casfrom_gscanstatus(gp, GSCANRUNNING, GRUNNING);
    Some(found)
}
