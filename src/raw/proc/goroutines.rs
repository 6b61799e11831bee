//! The raw face's functions about goroutines, timers and M's, as they are offered outside.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::runtime::runtime2::{G, M, Schedt, TraceBlockReason, Unlockf, WaitReason};
use crate::runtime::{self, Coro, CoroFn, Timer, TimerFn, entry_check, with_room};

/// Makes a goroutine on a copying stack that runs `f(arg)`, next on this P. Go's `newproc`, in
/// `proc.go`.
///
/// `None` is a fatal error, in Go's words; so is being out of memory for it.
///
/// # Safety
/// The runtime runs. `f(arg)` may be called on another thread, keeps the rules for copying
/// stacks (see [`proc`](crate::proc)), and doesn't unwind.
#[inline(always)]
pub unsafe fn newproc(f: Option<unsafe extern "C" fn(*mut c_void)>, arg: *mut c_void) {
    // SAFETY: the runtime runs and `f(arg)` keeps the rules for copying stacks, as the caller says.
    unsafe { runtime::newproc_here(f, arg) }
}

/// Makes a goroutine on a copying stack that waits in `c` to run `f(c, arg)`, until
/// [`coroswitch`]. When `f` returns the coroutine has ended, and the goroutine that waits in `c`
/// then goes on. Go's `newcoro`, in `coro.go`.
///
/// To be out of memory for it is a fatal error.
///
/// # Safety
/// The runtime runs. `c` is no coroutine, or one that has ended; it is on no copying stack, and
/// stays until the coroutine has ended. `f(c, arg)` may be called on another thread, keeps the rules
/// for copying stacks (see [`proc`](crate::proc)), doesn't unwind, and ends by returning.
#[inline(always)]
pub unsafe fn newcoro(c: *mut Coro, f: CoroFn, arg: *mut c_void) {
    // SAFETY: `c` is free and stays, and `f(c, arg)` keeps the rules for copying stacks, as the caller says.
    unsafe { runtime::newcoro_here(c, f, arg) }
}

/// [`newproc`], for a goroutine that was made at `callerpc`, an address that a call returns to: what reports show.
/// Go's `newproc1`, in `proc.go`.
///
/// # Safety
/// As [`newproc`].
pub unsafe fn newproc_at(f: Option<unsafe extern "C" fn(*mut c_void)>, arg: *mut c_void, callerpc: usize) {
    entry_check();
    // SAFETY: the runtime runs and `f(arg)` keeps the rules for copying stacks, as the caller says.
    unsafe { runtime::newproc_at(f, arg, callerpc) }
}

/// The bytes that are the embedder's in a goroutine that [`newproc`], [`newproc_at`] or [`newcoro`] has made:
/// [`SLOT_SIZE`](crate::runtime2::SLOT_SIZE) of them, from a multiple of 16 on. They stay where they are, and aren't
/// cleared: what a goroutine that has ended left there, the next one may find.
///
/// # Safety
/// `gp` is a G, made by one of these.
pub unsafe fn slot(gp: *mut G) -> *mut c_void {
    // SAFETY: a G, as the caller says, and G's are never freed.
    unsafe { &*gp }.ext.slot.for_port()
}

