//! The additions of this port to Go's structs: the types of their last fields, `ext`, and of the
//! fields in there. And types that Go has in other files than `runtime2.go`: a lock's words and
//! rank, `throwType`, `coro`.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::atomic as plain;

use crate::runtime::data::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::gqueue::GList;
use crate::runtime::data::hchan::Hchan;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{G, M, Mutex, PGFree, StackFreeList};
#[cfg(doc)]
use crate::runtime::data::runtime2::{P, SchedGFree, Schedt};
use crate::runtime::data::timer::Timer;
use crate::runtime::data::trace::{ProcTrace, TraceBuffer};
use crate::runtime::data::turns::{Turn, Turns};

/// How many of a goroutine's registers `entersyscall` saves: x19 to x28, d8 to d15, x29.
#[cfg(target_arch = "aarch64")]
pub(in crate::runtime) const SYSCALL_REGS: usize = 19;

/// How many of a goroutine's registers `entersyscall` saves: rbx, rbp, r12 to r15.
#[cfg(target_arch = "x86_64")]
pub(in crate::runtime) const SYSCALL_REGS: usize = 6;

/// The size of the half page that a [`G`] fills.
pub const G_SIZE: usize = 2048;

/// How many bytes a [`Slot`] has: the rest of the half page.
pub const SLOT_SIZE: usize = 1456;

/// How many sizes of segments have a list in each P: 4 KiB to 128 KiB, by powers of two.
pub const NUM_STACK_ORDERS: usize = 6;

/// The largest room: 1 GiB.
pub(in crate::runtime) const MAX_ROOM: u8 = 18;

/// How many sizes of room there are.
pub(in crate::runtime) const ROOM_CLASSES: usize = MAX_ROOM as usize + 1;

/// How many kinds of stack there are.
pub(in crate::runtime) const KINDS: usize = 2 * ROOM_CLASSES + 1;

/// The fields that this port adds to a [`G`].
///
/// The rest of the half page is [`slot`](Self::slot): a spawned closure and
/// later its result, so that a spawn allocates nothing.
#[repr(C)]
pub struct GExt {
    /// The kind of stack it was made with.
    pub kind: Cell<StackKind>,
    /// It parked while it panicked, and is locked to its M until it parks without panicking, or
    /// ends.
    pub panic_wired: Cell<bool>,
    /// It is a system goroutine, made by the runtime or declared by an embedder: not counted, and
    /// run while user goroutines are disabled.
    pub system: Cell<bool>,
    /// What it is as a thread: `IS_THREAD` and the flags of `m/sigmask.rs`.
    #[cfg(pthreads)]
    pub as_thread: Cell<u8>,
    /// Its index in the list of all G's: `g/allgs.rs`.
    pub allg: Cell<u32>,
    /// The G that waits for its end, or a mark of the progress of its end: see `sched/goexit.rs`.
    pub joiner: AtomicPtr<G>,
    /// Where in the source it was made, if the safe layer made it.
    pub created_at: Cell<Option<&'static Location<'static>>>,
    /// Its name, cut to the length that fits.
    pub name: Cell<Name>,
    /// Its vector registers, while it is preempted: `preempt/xregs.rs`.
    pub x_regs: Cell<*mut XRegState>,
    /// The thread pointer while it runs; 0 if it is that of its M.
    pub tp: Cell<usize>,
    /// Its values of `goroutine_local!`, and whether it was aborted: `g/values.rs`.
    pub values: AtomicPtr<c_void>,
    /// How often the tracer has seen it made runnable, or run.
    pub trace_seq: Cell<u32>,
    /// Its number in an exploration; 0 if it belongs to none: `g/explored.rs`.
    pub number: plain::AtomicU32,
    /// A sanitizer's state for its stack: AddressSanitizer's fake stack, or ThreadSanitizer's
    /// fiber. Assembly knows the offset.
    pub sanitizer: Cell<*mut c_void>,
    /// A hint at a G some places behind it in the global queue, from the last time that it was put
    /// there in a batch.
    pub ahead: Link<G>,
    /// Its wait, while an abort may end it: `sched/abort.rs`.
    pub wait: AtomicPtr<c_void>,
    /// How an abort takes it out of its last wait at channels, or for the end of a goroutine. None
    /// if the wait doesn't end.
    pub leave: Cell<Option<LeaveWait>>,
    /// The G for whose end it waits, or has waited.
    pub joins: Link<G>,
    /// How many calls it is in that hold an abort back.
    pub shields: Cell<u32>,
    /// The goid of the goroutine whose scope it is in; 0 if it is in none.
    pub scope_of: plain::AtomicU64,
    /// Room for the closure and the result of a spawn.
    pub slot: Slot,
}

