//! The structs of the scheduler: Go's `runtime2.go`, field for field.
//!
//! [`G`], [`M`], [`P`] and [`Schedt`] have all of Go 1.22.10's fields in Go's
//! order, spelled in snake case; `tests/mirror/fields.rs` compares them with a table.
//! What this port adds to a struct is in its last field, `ext`.
//!
//! - A field of a subsystem that isn't part of a scheduler (the allocator's caches, the collector's
//!   work buffers, the tracer's state) belongs to the *embedder*: the runtime that is ported onto
//!   this one. This crate doesn't use such a field, apart from the uses that
//!   `docs/design/reading-guide.md` names. The field is a pointer or a plain struct, zero at first.
//! - A struct is shared by threads and never borrowed mutably. A field that only
//!   one thread at a time touches, because it owns the struct or holds the lock
//!   named there, is a [`Cell`]. A field that other threads act on is an atomic, also
//!   where Go has a plain one. (Reports print cells of other threads, too.)
//! - An atomic of `plain` is std's with `loom`, too: no model checks what other threads find there.
//! - All zero is a valid value of each of these structs, and their first value: a [`G`] is cut from
//!   a zeroed page.
//! - Nothing here is ever freed, so pointers between the structs are
//!   `&'static`, in a [`Link`].
//!
//! Outside of this crate these structs are reached through raw pointers
//! ([`proc::getg`](crate::proc::getg) and so on). Code that makes a reference of such a pointer
//! promises to keep the scheduler's rules for every field: when it may be changed, by which thread,
//! and under which lock. That is why the dereference is unsafe, and also
//! [registering](crate::proc::set_hooks) a function that gets such a struct. Structs that safe code
//! makes are harmless: threads can't share one that has a [`Cell`] or a link to a `G`, an `M` or a
//! `P`.

pub use crate::runtime::data::ext::Level;
pub use crate::runtime::data::ext::{
    CpuTick, FreeList, G_SIZE, GExt, LockRankStruct, MExt, MutexKey, NUM_STACK_ORDERS, Name, PExt, Pool,
    SLOT_SIZE, SchedtExt, Slot, StackKind, XRegList, XRegPool, XRegState,
};
pub use crate::runtime::data::gqueue::{GList, GQueue};
pub use crate::runtime::data::held_p::HeldP;
pub use crate::runtime::data::link::Link;
pub use crate::runtime::data::timer::TimerWhen;
pub use crate::runtime::data::timer::*;
pub use crate::runtime::data::turns::{Turn, Turns};

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::atomic as plain;

use crate::runtime::data::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::ext::Coro;
use crate::runtime::data::hchan::Hchan;

// ---------------------------------------------------------------------------
// States

/// Just allocated, not yet initialised. A zeroed home page reads as this.
pub const GIDLE: u32 = 0;
/// On a run queue. Not running; its stack belongs to nobody.
pub const GRUNNABLE: u32 = 1;
/// Running: it has an M and a P, and owns its stack.
pub const GRUNNING: u32 = 2;
/// In a system call: it has an M and owns its stack, but runs nothing that needs a P.
pub const GSYSCALL: u32 = 3;
/// Parked: on no run queue, but noted somewhere (a channel's wait queue, a semaphore) for the
/// thread that will make it ready.
pub const GWAITING: u32 = 4;
/// Unused, as in Go.
pub const GMORIBUND_UNUSED: u32 = 5;
/// Not in use: exited, on a free list, or being initialised.
pub const GDEAD: u32 = 6;
/// Unused, as in Go.
pub const GENQUEUE_UNUSED: u32 = 7;
/// Its stack is being moved, and belongs to the thread that set this state.
pub const GCOPYSTACK: u32 = 8;
/// Stopped itself for a suspension; nobody has promised to make it ready yet.
pub const GPREEMPTED: u32 = 9;
/// Set together with another state: a scan owns the stack, and the state can't
/// change until the scan is over.
pub const GSCAN: u32 = 0x1000;
/// [`GSCAN`] with [`GRUNNABLE`].
pub const GSCANRUNNABLE: u32 = GSCAN + GRUNNABLE;
/// [`GSCAN`] with [`GRUNNING`]: the G is asked to scan its own stack.
pub const GSCANRUNNING: u32 = GSCAN + GRUNNING;
/// [`GSCAN`] with [`GSYSCALL`].
pub const GSCANSYSCALL: u32 = GSCAN + GSYSCALL;
/// [`GSCAN`] with [`GWAITING`].
pub const GSCANWAITING: u32 = GSCAN + GWAITING;
/// [`GSCAN`] with [`GPREEMPTED`].
pub const GSCANPREEMPTED: u32 = GSCAN + GPREEMPTED;

/// On the idle list, or changing hands. Its run queue is empty.
pub const PIDLE: u32 = 0;
/// Owned by an M that runs goroutines or the scheduler.
pub const PRUNNING: u32 = 1;
/// Left by an M that is in a system call; any thread may take it, with a CAS.
pub const PSYSCALL: u32 = 2;
/// Halted, owned by the M that stopped the world.
pub const PGCSTOP: u32 = 3;
/// No longer used: GOMAXPROCS shrank.
pub const PDEAD: u32 = 4;

// ---------------------------------------------------------------------------
// Small structs

/// A futex lock for the runtime's own data: `lock/key.rs`. Go's `mutex`.
///
/// Zero is unlocked. It is ranked in debug builds, and must be released by the
/// thread that took it.
#[repr(C)]
pub struct Mutex {
    /// The lock's rank; empty in release builds.
    pub lock_rank_struct: LockRankStruct,
    /// Whether it is held, and whether threads sleep on it.
    pub key: MutexKey,
}

