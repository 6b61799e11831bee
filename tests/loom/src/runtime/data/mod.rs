//! Links, lists, timers and the owner of a P as they ship, and stand-ins for the other structs.

pub(crate) mod atomic;
#[path = "../../../../../src/runtime/data/cell.rs"]
pub(crate) mod cell;
pub(crate) mod ext;
#[path = "../../../../../src/runtime/data/gqueue.rs"]
pub(crate) mod gqueue;
pub(crate) mod hchan;
#[path = "../../../../../src/runtime/data/held_p.rs"]
pub(crate) mod held_p;
#[path = "../../../../../src/runtime/data/link.rs"]
pub(crate) mod link;
pub(crate) mod runtime2;
#[path = "../../../../../src/runtime/data/timer.rs"]
pub(crate) mod timer;
#[path = "../../../../../src/runtime/data/turns.rs"]
pub(crate) mod turns;
