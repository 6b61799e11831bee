//! Registrations without a `PollDesc`: descriptors on which goroutines wait in std's code. Their
//! room, `stdpark`, is above this one, so it registers the functions that this file calls.

use std::os::fd::RawFd;
use std::sync::OnceLock;

use crate::runtime::data::gqueue::GQueue;
use crate::runtime::netpoll::poll_desc::TAGGED_POINTER_BITS;

/// The functions of the room that has the registrations.
pub(in crate::runtime) struct Owner {
    /// The descriptor has become ready for these events. Adds goroutines to the queue, and returns
    /// the number to pass to `netpoll_adjust_waiters` once they are ready. Called on an M, perhaps
    /// without a P.
    pub(in crate::runtime) event: fn(&GQueue, RawFd, u32) -> i32,
    /// A `PollDesc` is about to take the descriptor (true), or has given it back (false).
    pub(in crate::runtime) claim: fn(RawFd, bool),
}

static OWNER: OnceLock<Owner> = OnceLock::new();

/// Registers the functions, for good.
pub(in crate::runtime) fn set_owner(owner: Owner) {
    OWNER.get_or_init(|| owner);
}

/// Returns the data for the events of a descriptor. The low bits, where a `PollDesc` has its
/// `fdseq`, are 0, and no `fdseq` is 0. The other bits aren't all 0, so it isn't the data of a
/// break.
pub(super) fn data_of(fd: RawFd) -> u64 {
    (u64::from(fd as u32) + 1) << TAGGED_POINTER_BITS
}

/// Returns the descriptor whose event has this data, or none if the data is a `PollDesc`'s. The
/// data isn't that of a break.
#[inline(always)]
pub(super) fn descriptor_of(data: u64) -> Option<RawFd> {
    (data & ((1 << TAGGED_POINTER_BITS) - 1) == 0).then(|| ((data >> TAGGED_POINTER_BITS) - 1) as RawFd)
}

/// Calls the owner's `event`.
pub(super) fn event(to_run: &GQueue, fd: RawFd, events: u32) -> i32 {
    OWNER.get().map_or(0, |owner| (owner.event)(to_run, fd, events))
}

/// Calls the owner's `claim`.
pub(super) fn claim(fd: RawFd, claimed: bool) {
    if let Some(owner) = OWNER.get() {
        (owner.claim)(fd, claimed);
    }
}
