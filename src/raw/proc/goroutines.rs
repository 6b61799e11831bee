//! The raw layer's functions for goroutines, timers and M's, and those that keep a goroutine where
//! it is, or keep others out: M's, P's, threads and locks.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::runtime::runtime2::{G, M, Mutex, Schedt, TraceBlockReason, Unlockf, WaitReason};
use crate::runtime::{self, Coro, CoroFn, Timer, TimerFn, entry_check, with_room};

/// Makes a goroutine on a copying stack that runs `f(arg)`, next on this P. Go's `newproc`, in
/// `proc.go`.
///
/// If `f` is `None`, or if there is no memory for a goroutine, it is a fatal error, in Go's words.
///
/// # Safety
/// The runtime runs. `f(arg)` may be called on another thread, keeps the rules for copying
/// stacks (see [`proc`](crate::proc)), and doesn't unwind.
#[inline(always)]
pub unsafe fn newproc(f: Option<unsafe extern "C" fn(*mut c_void)>, arg: *mut c_void) {
    // SAFETY: the runtime runs and `f(arg)` keeps the rules for copying stacks, as the caller says.
    unsafe { runtime::newproc_here(f, arg) }
}

/// Makes a goroutine on a copying stack that waits in `c` until [`coroswitch`], and then runs
/// `f(c, arg)`. When `f` returns the coroutine has ended, and the goroutine that waits in `c` then
/// goes on. Go's `newcoro`, in `coro.go`.
///
/// If there is no memory for it, that is a fatal error.
///
/// # Safety
/// The runtime runs. `c` isn't a coroutine yet, or has ended. It isn't on a copying stack, and
/// stays until the coroutine has ended. `f(c, arg)` may be called on another thread, keeps the
/// rules for copying stacks (see [`proc`](crate::proc)), doesn't unwind, and ends by returning.
#[inline(always)]
pub unsafe fn newcoro(c: *mut Coro, f: CoroFn, arg: *mut c_void) {
    // SAFETY: `c` is free and stays, and `f(c, arg)` keeps the rules for copying stacks, as the
    // caller says.
    unsafe { runtime::newcoro_here(c, f, arg) }
}

/// [`newproc`], but reports show `callerpc`, an address that a call returns to, as the place where
/// the goroutine was made. Go's `newproc1`, in `proc.go`.
///
/// # Safety
/// As [`newproc`].
pub unsafe fn newproc_at(f: Option<unsafe extern "C" fn(*mut c_void)>, arg: *mut c_void, callerpc: usize) {
    entry_check();
    // SAFETY: the runtime runs and `f(arg)` keeps the rules for copying stacks, as the caller says.
    unsafe { runtime::newproc_at(f, arg, callerpc) }
}

/// The address of [`SLOT_SIZE`](crate::runtime2::SLOT_SIZE) bytes that belong to the embedder, in a
/// goroutine that [`newproc`], [`newproc_at`] or [`newcoro`] has made. The bytes begin at a
/// multiple of 16, and stay where they are. They aren't cleared: a goroutine may find the data of
/// an earlier one that has ended.
///
/// # Safety
/// `gp` is a G that one of these functions has made.
pub unsafe fn slot(gp: *mut G) -> *mut c_void {
    // SAFETY: a G, as the caller says, and G's are never freed.
    unsafe { &*gp }.ext.slot.for_port()
}

