//! [`PollDesc`], the poller's struct for each descriptor, and the [`Waiter`] in one of its
//! semaphores.
//!
//! A waiter is a goroutine that has parked, or a [`Later`]. As a rule, a goroutine is made from the
//! `Later` when the wait is over. A goroutine that waits keeps the page in which its stack begins,
//! because pointers to that page may be anywhere. So a goroutine that needs nothing on its stack
//! after the wait ends instead of parking, and leaves a `Later`.

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::AtomicUsize;

use crate::runtime::data::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{G, Mutex};
use crate::runtime::data::timer::Timer;

/// The event that a goroutine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Until there is something to read, or the end has come. Go's `'r'`.
    Read,
    /// Until there is room to write, or the reader is gone. Go's `'w'`.
    Write,
}

/// Why a wait ended, or can't begin. Go's `pollErrClosing` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollError {
    /// The descriptor is being closed.
    Closing = 1,
    /// The deadline has passed.
    Timeout = 2,
    /// The kernel has reported an error, and nothing else.
    NotPollable = 3,
}

impl fmt::Display for PollError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PollError::Closing => "use of a closed descriptor",
            PollError::Timeout => "deadline exceeded",
            PollError::NotPollable => "not pollable",
        })
    }
}

impl std::error::Error for PollError {}

/// In `rg` and `wg`: not ready, and no goroutine waits. Go's `pdNil`.
pub(in crate::runtime) const PD_NIL: *mut G = ptr::null_mut();
/// The descriptor has become ready, and no goroutine has noticed yet. Go's `pdReady`.
pub(in crate::runtime) const PD_READY: *mut G = ptr::without_provenance_mut(1);
/// A goroutine is about to park. Go's `pdWait`.
pub(in crate::runtime) const PD_WAIT: *mut G = ptr::without_provenance_mut(2);

/// The number of bits of `fdseq` that fit beside a pointer of 48 bits whose lowest three are zero.
/// Go's `taggedPointerBits`.
pub(super) const TAGGED_POINTER_BITS: u32 = 19;

/// The poller's struct for a descriptor. Go's `pollDesc`.
///
/// Its memory stays a `PollDesc` forever (Go's `pollCache`): the kernel has its address and may
/// still report events of a descriptor that has been closed, and timers may be about to fire.
///
/// `rg` and `wg` are two binary semaphores, for the reader and the writer. Each is `PD_NIL`, or:
///
/// - `PD_READY`: the descriptor has become ready. A goroutine that wants to wait makes it `PD_NIL`,
///   and doesn't wait.
/// - `PD_WAIT`: a goroutine is about to park. When the goroutine is off its stack, its G replaces
///   `PD_WAIT`, unless the semaphore has changed by then: to `PD_READY`, or to `PD_NIL` after a
///   deadline or a close.
/// - a G that has parked. The thread that replaces the G in the semaphore makes the G ready.
/// - a `Later`, with a bit beside its address. The thread that replaces the `Later` calls its
///   `make`, and makes the goroutine ready that it gets.
///
/// The fields that every wait and every event use come first, in one cache line.
#[repr(C, align(64))]
pub struct PollDesc {
    /// The next unused `PollDesc`; protected by the cache's lock.
    pub(in crate::runtime) link: Link<PollDesc>,
    /// The descriptor.
    pub(in crate::runtime) fd: Cell<RawFd>,
    /// Counts the uses of this `PollDesc`: an event of an earlier one is stale.
    pub(in crate::runtime) fdseq: AtomicUsize,
    /// A [`PollInfo`].
    pub(super) atomic_info: AtomicU32,
    /// For reading: `PD_READY`, `PD_WAIT`, the G that waits, or `PD_NIL`.
    pub(in crate::runtime) rg: AtomicPtr<G>,
    /// For writing, likewise.
    pub(in crate::runtime) wg: AtomicPtr<G>,
    /// Protects the fields below.
    pub(in crate::runtime) lock: Mutex,
    /// The descriptor is being closed.
    pub(in crate::runtime) closing: Cell<bool>,
    /// For the embedder's use.
    pub(in crate::runtime) user: Cell<u32>,
    /// Counts the settings of the read deadline: a timer of an earlier one is stale.
    pub(in crate::runtime) rseq: Cell<usize>,
    /// The timer of the read deadline, or of both deadlines. Its `f` isn't None while the timer is
    /// set.
    pub(in crate::runtime) rt: Timer,
    /// The read deadline in nanoseconds of the clock; -1 if it has passed, 0 if there is none.
    pub(in crate::runtime) rd: Cell<i64>,
    /// As `rseq`, for writing.
    pub(in crate::runtime) wseq: Cell<usize>,
    /// The timer of the write deadline, if that isn't the same as the read deadline.
    pub(in crate::runtime) wt: Timer,
    /// The write deadline, as `rd`.
    pub(in crate::runtime) wd: Cell<i64>,
    /// A pointer to this `PollDesc`. In Go the timers point to this field.
    pub(in crate::runtime) self_: Link<PollDesc>,
}

