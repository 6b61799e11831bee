//! Goroutines that are locked to one thread: Go's `LockOSThread`.
//!
//! `g.lockedm` and `m.lockedg` point to each other while a goroutine is locked. Such an M runs no
//! other goroutine: when that goroutine parks, the M hands its P on and sleeps (`stoplockedm`). An
//! M that takes such a G from a queue hands its P to the G's M and wakes that M (`startlockedm`).

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{getm, goroutine, with_room};
use crate::runtime::data::runtime2::{G, M};
use crate::runtime::m::thread::start_template_thread;

/// Locks `gp` and `mp` to each other. Go's `dolockOSThread`.
fn dolock_os_thread(gp: &'static G, mp: &'static M) {
    mp.lockedg.set(Some(gp));
    gp.lockedm.set(Some(mp));
}

/// Unlocks `gp` and `mp`, unless either count says that they are still locked. Go's
/// `dounlockOSThread`.
fn dounlock_os_thread(gp: &'static G, mp: &'static M) {
    if mp.locked_int.get() == 0 && mp.locked_ext.get() == 0 {
        mp.lockedg.set(None);
        gp.lockedm.set(None);
    }
}

/// Locks the running goroutine to its thread; nests. Go's `LockOSThread`.
pub(crate) fn lock_os_thread() {
    // Starts the template thread now: once the goroutine has changed this thread, this thread
    // should make no others.
    with_room(start_template_thread);
    let (gp, mp) = goroutine();
    let Some(nested) = mp.locked_ext.get().checked_add(1) else {
        throw("LockOSThread nesting overflow");
    };
    mp.locked_ext.set(nested);
    dolock_os_thread(gp, mp);
}

/// Undoes one call of [`lock_os_thread`]. Go's `UnlockOSThread`.
pub(crate) fn unlock_os_thread() {
    let (gp, mp) = goroutine();
    let Some(left) = mp.locked_ext.get().checked_sub(1) else { return };
    mp.locked_ext.set(left);
    dounlock_os_thread(gp, mp);
}

/// Whether the running goroutine is locked to its thread. Go's `lockedOSThread`.
pub(crate) fn locked_os_thread() -> bool {
    let mp = getm();
    mp.curg.get().is_some_and(|gp| !gp.lockedm.is_null()) && !mp.lockedg.is_null()
}

/// Locks a goroutine that parks while it panics to its thread, until it parks or ends without
/// panicking.
///
/// std counts panics per thread, and the count of a goroutine without thread-locals of its own is
/// that of its M's thread. If the goroutine went on elsewhere, it would not seem to panic there,
/// and the next goroutine here would: a second panic would abort, and mutexes would be poisoned.
#[inline(always)]
pub(in crate::runtime) fn wire_while_panicking(gp: &'static G, mp: &'static M) {
    let panicking = std::thread::panicking() && gp.ext.tp.get() == 0;
    if panicking != gp.ext.panic_wired.get() {
        wire(gp, mp, panicking);
    }
}

/// Undoes [`wire_while_panicking`] for a goroutine that has ended.
#[inline(always)]
pub(crate) fn unwire(gp: &'static G) {
    if gp.ext.panic_wired.get() {
        unwire_now(gp);
    }
}

#[cold]
#[inline(never)]
fn unwire_now(gp: &'static G) {
    wire(gp, getm(), false);
}

#[cold]
#[inline(never)]
fn wire(gp: &'static G, mp: &'static M, panicking: bool) {
    gp.ext.panic_wired.set(panicking);
    if panicking {
        mp.locked_int.set(mp.locked_int.get() + 1);
        dolock_os_thread(gp, mp);
    } else {
        mp.locked_int.set(mp.locked_int.get() - 1);
        dounlock_os_thread(gp, mp);
    }
}
