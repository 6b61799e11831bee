//! Sockets that are *known*: a wait at one asks the kernel nothing, and arms nothing.
//!
//! Before a wait a call asks what the program has set, and arms the registration: three system
//! calls. Most sockets are asked again and again, and the answers are the same. So a connection of
//! TCP where two waits have found nothing set becomes known. From then on the kernel reports each
//! change once (edge-triggered), whether somebody waits or not. The entry's word counts these
//! events, and the calls that may have changed what was asked.
//!
//! ```text
//! look at the word -> the call, which doesn't block -> lock: is the word the same? -> park
//! ```
//!
//! What comes after the call has changed the word, or finds the goroutine on the list.
//!
//! - **The number alone has the description**, as far as calls were seen: the socket was made or
//!   accepted here, and has no duplicate. The mode of one number is that of all others.
//! - **The call that comes before a wait has found nothing.** An event was reported before that,
//!   and a part of what was asked for may leave more.
//! - **One goroutine for each direction** waits at a known socket, and none polls it. The kernel
//!   reports a change once, and a second one would miss it. If one comes, the socket isn't known
//!   any more.
//! - **What isn't seen is heeded by a wait that lasts a second or two**: a system call by an
//!   instruction, a change by a child. The wait begins anew then, and asks (`watch.rs`).
//!
//! `loom` checks this file (`tests/loom`).

use crate::runtime::data::atomic::{AtomicU32, Ordering};

/// The description is this number's alone, as far as calls were seen.
const OWN: u32 = 1;
/// A wait has found nothing set.
const ASKED: u32 = 2;
const KNOWN: u32 = 4;
/// The rest is a count.
const STEP: u32 = 8;

/// What is known of the description that a number has. All zero is nothing.
pub(super) struct Word(AtomicU32);

/// What a word was at some time.
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

    /// Whether a wait has found nothing set.
    pub(super) fn was_asked(self) -> bool {
        self.0 & ASKED != 0
    }
}

impl Word {
    /// To be called before the call that a wait is for. Acquire: that call isn't made before.
    #[inline(always)]
    pub(super) fn look(&self) -> Look {
        Look(self.0.load(Ordering::Acquire))
    }

    /// Whether nothing has happened since.
    pub(super) fn is_still(&self, look: Look) -> bool {
        self.0.load(Ordering::Relaxed) == look.0
    }

    /// Keeps these flags, sets others, and counts.
    fn change(&self, keep: u32, set: u32) {
        let change = |word: u32| Some((word & (keep | !(STEP - 1))).wrapping_add(STEP) | set);
        // Release pairs with look: the change was made before a caller sees that there was one.
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, change);
    }

    /// The kernel has reported something.
    pub(super) fn count_event(&self) {
        self.change(STEP - 1, 0);
    }

    /// The number has a new description, of a socket that was made or accepted.
    pub(super) fn begin(&self) {
        self.change(0, OWN);
    }

    /// Something may be set by now: the next waits ask.
    pub(super) fn ask_again(&self) {
        self.change(OWN, 0);
    }

    /// The socket isn't to be known: other numbers have the description, too, or something is set.
    /// Or the number is about to be another description's, or a `PollDesc` has it.
    pub(super) fn forget(&self) {
        self.change(0, 0);
    }

    /// A wait has found nothing set, if nothing has happened since the look.
    pub(super) fn note_asked(&self, look: Look) {
        self.set(look, ASKED);
    }

    /// The socket is known from now on, unless something has happened since the look, and the
    /// caller arms it so. With the entry's lock; says whether it is known.
    pub(super) fn make_known(&self, look: Look) -> bool {
        self.set(look, KNOWN)
    }

    fn set(&self, look: Look, flag: u32) -> bool {
        let changed = self.0.compare_exchange(look.0, look.0 | flag, Ordering::Relaxed, Ordering::Relaxed);
        changed.is_ok()
    }
}