offered! {
    /// Switches to the goroutine that waits in `c`, which goes on at once, on this thread and in
    /// this time slice, while the running goroutine waits there in its place. Returns when another
    /// goroutine switches in turn, or when the coroutine ends. A switch to a coroutine that has
    /// ended is a fatal error, if it is noticed. Go's `coroswitch`, in `coro.go`.
    ///
    /// If one of the two is locked to its thread, the other goes by way of the run queue.
    ///
    /// # Safety
    /// On a goroutine; nothing obtained from a thread-local is kept across this. [`newcoro`] was
    /// called with `c`, which stays until this returns.
    pub unsafe fn coroswitch(c: *mut Coro);

    /// Lets other goroutines run. The running one goes to the end of the global queue. Go's
    /// `Gosched`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine; nothing obtained from a thread-local is kept across this.
    pub unsafe fn gosched();

    /// Lets other goroutines run. The running one goes to the end of this P's queue. Go's
    /// `goyield`, in `proc.go`.
    ///
    /// # Safety
    /// As [`gosched`].
    pub unsafe fn goyield();

    /// Parks the running goroutine for at least `ns` nanoseconds. Go's `timeSleep`, in `time.go`.
    ///
    /// # Safety
    /// On a goroutine; nothing obtained from a thread-local is kept across this.
    pub unsafe fn time_sleep(ns: i64);
}

/// Parks the running goroutine until [`goready`]. Once it is off its stack, `unlockf(gp, lock)` is
/// called on g0. If `unlockf` returns false, the goroutine goes on at once. Reports show `reason`.
/// Go's `gopark`, in `proc.go`.
///
/// # Safety
/// On a goroutine; nothing obtained from a thread-local is kept across this. `unlockf` must not
/// touch the goroutine's stack, park, or unwind. It must not return false if another caller may
/// have made the goroutine ready. If `unlockf` is `None`, the caller of [`goready`] knows of the
/// goroutine already.
#[inline(always)]
pub unsafe fn gopark(
    unlockf: Option<Unlockf>,
    lock: *mut c_void,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    entry_check();
    // SAFETY: the caller keeps to this function's doc, which has all conditions of the runtime's.
    unsafe { runtime::gopark_of_program(unlockf, lock, reason, trace_reason, traceskip) }
}

/// Makes a parked goroutine ready: it runs next on this P. On a thread that isn't the runtime's, it
/// goes by way of the global queue. Go's `goready`, in `proc.go`. The trace records the wakeup
/// without a stack, so `_traceskip` isn't used.
///
/// # Safety
/// `gp` is a G that has parked, or that is about to park and whose `unlockf` has been called. No
/// other caller makes it ready. (A second call is a fatal error, if it is noticed.)
#[inline(always)]
pub unsafe fn goready(gp: *mut G, _traceskip: i32) {
    entry_check();
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::goready(unsafe { &*gp })
}

/// Starts a new timer: `t.f` is called at `t.when`, on g0 of some M, and from then on every
/// `t.period` unless that is 0. Go's `startTimer`, in `time.go`.
///
/// # Safety
/// On a goroutine, or on g0 of an M with a P. `t` is zero except for the fields that its owner
/// sets, and stays where it is: see [`Timer`]. `f` may be called with its arguments on any thread.
/// No other call changes the timer meanwhile.
#[inline(always)]
pub unsafe fn start_timer(t: *const Timer) {
    entry_check();
    // SAFETY: a timer that stays and that nobody else changes, as the caller says.
    with_room(|| runtime::addtimer(unsafe { &*t }))
}

/// Stops a timer. Returns whether it was active. If it wasn't, it has fired or was stopped, and `f`
/// may be running. Go's `stopTimer`, in `time.go`.
///
/// # Safety
/// `t` is a timer. No other call changes it meanwhile.
#[inline(always)]
pub unsafe fn stop_timer(t: *const Timer) -> bool {
    entry_check();
    // SAFETY: a timer that nobody else changes, as the caller says; it stays until it has left its
    // heap.
    with_room(|| runtime::deltimer(unsafe { &*t }))
}

/// Sets a timer to another time, and starts it if it isn't active. Returns whether it was active.
/// Go's `resetTimer`, in `time.go`.
///
/// # Safety
/// As [`start_timer`], except that the timer may have been used before.
#[inline(always)]
pub unsafe fn reset_timer(t: *const Timer, when: i64) -> bool {
    entry_check();
    // SAFETY: a timer that stays and that nobody else changes, as the caller says.
    with_room(|| runtime::resettimer(unsafe { &*t }, when))
}