/// In [`GExt::as_thread`]: the goroutine was made as a thread (`threads/create.rs`).
#[cfg(pthreads)]
pub(in crate::runtime) const IS_THREAD: u8 = 4;

/// Takes a goroutine out of the place where it waits, if it does. Returns whether it was there:
/// then the caller makes it ready. It stays in its wait meanwhile. It may be taken out only once
/// the `unlockf` of its park has released a lock, or has put it into its place.
pub type LeaveWait = fn(&'static G) -> bool;

/// The name of a goroutine, as reports show it. Only the first bytes of the given name are kept, so
/// that a report can read it at any time. Empty if the goroutine has no name.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Name {
    len: u8,
    bytes: [u8; 31],
}

/// Returns the longest prefix of `text` that has at most `max` bytes.
pub(in crate::runtime) fn prefix(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

impl Name {
    /// The name of a goroutine without one.
    pub(crate) const NONE: Name = Name { len: 0, bytes: [0; 31] };

    /// Returns the longest prefix of `name` that fits, as a name.
    pub(crate) fn new(name: &str) -> Self {
        let mut bytes = [0; 31];
        let name = prefix(name, bytes.len());
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Name { len: name.len() as u8, bytes }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

/// In quotes, and with escapes for characters that would change the line in which it is printed.
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Room for the values that the safe layer passes to a goroutine and gets back: `sched/goexit.rs`.
#[repr(C, align(16))]
pub struct Slot(pub(in crate::runtime) UnsafeCell<[MaybeUninit<u8>; SLOT_SIZE]>);

/// The kind of stack that a G was made with, for life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub enum StackKind {
    /// 2 KiB in the home page, copied to a larger segment when it grows.
    #[default]
    Copying,
    /// Never moves: `4096 << n` bytes of room below the home page.
    Fixed(u8),
    /// As `Fixed`, with thread-locals of the goroutine's own above the stack.
    Thread(u8),
}

impl StackKind {
    pub(in crate::runtime) fn has_own_locals(self) -> bool {
        matches!(self, StackKind::Thread(_))
    }
}

/// The last observation of the thread that runs on a P, by which sysmon decides whether it sleeps.
#[derive(Debug, Default)]
pub struct CpuTick {
    /// How long it had been on a processor, in nanoseconds.
    pub cpu: Cell<i64>,
    /// [`M::preempt_gen`] at that time. A later signal takes time even of a thread that sleeps.
    pub signals: Cell<u32>,
    /// When the thread was first seen with this time on a processor, in nanoseconds; 0 if the
    /// thread wasn't looked at in this time slice.
    pub when: Cell<i64>,
    /// How long the thread had been on a processor when the time slice was seen to be over, or the
    /// goroutine was last asked, in nanoseconds; 0 before.
    pub over: Cell<i64>,
    /// How often the goroutine was asked in this time slice.
    pub asked: Cell<u32>,
    /// Whether the goroutine was counted as one that keeps its P, in this time slice.
    pub counted: Cell<bool>,
}

/// The last time slice on a P that was the turn of a goroutine which had computed for long before.
#[derive(Debug, Default)]
pub struct LastTurn {
    /// [`P::schedtick`] in that slice.
    pub tick: plain::AtomicU32,
    /// How long the turn may last if others want the P, in nanoseconds: as long as they had the P
    /// before, or 0 if there was no turn.
    pub ns: plain::AtomicI64,
    /// When the last goroutine that computed for long lost the P, in nanoseconds.
    pub ended: plain::AtomicI64,
}

/// The fields that this port adds to an [`M`]: its g0 and gsignal, which Go allocates apart, and
/// others.
#[repr(C)]
pub struct MExt {
    /// The G to which [`M::g0`] points.
    pub g0: G,
    /// The G to which [`M::gsignal`] points.
    pub gsignal: G,
    /// Its thread's thread pointer.
    pub tp: Cell<usize>,
    /// The thread pointer that g0 has after a goroutine with thread-locals of its own has left.
    /// Assembly knows the offset.
    pub next_tp: Cell<usize>,
    /// The goroutine that comes next: `sched/claim.rs`.
    pub claimed: Link<G>,
    /// Whether it inherits the time slice.
    pub claimed_inherits: Cell<bool>,
    /// ThreadSanitizer's fiber of the thread itself. Assembly knows this offset and the next.
    pub thread_fiber: Cell<*mut c_void>,
    /// How many more times g0 is entered until its fiber is made anew.
    pub fiber_turns: Cell<u32>,
    /// The callee-saved registers of its goroutine when it entered a system call: a scan of the
    /// stack doesn't see them. Assembly knows the offset.
    pub syscall_regs: [Cell<usize>; SYSCALL_REGS],
    /// It is the runtime's own, without a P, and counted in [`Schedt::nmsys`].
    pub system: Cell<bool>,
    /// Protects the next field, and the word that it points to while another thread writes there.
    pub stack_limit_lock: Mutex,
    /// The word of this thread with which compilers' checks compare rsp: `mem/morestack_check.rs`.
    pub stack_limit: Cell<Option<&'static plain::AtomicUsize>>,
    /// The request that a signal makes of its goroutine: `preempt/ask.rs`.
    pub asked: AtomicU32,
    /// The time slice of that request, by [`P::schedtick`].
    pub asked_in: plain::AtomicU32,
    /// Since when its goroutine runs without a P, in nanoseconds; 0 if it doesn't:
    /// `sched/detach.rs`.
    pub detached_since: AtomicI64,
    /// How often in succession its goroutine was in the C library when a signal asked it to wait
    /// for its turn.
    pub spared: plain::AtomicU32,
    /// Why it waits for a P; protected by [`Schedt::lock`].
    pub turn: Cell<Turn>,
    /// The registers of its goroutine, if it waits in a signal handler; otherwise null. The pointer
    /// may be read with [`Schedt::lock`] held, and the registers if [`turn`](Self::turn) also is
    /// [`Turn::Kept`].
    pub interrupted: Cell<*const c_void>,
    /// Whether it is in the idle list. With [`idle_before`](Self::idle_before), protected by
    /// [`Schedt::lock`].
    pub idle: Cell<bool>,
    /// The M before it in the idle list.
    pub idle_before: Link<M>,
    /// How long its thread had been on a processor when its goroutine was detached, or last asked,
    /// in nanoseconds.
    pub cpu_seen: plain::AtomicI64,
    /// Whether it wakes another M once it has found its own work.
    pub owes_wake: Cell<OwesWake>,
    /// The tracer's records of its thread.
    pub trace_buffer: TraceBuffer,
    /// The signal mask that its thread has: `m/sigmask.rs`.
    #[cfg(pthreads)]
    pub mask: plain::AtomicU64,
    /// Whether that isn't the usual one.
    #[cfg(pthreads)]
    pub has_other_mask: Cell<bool>,
}

/// Whether an M in the scheduler wakes another M once it has found its own work: `sched/wake.rs`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum OwesWake {
    /// Only if it spins.
    No,
    /// If there is anything for another M to do. This M has made a goroutine ready itself, or has
    /// started a timer.
    IfNeeded,
    /// In any case.
    Yes,
}

/// The fields that this port adds to a [`P`].
#[repr(C)]
pub struct PExt {
    /// Dead fixed G's with the default room.
    pub g_free_fixed: PGFree,
    /// The same, with thread-locals of their own.
    pub g_free_thread: PGFree,
    /// How many dead G's of each kind it may keep before it gives some away; 0 asks it to give away
    /// everything on its free lists.
    pub max_free: plain::AtomicI32,
    /// [`P::schedtick`] when the scavenger last looked at it; protected by [`Schedt::lock`].
    pub idle_tick: Cell<u32>,
    /// The number of G's that ended here and are held by a handle, less the number whose handle was
    /// dropped here. Only the sum over all P's has a meaning.
    pub n_held: plain::AtomicI32,
    /// How many goroutines were made here. Only the owner of the P writes it. In Go, since 1.26, a
    /// field of `p`.
    pub goroutines_created: plain::AtomicU64,
    /// Unused channels.
    pub hchans: FreeList<Hchan>,
    /// Unused timers.
    pub timers: FreeList<Timer>,
    /// Free segments for stacks, a list for each power of two from 4 KiB on. In Go, part of
    /// `mcache`.
    pub stackcache: [StackFreeList; NUM_STACK_ORDERS],
    /// Places for the vector registers of preempted goroutines.
    pub x_regs: XRegList,
    /// The M whose goroutine runs on without this P; none if that M is in a system call, or has a
    /// P.
    pub detached_from: Link<M>,
    /// The M that has this P, or had it last. By now that M may do something else, or belong to
    /// another thread. It gets the P again only if the M is idle.
    pub oldm: Link<M>,
    /// Sysmon's last observation of its M's thread.
    pub cpu_tick: CpuTick,
    /// The last turn on this P, while goroutines take turns.
    pub last_turn: LastTurn,
    /// The tracer's data for it.
    pub trace_marks: ProcTrace,
}

/// The fields that this port adds to [`Schedt`].
#[repr(C)]
pub struct SchedtExt {
    /// Dead fixed G's that no P has, by the power of two of their room in 4 KiB;
    /// protected by [`SchedGFree::lock`].
    pub g_free_fixed: [GList; ROOM_CLASSES],
    /// The same, with thread-locals of their own.
    pub g_free_thread: [GList; ROOM_CLASSES],
    /// How many dead G's of each kind are on the common lists, and how many of them nobody has
    /// needed; protected by [`SchedGFree::lock`].
    pub g_free_levels: [Level; KINDS],
    /// The same of sudogs, protected by [`Schedt::sudoglock`].
    pub sudog_level: Level,
    /// The part of [`PExt::n_held`] of threads without a P: negative, as they only drop handles of
    /// G's that have ended.
    pub n_held: plain::AtomicI32,
    /// How many goroutines were made by threads without a P, and on P's that are destroyed.
    pub goroutines_created: plain::AtomicU64,
    /// Unused channels that no P has.
    pub hchans: Pool<Hchan>,
    /// Unused timers that no P has.
    pub timers: Pool<Timer>,
    /// Foreign threads that wait in [`run`](crate::run), and so can't wake a
    /// goroutine.
    // Incremented with the lock held. An M decrements it without the lock, but takes the lock
    // before it becomes idle, so `checkdead` sees that. SeqCst, as Go's atomics are.
    pub nrunwait: plain::AtomicI32,
    /// Whether there was a thread that isn't ours at the last look, protected by [`Schedt::lock`].
    /// Sysmon looks again.
    pub foreign: Cell<bool>,
    /// Places for the vector registers of preempted goroutines that no P has.
    pub x_regs: XRegPool,
    /// M's that wait for a P.
    pub turns: Turns,
    /// How many goroutines are detached.
    pub ndetached: plain::AtomicI32,
    /// How often a goroutine was detached, because its thread slept, and because it computed for
    /// long.
    pub detachments: [plain::AtomicU64; 2],
    /// How long goroutines were detached in total, in nanoseconds, without those that still are.
    pub detached_time: plain::AtomicI64,
    /// Whether code that could not make a goroutine ready has left wakes to sysmon:
    /// `stdpark/futex_table.rs`.
    // SeqCst: pairs with `Schedt::sysmonwait`.
    pub wakes_left: AtomicBool,
    /// Whether the program has handlers of signals, which may wake goroutines:
    /// `stdpark/gate.rs`.
    pub handlers: plain::AtomicBool,
}

/// Unused things, linked.
#[repr(C)]
pub struct FreeList<T> {
    pub(in crate::runtime) first: Cell<*mut T>,
    pub(in crate::runtime) len: Cell<usize>,
}

/// The unused things that no P has.
#[repr(C)]
pub struct Pool<T> {
    pub(in crate::runtime) lock: Mutex,
    pub(in crate::runtime) list: FreeList<T>,
    pub(in crate::runtime) level: Level,
}

/// How many items are taken from a list at once to be handed back.
pub(in crate::runtime) const BATCH: usize = 64;

/// The length of a free list, and how much of it nobody has needed. Protected by the list's lock.
/// `monitor/scavenge.rs` says how it is used.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Level {
    len: Cell<usize>,
    /// The least value of `len` in this interval.
    low: Cell<usize>,
    /// How many of the last interval's `low` have yet to go back.
    surplus: Cell<usize>,
}