// SAFETY: the cells are protected by the locks that the fields name; `fd` is only written before
// the descriptor is registered.
unsafe impl Send for PollDesc {}
// SAFETY: as for Send.
unsafe impl Sync for PollDesc {}

impl PollDesc {
    /// The semaphore for `mode`.
    #[inline(always)]
    pub(in crate::runtime) fn semaphore(&self, mode: Mode) -> &AtomicPtr<G> {
        match mode {
            Mode::Read => &self.rg,
            Mode::Write => &self.wg,
        }
    }

    /// Its address, as the argument of a timer's function.
    pub(in crate::runtime) fn as_arg(&'static self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// The state that can be read without the lock. Go's `pollDesc.info`.
    ///
    /// SeqCst: see `netpollblock`.
    #[inline(always)]
    pub(in crate::runtime) fn info(&self) -> PollInfo {
        PollInfo(self.atomic_info.load(Ordering::SeqCst))
    }

    /// Whether there may be something to read that the kernel won't report again.
    #[inline(always)]
    pub(crate) fn event_last(&self) -> bool {
        self.info().event_last()
    }

    /// Brings [`info`](Self::info) up to date with the fields. Called with the lock held after a
    /// change of a field, before a goroutine is made ready and before the unlock. Go's
    /// `pollDesc.publishInfo`.
    pub(in crate::runtime) fn publish_info(&self) {
        let bit = |set: bool, bit: u32| if set { bit } else { 0 };
        let info = bit(self.closing.get(), POLL_CLOSING)
            | bit(self.rd.get() < 0, POLL_EXPIRED_READ_DEADLINE)
            | bit(self.wd.get() < 0, POLL_EXPIRED_WRITE_DEADLINE)
            | info_seq(self.fdseq.load(Ordering::Relaxed)) << POLL_FD_SEQ;
        let kept = POLL_EVENT_ERR | POLL_EVENT_LAST | POLL_ENDED_READ | POLL_ENDED_WRITE;
        let keep_events = |old: u32| Some(old & kept | info);
        // SeqCst: comes before the look at the semaphore, see `netpollblock`.
        let _ = self.atomic_info.fetch_update(Ordering::SeqCst, Ordering::Relaxed, keep_events);
    }

    /// Sets whether the kernel has reported an error and nothing else. Does nothing if `seq` is
    /// neither 0 nor the present `fdseq`. Go's `pollDesc.setEventErr`.
    pub(in crate::runtime) fn set_event_err(&self, b: bool, seq: usize) {
        self.set_event(POLL_EVENT_ERR, b, seq);
    }

    /// Sets whether there may be something to read that the kernel won't report again. Does nothing
    /// if `seq` is neither 0 nor the present `fdseq`.
    pub(in crate::runtime) fn set_event_last(&self, b: bool, seq: usize) {
        self.set_event(POLL_EVENT_LAST, b, seq);
    }

    /// With `b`, the wait in progress for `mode` and all later ones end as if their deadline had
    /// passed. Without `b`, takes that back.
    pub(in crate::runtime) fn set_ended(&self, mode: Mode, b: bool) {
        let bit = match mode {
            Mode::Read => POLL_ENDED_READ,
            Mode::Write => POLL_ENDED_WRITE,
        };
        self.set_event(bit, b, 0);
    }

    fn set_event(&self, bit: u32, b: bool, seq: usize) {
        let change = |old: u32| {
            let current = seq == 0 || old >> POLL_FD_SEQ & POLL_FD_SEQ_MASK == info_seq(seq);
            (current && (old & bit != 0) != b).then_some(old ^ bit)
        };
        // SeqCst, as in publish_info: the change comes before the semaphore is set to PD_READY.
        let _ = self.atomic_info.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
    }
}

impl fmt::Debug for PollDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollDesc").field("fd", &self.fd.get()).finish_non_exhaustive()
    }
}

/// Returns the bits of `fdseq` that are in a [`PollInfo`].
fn info_seq(fdseq: usize) -> u32 {
    fdseq as u32 & POLL_FD_SEQ_MASK
}

/// The state that a goroutine checks before it waits, without the lock: a summary of the fields
/// that the lock protects, and of the events that the kernel has reported. Go's `pollInfo`.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct PollInfo(u32);

