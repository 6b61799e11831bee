//! Links, lists and the owner of a P as they ship; atomics that are counted; and stand-ins for the
//! structs.

pub(crate) mod atomic;
#[path = "../../../../../src/runtime/data/cell.rs"]
pub(crate) mod cell;
pub(crate) mod ext;
#[path = "../../../../../src/runtime/data/gqueue.rs"]
pub(crate) mod gqueue;
#[path = "../../../../../src/runtime/data/held_p.rs"]
pub(crate) mod held_p;
#[path = "../../../../../src/runtime/data/link.rs"]
pub(crate) mod link;
pub(crate) mod runtime2;
pub(crate) mod timer;