offered! {
    /// Waits in `c` in place of the goroutine that waits there, which goes on at once, on this thread and in
    /// this time slice; returns when another switches in turn, or when the coroutine ends. In a coroutine
    /// that has ended it is a fatal error, if it is noticed. Go's `coroswitch`, in `coro.go`.
    ///
    /// If one of the two is locked to its thread, the other goes by way of the run queue.
    ///
    /// # Safety
    /// On a goroutine; nothing obtained from a thread-local is kept across this. [`newcoro`] was called with
    /// `c`, which stays until this returns.
    pub unsafe fn coroswitch(c: *mut Coro);

    /// Lets other goroutines run; the running one goes to the end of the global queue. Go's `Gosched`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// On a goroutine; nothing obtained from a thread-local is kept across this.
    pub unsafe fn gosched();

    /// Lets other goroutines run; the running one goes to the end of this P's queue. Go's `goyield`, in
    /// `proc.go`.
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
/// called on g0; if it returns false, the goroutine goes on at once. `reason` is what reports show.
/// Go's `gopark`, in `proc.go`.
///
/// # Safety
/// On a goroutine; nothing obtained from a thread-local is kept across this. `unlockf` must not
/// touch the goroutine's stack, park, or unwind; it must not return false if somebody may have made
/// the goroutine ready. Without one, whoever will make it ready knows of it already.
#[inline(always)]
pub unsafe fn gopark(
    unlockf: Option<Unlockf>,
    lock: *mut c_void,
    reason: WaitReason,
    trace_reason: TraceBlockReason,
    traceskip: i32,
) {
    entry_check();
    // SAFETY: the caller keeps to this function's doc, which asks for all that the runtime's does.
    unsafe { runtime::gopark_of_program(unlockf, lock, reason, trace_reason, traceskip) }
}

/// Makes a parked goroutine ready: next on this P, or, called on a thread that isn't ours, by
/// way of the global queue. Go's `goready`, in `proc.go`; that it was made ready is traced without a
/// stack, so no frames are left out of one.
///
/// # Safety
/// `gp` is a G that has parked, or is about to and whose `unlockf` has been called; and nobody
/// else makes it ready. (A second time is a fatal error, if it is noticed.)
#[inline(always)]
pub unsafe fn goready(gp: *mut G, _traceskip: i32) {
    entry_check();
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::goready(unsafe { &*gp })
}

/// Starts a new timer: from `t.when` on it runs `t.f`, on g0 of some M, once or each `t.period`. Go's
/// `startTimer`, in `time.go`.
///
/// # Safety
/// On a goroutine, or on g0 of an M with a P. `t` is zero but for what its owner sets, and stays where it is: see
/// [`Timer`]. `f` may be called with its arguments on any thread; no other call changes the timer meanwhile.
#[inline(always)]
pub unsafe fn start_timer(t: *const Timer) {
    entry_check();
    // SAFETY: a timer that stays and that nobody else changes, as the caller says.
    with_room(|| runtime::addtimer(unsafe { &*t }))
}

/// Stops a timer; says whether it was active. If not, it has fired, and `f` may be running. Go's
/// `stopTimer`, in `time.go`.
///
/// # Safety
/// `t` is a timer; no other call changes it meanwhile.
#[inline(always)]
pub unsafe fn stop_timer(t: *const Timer) -> bool {
    entry_check();
    // SAFETY: a timer that nobody else changes, as the caller says; it stays until it has left its heap.
    with_room(|| runtime::deltimer(unsafe { &*t }))
}

/// Sets a timer to another time, and starts it if it isn't active; says whether it was. Go's
/// `resetTimer`, in `time.go`.
///
/// # Safety
/// As [`start_timer`], but that the timer may have been used before.
#[inline(always)]
pub unsafe fn reset_timer(t: *const Timer, when: i64) -> bool {
    entry_check();
    // SAFETY: a timer that stays and that nobody else changes, as the caller says.
    with_room(|| runtime::resettimer(unsafe { &*t }, when))
}

/// Sets all of a timer, and starts it if it isn't active; says whether it was. Go's `modTimer`, in
/// `time.go`.
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

/// The monotonic clock, in nanoseconds: what the time of a timer is compared with. Go's `nanotime`,
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

/// The running G: a goroutine's, or g0 in [`systemstack`] and in what [`mcall`] calls; null on
/// a thread that isn't ours. Go's `getg`.
pub fn getg() -> *mut G {
    runtime::getg().map_or(std::ptr::null_mut(), G::as_ptr)
}

/// This thread's M; null on a thread that isn't ours.
pub fn getm() -> *mut M {
    let mp = runtime::this_m();
    mp.map_or(std::ptr::null_mut(), |mp| std::ptr::from_ref(mp).cast_mut())
}

/// The scheduler's shared state. Go's `sched`, in `runtime2.go`.
pub fn sched() -> *mut Schedt {
    std::ptr::from_ref(crate::runtime::runtime2::sched()).cast_mut()
}

/// Calls `f` on g0's stack, of which there are some 200 KiB; anywhere but on a goroutine, just
/// calls it. If it panics, the panic goes on in the caller. Go's `systemstack`, in
/// `asm_amd64.s`.
///
/// `f` may make the goroutine waiting ([`cas_g_to_waiting`]), and running again: meanwhile its stack, with
/// its registers, can be scanned, by `f` itself too.
///
/// # Safety
/// `f` must not park. On a copying stack it must not panic.
pub unsafe fn systemstack<R>(f: impl FnOnce() -> R) -> R {
    runtime::systemstack_scannable(f)
}

/// Leaves the running goroutine and calls `f` with it on g0; the goroutine goes on when
/// something resumes it. Go's `mcall`, in `asm_amd64.s`.
///
/// # Safety
/// On a goroutine; nothing obtained from a thread-local is kept across this. `f` must never
/// return, must not unwind, and must see to it that the goroutine is resumed; as a rule by
/// [`gogo`].
pub unsafe fn mcall(f: unsafe extern "C" fn(*mut G) -> !) {
    // SAFETY: on a goroutine, which `f` sees to it is resumed, as the caller says.
    unsafe { runtime::mcall(f) }
}

/// Resumes `gp` where it left off. Go's `gogo`, in `asm_amd64.s`.
///
/// # Safety
/// In what [`mcall`] called, for the goroutine that did.
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

/// Changes the G's state; waits while a scan holds it. Any other state than `oldval` is a fatal
/// error. Go's `casgstatus`, in `proc.go`.
///
/// # Safety
/// `gp` is a G, and the change is the caller's to make.
pub unsafe fn casgstatus(gp: *mut G, oldval: u32, newval: u32) {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::casgstatus(unsafe { &*gp }, oldval, newval)
}

/// Makes the G waiting, and notes why. Go's `casGToWaiting`, in `proc.go`.
///
/// # Safety
/// As [`casgstatus`].
pub unsafe fn cas_g_to_waiting(gp: *mut G, old: u32, reason: WaitReason) {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::cas_g_to_waiting(unsafe { &*gp }, old, reason)
}

/// Takes the stack of a waiting or runnable G; returns the state to put back. Go's
/// `casgcopystack`, in `proc.go`.
///
/// # Safety
/// As [`casgstatus`]; the G is on no queue that would run it meanwhile.
pub unsafe fn casgcopystack(gp: *mut G) -> u32 {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::casgcopystack(unsafe { &*gp })
}

/// Whether there is other work for this P: for background work that should then step aside.
/// Go's `pollWork`, in `proc.go`.
///
/// # Safety
/// On an M.
pub unsafe fn poll_work() -> bool {
    runtime::poll_work()
}

/// How many goroutines there are; an estimate while others come and go. Go's `gcount`, in
/// `proc.go`.
///
/// # Safety
/// The runtime runs.
pub unsafe fn gcount() -> i32 {
    runtime::gcount()
}

/// How many threads the runtime has made. Go's `mcount`, in `proc.go`.
pub fn mcount() -> i32 {
    runtime::mcount_now()
}

/// Sets how many threads the runtime may make, 10,000 at first; returns what it was. To have
/// more than that is a fatal error. Go's `debug.SetMaxThreads`.
pub fn set_max_threads(max: i32) -> i32 {
    runtime::set_max_threads(max)
}

/// Sets how many bytes a goroutine's copying stack may have, 1 GiB at first; returns what it was. To
/// need more ends the process with a report. Go's `debug.SetMaxStack`.
pub fn set_max_stack(bytes: usize) -> usize {
    runtime::set_max_stack(bytes)
}

/// Gives memory back to the system that the runtime keeps for later: that of goroutines that have
/// ended, of stacks that were larger, of channels. All of it, however long that takes, a second or two
/// for a million goroutines; but what a P keeps at hand that is running something else now comes later.
/// The next goroutines take as long as the first ones did. Does nothing before the runtime runs. Go's
/// `debug.FreeOSMemory`.
///
/// The runtime does so by itself with what nobody has needed for a second or two. This is for those
/// who know that a burst is over.
pub fn free_os_memory() {
    entry_check();
    runtime::systemstack(runtime::free_os_memory)
}

/// Halves the copying stack of a goroutine that uses less than a quarter of it. Does nothing if it
/// uses more, if the stack is fixed, or if this is no time to move it. Go's `shrinkstack`, in
/// `stack.go`.
///
/// # Safety
/// `gp` is a goroutine that isn't running and can't begin to: its state has the scan bit, set by
/// [`castogscanstatus`](super::castogscanstatus); or it is the one that called the [`mcall`] that this is
/// called in.
pub unsafe fn shrinkstack(gp: *mut G) {
    if getg() == gp {
        runtime::throw("shrinkstack on the stack that is to shrink");
    }
    // SAFETY: a G that isn't running and can't begin to, as the caller says; G's are never freed.
    runtime::systemstack(|| runtime::shrinkstack(unsafe { &*gp }))
}
