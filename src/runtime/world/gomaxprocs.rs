//! How many P's there are to be: what the program says, or what the system suggests. Go's `GOMAXPROCS`, and what 1.25
//! has added to it: as long as nobody has said another number, it follows the system's.
//!
//! Sysmon looks, once a second at most, and not while it sleeps because no P is in use: nothing is woken for that.
//! It can't stop the world, so if there is something to change, it makes a goroutine that does. (Go's is always
//! there, and waits; this one ends, and so is in no report.)
//!
//! After a call that sets the number, nothing sets it by itself, nor asks the system for it: a sandbox may then refuse
//! that.

use std::ffi::c_void;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::runtime::arch::systemstack;
use crate::runtime::base::debug::{gomaxprocs_from_env, update_maxprocs_off};
use crate::runtime::data::ext::Name;
use crate::runtime::data::runtime2::{Mutex, sched};
use crate::runtime::g::explored::exploring;
use crate::runtime::g::newproc::{Maker, newproc1};
use crate::runtime::lock::mutex::SharedMutex;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::counted;
use crate::runtime::mem::sizes::fixed_kind;
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::sched::detach::hold_with_p;
use crate::runtime::sched::exploration::explored_number;
use crate::runtime::sched::ready::enqueue;
use crate::runtime::world::cgroup::default_gomaxprocs;
use crate::runtime::world::procresize::make_ps;
use crate::runtime::world::stw::{NEWPROCS, StwReason, start_the_world, stop_the_world};

/// The program or its environment has said how many P's there are to be. Set by who has a P, and reset in a stopped
/// world. Go's `sched.customGOMAXPROCS`.
static CUSTOM: AtomicBool = AtomicBool::new(false);

/// Held while sysmon asks the system. Go's `computeMaxProcsLock`.
static COMPUTE_MAX_PROCS_LOCK: SharedMutex = SharedMutex(Mutex::new());

/// There is a goroutine that is about to change the number.
static UPDATING: AtomicBool = AtomicBool::new(false);

/// How many P's there are to be when explorations have ended, 0 if there are none: meanwhile there is one, whoever sets
/// another number. Changed in a stopped world.
static AFTERWARDS: AtomicI32 = AtomicI32::new(0);

/// How many P's there are at first.
pub(in crate::runtime) fn first_gomaxprocs() -> i32 {
    let said = gomaxprocs_from_env();
    CUSTOM.store(said.is_some(), Ordering::Relaxed);
    said.or_else(default_gomaxprocs).unwrap_or(1)
}

/// How many P's there are, as far as a program is to know: while there are explorations, only their goroutines see
/// that there is one.
pub(crate) fn wanted_procs() -> i32 {
    match AFTERWARDS.load(Ordering::Relaxed) {
        0 => gomaxprocs(),
        _ if explored_number().is_some() => gomaxprocs(),
        afterwards => afterwards,
    }
}

/// Sets how many P's there are; returns how many there were. On a goroutine. Go's `GOMAXPROCS`.
///
/// While there are explorations, it is noted for later; one of their goroutines sets nothing.
pub(crate) fn set_gomaxprocs(n: i32) -> i32 {
    if explored_number().is_some() {
        return wanted_procs();
    }
    // With a P: so the world isn't stopped, and who changes the number by itself either has or won't.
    let (_, _, held) = hold_with_p();
    CUSTOM.store(true, Ordering::Relaxed);
    let was = wanted_procs();
    drop(held);
    // If sysmon asks the system just now, that has an end.
    lock(&COMPUTE_MAX_PROCS_LOCK.0);
    unlock(&COMPUTE_MAX_PROCS_LOCK.0);
    if n != was {
        change_procs(|| want(n));
    }
    was
}

/// Has as many P's as the system suggests, from now on. On a goroutine. Go's `SetDefaultGOMAXPROCS`.
///
/// While there are explorations, it is noted for later; one of their goroutines sets nothing.
pub(crate) fn set_default_gomaxprocs() {
    if explored_number().is_some() {
        return;
    }
    // It reads files, for which a copying stack is too small.
    let n = systemstack(default_gomaxprocs).unwrap_or_else(wanted_procs);
    if n != wanted_procs() || CUSTOM.load(Ordering::Relaxed) {
        change_procs(|| {
            CUSTOM.store(false, Ordering::Relaxed);
            want(n);
        });
    }
}

/// Sees to it that there are as many P's as the system suggests now, if nobody has said another number. Called by
/// sysmon, which holds no lock. Go's `sysmonUpdateGOMAXPROCS`.
pub(in crate::runtime) fn sysmon_update_gomaxprocs() {
    if update_maxprocs_off() || exploring() || UPDATING.load(Ordering::Relaxed) {
        return;
    }
    lock(&COMPUTE_MAX_PROCS_LOCK.0);
    let custom = CUSTOM.load(Ordering::Relaxed);
    let now = if custom { None } else { default_gomaxprocs() };
    unlock(&COMPUTE_MAX_PROCS_LOCK.0);
    if let Some(n) = now.filter(|n| *n != wanted_procs()) {
        start_update(n);
    }
}

/// Makes the goroutine that changes the number. If there is no memory for that, sysmon will ask again.
#[cold]
fn start_update(n: i32) {
    let name = &Name::new("GOMAXPROCS updater");
    let maker = Maker { name, created_at: Some(Location::caller()), callerpc: 0 };
    // It is runnable before an M is started for it.
    counted(|| {
        if make_ps(n).is_ok()
            && let Ok(newg) = newproc1(update_max_procs, fixed_kind(), &maker)
        {
            newg.ext.system.set(true);
            sched().ngsys.fetch_add(1, Ordering::Relaxed);
            newg.sched.ctxt.set(ptr::without_provenance_mut(n as usize));
            UPDATING.store(true, Ordering::Relaxed);
            enqueue(newg);
        }
    });
}

/// What it runs. Go's `updateMaxProcsGoroutine`.
unsafe extern "C" fn update_max_procs(n: *mut c_void) {
    change_procs(|| {
        // Somebody may have said a number since.
        if !CUSTOM.load(Ordering::Relaxed) {
            want(n.addr() as i32);
        }
    });
    UPDATING.store(false, Ordering::Relaxed);
}

/// Explorations begin: there is one P until [`leave_one_p`]. On a goroutine.
pub(crate) fn keep_one_p() {
    change_procs(|| {
        AFTERWARDS.store(gomaxprocs(), Ordering::Relaxed);
        NEWPROCS.store(1, Ordering::Relaxed);
    });
}

/// Explorations end. On a goroutine.
pub(crate) fn leave_one_p() {
    change_procs(|| NEWPROCS.store(AFTERWARDS.swap(0, Ordering::Relaxed), Ordering::Relaxed));
}

/// There are to be `n` P's: when the world starts, or when explorations have ended. The world is stopped.
fn want(n: i32) {
    match AFTERWARDS.load(Ordering::Relaxed) {
        0 => NEWPROCS.store(n, Ordering::Relaxed),
        _ => AFTERWARDS.store(n, Ordering::Relaxed),
    }
}

/// Calls `change` while the world is stopped, which then starts with as many P's as that says.
fn change_procs(change: impl FnOnce()) {
    let w = stop_the_world(StwReason::GoMaxProcs);
    change();
    start_the_world(w);
}