impl Level {
    /// Returns the level of an empty list.
    pub(in crate::runtime) const fn new() -> Self {
        Level { len: Cell::new(0), low: Cell::new(0), surplus: Cell::new(0) }
    }

    /// Returns how many items are on the list.
    pub(in crate::runtime) fn len(&self) -> usize {
        self.len.get()
    }

    /// Notes that `n` items were put on the list.
    #[inline]
    pub(in crate::runtime) fn put(&self, n: usize) {
        self.len.set(self.len.get() + n);
    }

    /// Notes that `n` items were taken from the list, to be used. The list may also hold items that
    /// can't be handed back and don't count.
    #[inline]
    pub(in crate::runtime) fn get(&self, n: usize) {
        self.len.set(self.len.get().saturating_sub(n));
        self.low.set(self.low.get().min(self.len.get()));
    }

    /// Takes at most `max` items off the count, to be handed back. Returns how many.
    pub(in crate::runtime) fn take(&self, max: usize) -> usize {
        let n = max.min(self.surplus.get()).min(self.low.get());
        for count in [&self.len, &self.low, &self.surplus] {
            count.set(count.get() - n);
        }
        n
    }

    /// Ends an interval.
    pub(in crate::runtime) fn age(&self) {
        self.surplus.set(self.low.replace(self.len.get()));
    }
}

