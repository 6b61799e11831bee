//! The wanted number of P's: set by the program, or suggested by the system. Go's `GOMAXPROCS`,
//! with the addition of Go 1.25: while nothing has set a number, it follows the system's.
//!
//! Sysmon checks the system's number at most once a second. While it sleeps because no P is in use,
//! it isn't woken for the check. Sysmon can't stop the world, so if the number has changed, it
//! makes a goroutine that does. (Go's goroutine always exists, and waits. This one ends, so reports
//! don't show it.)
//!
//! After a call that sets the number, sysmon neither updates the number nor asks the system for it.
//! So a sandbox may refuse the needed calls from then on.

use std::ffi::c_void;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::runtime::arch::systemstack;
use crate::runtime::base::debug::{gomaxprocs_from_env, update_maxprocs_off};
use crate::runtime::data::ext::Name;
use crate::runtime::data::runtime2::{Mutex, sched};
use crate::runtime::g::explored::exploring;
use crate::runtime::lock::mutex::SharedMutex;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::counted;
use crate::runtime::mem::sizes::fixed_kind;
use crate::runtime::p::procs::gomaxprocs;
use crate::runtime::sched::detach::hold_with_p;
use crate::runtime::sched::exploration::explored_number;
use crate::runtime::sched::newproc::{Maker, newproc1};
use crate::runtime::sched::ready::enqueue;
use crate::runtime::world::cgroup::default_gomaxprocs;
use crate::runtime::world::procresize::make_ps;
use crate::runtime::world::stw::{NEWPROCS, StwReason, start_the_world, stop_the_world};

/// Whether the program or its environment has set the number of P's. Set by a thread that has a P,
/// and reset in a stopped world. Go's `sched.customGOMAXPROCS`.
static CUSTOM: AtomicBool = AtomicBool::new(false);

/// Held while sysmon asks the system for its number. Go's `computeMaxProcsLock`.
static COMPUTE_MAX_PROCS_LOCK: SharedMutex = SharedMutex(Mutex::new());

/// Whether a goroutine is about to change the number.
static UPDATING: AtomicBool = AtomicBool::new(false);

/// The number of P's to have when explorations have ended, 0 if there are no explorations. During
/// explorations there is one P, even if another number is set. Changed in a stopped world.
static AFTERWARDS: AtomicI32 = AtomicI32::new(0);

/// The initial number of P's.
pub(in crate::runtime) fn first_gomaxprocs() -> i32 {
    let said = gomaxprocs_from_env();
    CUSTOM.store(said.is_some(), Ordering::Relaxed);
    said.or_else(default_gomaxprocs).unwrap_or(1)
}

/// The number of P's as a program sees it. During explorations, only their goroutines see that
/// there is one P.
pub(crate) fn wanted_procs() -> i32 {
    match AFTERWARDS.load(Ordering::Relaxed) {
        0 => gomaxprocs(),
        _ if explored_number().is_some() => gomaxprocs(),
        afterwards => afterwards,
    }
}

/// Sets the number of P's, and returns the former number. Called on a goroutine. Go's `GOMAXPROCS`.
///
/// During explorations, the number is noted for later. A goroutine of an exploration sets nothing.
pub(crate) fn set_gomaxprocs(n: i32) -> i32 {
    if explored_number().is_some() {
        return wanted_procs();
    }
    // CUSTOM is set with a P, so the world isn't stopped: an automatic change of the number is
    // either done or won't happen.
    let (_, _, held) = hold_with_p();
    CUSTOM.store(true, Ordering::Relaxed);
    let was = wanted_procs();
    drop(held);
    // If sysmon is asking the system right now, this waits until it has finished.
    lock(&COMPUTE_MAX_PROCS_LOCK.0);
    unlock(&COMPUTE_MAX_PROCS_LOCK.0);
    if n != was {
        change_procs(|| want(n));
    }
    was
}

/// Makes the number of P's follow the system's number from now on. Called on a goroutine. Go's
/// `SetDefaultGOMAXPROCS`.
///
/// During explorations, the number is noted for later. A goroutine of an exploration sets nothing.
pub(crate) fn set_default_gomaxprocs() {
    if explored_number().is_some() {
        return;
    }
    // default_gomaxprocs reads files, and a copying stack is too small for that.
    let n = systemstack(default_gomaxprocs).unwrap_or_else(wanted_procs);
    if n != wanted_procs() || CUSTOM.load(Ordering::Relaxed) {
        change_procs(|| {
            CUSTOM.store(false, Ordering::Relaxed);
            want(n);
        });
    }
}

/// Sets the number of P's to the system's number, if nothing has set another number. Called by
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

/// Makes the goroutine that changes the number. If there is no memory for it, sysmon tries again
/// later.
#[cold]
fn start_update(n: i32) {
    let name = &Name::new("GOMAXPROCS updater");
    let maker = Maker { name, created_at: Some(Location::caller()), callerpc: 0 };
    // The goroutine is runnable before an M is started for it.
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

/// The function of the goroutine that changes the number. Go's `updateMaxProcsGoroutine`.
unsafe extern "C" fn update_max_procs(n: *mut c_void) {
    change_procs(|| {
        // The program may have set a number since.
        if !CUSTOM.load(Ordering::Relaxed) {
            want(n.addr() as i32);
        }
    });
    UPDATING.store(false, Ordering::Relaxed);
}

/// Keeps a single P until [`leave_one_p`]. Called on a goroutine, when explorations begin.
pub(crate) fn keep_one_p() {
    change_procs(|| {
        AFTERWARDS.store(gomaxprocs(), Ordering::Relaxed);
        NEWPROCS.store(1, Ordering::Relaxed);
    });
}

/// Undoes [`keep_one_p`]. Called on a goroutine, when explorations end.
pub(crate) fn leave_one_p() {
    change_procs(|| NEWPROCS.store(AFTERWARDS.swap(0, Ordering::Relaxed), Ordering::Relaxed));
}

/// Sets the number of P's to have when the world starts, or when explorations have ended. The world
/// is stopped.
fn want(n: i32) {
    match AFTERWARDS.load(Ordering::Relaxed) {
        0 => NEWPROCS.store(n, Ordering::Relaxed),
        _ => AFTERWARDS.store(n, Ordering::Relaxed),
    }
}

/// Calls `change` while the world is stopped. The world then starts with the number of P's that
/// `change` has set.
fn change_procs(change: impl FnOnce()) {
    let w = stop_the_world(StwReason::GoMaxProcs);
    change();
    start_the_world(w);
}
