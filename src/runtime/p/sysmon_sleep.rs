//! The sleep of sysmon, which has nothing to do while no P is in use, and how it is woken.
//!
//! `sched.sysmonwait` says that sysmon sleeps. The thread that clears the flag wakes the note, so
//! the note is woken once. As a rule that thread holds `sched.lock`. But a signal handler takes no
//! lock, and its wake may come after sysmon's time is up. So when its time is up, sysmon clears the
//! flag itself. If another thread was faster, sysmon waits for that thread's wake, which would
//! otherwise end sysmon's next sleep.
//!
//! `loom` checks this protocol on this file (`tests/loom`).

use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::sched;
use crate::runtime::lock::assert_lock_held;
use crate::runtime::lock::note::{noteclear, notesleep, notetsleep, notewakeup};

/// Sleeps until sysmon is woken, for `ns` nanoseconds at most, and returns whether it was woken.
/// Called on sysmon's thread, which has set `sched.sysmonwait`. The flag is cleared when this
/// returns.
pub(in crate::runtime) fn sleep_until_woken(ns: i64) -> bool {
    let note = &sched().sysmonnote;
    // SeqCst: see `Schedt::sysmonwait`.
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
    // SeqCst: see `Schedt::sysmonwait`.
    if sched().sysmonwait.load(Ordering::SeqCst) {
        wake_sysmon_from_signal();
    }
}

/// [`wake_sysmon`] from a signal handler, which takes no lock.
pub(in crate::runtime) fn wake_sysmon_from_signal() {
    // SeqCst: comes after the caller's request, see `Schedt::sysmonwait`.
    if sched().sysmonwait.swap(false, Ordering::SeqCst) {
        notewakeup(&sched().sysmonnote);
    }
}
