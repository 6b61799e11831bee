//! Stand-in: who runs, which nobody asks.

use crate::runtime::data::runtime2::G;

pub(crate) fn getg() -> Option<&'static G> {
    None
}
