//! Stand-ins for the fields that the port adds to Go's structs.

use crate::runtime::data::atomic::AtomicU32;
use crate::runtime::data::cell::Cell;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{G, M};

/// The words of a mutex. `lock/key.rs` is their protocol.
#[repr(C)]
#[derive(Default)]
pub(crate) struct MutexKey {
    pub(crate) locked: AtomicU32,
    pub(crate) sleeping: AtomicU32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackKind {
    Fixed,
}

impl StackKind {
    pub(crate) fn has_own_locals(self) -> bool {
        false
    }
}

pub(crate) struct GExt {
    pub(crate) kind: Cell<StackKind>,
    pub(crate) system: Cell<bool>,
    pub(crate) ahead: Link<G>,
}

#[derive(Default)]
pub(crate) struct MExt {
    pub(crate) system: Cell<bool>,
    pub(crate) idle: Cell<bool>,
    pub(crate) idle_before: Link<M>,
    pub(crate) owes_wake: Cell<OwesWake>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum OwesWake {
    #[default]
    No,
    IfNeeded,
    Yes,
}

#[derive(Default)]
pub(crate) struct PExt {
    pub(crate) oldm: Link<M>,
}
