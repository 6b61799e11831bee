//! Stand-in: the states of G's, which no model reads: each G runs.

#[path = "../../../../src/runtime/g/explored.rs"]
pub(crate) mod explored;

pub(crate) mod status {
    use crate::runtime::data::runtime2::{G, GRUNNING, WaitReason};

    pub(crate) fn casgstatus(_: &G, _old: u32, _new: u32) {}

    pub(crate) fn cas_g_to_waiting(_: &G, _old: u32, _: WaitReason) {}

    pub(crate) fn cas_g_from_waiting(_: &G) {}

    pub(crate) fn readgstatus(_: &G) -> u32 {
        GRUNNING
    }

    pub(crate) fn dumpgstatus(_: &G) {}
}