/// A one-shot event that a thread can sleep on. Go's `note`.
#[repr(C, align(8))]
pub struct Note {
    /// 0 until it happens, then 1; the futex word.
    pub key: AtomicU32,
}

/// A saved place of execution. Go's `gobuf`; what [`gogo`](crate::proc) resumes.
#[repr(C)]
pub struct Gobuf {
    /// The stack pointer.
    pub sp: Cell<usize>,
    /// Where to go on.
    pub pc: Cell<usize>,
    /// The G that this belongs to.
    pub g: Link<G>,
    /// For a G that hasn't run yet, the argument of its function.
    pub ctxt: Cell<*mut c_void>,
    /// Return value of a system call, in Go's sense; not used here.
    pub ret: Cell<usize>,
    /// The link register, on machines that have one.
    pub lr: Cell<usize>,
    /// The frame pointer.
    pub bp: Cell<usize>,
}

/// The bounds of a stack, `lo..hi`. Go's `stack`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// The lowest usable address.
    pub lo: usize,
    /// One past the highest.
    pub hi: usize,
}

/// Go's slice header, for fields whose elements are managed by hand.
#[repr(C)]
pub struct Slice<T> {
    /// The first element.
    pub ptr: Cell<*mut T>,
    /// How many there are.
    pub len: Cell<usize>,
    /// How many there is room for.
    pub cap: Cell<usize>,
}

/// A G in a wait queue. Go's `sudog`.
///
/// A G can wait in many places (a select), and a place can have many waiters, so the queues hold
/// these and not G's. For a channel, its lock protects the fields up to `elem`, and the others
/// belong to the G or to the thread that wakes it. For a semaphore, the lock of its root protects
/// all fields.
#[repr(C)]
#[derive(Default)]
pub struct Sudog {
    /// The G that waits.
    pub g: Link<G>,
    /// The next in the queue; in a semaphore's treap, the right child.
    pub next: Link<Sudog>,
    /// The previous one in the queue; in the treap, the left child.
    pub prev: Link<Sudog>,
    /// The value to send or the place to receive to; for a semaphore, the semaphore.
    pub elem: plain::AtomicPtr<c_void>,
    /// When the wait for a mutex began, in nanoseconds; 0 if no profile records it.
    pub acquiretime: Cell<i64>,
    /// When the wait ended, in nanoseconds; 0 if no profile records it, and negative before the
    /// end.
    pub releasetime: Cell<i64>,
    /// The treap's priority, a hand-off's mark, or a notify list's number.
    pub ticket: Cell<u32>,
    /// The G is in a select: a thread that wants to wake it must first win its `select_done`.
    pub is_select: Cell<bool>,
    /// Woken by a value, and not because the channel was closed.
    pub success: Cell<bool>,
    /// In a node of the treap: how many sudogs wait behind it, capped.
    pub waiters: Cell<u16>,
    /// The treap's parent.
    pub parent: Link<Sudog>,
    /// The next on `g.waiting`; for a semaphore, the next waiter at the same address.
    pub waitlink: Link<Sudog>,
    /// The last waiter at the same address.
    pub waittail: Link<Sudog>,
    /// The channel it waits on, if it does.
    pub c: Cell<*const Hchan>,
}

/// A lock that an M holds, noted by the rank checker. Go's `heldLockInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeldLockInfo {
    /// The lock's address, 0 for a rank without a lock.
    pub lock_addr: usize,
    /// Its rank.
    pub rank: i32,
}

/// Go's `libcall`: a C call through a table. Only other systems make such calls.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Libcall {
    /// The function.
    pub fn_: Cell<usize>,
    /// The number of arguments.
    pub n: Cell<usize>,
    /// The arguments.
    pub args: Cell<usize>,
    /// The first result.
    pub r1: Cell<usize>,
    /// The second result.
    pub r2: Cell<usize>,
    /// The error number.
    pub err: Cell<usize>,
}

/// Bounds of a signal stack that isn't ours. Go's `gsignalStack`.
#[repr(C)]
#[derive(Debug, Default)]
pub struct GsignalStack {
    /// The stack.
    pub stack: Cell<Stack>,
    /// Its guard.
    pub stackguard0: Cell<usize>,
    /// Its other guard.
    pub stackguard1: Cell<usize>,
    /// The expected stack pointer at its top.
    pub stktopsp: Cell<usize>,
}

/// The tracer's data for a G, M or P; the embedder's.
#[repr(C)]
#[derive(Debug, Default)]
pub struct TraceState(
    /// Whatever the tracer needs.
    pub [Cell<usize>; 4],
);

/// Contention on the runtime's own locks, per M. Go's `mLockProfile`; the embedder's.
#[repr(C)]
#[derive(Debug, Default)]
pub struct MLockProfile {
    /// Nanoseconds spent waiting for locks.
    pub wait_time: AtomicI64,
    /// The stack of the last wait, as pcs.
    pub stack: [Cell<usize>; 32],
    /// The lock last contended.
    pub pending: Cell<usize>,
    /// Cycles lost to that lock.
    pub cycles: Cell<i64>,
    /// Cycles that could not be attributed.
    pub cycles_lost: Cell<i64>,
    /// Attribute everything to `cycles_lost`.
    pub disabled: Cell<bool>,
}

/// Go's `mOS` on Linux.
#[repr(C)]
#[derive(Debug, Default)]
pub struct MOS {
    /// The id of this thread's profiling timer: `prof/thread_timer.rs`.
    pub profile_timer: Cell<i32>,
    /// Whether it has such a timer.
    pub profile_timer_valid: AtomicBool,
    /// This thread has yet to make a system call that every thread has to make.
    pub need_per_thread_syscall: AtomicU8,
}