/// Sets all fields of a timer, and starts it if it isn't active. Returns whether it was active.
/// Go's `modTimer`, in `time.go`.
///
/// # Safety
/// As [`reset_timer`].
#[inline(always)]
pub unsafe fn mod_timer(
    t: *const Timer,
    when: i64,
    period: i64,
    f: Option<TimerFn>,
    arg: *mut c_void,
    seq: usize,
) -> bool {
    entry_check();
    // SAFETY: a timer that stays and that nobody else changes, as the caller says.
    with_room(|| runtime::modtimer(unsafe { &*t }, when, period, f, arg, seq))
}

/// The monotonic clock, in nanoseconds. The time of a timer is compared with it. Go's `nanotime`,
/// in `time_nofake.go`.
#[inline(always)]
pub fn nanotime() -> i64 {
    entry_check();
    with_room(runtime::nanotime)
}

/// Makes the waiting G's of a list runnable, and empties it. Go's `injectglist`, in `proc.go`.
///
/// # Safety
/// As [`goready`], for each of them.
#[inline(always)]
pub unsafe fn injectglist(list: &crate::runtime::GList) {
    entry_check();
    runtime::injectglist(list)
}

/// Ends the running goroutine. Nothing on its stack is dropped. Go's `goexit1`, in `proc.go`.
///
/// # Safety
/// On a goroutine that [`newproc`] made. Nothing may point to its stack, or rely on a
/// destructor there.
pub unsafe fn goexit() -> ! {
    // SAFETY: on a goroutine, and nothing relies on what is on its stack, as the caller says.
    unsafe { runtime::goexit1() }
}

/// The running G: a goroutine's, or g0 in [`systemstack`] and in the function that [`mcall`] calls;
/// null on a thread that isn't the runtime's. Go's `getg`.
pub fn getg() -> *mut G {
    runtime::getg().map_or(std::ptr::null_mut(), G::as_ptr)
}

/// This thread's M; null on a thread that isn't the runtime's.
pub fn getm() -> *mut M {
    let mp = runtime::this_m();
    mp.map_or(std::ptr::null_mut(), |mp| std::ptr::from_ref(mp).cast_mut())
}

/// The scheduler's shared state. Go's `sched`, in `runtime2.go`.
pub fn sched() -> *mut Schedt {
    std::ptr::from_ref(crate::runtime::runtime2::sched()).cast_mut()
}

/// Calls `f` on g0's stack, which has about 200 KiB. Called elsewhere than on a goroutine, it calls
/// `f` directly. If `f` panics, the panic goes on in the caller. Go's `systemstack`, in
/// `asm_amd64.s`.
///
/// `f` may make the goroutine waiting ([`cas_g_to_waiting`]), and running again. Meanwhile its
/// stack can be scanned with its registers, also by `f` itself.
///
/// # Safety
/// `f` must not park. On a copying stack it must not panic.
pub unsafe fn systemstack<R>(f: impl FnOnce() -> R) -> R {
    runtime::systemstack_scannable(f)
}

/// Leaves the running goroutine and calls `f` with it on g0. The goroutine goes on when something
/// resumes it. Go's `mcall`, in `asm_amd64.s`.
///
/// # Safety
/// On a goroutine; nothing obtained from a thread-local is kept across this. `f` must never return,
/// must not unwind, and must ensure that the goroutine is resumed, as a rule by [`gogo`].
pub unsafe fn mcall(f: unsafe extern "C" fn(*mut G) -> !) {
    // SAFETY: on a goroutine, and `f` ensures that it is resumed, as the caller says.
    unsafe { runtime::mcall(f) }
}

