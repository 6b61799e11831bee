//! Stand-in: no thread that sleeps on a note is a goroutine.

use crate::runtime::data::runtime2::G;

pub(crate) fn getg() -> Option<&'static G> {
    None
}