/// State of the ChaCha8 generator; the embedder's. The scheduler's own random
/// numbers come from [`M::cheaprand`].
#[repr(C)]
#[derive(Debug, Default)]
pub struct Chacha8State {
    /// The block being handed out.
    pub buf: [Cell<u64>; 32],
    /// The seed.
    pub seed: [Cell<u64>; 4],
    /// The next index.
    pub i: Cell<u32>,
    /// The number of values.
    pub n: Cell<u32>,
    /// The block counter.
    pub c: Cell<u32>,
}

/// Sysmon's last observation of a P. Go's `sysmontick`.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Sysmontick {
    /// [`P::schedtick`] as last seen.
    pub schedtick: Cell<u32>,
    /// When that was first seen, in nanoseconds.
    pub schedwhen: Cell<i64>,
    /// [`P::syscalltick`] as last seen.
    pub syscalltick: Cell<u32>,
    /// When that was first seen, in nanoseconds.
    pub syscallwhen: Cell<i64>,
}

/// Go's `pageCache`: pages owned by a P; the embedder's allocator's.
#[repr(C)]
#[derive(Debug, Default)]
pub struct PageCache {
    /// Base address.
    pub base: Cell<usize>,
    /// Free pages.
    pub cache: Cell<u64>,
    /// Scavenged pages.
    pub scav: Cell<u64>,
}

/// Go's `persistentAlloc`: a bump allocator; the embedder's.
#[repr(C)]
#[derive(Debug)]
pub struct PersistentAlloc {
    /// The chunk.
    pub base: Cell<*mut c_void>,
    /// How much of it is used.
    pub off: Cell<usize>,
}

/// Go's `gcWork`: a P's buffers of grey objects; the embedder's collector's.
#[repr(C)]
#[derive(Debug)]
pub struct GcWork {
    /// The primary buffer.
    pub wbuf1: Cell<*mut c_void>,
    /// The secondary buffer.
    pub wbuf2: Cell<*mut c_void>,
    /// Bytes marked.
    pub bytes_marked: Cell<u64>,
    /// Scan work done.
    pub heap_scan_work: Cell<i64>,
    /// Whether a buffer went to the global list.
    pub flushed_work: Cell<bool>,
}

/// Go's `wbBuf`: a P's write barrier buffer; the embedder's collector's.
#[repr(C)]
#[derive(Debug)]
pub struct WbBuf {
    /// The next free slot.
    pub next: Cell<usize>,
    /// The end of the buffer.
    pub end: Cell<usize>,
    /// The buffer, allocated by its owner.
    pub buf: Cell<*mut c_void>,
}

/// Go's `timeHistogram`: durations in power-of-two buckets with four linear
/// steps each.
#[repr(C)]
pub struct TimeHistogram {
    /// The buckets.
    pub counts: [plain::AtomicU64; 160],
    /// Negative durations.
    pub underflow: plain::AtomicU64,
    /// Durations beyond the last bucket.
    pub overflow: plain::AtomicU64,
}

/// Go's `gFree` of a P: dead G's to reuse.
#[repr(C)]
pub struct PGFree {
    /// The list.
    pub g_list: GList,
    /// Its length; read by [`gcount`](crate::proc::gcount) from other threads.
    pub n: AtomicI32,
}

/// Free segments for stacks, all of one size. Go's `stackfreelist`.
#[repr(C)]
#[derive(Debug)]
pub struct StackFreeList {
    /// The end of the first segment; 0 if there is none. A segment's last word holds the end of the
    /// next segment.
    pub list: Cell<usize>,
    /// The bytes of all segments on the list.
    pub size: Cell<usize>,
}

impl StackFreeList {
    /// Returns an empty list.
    pub(in crate::runtime) const fn new() -> Self {
        StackFreeList { list: Cell::new(0), size: Cell::new(0) }
    }
}

/// Go's `mspancache` of a P; the embedder's allocator's.
#[repr(C)]
pub struct MspanCache {
    /// How many there are.
    pub len: Cell<usize>,
    /// The spans.
    pub buf: [Cell<*mut c_void>; 128],
}

/// Go's `sched.disable`: user goroutines that may not run now.
#[repr(C)]
pub struct SchedDisable {
    /// User goroutines are disabled; read without the lock.
    pub user: AtomicBool,
    /// User goroutines that would run.
    pub runnable: GQueue,
    /// The length of that queue.
    pub n: Cell<i32>,
}

/// Go's `sched.gFree`: dead G's that no P has.
#[repr(C)]
pub struct SchedGFree {
    /// Protects the lists.
    pub lock: Mutex,
    /// Copying G's.
    pub stack: GList,
    /// G's without a stack: always empty here, where a G's first stack is part
    /// of the page that it lives in.
    pub no_stack: GList,
    /// How many dead G's there are, those in [`SchedtExt::g_free_fixed`] included; read by
    /// [`gcount`](crate::proc::gcount) without the lock.
    pub n: AtomicI32,
}

/// The function that [`gopark`](crate::proc::gopark) calls on g0 once the G is parked. It returns
/// whether the G stays parked.
pub type Unlockf = unsafe extern "C" fn(*mut G, *mut c_void) -> bool;

// ---------------------------------------------------------------------------
// G