/// Resumes `gp` where it left off. Go's `gogo`, in `asm_amd64.s`.
///
/// # Safety
/// In the function that [`mcall`] called, for the goroutine that called [`mcall`].
#[inline(always)]
pub unsafe fn gogo(gp: *mut G) -> ! {
    // SAFETY: on g0, and mcall has filled the `sched` of this G, which nobody else resumes.
    unsafe { runtime::gogo(&(*gp).sched, (*gp).stackguard0.load(Ordering::Relaxed)) }
}

/// The G's state: one of the constants of [`runtime2`](crate::runtime2). Go's `readgstatus`, in
/// `proc.go`.
///
/// # Safety
/// `gp` is a G.
pub unsafe fn readgstatus(gp: *mut G) -> u32 {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::readgstatus(unsafe { &*gp })
}

/// Changes the G's state. Waits while a scan holds the state. If the state isn't `oldval`, it is a
/// fatal error. Go's `casgstatus`, in `proc.go`.
///
/// # Safety
/// `gp` is a G, and the caller owns the change.
pub unsafe fn casgstatus(gp: *mut G, oldval: u32, newval: u32) {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::casgstatus(unsafe { &*gp }, oldval, newval)
}

/// Makes the G waiting, and records the reason. Go's `casGToWaiting`, in `proc.go`.
///
/// # Safety
/// As [`casgstatus`].
pub unsafe fn cas_g_to_waiting(gp: *mut G, old: u32, reason: WaitReason) {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::cas_g_to_waiting(unsafe { &*gp }, old, reason)
}

/// Takes the stack of a waiting or runnable G. Returns the previous state, which the caller has to
/// restore. Go's `casgcopystack`, in `proc.go`.
///
/// # Safety
/// As [`casgstatus`]; the G is on no queue that would run it meanwhile.
pub unsafe fn casgcopystack(gp: *mut G) -> u32 {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::casgcopystack(unsafe { &*gp })
}

/// Whether this P has other work. Background work should yield then. Go's `pollWork`, in `proc.go`.
///
/// # Safety
/// On an M.
pub unsafe fn poll_work() -> bool {
    runtime::poll_work()
}

/// The number of goroutines; an estimate while others begin and end. Go's `gcount`, in `proc.go`.
///
/// # Safety
/// The runtime runs.
pub unsafe fn gcount() -> i32 {
    runtime::gcount()
}

/// The number of threads that the runtime has made. Go's `mcount`, in `proc.go`.
pub fn mcount() -> i32 {
    runtime::mcount_now()
}

/// Sets how many threads the runtime may make, and returns the previous limit. The default is
/// 10,000. If more are needed, it is a fatal error. Go's `debug.SetMaxThreads`.
pub fn set_max_threads(max: i32) -> i32 {
    runtime::set_max_threads(max)
}

/// Sets how many bytes a goroutine's copying stack may have, and returns the previous limit. The
/// default is 1 GiB. A goroutine that needs more ends the process with a report. Go's
/// `debug.SetMaxStack`.
pub fn set_max_stack(bytes: usize) -> usize {
    runtime::set_max_stack(bytes)
}

/// Returns memory to the system that the runtime keeps for later use: memory of ended goroutines,
/// of stacks that were larger, and of channels. It returns all of this memory, however long that
/// takes: a second or two for a million goroutines. Memory that a P keeps at hand while it runs
/// other code is returned later. The next goroutines take as long to make as the first ones did.
/// Does nothing before the runtime runs. Go's `debug.FreeOSMemory`.
///
/// The runtime itself returns memory that was unused for a second or two. This function is for
/// callers that know that a burst is over.
pub fn free_os_memory() {
    entry_check();
    runtime::systemstack(runtime::free_os_memory)
}

