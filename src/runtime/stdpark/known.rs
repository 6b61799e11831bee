//! Sockets that are *known*: a wait at one asks the kernel nothing, and arms nothing.
//!
//! Before a wait a call asks for the program's settings of the socket, and arms the registration:
//! three system calls. Most sockets are asked again and again, with the same answers. So a TCP
//! connection where two waits have found no settings becomes known. From then on the kernel reports
//! each change once (edge-triggered), whether or not a goroutine waits. The entry's word counts
//! these events, and the calls that may have changed the settings.
//!
//! ```text
//! look at the word -> the call, which doesn't block -> lock: is the word the same? -> park
//! ```
//!
//! An event after the call has either changed the word, or finds the goroutine on the list.
//!
//! - **Only this number has the description**, as far as calls were seen: the socket was made or
//!   accepted here, and has no duplicate. All numbers of a description share its mode.
//! - **The call before a wait has found nothing.** If it had found a part of what it asked for,
//!   more might be there, whose event was reported before.
//! - **One goroutine for each direction** waits at a known socket, and none polls it. The kernel
//!   reports a change once, and a second goroutine would miss it. If a second one comes, the socket
//!   isn't known any more.
//! - **A wait notices unseen changes after a second or two**: system calls made by an instruction,
//!   changes by a child. The wait then begins anew, and asks (`watch.rs`).
//!
//! The word also remembers that an `eventfd`, a `timerfd` or the like is in non-blocking mode. A
//! call there never waits, so it is made as the program has made it. The word forgets the mode when
//! a call may have changed it, and remembers none if the description has several numbers. After a
//! change that isn't seen, a call that has to wait blocks its thread, as other system calls do.
//!
//! `loom` checks this file (`tests/loom`).

use crate::runtime::data::atomic::{AtomicU32, Ordering};

/// No other number has the description, as far as calls were seen.
const OWN: u32 = 1;
/// A wait has found no settings.
const ASKED: u32 = 2;
const KNOWN: u32 = 4;
/// The description is in non-blocking mode.
const NONBLOCKING: u32 = 8;
/// Other numbers have the description, too.
const SHARED: u32 = 16;
/// The unit of the count in the other bits.
const STEP: u32 = 32;

/// The knowledge about a number's description. All zero, nothing is known.
pub(super) struct Word(AtomicU32);

/// The value that a word had at some time.
#[derive(Clone, Copy)]
pub(super) struct Look(u32);

impl Look {
    pub(super) fn is_known(self) -> bool {
        self.0 & KNOWN != 0
    }

    /// Whether the socket may become known.
    pub(super) fn may_be_known(self) -> bool {
        self.0 & OWN != 0
    }

    /// Whether a wait has found no settings.
    pub(super) fn was_asked(self) -> bool {
        self.0 & ASKED != 0
    }

    /// Whether the description was found in non-blocking mode, and no call was seen that may have
    /// changed that.
    pub(super) fn is_nonblocking(self) -> bool {
        self.0 & NONBLOCKING != 0
    }
}

impl Word {
    /// Returns the present value. Called before the call that the wait is for. Acquire, so that the
    /// call comes after the look.
    #[inline(always)]
    pub(super) fn look(&self) -> Look {
        Look(self.0.load(Ordering::Acquire))
    }

    /// Whether nothing has happened since the look.
    pub(super) fn is_still(&self, look: Look) -> bool {
        self.0.load(Ordering::Relaxed) == look.0
    }

    /// Keeps these flags, sets others, and counts.
    fn change(&self, keep: u32, set: u32) {
        let change = |word: u32| Some((word & (keep | !(STEP - 1))).wrapping_add(STEP) | set);
        // Release pairs with look: a caller that sees the new count comes after the change that it
        // counts.
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, change);
    }

    /// Counts an event that the kernel has reported.
    pub(super) fn count_event(&self) {
        self.change(STEP - 1, 0);
    }

    /// Notes that the number has a new description, of a socket that was made or accepted.
    pub(super) fn begin(&self) {
        self.change(0, OWN);
    }

    /// Notes that the number is about to lose its description.
    pub(super) fn end(&self) {
        self.change(0, 0);
    }

    /// Makes the next waits ask again, as there may be settings by now.
    pub(super) fn ask_again(&self) {
        self.change(OWN | SHARED, 0);
    }

    /// Notes that the socket can't be known: there are settings, or a `PollDesc` has the number.
    pub(super) fn forget(&self) {
        self.change(SHARED, 0);
    }

    /// Notes that other numbers have the description, too.
    pub(super) fn share(&self) {
        self.change(0, SHARED);
    }

    /// Notes that a wait has found no settings, if nothing has happened since the look.
    pub(super) fn note_asked(&self, look: Look) {
        self.set(look, ASKED);
    }

    /// Notes that the description was in non-blocking mode, unless something has happened since the
    /// look, or other numbers have the description. Returns whether that is noted.
    pub(super) fn note_nonblocking(&self, look: Look) -> bool {
        look.0 & SHARED == 0 && self.set(look, NONBLOCKING)
    }

    /// Makes the socket known, unless something has happened since the look, and returns whether it
    /// is. Then the caller arms the registration for all changes. The entry's lock is held.
    pub(super) fn make_known(&self, look: Look) -> bool {
        self.set(look, KNOWN)
    }

    fn set(&self, look: Look, flag: u32) -> bool {
        let changed = self.0.compare_exchange(look.0, look.0 | flag, Ordering::Relaxed, Ordering::Relaxed);
        changed.is_ok()
    }
}
