//! What the kernel tells of a descriptor: part of Go's `netpoll_epoll.go`, and `tagptr_64bit.go`.
//!
//! With an event it gives back the address of the [`PollDesc`], and beside it as much of its `fdseq` as there
//! is room for: if that has changed, the event is of a descriptor that was closed. `loom` checks it on this file
//! (`tests/loom`).

use std::ptr;
use std::sync::atomic::Ordering;

use libc::{EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP};

use crate::netpoll::block::netpollready;
use crate::netpoll::poll_desc::{PollDesc, TAGGED_POINTER_BITS};
use crate::proc::gqueue::GList;

/// The address of `pd`, and as much of `tag` as fits beside it. Go's `taggedPointerPack`, in
/// `tagptr_64bit.go`.
pub(super) fn tagged_pointer_pack(pd: &'static PollDesc, tag: usize) -> u64 {
    let addr = ptr::from_ref(pd).expose_provenance() as u64;
    addr << (TAGGED_POINTER_BITS - 3) | tag as u64 & ((1 << TAGGED_POINTER_BITS) - 1)
}

/// What [`tagged_pointer_pack`] has packed. Go's `taggedPointer.pointer` and `taggedPointer.tag`.
///
/// # Safety
/// It has packed `data`.
unsafe fn tagged_pointer_unpack(data: u64) -> (&'static PollDesc, usize) {
    let addr = (data >> TAGGED_POINTER_BITS << 3) as usize;
    // SAFETY: the address is of one, which is never freed.
    let pd = unsafe { &*ptr::with_exposed_provenance::<PollDesc>(addr) };
    (pd, data as usize & ((1 << TAGGED_POINTER_BITS) - 1))
}

/// The kernel tells `events` of the descriptor that `data` was packed of, which is stale if that was closed: adds
/// who has waited to `to_run`, and returns what [`netpoll_adjust_waiters`](super::netpoll_adjust_waiters) is to
/// be told when they are ready. Part of Go's `netpoll`.
///
/// # Safety
/// [`tagged_pointer_pack`] has packed `data`.
pub(super) unsafe fn netpollevent(to_run: &GList, events: u32, data: u64) -> i32 {
    let has = |bits: libc::c_int| events & bits as u32 != 0;
    let read = has(EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    let write = has(EPOLLOUT | EPOLLHUP | EPOLLERR);
    // SAFETY: the caller's.
    let (pd, tag) = unsafe { tagged_pointer_unpack(data) };
    if !(read || write) || pd.fdseq.load(Ordering::SeqCst) != tag {
        return 0;
    }
    pd.set_event_err(events == EPOLLERR as u32, tag);
    if has(EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI) {
        // Before somebody is made ready who asks.
        pd.set_event_last(true, tag);
    }
    netpollready(to_run, pd, read, write)
}