/// The head before the saved registers, which xsave requires at a multiple of 64. Go's `xRegState`.
#[repr(C, align(64))]
pub struct XRegState {
    pub(in crate::runtime) next: Cell<*mut c_void>,
}

/// The blocks that a P keeps.
pub type XRegList = FreeList<XRegState>;

/// The blocks that no P keeps.
pub type XRegPool = Pool<XRegState>;

/// The words of a runtime mutex; zero is unlocked.
#[repr(C, align(8))]
#[derive(Default)]
pub struct MutexKey {
    /// 1 while it is held.
    pub(in crate::runtime) locked: AtomicU32,
    /// 1 if a thread may be sleeping until it is released; the futex word.
    pub(in crate::runtime) sleeping: AtomicU32,
}

/// The rank of a [`Mutex`]: empty in release builds. Go's `lockRankStruct`.
#[cfg(not(debug_assertions))]
#[repr(C)]
#[non_exhaustive]
pub struct LockRankStruct {}

/// The rank of a [`Mutex`]; empty in release builds. Go's `lockRankStruct`.
#[cfg(debug_assertions)]
#[repr(C)]
pub struct LockRankStruct {
    pub(in crate::runtime) rank: Cell<i32>,
    pad: isize,
}

/// Values of [`M::throwing`](crate::runtime2::M::throwing). Go's `throwType`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub(in crate::runtime) enum ThrowType {
    /// No error was thrown: it is a panic.
    None = 0,
    /// An error of the program.
    User = 1,
    /// An error of the runtime.
    Runtime = 2,
}