/// A goroutine. Go's `g`.
///
/// It lives in the upper half of its home page, right above its first stack.
#[repr(C)]
pub struct G {
    /// The stack it runs on.
    pub stack: Cell<Stack>,
    /// The limit with which a morestack check compares sp: `stack.lo + STACK_GUARD`, or a poisoned
    /// value that asks the G to stop.
    pub stackguard0: AtomicUsize,
    /// The same for code on g0 and gsignal; all ones on other G's.
    pub stackguard1: Cell<usize>,
    /// The innermost panic: the embedder's chain. Adjusted when the stack moves, cleared when the G
    /// ends.
    pub _panic: Cell<*mut c_void>,
    /// The innermost defer; likewise.
    pub _defer: Cell<*mut c_void>,
    /// The M that runs it. Assembly knows the offset.
    pub m: Link<M>,
    /// Where it goes on, while it isn't running. Assembly knows the offset.
    pub sched: Gobuf,
    /// In a system call: `sched.sp` at its entry.
    pub syscallsp: Cell<usize>,
    /// In a system call: `sched.pc` at its entry.
    pub syscallpc: Cell<usize>,
    /// The stack pointer at the top of its stack, for tracebacks.
    pub stktopsp: Cell<usize>,
    /// The argument of its waker: a channel operation passes the sudog.
    pub param: AtomicPtr<c_void>,
    /// Its state; changed only through [`casgstatus`](crate::proc) and its kin.
    // SeqCst, as in Go: a thread that finds a new state sees what was done in the old one. The
    // recorder sets the listener, and then looks at all states: `snapshot` in `trace/session.rs`.
    pub atomicstatus: AtomicU32,
    /// Lock of the signal-based profiler; the embedder's.
    pub stack_lock: AtomicU32,
    /// Its number, unique in the process.
    pub goid: Cell<u64>,
    /// The next in a run queue or free list.
    pub schedlink: Link<G>,
    /// The approximate time since when it waits, in nanoseconds, or 0: noted by sysmon, and not by
    /// the park. Odd if its dead stack has gone back.
    pub waitsince: Cell<i64>,
    /// Why it waits, while it does.
    pub waitreason: Cell<WaitReason>,
    /// It was asked to give up its P. The same request as the poisoned `stackguard0`.
    pub preempt: AtomicBool,
    /// When preempted, become [`GPREEMPTED`] and not just runnable.
    pub preempt_stop: AtomicBool,
    /// Shrink the stack at the next synchronous safe point.
    pub preempt_shrink: AtomicBool,
    /// Stopped at an asynchronous safe point: frames without exact maps.
    pub async_safe_point: Cell<bool>,
    /// Turn an unexpected fault into a panic; the embedder's, cleared when the G ends.
    pub paniconfault: Cell<bool>,
    /// A scan has seen this stack; the embedder's collector's, protected by the scan bit.
    pub gcscandone: Cell<bool>,
    /// Its stack must not grow now.
    pub throwsplit: Cell<bool>,
    /// Channels that it doesn't hold locked point into its stack.
    pub active_stack_chans: Cell<bool>,
    /// It is about to park on a channel, so its stack mustn't be shrunk now.
    pub parking_on_chan: AtomicBool,
    /// In a mark assist; the embedder's collector's.
    pub in_mark_assist: Cell<bool>,
    /// Argument of a coroutine switch: the coroutine ends.
    pub coroexit: Cell<bool>,
    /// Ignore race detection; the embedder's.
    pub raceignore: Cell<i8>,
    /// Callbacks from C are not allowed; the embedder's.
    pub nocgocallback: Cell<bool>,
    /// Its latencies are being measured.
    pub tracking: Cell<bool>,
    /// Counts down to the next measurement, by one each time that it stops running. The owner
    /// writes it, and a thief reads it (`runqgrab`).
    pub tracking_seq: plain::AtomicU8,
    /// When its state last changed while it was tracked, in nanoseconds.
    pub tracking_stamp: Cell<i64>,
    /// Nanoseconds spent runnable since tracking began.
    pub runnable_time: Cell<i64>,
    /// The M it is locked to.
    pub lockedm: Link<M>,
    /// The signal that stopped it.
    pub sig: Cell<u32>,
    /// A buffer that prints go to; the embedder's.
    pub writebuf: Slice<u8>,
    /// The signal's code.
    pub sigcode0: Cell<usize>,
    /// The signal's address.
    pub sigcode1: Cell<usize>,
    /// The signal's pc.
    pub sigpc: Cell<usize>,
    /// The goid of the goroutine that made it, 0 if a foreign thread did.
    pub parent_goid: Cell<u64>,
    /// The pc of the call that made it; 0 if [`GExt::created_at`] has the place.
    pub gopc: Cell<usize>,
    /// The goroutines that made its maker, with `GODEBUG=tracebackancestors=N`:
    /// `report/traceback.rs`.
    pub ancestors: Cell<*mut c_void>,
    /// Its function. Assembly knows the offset.
    pub startpc: Cell<usize>,
    /// Race detector context; the embedder's.
    pub racectx: Cell<usize>,
    /// The sudogs it waits on, in lock order.
    pub waiting: Link<Sudog>,
    /// Traceback context of C calls; the embedder's.
    pub cgo_ctxt: Slice<usize>,
    /// Profiler labels, which the goroutines that it makes inherit; null or an `Arc`. See
    /// [`labels`](crate::labels).
    pub labels: Cell<*mut c_void>,
    /// A timer kept for the next sleep.
    pub timer: Link<Timer>,
    /// In a select: whether a thread has won the right to wake it.
    pub select_done: plain::AtomicU32,
    /// Argument of a coroutine switch: the coroutine.
    pub coroarg: Cell<*mut Coro>,
    /// State of a goroutine profile; the embedder's.
    pub goroutine_profiled: AtomicU32,
    /// The tracer's state.
    pub trace: TraceState,
    /// Allocation credit; the embedder's collector's.
    pub gc_assist_bytes: Cell<i64>,
    /// What this port adds.
    pub ext: GExt,
}

impl G {
    /// Returns the G as the raw layer and assembly know it.
    pub fn as_ptr(&self) -> *mut G {
        std::ptr::from_ref(self).cast_mut()
    }
}

const _: () = assert!(size_of::<G>() == G_SIZE || cfg!(loom));

// ---------------------------------------------------------------------------
// M

