//! Goroutines that stay on one thread: Go's `LockOSThread`.
//!
//! `g.lockedm` and `m.lockedg` point to each other while a goroutine is locked. Such an M
//! runs no other goroutine: when its own parks, it hands its P on and sleeps
//! (`stoplockedm`); and whoever takes such a G from a queue hands its P to that M and wakes
//! it (`startlockedm`).

use crate::panic::throw;
use crate::proc::m::getm;
use crate::proc::park::goroutine;
use crate::proc::template::start_template_thread;
use crate::runtime2::{G, M};
use crate::stack::with_room;

/// Ties the two to each other. Go's `dolockOSThread`.
fn dolock_os_thread(gp: &'static G, mp: &'static M) {
    mp.lockedg.set(Some(gp));
    gp.lockedm.set(Some(mp));
}

/// Unlocks the two, unless somebody else locked them too. Go's `dounlockOSThread`.
fn dounlock_os_thread(gp: &'static G, mp: &'static M) {
    if mp.locked_int.get() == 0 && mp.locked_ext.get() == 0 {
        mp.lockedg.set(None);
        gp.lockedm.set(None);
    }
}

/// Locks the running goroutine to its thread; nests. Go's `LockOSThread`.
pub(crate) fn lock_os_thread() {
    // Before this thread may become one that no other should be made from.
    with_room(start_template_thread);
    let (gp, mp) = goroutine();
    let Some(nested) = mp.locked_ext.get().checked_add(1) else {
        throw("LockOSThread nesting overflow");
    };
    mp.locked_ext.set(nested);
    dolock_os_thread(gp, mp);
}

/// Undoes one [`lock_os_thread`]. Go's `UnlockOSThread`.
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

/// Locks a goroutine that parks while it unwinds to its thread, until it parks again or ends
/// without.
///
/// std counts panics per thread. If the goroutine woke elsewhere, it would be taken for
/// calm there, and whoever runs here for panicking: a second panic would abort, guards
/// would poison what they guard.
#[inline(always)]
pub(crate) fn wire_while_panicking(gp: &'static G, mp: &'static M) {
    let panicking = std::thread::panicking();
    if panicking != gp.ext.panic_wired.get() {
        wire(gp, mp, panicking);
    }
}

/// The goroutine has ended, with or without a panic.
#[inline(always)]
pub(crate) fn unwire(gp: &'static G) {
    if gp.ext.panic_wired.get() {
        wire(gp, getm(), false);
    }
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