/// Halves the copying stack of a goroutine that uses less than a quarter of it. Does nothing if the
/// goroutine uses more, if the stack is fixed, or if it can't be moved now. Go's `shrinkstack`, in
/// `stack.go`.
///
/// # Safety
/// `gp` is a goroutine that isn't running and can't begin to: its state has the scan bit, set by
/// [`castogscanstatus`](super::castogscanstatus), or `gp` called the [`mcall`] in which this is
/// called.
pub unsafe fn shrinkstack(gp: *mut G) {
    if getg() == gp {
        runtime::throw("shrinkstack on the stack that is to shrink");
    }
    // SAFETY: a G that isn't running and can't begin to, as the caller says; G's are never freed.
    runtime::systemstack(|| runtime::shrinkstack(unsafe { &*gp }))
}

/// Keeps the caller on its M, and the M on its P, until [`releasem`]. Go's `acquirem`, in
/// `runtime1.go`.
pub fn acquirem() -> *mut M {
    runtime::acquirem().map_or(std::ptr::null_mut(), |mp| std::ptr::from_ref(mp).cast_mut())
}

/// Undoes [`acquirem`]. Go's `releasem`, in `runtime1.go`.
///
/// # Safety
/// `mp` is the result of [`acquirem`], and is released once.
pub unsafe fn releasem(mp: *mut M) {
    // SAFETY: null, or an M, which is never freed.
    runtime::releasem(unsafe { mp.as_ref() })
}

/// Locks the running goroutine to its thread, until [`unlock_os_thread`] was called as often. If
/// the goroutine ends before, the thread ends too. Go's `LockOSThread`, in `proc.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn lock_os_thread() {
    entry_check();
    runtime::lock_os_thread()
}

/// Undoes one [`lock_os_thread`]. Does nothing if the goroutine isn't locked. Go's
/// `UnlockOSThread`, in `proc.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn unlock_os_thread() {
    runtime::unlock_os_thread()
}

/// Whether the running goroutine is locked to its thread. Go's `lockedOSThread`, in `proc.go`.
///
/// # Safety
/// On an M.
pub unsafe fn locked_os_thread() -> bool {
    runtime::locked_os_thread()
}

/// Keeps the running goroutine on its P, without preemption, until [`proc_unpin`]. A pinned
/// goroutine doesn't park. Returns the P's number. Go's `procPin`, in `proc.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn proc_pin() -> i32 {
    runtime::proc_pin()
}

/// Undoes [`proc_pin`]. Go's `procUnpin`, in `proc.go`.
///
/// # Safety
/// Once for each [`proc_pin`], on the same goroutine.
pub unsafe fn proc_unpin() {
    runtime::proc_unpin()
}

/// Takes a lock, and blocks the thread until it has the lock. As after [`acquirem`], the owner is
/// neither preempted nor stopped at a check. All zeros is an unlocked lock. Go's `lock`, in
/// `lock_futex.go`.
///
/// # Safety
/// `l` is a mutex that stays, and the caller doesn't have it. A caller that holds a lock doesn't
/// park, except by [`goparkunlock`].
pub unsafe fn lock(l: *const Mutex) {
    entry_check();
    // SAFETY: a mutex that stays, as the caller says.
    runtime::lock(unsafe { &*l })
}

/// Releases a lock. Go's `unlock`, in `lock_futex.go`.
///
/// # Safety
/// The caller has the lock.
pub unsafe fn unlock(l: *const Mutex) {
    entry_check();
    // SAFETY: a mutex that stays, as the caller says.
    runtime::unlock(unsafe { &*l })
}

/// Parks the running goroutine until [`goready`](super::goready), and releases the lock once the
/// goroutine is off its stack. Go's `goparkunlock`, in `proc.go`.
///
/// # Safety
/// On a goroutine, which has the lock and no other. The lock's memory is never given back, because
/// the lock is read once more when the goroutine may have gone on. Nothing obtained from a
/// thread-local is kept across this.
pub unsafe fn goparkunlock(
    l: *const Mutex,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    entry_check();
    // SAFETY: a mutex that stays, as the caller says.
    runtime::goparkunlock(unsafe { &*l }, reason, trace_reason, traceskip)
}