/// A thread. Go's `m`.
#[repr(C)]
pub struct M {
    /// The G whose stack is this thread's own; the scheduler runs on it.
    pub g0: Link<G>,
    /// Argument of morestack: where it was called.
    pub morebuf: Gobuf,
    /// For division on 32-bit Arm; not used here.
    pub divmod: Cell<u32>,
    /// Go's blank field, which aligns the next.
    _blank: Cell<u32>,
    /// The kernel's thread id.
    pub procid: AtomicU64,
    /// The G whose stack signal handlers run on.
    pub gsignal: Link<G>,
    /// A signal stack of the embedder's.
    pub go_sig_stack: GsignalStack,
    /// The signal mask it starts with.
    pub sigmask: Cell<MaybeUninit<libc::sigset_t>>,
    /// Thread-local storage on systems without any; not used here.
    pub tls: [Cell<usize>; 6],
    /// The function that it runs before the scheduler.
    pub mstartfn: Cell<Option<fn()>>,
    /// The goroutine it runs. Assembly knows the offset.
    pub curg: Link<G>,
    /// The goroutine that ran when a fatal signal came.
    pub caughtsig: Link<G>,
    /// The P it has, none while it is idle, in a system call, or
    /// [detached](crate::proc::preemption#detaching).
    pub p: HeldP,
    /// The P it will have when it wakes.
    pub nextp: Link<P>,
    /// The P it had before a system call.
    pub oldp: Link<P>,
    /// Its number.
    pub id: Cell<i64>,
    /// In the allocator, and not to be preempted; the embedder's.
    pub mallocing: Cell<i32>,
    /// It is reporting a fatal error.
    pub throwing: Cell<u32>,
    /// Why its goroutine must stay on it, a C string that is never freed, or null; also the
    /// embedder's.
    pub preemptoff: Cell<*const c_char>,
    /// Locks held, and other reasons not to be descheduled.
    pub locks: Cell<i32>,
    /// How many fatal errors it reports, one inside the other.
    pub dying: Cell<i32>,
    /// The rate of profile samples, per second of the time that it computes; 0 for none.
    pub profilehz: Cell<i32>,
    /// Out of work and looking for some.
    pub spinning: Cell<bool>,
    /// Asleep on a note.
    pub blocked: Cell<bool>,
    /// It set up its own signal stack.
    pub new_sigstack: Cell<bool>,
    /// It holds the print lock; not used here.
    pub printlock: Cell<i8>,
    /// In a call to C; the embedder's.
    pub incgo: Cell<bool>,
    /// One of the M's for threads that aren't ours.
    pub isextra: Cell<bool>,
    /// An extra M whose thread isn't in our code.
    pub is_extra_in_c: Cell<bool>,
    /// An extra M whose thread is in a signal handler.
    pub is_extra_in_sig: Cell<bool>,
    /// Whether its ending thread still uses it: `m/thread.rs`.
    pub free_wait: AtomicU32,
    /// The list of extra M's needs one more.
    pub needextram: Cell<bool>,
    /// How much of a traceback to print.
    pub traceback: Cell<u8>,
    /// Calls to C so far; the embedder's.
    pub ncgocall: Cell<u64>,
    /// Calls to C in progress; the embedder's.
    pub ncgo: Cell<i32>,
    /// `cgo_callers` is in use; the embedder's.
    pub cgo_callers_use: AtomicU32,
    /// Traceback of a call to C; the embedder's.
    pub cgo_callers: Cell<*mut c_void>,
    /// The note on which it sleeps when it is idle.
    pub park: Note,
    /// The next in the list of all M's.
    pub alllink: Link<M>,
    /// The next in the idle list.
    pub schedlink: Link<M>,
    /// The goroutine that is locked to it.
    pub lockedg: Link<G>,
    /// The stack that created it, as pcs; the embedder's.
    pub createstack: [Cell<usize>; 32],
    /// How often its goroutine locked itself to it.
    pub locked_ext: Cell<u32>,
    /// How often the runtime locked its goroutine to it.
    pub locked_int: Cell<u32>,
    /// The next M waiting for a lock, on systems without futexes.
    pub nextwaitm: Link<M>,
    /// Contention on the runtime's locks.
    pub m_lock_profile: MLockProfile,
    /// From gopark to park_m: the function to call.
    pub waitunlockf: Cell<Option<Unlockf>>,
    /// From gopark to park_m: that function's argument.
    pub waitlock: Cell<*mut c_void>,
    /// From gopark to park_m: the reason that the tracer gets.
    pub wait_trace_block_reason: Cell<TraceBlockReason>,
    /// From gopark to park_m: how many frames the tracer is to leave out.
    pub wait_trace_skip: Cell<i32>,
    /// [`P::syscalltick`] when it entered a system call.
    pub syscalltick: Cell<u32>,
    /// The next on [`Schedt::freem`].
    pub freelink: Link<M>,
    /// The tracer's state.
    pub trace: TraceState,
    /// A C call, on systems where programs call the kernel by C.
    pub libcall: Libcall,
    /// The pc of that call.
    pub libcallpc: Cell<usize>,
    /// The sp of that call.
    pub libcallsp: Cell<usize>,
    /// The G of that call.
    pub libcallg: Link<G>,
    /// A system call, on systems where C makes it.
    pub syscall: Libcall,
    /// sp at a call into the vDSO.
    pub vdso_sp: Cell<usize>,
    /// pc at a call into the vDSO.
    pub vdso_pc: Cell<usize>,
    /// Preemption signals handled.
    pub preempt_gen: AtomicU32,
    /// A preemption signal is on its way.
    pub signal_pending: AtomicU32,
    /// Cache of frame maps; the embedder's.
    pub pcvalue_cache: Cell<*mut c_void>,
    /// Debug log; the embedder's.
    pub dlog_per_m: Cell<*mut c_void>,
    /// Fields that only Linux needs.
    pub m_os: MOS,
    /// A strong random generator; the embedder's.
    pub chacha8: Chacha8State,
    /// The state of the scheduler's random numbers.
    pub cheaprand: Cell<u64>,
    /// How many locks it holds; kept in debug builds.
    pub locks_held_len: Cell<usize>,
    /// Those locks, in the order in which they were taken.
    pub locks_held: [Cell<HeldLockInfo>; 10],
    /// What this port adds.
    pub ext: MExt,
}

