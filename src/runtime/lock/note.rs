//! One-shot events: Go's `noteclear`, `notewakeup`, `notesleep` and `notetsleep`.

use std::sync::atomic::Ordering;

use crate::runtime::arch::getg;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::{futexsleep, futexwakeup, nanotime};
use crate::runtime::data::runtime2::{M, Note};

/// Makes a note ready to be slept on. Go's `noteclear`.
pub(crate) fn noteclear(n: &Note) {
    // Relaxed: the next waker learns of the note by a lock or a flag, which orders this store
    // before the wake.
    n.key.store(0, Ordering::Relaxed);
}

/// Wakes the sleeper. If there is none yet, the next sleep returns at once. Go's `notewakeup`.
///
/// After the swap only the note's address is used: the sleeper may have returned by then, and the
/// note may be gone.
pub(crate) fn notewakeup(n: &Note) {
    // Release pairs with the acquire in notetsleep_internal: the sleeper sees what was done before.
    let old = n.key.swap(1, Ordering::Release);
    if old != 0 {
        throw("notewakeup - double wakeup");
    }
    futexwakeup(&n.key, 1);
}

/// Sleeps until the note is woken. Called on g0, or on a thread that isn't ours. Go's `notesleep`.
pub(in crate::runtime) fn notesleep(n: &Note) {
    notetsleep(n, -1);
}

/// Sleeps at most `ns` nanoseconds, or without a limit if `ns` is negative. Returns whether the
/// note was woken. Go's `notetsleep`.
pub(in crate::runtime) fn notetsleep(n: &Note, ns: i64) -> bool {
    let mp = getg().and_then(|gp| {
        let mp = gp.m.get();
        if mp.is_some_and(|mp| mp.g0.get().is_none_or(|g0| !std::ptr::eq(g0, gp))) {
            throw("notesleep not on g0");
        }
        mp
    });
    notetsleep_internal(n, ns, mp)
}

/// Sleeps on a note: the loop behind all sleeps. Marks `mp`, if there is one, as blocked. Go's
/// `notetsleep_internal`.
pub(in crate::runtime) fn notetsleep_internal(n: &Note, ns: i64, mp: Option<&'static M>) -> bool {
    let woken = || n.key.load(Ordering::Acquire) != 0;
    let deadline = nanotime() + ns;
    let mut left = ns;
    while !woken() {
        if let Some(mp) = mp {
            mp.blocked.set(true);
        }
        futexsleep(&n.key, 0, left);
        if let Some(mp) = mp {
            mp.blocked.set(false);
        }
        if ns >= 0 {
            left = deadline - nanotime();
            if left <= 0 {
                return woken();
            }
        }
    }
    true
}

/// A [`Note`] in a static.
pub(in crate::runtime) struct SharedNote(pub(in crate::runtime) Note);

impl std::ops::Deref for SharedNote {
    type Target = Note;

    fn deref(&self) -> &Note {
        &self.0
    }
}
