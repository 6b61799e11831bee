//! What the kernel reports of a descriptor: part of Go's `netpoll_epoll.go`, and `tagptr_64bit.go`.
//!
//! An event carries 64 bits of our choice: the address of the [`PollDesc`], and beside it the low
//! bits of its `fdseq`. If `fdseq` has changed since, the event is of a descriptor that was closed.
//! `loom` checks that on this file (`tests/loom`).

use std::ptr;
use std::sync::atomic::Ordering;

use libc::{EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP};

use crate::runtime::data::gqueue::GQueue;
use crate::runtime::netpoll::poll_desc::{PollDesc, TAGGED_POINTER_BITS};
use crate::runtime::netpoll::ready::netpollready;

/// The address of `pd`, and the low bits of `tag` beside it. Go's `taggedPointerPack`, in
/// `tagptr_64bit.go`.
pub(super) fn tagged_pointer_pack(pd: &'static PollDesc, tag: usize) -> u64 {
    let addr = ptr::from_ref(pd).expose_provenance() as u64;
    addr << (TAGGED_POINTER_BITS - 3) | tag as u64 & ((1 << TAGGED_POINTER_BITS) - 1)
}

/// The reverse of [`tagged_pointer_pack`]. Go's `taggedPointer.pointer` and `taggedPointer.tag`.
///
/// # Safety
/// [`tagged_pointer_pack`] has made `data`.
unsafe fn tagged_pointer_unpack(data: u64) -> (&'static PollDesc, usize) {
    let addr = (data >> TAGGED_POINTER_BITS << 3) as usize;
    // SAFETY: it is the address of a PollDesc, whose provenance was exposed; these are never freed.
    let pd = unsafe { &*ptr::with_exposed_provenance::<PollDesc>(addr) };
    (pd, data as usize & ((1 << TAGGED_POINTER_BITS) - 1))
}

/// Does what one event asks for: adds the goroutines that were parked on the descriptor to
/// `to_run`, unless the event is of a descriptor that was closed. Returns what to pass to
/// [`netpoll_adjust_waiters`](super::netpoll_adjust_waiters) once they are ready. Part of Go's
/// `netpoll`.
///
/// # Safety
/// [`tagged_pointer_pack`] has made `data`.
pub(super) unsafe fn netpollevent(to_run: &GQueue, events: u32, data: u64) -> i32 {
    let has = |bits: libc::c_int| events & bits as u32 != 0;
    let read = has(EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    let write = has(EPOLLOUT | EPOLLHUP | EPOLLERR);
    // SAFETY: the caller says that tagged_pointer_pack has made it.
    let (pd, tag) = unsafe { tagged_pointer_unpack(data) };
    if !(read || write) || pd.fdseq.load(Ordering::SeqCst) != tag {
        return 0;
    }
    pd.set_event_err(events == EPOLLERR as u32, tag);
    if has(EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI) {
        // Before a goroutine is made ready, as that asks for it after its read.
        pd.set_event_last(true, tag);
    }
    netpollready(to_run, pd, read, write)
}