const POLL_CLOSING: u32 = 1 << 0;
const POLL_EVENT_ERR: u32 = 1 << 1;
const POLL_EXPIRED_READ_DEADLINE: u32 = 1 << 2;
const POLL_EXPIRED_WRITE_DEADLINE: u32 = 1 << 3;
/// The position of the low bits of `fdseq`, and their number.
const POLL_FD_SEQ: u32 = 4;
const POLL_FD_SEQ_BITS: u32 = 20;
const POLL_FD_SEQ_MASK: u32 = (1 << POLL_FD_SEQ_BITS) - 1;
/// The bit above the bits of `fdseq`. Go has no such bit.
const POLL_EVENT_LAST: u32 = 1 << (POLL_FD_SEQ + POLL_FD_SEQ_BITS);
/// Go has no bits like these two either.
const POLL_ENDED_READ: u32 = POLL_EVENT_LAST << 1;
const POLL_ENDED_WRITE: u32 = POLL_EVENT_LAST << 2;

impl PollInfo {
    /// Whether the descriptor is being closed. Go's `pollInfo.closing`.
    #[inline(always)]
    pub(in crate::runtime) fn closing(self) -> bool {
        self.0 & POLL_CLOSING != 0
    }

    /// Whether the kernel has reported an error and nothing else. Go's `pollInfo.eventErr`.
    #[inline(always)]
    pub(in crate::runtime) fn event_err(self) -> bool {
        self.0 & POLL_EVENT_ERR != 0
    }

    /// Whether there may be something to read that the kernel won't report again: the end, an
    /// error, bytes behind urgent data.
    #[inline(always)]
    pub(in crate::runtime) fn event_last(self) -> bool {
        self.0 & POLL_EVENT_LAST != 0
    }

    /// Whether the read deadline has passed, or reads are to end. Go's
    /// `pollInfo.expiredReadDeadline`.
    #[inline(always)]
    pub(in crate::runtime) fn expired_read_deadline(self) -> bool {
        self.0 & (POLL_EXPIRED_READ_DEADLINE | POLL_ENDED_READ) != 0
    }

    /// Whether the write deadline has passed, or writes are to end. Go's
    /// `pollInfo.expiredWriteDeadline`.
    #[inline(always)]
    pub(in crate::runtime) fn expired_write_deadline(self) -> bool {
        self.0 & (POLL_EXPIRED_WRITE_DEADLINE | POLL_ENDED_WRITE) != 0
    }
}

/// A goroutine that has parked, or a [`Later`], with its bit.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Waiter(*mut G);

impl Waiter {
    /// A goroutine that is yet to be made.
    pub(in crate::runtime) fn later(later: *mut Later) -> Self {
        Waiter(later.map_addr(|addr| addr | LATER).cast())
    }

    /// The waiter that the caller has found in a semaphore.
    pub(super) fn found(semaphore: *mut G) -> Self {
        Waiter(semaphore)
    }

    /// The waiter's representation in a semaphore.
    pub(in crate::runtime) fn in_semaphore(self) -> *mut G {
        self.0
    }

    /// Returns the goroutine, if there is one, to be made ready. The caller holds no lock, and has
    /// room on its stack.
    ///
    /// # Safety
    /// The caller has taken the waiter out of the semaphore, or has never put it there, so no other
    /// thread calls this for the waiter. The `make` of a `Later` may be called with that `Later`,
    /// on any thread.
    #[inline(always)]
    pub(in crate::runtime) unsafe fn goroutine(self) -> Option<&'static G> {
        if self.0.addr() & LATER == 0 {
            // SAFETY: without the bit it is a G that was parked, and G's are never freed.
            return Some(unsafe { &*self.0 });
        }
        let later: *mut Later = self.0.map_addr(|addr| addr & !LATER).cast();
        // SAFETY: the `Later` stays until `make` takes it, and `make` is called once, as the caller
        // says.
        unsafe { ((*later).make)(later) }
    }
}

/// Stands for a goroutine that is yet to be made, or for something else that happens at the end of
/// the wait. It is the first field of a struct with the data of that.
#[repr(C, align(8))]
pub(crate) struct Later {
    /// Does what is to happen. Returns a goroutine for the caller to make ready, if there is one.
    /// Takes ownership of the struct that contains this `Later`. It may run on g0, and so calls no
    /// code of the program's, and makes no goroutine ready itself: an M that polls has looked for
    /// goroutines that are ready before.
    pub(crate) make: unsafe fn(*mut Later) -> Option<&'static G>,
}

/// A bit beside the address of a [`Later`]. The constants of a semaphore are smaller.
const LATER: usize = 4;
