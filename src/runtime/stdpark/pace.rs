//! How fast waits that end for nothing follow each other.

use crate::runtime::stdpark::sleep::sleep_for;

/// Slows down waits that end for nothing. The kernel may report what a call doesn't find: that a
/// socket has room, where the receiver's has none.
pub(super) struct Pace {
    waits: u32,
}

impl Pace {
    /// So many waits may end for nothing: others may have been faster.
    const AT_ONCE: u32 = 8;
    /// How long a later one waits first, in nanoseconds.
    const PAUSE: i64 = 1_000_000;

    pub(super) fn new() -> Self {
        Pace { waits: 0 }
    }

    /// To be called before each wait, on a goroutine that may park.
    pub(super) fn before_wait(&mut self) {
        self.waits += 1;
        if self.waits > Pace::AT_ONCE {
            sleep_for(Pace::PAUSE);
        }
    }
}
