//! The sleep of sysmon, which has nothing to do while no P is in use, and how it is woken.
//!
//! `sched.sysmonwait` says that sysmon sleeps. The thread that clears the flag wakes the note, and
//! so the note is woken once. As a rule that thread holds `sched.lock`. But a signal handler takes
//! no lock, and may be late with its wake, when sysmon's time is up already. So sysmon clears the
//! flag itself, or waits for the wake of the thread that did, as otherwise that wake would come
//! into sysmon's next sleep.
//!
//! `loom` checks it on this file (`tests/loom`).

use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::sched;
use crate::runtime::lock::assert_lock_held;
use crate::runtime::lock::note::{noteclear, notesleep, notetsleep, notewakeup};

/// Sleeps until sysmon is woken, for `ns` nanoseconds at most, and says whether it was woken. On
/// sysmon's thread, which has set `sched.sysmonwait`; the flag is cleared when this returns.
pub(in crate::runtime) fn sleep_until_woken(ns: i64) -> bool {
    let note = &sched().sysmonnote;
    let woken = notetsleep(note, ns) || !sched().sysmonwait.swap(false, Ordering::SeqCst);
    if woken {
        notesleep(note);
    }
    noteclear(note);
    woken
}

/// Wakes sysmon if it sleeps because there was nothing to do. `sched.lock` is held.
#[inline]
pub(in crate::runtime) fn wake_sysmon() {
    assert_lock_held(&sched().lock);
    if sched().sysmonwait.load(Ordering::SeqCst) {
        wake_sysmon_from_signal();
    }
}

/// [`wake_sysmon`] from a signal handler, which takes no lock.
pub(in crate::runtime) fn wake_sysmon_from_signal() {
    if sched().sysmonwait.swap(false, Ordering::SeqCst) {
        notewakeup(&sched().sysmonnote);
    }
}
