//! From the kernel's event to the goroutines whose waits the event ends: parts of Go's
//! `netpoll_epoll.go` and `tagptr_64bit.go`, and Go's `netpollready` and `netpollunblock`.
//!
//! An event carries 64 bits of our choice: the address of the [`PollDesc`], and beside it the low
//! bits of its `fdseq`. If `fdseq` has changed since, the event is of a descriptor that was closed.
//!
//! A deadline or a close ends waits by [`netpollunblock`], too. That function takes a goroutine
//! that has parked out of the semaphore, for the caller to make ready. For a goroutine that has yet
//! to park, an event leaves the mark [`PD_READY`]. A goroutine that is yet to be made is made.
//!
//! `loom` checks this file together with `pollwait.rs` (`tests/loom`).

use std::ptr;

use libc::{EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP};

use crate::runtime::data::atomic::{AtomicPtr, Ordering};
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::G;
use crate::runtime::netpoll::poll_desc::{
    Mode, PD_NIL, PD_READY, PD_WAIT, PollDesc, TAGGED_POINTER_BITS, Waiter,
};

/// Returns the address of `pd` with the low bits of `tag` beside it. Go's `taggedPointerPack`, in
/// `tagptr_64bit.go`.
pub(super) fn tagged_pointer_pack(pd: &'static PollDesc, tag: usize) -> u64 {
    let addr = ptr::from_ref(pd).expose_provenance() as u64;
    addr << (TAGGED_POINTER_BITS - 3) | tag as u64 & ((1 << TAGGED_POINTER_BITS) - 1)
}

/// Returns the arguments of [`tagged_pointer_pack`]. Go's `taggedPointer.pointer` and
/// `taggedPointer.tag`.
///
/// # Safety
/// [`tagged_pointer_pack`] has made `data`.
unsafe fn tagged_pointer_unpack(data: u64) -> (&'static PollDesc, usize) {
    let addr = (data >> TAGGED_POINTER_BITS << 3) as usize;
    // SAFETY: it is the address of a PollDesc, whose provenance was exposed; these are never freed.
    let pd = unsafe { &*ptr::with_exposed_provenance::<PollDesc>(addr) };
    (pd, data as usize & ((1 << TAGGED_POINTER_BITS) - 1))
}

/// Handles one event: adds the goroutines that were parked on the descriptor to `to_run`, unless
/// the event is of a descriptor that was closed. Returns the number to pass to
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
    // SeqCst: pairs with the store in `PollCache::free`.
    if !(read || write) || pd.fdseq.load(Ordering::SeqCst) != tag {
        return 0;
    }
    pd.set_event_err(events == EPOLLERR as u32, tag);
    if has(EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI) {
        // Set before a goroutine is made ready, since the goroutine asks for it after its read.
        pd.set_event_last(true, tag);
    }
    netpollready(to_run, pd, read, write)
}

/// Called when the descriptor is ready for reading, or writing, or both: adds the goroutines that
/// were parked to `to_run`. `to_run` is a queue where Go has a stack, so the goroutine that became
/// ready first runs first. Returns the number to pass to
/// [`netpoll_adjust_waiters`](super::netpoll_adjust_waiters) once the goroutines are ready. Go's
/// `netpollready`.
pub(super) fn netpollready(to_run: &GQueue, pd: &PollDesc, read: bool, write: bool) -> i32 {
    let mut delta = 0;
    for (mode, ready) in [(Mode::Read, read), (Mode::Write, write)] {
        if ready && let Some(waiter) = netpollunblock(pd, mode, true, &mut delta) {
            // SAFETY: the waiter was taken out. The M that polls has room on its stack, and holds
            // no lock that making a goroutine takes.
            if let Some(gp) = unsafe { waiter.goroutine() } {
                to_run.push_back(gp);
            }
        }
    }
    delta
}

/// Ends a wait for `mode`: the descriptor is ready (`ioready`), or a deadline or a close has come.
/// Returns the waiter, if any, for the caller to make ready, and then subtracts 1 from `delta`.
/// Afterwards the caller passes `delta` to
/// [`netpoll_adjust_waiters`](super::netpoll_adjust_waiters). Go's `netpollunblock`.
pub(in crate::runtime) fn netpollunblock(
    pd: &PollDesc,
    mode: Mode,
    ioready: bool,
    delta: &mut i32,
) -> Option<Waiter> {
    let semaphore = pd.semaphore(mode);
    loop {
        // SeqCst: after a close or a deadline was published, see `netpollblock`.
        let old = semaphore.load(Ordering::SeqCst);
        // A deadline or a close leaves no mark here: a goroutine that comes later finds it in
        // `info`.
        if old == PD_READY || old == PD_NIL && !ioready {
            return None;
        }
        if cas(semaphore, old, if ioready { PD_READY } else { PD_NIL }) {
            if old == PD_NIL || old == PD_WAIT {
                return None;
            }
            *delta -= 1;
            // `old` is none of the constants.
            return Some(Waiter::found(old));
        }
    }
}

/// Changes a semaphore from `old` to `new`. SeqCst, for the reason that netpollblock gives.
#[inline(always)]
pub(in crate::runtime) fn cas(semaphore: &AtomicPtr<G>, old: *mut G, new: *mut G) -> bool {
    semaphore.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}