// ---------------------------------------------------------------------------
// P

/// A processor: the right to run goroutines, and the data that an M needs to do so. Go's `p`. There
/// are GOMAXPROCS of them.
#[repr(C)]
pub struct P {
    /// Its index in the list of all P's.
    pub id: Cell<i32>,
    /// One of [`PIDLE`] and so on.
    // SeqCst: pairs with `Schedt::gcwaiting`. A CAS from `PSYSCALL` decides which thread gets the
    // P.
    pub status: AtomicU32,
    /// The next in the idle list.
    pub link: Link<P>,
    /// Counts time slices.
    pub schedtick: plain::AtomicU32,
    /// Counts system calls.
    pub syscalltick: AtomicU32,
    /// What sysmon last saw.
    pub sysmontick: Sysmontick,
    /// The M that has it.
    pub m: Link<M>,
    /// Allocation cache; the embedder's, see [`Hooks`](crate::proc::Hooks).
    pub mcache: Cell<*mut c_void>,
    /// Page cache; the embedder's.
    pub pcache: PageCache,
    /// Race detector context; the embedder's.
    pub raceprocctx: Cell<usize>,
    /// Free defer records; the embedder's.
    pub deferpool: Slice<*mut c_void>,
    /// Their first buffer; the embedder's.
    pub deferpoolbuf: [Cell<*mut c_void>; 32],
    /// The next goid to give out.
    pub goidcache: Cell<u64>,
    /// The first goid after this P's batch.
    pub goidcacheend: Cell<u64>,
    /// The run queue's head, from which the owner and thieves take.
    pub runqhead: AtomicU32,
    /// The run queue's tail, which only the owner moves.
    pub runqtail: AtomicU32,
    /// The run queue: a ring.
    pub runq: [Link<G>; RUNQ_SIZE],
    /// A G made ready by the running one, to run next in the same time slice.
    pub runnext: Link<G>,
    /// Dead copying G's.
    pub g_free: PGFree,
    /// Free sudogs, in `sudogbuf`.
    pub sudogcache: Slice<Option<&'static Sudog>>,
    /// The memory of `sudogcache`.
    pub sudogbuf: [Cell<Option<&'static Sudog>>; 128],
    /// Free spans; the embedder's allocator's.
    pub mspancache: MspanCache,
    /// A free pinner; the embedder's.
    pub pinner_cache: Cell<*mut c_void>,
    /// The tracer's state.
    pub trace: TraceState,
    /// Bump allocator; the embedder's.
    pub palloc: PersistentAlloc,
    /// When the first timer fires, 0 if there is none.
    // SeqCst: a thread that sets a timer stores this, and then looks for an M that spins or polls.
    // An M that goes to sleep reads this after it has stopped spinning: see `wake_net_poller`.
    pub timer0_when: AtomicI64,
    /// The earliest time that a modified timer may fire.
    // SeqCst: as `timer0_when`; and it pairs with the states of timers, see `adjusttimers`.
    pub timer_modified_earliest: AtomicI64,
    /// Nanoseconds in assists; the embedder's collector's.
    pub gc_assist_time: Cell<i64>,
    /// Nanoseconds in fractional marking; the embedder's collector's.
    pub gc_fractional_mark_time: AtomicI64,
    /// Since when it is idle, in nanoseconds; 0 if it isn't. (Go's CPU limiter notes more there.)
    pub limiter_event: AtomicU64,
    /// The mode of the next mark worker; the embedder's collector's.
    pub gc_mark_worker_mode: Cell<u32>,
    /// When that worker started; the embedder's collector's.
    pub gc_mark_worker_start_time: Cell<i64>,
    /// The P's grey objects; the embedder's collector's.
    pub gcw: GcWork,
    /// The P's write barrier buffer; the embedder's collector's.
    pub wb_buf: WbBuf,
    /// 1: run [`Schedt::safe_point_fn`] at the next safe point. 2: this is a child of `fork`.
    // SeqCst, as in Go: `for_each_p` stores 1 after the function, and the CAS in `claim` acquires
    // both. If an M reads an old 0 before it leaves this P in a system call, `for_each_p` takes the
    // P when it looks again.
    pub run_safe_point_fn: plain::AtomicU32,
    /// Odd while statistics are being written; the embedder's.
    pub stats_seq: AtomicU32,
    /// Protects the timers.
    pub timers_lock: Mutex,
    /// The timer heap.
    pub timers: Slice<TimerWhen>,
    /// The length of the heap.
    // Changed with `timers_lock` held. `update_timer_p_mask` reads it without the lock first, and
    // reads a 0 again under the lock; `checkdead` reads it when no M runs. SeqCst, as in Go.
    pub num_timers: AtomicU32,
    /// How many timers in the heap are deleted.
    // Only a hint: `many_deleted` reads it to decide whether to clean the heap. SeqCst, as in Go.
    pub deleted_timers: AtomicU32,
    /// Race detector context of timers; the embedder's.
    pub timer_race_ctx: Cell<usize>,
    /// Scannable stack not yet reported; the embedder's collector's.
    pub max_stack_scan_delta: Cell<i64>,
    /// Stack bytes scanned; the embedder's collector's.
    pub scanned_stack_size: Cell<u64>,
    /// Stacks scanned; the embedder's collector's.
    pub scanned_stacks: Cell<u64>,
    /// The time slice is to end. Set by the thread that asks for the end, cleared when the slice
    /// ends.
    pub preempt: plain::AtomicBool,
    /// Page trace; the embedder's.
    pub page_trace_buf: Cell<*mut c_void>,
    /// What this port adds.
    pub ext: PExt,
}

/// The length of a P's run queue.
pub const RUNQ_SIZE: usize = if cfg!(loom) { 4 } else { 256 };

// ---------------------------------------------------------------------------
// The scheduler

/// The state that all P's share. Go's `schedt`; there is one,
/// [`proc::sched`](crate::proc::sched).
#[repr(C)]
pub struct Schedt {
    /// The last goid given out.
    pub goidgen: AtomicU64,
    /// When the network was last polled, 0 while an M waits in the poller.
    // SeqCst: a thread that sets a timer, or counts a wait in `NETPOLL_WAITERS`, reads this
    // afterwards. An M swaps in a 0 before it polls, and reads the count afterwards. See
    // `wake_net_poller`, `netpoll_adjust_waiters` and `poll_or_stop`.
    pub lastpoll: AtomicI64,
    /// The latest time until which that M waits; 0 if it isn't known yet, or there is no limit.
    // SeqCst: the thread that finds a 0 in `lastpoll` reads this next. The poller stores it after
    // that 0, and stores 0 here before `lastpoll` is set again.
    pub poll_until: AtomicI64,
    /// Protects the fields that follow, unless a field says otherwise.
    pub lock: Mutex,
    /// Idle M's.
    pub midle: Link<M>,
    /// How many M's are idle.
    pub nmidle: Cell<i32>,
    /// How many M's wait for the goroutine that is locked to them.
    pub nmidlelocked: Cell<i32>,
    /// The number of the next M, and also how many M's were made.
    pub mnext: Cell<i64>,
    /// The maximum number of M's.
    pub maxmcount: Cell<i32>,
    /// M's that don't count for deadlock.
    pub nmsys: Cell<i32>,
    /// M's that have ended.
    pub nmfreed: Cell<i64>,
    /// Goroutines of the runtime itself.
    pub ngsys: AtomicI32,
    /// Idle P's.
    pub pidle: Link<P>,
    /// How many P's are idle.
    // SeqCst: changed with the lock held. `wakep` and `resetspinning` read it without the lock,
    // after work was submitted (`sched/wake.rs`). To other readers without the lock it is a hint.
    pub npidle: AtomicI32,
    /// M's that are looking for work.
    // SeqCst: a thread submits work, and then reads this (`wakep`). An M that stops spinning
    // decrements this, and then looks at all queues (`drop_p`, `resetspinning`). So one of the two
    // sees the other: see `sched/wake.rs`.
    pub nmspinning: AtomicI32,
    /// There was work and no idle P: an M that is about to let its P go must look
    /// again. Set with the lock held.
    // SeqCst: `wakep` reads it without the lock, after work was submitted. The M that clears it
    // (`become_spinning`), or that is started then (`handoffp`), looks at the queues afterwards. So
    // that M finds the work of a thread that has read the 1.
    pub needspinning: AtomicU32,
    /// The global run queue.
    pub runq: GQueue,
    /// The length of the global run queue; read without the lock.
    pub runqsize: AtomicI32,
    /// Disabled user goroutines.
    pub disable: SchedDisable,
    /// Dead G's; has its own lock.
    pub g_free: SchedGFree,
    /// Protects the next field.
    pub sudoglock: Mutex,
    /// Free sudogs that no P has.
    pub sudogcache: Link<Sudog>,
    /// Protects the next field; the embedder's.
    pub deferlock: Mutex,
    /// Free defer records; the embedder's.
    pub deferpool: Cell<*mut c_void>,
    /// M's that have ended, to be used again.
    pub freem: Link<M>,
    /// The world is to be stopped.
    // SeqCst: `stop_the_world` sets this, and then looks at each `P::status`. An M stores
    // `PSYSCALL` there, and then reads this (`entersyscall`). So one of the two sees the other.
    // Other readers hold the lock, or read again in the next round (`asked_to_stop`).
    pub gcwaiting: AtomicBool,
    /// P's that haven't stopped yet; changed under the lock, and read without it.
    pub stopwait: AtomicI32,
    /// The note on which the M that stops the world sleeps.
    pub stopnote: Note,
    /// Sysmon is asleep.
    // SeqCst: sysmon sets this, and then looks for requests: `wakes_left` and `asked_to_quit`. A
    // thread makes a request, and then swaps this (`wake_sysmon_from_signal`). So one of the two
    // sees the other. The swap decides which thread wakes the note.
    pub sysmonwait: AtomicBool,
    /// The note on which sysmon sleeps.
    pub sysmonnote: Note,
    /// A function that each P is to run at a safe point; handed over by [`P::run_safe_point_fn`].
    pub safe_point_fn: Cell<Option<fn(*mut P)>>,
    /// P's that haven't run that function yet.
    pub safe_point_wait: Cell<i32>,
    /// The note on which the caller of `for_each_p` sleeps.
    pub safe_point_note: Note,
    /// The rate of profile samples of each thread, per second of the time that it computes; 0 for
    /// none.
    pub profilehz: AtomicI32,
    /// When the number of P's last changed, in nanoseconds.
    pub procresizetime: Cell<i64>,
    /// The integral of GOMAXPROCS over time until [`procresizetime`](Self::procresizetime).
    pub totaltime: Cell<i64>,
    /// Held by sysmon while it retakes P's, and by other threads to keep sysmon from doing so.
    pub sysmonlock: Mutex,
    /// How long goroutines were runnable before they ran.
    pub time_to_run: TimeHistogram,
    /// Nanoseconds that P's were idle.
    pub idle_time: AtomicI64,
    /// Nanoseconds waited for mutexes.
    pub total_mutex_wait_time: AtomicI64,
    /// How long it took to stop the world for a collector.
    pub stw_stopping_time_gc: TimeHistogram,
    /// How long it took to stop the world for other reasons.
    pub stw_stopping_time_other: TimeHistogram,
    /// How long the world was stopped for a collector.
    pub stw_total_time_gc: TimeHistogram,
    /// How long the world was stopped for other reasons.
    pub stw_total_time_other: TimeHistogram,
    /// Nanoseconds waited for the runtime's locks by M's that have ended.
    pub total_runtime_lock_wait_time: AtomicI64,
    /// What this port adds.
    pub ext: SchedtExt,
}

// SAFETY: a plain cell is only touched with the lock held that its field names. The exceptions are
// `safe_point_fn` and `safe_point_wait`: a P's mark and the note hand them from thread to thread.
unsafe impl Sync for Schedt {}

static SCHED: ZeroInit<Schedt> = ZeroInit(UnsafeCell::new(MaybeUninit::zeroed()));

/// Aligned, so that the beginnings of cache lines don't depend on what the linker puts before.
#[repr(align(128))]
struct ZeroInit<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: only `sched` reaches the value, as `&T`, and a `&T` may be shared.
unsafe impl<T: Sync> Sync for ZeroInit<T> {}

/// Returns the scheduler's shared state. Go's `sched`.
#[inline(always)]
pub(crate) fn sched() -> &'static Schedt {
    // SAFETY: all zero is a valid Schedt, and nothing borrows it mutably.
    unsafe { (*SCHED.0.get()).assume_init_ref() }
}