/// The function of a goroutine, called with `sched.ctxt`.
pub(crate) type Entry = unsafe extern "C" fn(*mut c_void);

/// The function of a coroutine. It gets the arguments of [`newcoro`](crate::proc::newcoro).
pub type CoroFn = unsafe extern "C" fn(c: *mut Coro, arg: *mut c_void);

/// A place where one goroutine waits for another to switch to it. Go's `coro`.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Coro {
    /// The goroutine that waits; null when the coroutine has ended.
    pub(in crate::runtime) gp: Link<G>,
    pub(in crate::runtime) f: Cell<Option<CoroFn>>,
}

// SAFETY: a coroutine belongs to no thread. newcoro, which is unsafe, demands that it stays where
// it is until it has ended.
unsafe impl Send for Coro {}
// SAFETY: newcoro sets the function before the release that publishes the coroutine, and nothing
// sets it after that. The link is an atomic, and no code outside can reach the G behind it.
unsafe impl Sync for Coro {}

impl Coro {
    /// Returns a place in which [`newcoro`](crate::proc::newcoro) can make a coroutine.
    pub const fn new() -> Self {
        Coro { gp: Link::null(), f: Cell::new(None) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_all_the_time_is_surplus() {
        let level = Level::default();
        level.put(10);
        level.age();
        assert_eq!(level.take(100), 0, "they have just come");
        level.get(3);
        level.put(5);
        level.age();
        assert_eq!((level.len(), level.take(4)), (12, 4));
        level.get(6);
        assert_eq!(level.take(100), 2, "one of the seven was needed after all");
        assert_eq!(level.take(100), 0);
        level.age();
        assert_eq!((level.len(), level.take(100), level.len()), (0, 0, 0));
    }
}
