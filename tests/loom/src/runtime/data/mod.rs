//! Links, lists and timers as they ship, and stand-ins for the other structs.

pub(crate) mod atomic;
pub(crate) mod ext;
#[path = "../../../../../src/runtime/data/gqueue.rs"]
pub(crate) mod gqueue;
#[path = "../../../../../src/runtime/data/link.rs"]
pub(crate) mod link;
pub(crate) mod runtime2;
#[path = "../../../../../src/runtime/data/timer.rs"]
pub(crate) mod timer;