// ---------------------------------------------------------------------------
// Wait reasons

macro_rules! wait_reasons {
    ($($value:literal $name:ident $text:literal)*) => {
        /// Why a goroutine waits. Go's `waitReason`; the text is what a report shows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum WaitReason {
            $(#[doc = concat!("\"", $text, "\"")] $name = $value,)*
        }

        impl WaitReason {
            /// All reasons, in order.
            pub const ALL: [WaitReason; 45] = [$(WaitReason::$name),*];

            /// Returns the text that a report shows.
            pub const fn as_str(self) -> &'static str {
                WAIT_REASON_STRINGS[self as usize]
            }
        }

        /// The texts, by number. Debuggers read them, too. Go's `waitReasonStrings`.
        static WAIT_REASON_STRINGS: [&str; WaitReason::ALL.len()] = [$($text),*];
    };
}

wait_reasons! {
    0 Zero ""
    1 GCAssistMarking "GC assist marking"
    2 IOWait "IO wait"
    3 ChanReceiveNilChan "chan receive (nil chan)"
    4 ChanSendNilChan "chan send (nil chan)"
    5 DumpingHeap "dumping heap"
    6 GarbageCollection "garbage collection"
    7 GarbageCollectionScan "garbage collection scan"
    8 PanicWait "panicwait"
    9 Select "select"
    10 SelectNoCases "select (no cases)"
    11 GCAssistWait "GC assist wait"
    12 GCSweepWait "GC sweep wait"
    13 GCScavengeWait "GC scavenge wait"
    14 ChanReceive "chan receive"
    15 ChanSend "chan send"
    16 FinalizerWait "finalizer wait"
    17 ForceGCIdle "force gc (idle)"
    18 Semacquire "semacquire"
    19 Sleep "sleep"
    20 SyncCondWait "sync.Cond.Wait"
    21 SyncMutexLock "sync.Mutex.Lock"
    22 SyncRWMutexRLock "sync.RWMutex.RLock"
    23 SyncRWMutexLock "sync.RWMutex.Lock"
    24 TraceReaderBlocked "trace reader (blocked)"
    25 WaitForGCCycle "wait for GC cycle"
    26 GCWorkerIdle "GC worker (idle)"
    27 GCWorkerActive "GC worker (active)"
    28 Preempted "preempted"
    29 DebugCall "debug call"
    30 GCMarkTermination "GC mark termination"
    31 StoppingTheWorld "stopping the world"
    32 FlushProcCaches "flushing proc caches"
    33 TraceGoroutineStatus "trace goroutine status"
    34 TraceProcStatus "trace proc status"
    35 PageTraceFlush "page trace flush"
    36 Coroutine "coroutine"
    37 Future "future"
    38 Futex "futex (std)"
    39 StdRead "read (std)"
    40 StdWrite "write (std)"
    41 StdAccept "accept (std)"
    42 StdConnect "connect (std)"
    43 StdPoll "poll (std)"
    44 StdChild "wait for child (std)"
}

impl WaitReason {
    /// Whether this is a wait for a mutex. Go's `isMutexWait`.
    pub fn is_mutex_wait(self) -> bool {
        matches!(self, WaitReason::SyncMutexLock | WaitReason::SyncRWMutexRLock | WaitReason::SyncRWMutexLock)
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason of a park, for a tracer. Go's `traceBlockReason`; for the embedder's tracer, passed
/// through [`gopark`](crate::proc::gopark).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum TraceBlockReason {
    /// No particular reason.
    #[default]
    Generic,
    /// Forever.
    Forever,
    /// On the network.
    Net,
    /// In a select.
    Select,
    /// On a condition variable.
    CondWait,
    /// On a lock.
    Sync,
    /// Sending to a channel.
    ChanSend,
    /// Receiving from a channel.
    ChanRecv,
    /// For the collector's mark assist.
    GcMarkAssist,
    /// For the collector's sweep.
    GcSweep,
    /// A system goroutine.
    SystemGoroutine,
    /// Preempted.
    Preempted,
    /// In a debugger's call.
    DebugCall,
    /// Until the collector has marked.
    UntilGcEnds,
    /// Asleep.
    Sleep,
}
