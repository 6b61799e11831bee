//! A timer, its states, and an entry of a heap of them: Go's `timer` and `timerWhen`.
//! `p/timer.rs` says which thread may change which state.

use std::ffi::c_void;
use std::sync::atomic as plain;

use crate::runtime::data::atomic::{AtomicU32, AtomicUsize, Cell};
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{Mutex, P};

/// In no heap: new, or it has fired.
pub const TIMER_NO_STATUS: u32 = 0;
/// In a heap, waiting for its time.
pub const TIMER_WAITING: u32 = 1;
/// Being run.
pub const TIMER_RUNNING: u32 = 2;
/// Stopped, and still in a heap.
pub const TIMER_DELETED: u32 = 3;
/// Stopped, and being taken out of its heap.
pub const TIMER_REMOVING: u32 = 4;
/// Stopped, and out of its heap.
pub const TIMER_REMOVED: u32 = 5;
/// Being changed, perhaps by a thread that doesn't hold the heap's lock.
pub const TIMER_MODIFYING: u32 = 6;
/// In a heap, and to be moved to the earlier time in `nextwhen`.
pub const TIMER_MODIFIED_EARLIER: u32 = 7;
/// In a heap, and to be moved to the time in `nextwhen`, which isn't earlier.
pub const TIMER_MODIFIED_LATER: u32 = 8;
/// Being moved in its heap.
pub const TIMER_MOVING: u32 = 9;
/// Deleted, and without an owner. Not one of Go's states.
pub(in crate::runtime) const TIMER_DROPPED: u32 = 10;

/// The end of time. Go's `maxWhen`.
pub const MAX_WHEN: i64 = i64::MAX;

/// The function of a timer. It is called with the timer's `arg` and `seq` when the timer fires, on
/// g0, with a P and without a lock held. It must not park and must not unwind.
pub type TimerFn = unsafe extern "C" fn(*mut c_void, usize);

/// A timer. Go's `timer`, in `time.go`.
///
/// Before a timer is started, its owner sets `when`, `period`, `f`, `arg` and `seq`. After that
/// only the timer functions touch it, and its memory stays until its state is [`TIMER_NO_STATUS`]
/// or [`TIMER_REMOVED`].
///
/// Code that makes a timer, of zeros, is `unsafe`, and promises these conditions: threads share the
/// timer, and its fields are plain cells. Safe code can't make a timer, just as it can't make a
/// mutex:
///
/// ```compile_fail
/// use gosched::runtime2::{LockRankStruct, Mutex, MutexKey};
///
/// let lock = Mutex { lock_rank_struct: LockRankStruct {}, key: MutexKey::default() };
/// ```
#[repr(C)]
pub struct Timer {
    /// The P in whose heap it is, or null.
    pub pp: Link<P>,
    /// When it fires, in nanoseconds of the monotonic clock; positive.
    pub when: Cell<i64>,
    /// If it isn't 0, the timer fires again and again, this many nanoseconds apart.
    pub period: Cell<i64>,
    /// The function that is called when it fires.
    pub f: Cell<Option<TimerFn>>,
    /// The function's first argument.
    pub arg: Cell<*mut c_void>,
    /// The function's second argument: the number of this setting, see `time/fire.rs`.
    pub seq: AtomicUsize,
    /// In the states `MODIFIED`: the next value of `when`.
    pub nextwhen: Cell<i64>,
    /// One of [`TIMER_NO_STATUS`] and so on.
    pub status: AtomicU32,
    /// What this port adds.
    pub ext: TimerExt,
}

/// The fields that this port adds to a [`Timer`].
#[repr(C)]
pub struct TimerExt {
    /// Held while the timer's waiter is told that it has fired, and while the timer is stopped or
    /// set, so that the waiter isn't told after that. Go's `sendLock`, since 1.23.
    pub send_lock: Mutex,
    /// The timer's waiter, protected by `send_lock`; in the pool, the next unused timer.
    pub waiter: Cell<*mut c_void>,
    /// When the waiter is to be told next; 0 if it isn't. Written with `send_lock` held, read
    /// without.
    pub due: plain::AtomicI64,
    /// Whether the waiter is a channel, which the timer feeds.
    pub feeds: Cell<bool>,
}

/// An entry of a heap: a timer, and its `when`. Go's `timerWhen`, since 1.23.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TimerWhen {
    pub(in crate::runtime) timer: &'static Timer,
    pub(in crate::runtime) when: i64,
}
