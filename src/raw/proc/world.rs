//! The raw layer's functions for system calls, and for stopping other goroutines.

use std::ffi::{c_int, c_void};

use crate::runtime::runtime2::{G, Note, P, WaitReason};
use crate::runtime::{self, StwReason, SuspendGState, WorldStop, entry_check, started};

offered! {
    /// Releases the running goroutine's P before a system call. [`exitsyscall`] takes the P back;
    /// if the call takes long, another M gets the P. The goroutine's position and its callee-saved
    /// registers are recorded for code that scans its stack meanwhile. Go's `entersyscall`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// On a goroutine. [`exitsyscall`] follows, in this function or one that it calls. In between
    /// nothing parks and nothing asks for more of a copying stack.
    pub unsafe fn entersyscall();

    /// [`entersyscall`], for a system call that is known to block: another M gets the P at once.
    /// Go's `entersyscallblock`, in `proc.go`.
    ///
    /// # Safety
    /// As [`entersyscall`].
    pub unsafe fn entersyscallblock();

    /// Calls `f(arg)`, C code that needs a thread's stack, on g0, which has about 200 KiB. Returns
    /// the result of `f`. Called elsewhere than on a goroutine, it calls `f` directly. With
    /// [`entersyscall`] before and [`exitsyscall`] after, this is Go's `cgocall`. Go's
    /// `asmcgocall`, in `asm_amd64.s`.
    ///
    /// # Safety
    /// As calling `f(arg)`, which must not park and not unwind.
    pub unsafe fn asmcgocall(f: unsafe extern "C" fn(*mut c_void) -> c_int, arg: *mut c_void) -> c_int;

    /// Lets other goroutines run if there is a reason to: this one was asked to stop, or no P is
    /// idle that could run them. Go's `goschedIfBusy`, in `proc.go`.
    ///
    /// # Safety
    /// As [`gosched`](super::gosched()).
    pub unsafe fn gosched_if_busy();

    /// [`gosched`](super::gosched()), unless the goroutine may not be descheduled now. Go's
    /// `goschedguarded`, in `proc.go`.
    ///
    /// # Safety
    /// As [`gosched`](super::gosched()).
    pub unsafe fn goschedguarded();
}

/// Ends a system call: returns when the goroutine has a P. Go's `exitsyscall`, in `proc.go`.
///
/// # Safety
/// After [`entersyscall`] or [`entersyscallblock`]. Nothing obtained from a thread-local is kept
/// across this.
#[inline(always)]
pub unsafe fn exitsyscall() {
    // SAFETY: the goroutine is in a system call, and no thread-local is kept, as the caller says.
    unsafe { runtime::exitsyscall() }
}

/// Makes a note ready to be slept on. Go's `noteclear`, in `lock_futex.go`.
///
/// # Safety
/// No goroutine sleeps on the note, and no caller is about to wake it.
pub unsafe fn noteclear(n: *const Note) {
    // SAFETY: a note, as the caller says, that nobody else uses now.
    runtime::noteclear(unsafe { &*n })
}

/// Wakes the goroutine that sleeps on the note, or lets a later sleep return at once. It can be
/// called on any thread, and in a signal handler. A second call is a fatal error. Go's
/// `notewakeup`, in `lock_futex.go`.
///
/// # Safety
/// `n` is a note.
pub unsafe fn notewakeup(n: *const Note) {
    // SAFETY: a note, as the caller says; once its sleeper may go on only its address is used.
    runtime::notewakeup(unsafe { &*n })
}

/// Sleeps on a note until it is woken, at most `ns` nanoseconds unless `ns` is negative. Returns
/// whether the note was woken. The goroutine's thread sleeps, and its P goes to another. It is for
/// wakeups from places that can't make a goroutine ready, such as a signal handler. Go's
/// `notetsleepg`, in `lock_futex.go`.
///
/// # Safety
/// On a goroutine; at most one at a time sleeps on a note. Nothing obtained from a thread-local is
/// kept across this. The note isn't on a copying stack.
pub unsafe fn notetsleepg(n: *const Note, ns: i64) -> bool {
    entry_check();
    // SAFETY: on a goroutine, as the caller says, and the note stays where it is while this sleeps.
    unsafe { runtime::notetsleepg(&*n, ns) }
}

/// Stops every P but the caller's, and returns when all have stopped. A P stops where its goroutine
/// parks, yields, is preempted or is in a system call. A goroutine that does none of these goes on
/// without a P (see [`set_detach`]). Other callers wait until the world has been started again. A
/// garbage collection begins with this call. Go's `stopTheWorld`, in `proc.go`.
///
/// # Safety
/// On a goroutine. It calls [`start_the_world`]. Until then it doesn't park and doesn't stop the
/// world again: both are fatal errors.
pub unsafe fn stop_the_world(reason: StwReason) -> WorldStop {
    entry_check();
    runtime::stop_the_world(reason)
}

/// Sets whether a goroutine that keeps its P from others, in code where it can't be stopped, loses
/// the P and goes on [without one](crate::proc::preemption). The default is true. Such a goroutine
/// goes on in a stopped world, too. So an embedder that relies on the stopped world alone, such as
/// a collector that doesn't suspend every goroutine, switches this off before its goroutines run.
/// [`set_hooks`](crate::proc::set_hooks) switches it off if there is a hook that needs a P
/// (`acquirep`, `find_runnable_gc_worker`, `gdestroy`). `GODEBUG=detach=1` or `0`, read at the
/// start of the runtime, overrides this function.
pub fn set_detach(on: bool) {
    runtime::set_detach(on);
}

/// Lets all P's run again. Go's `startTheWorld`, in `proc.go`.
///
/// # Safety
/// On the goroutine that has stopped the world.
pub unsafe fn start_the_world(w: WorldStop) {
    entry_check();
    runtime::start_the_world(w)
}

/// Calls `f` for every P at a point where the P could be stopped: on the M that has the P, or on
/// the caller's if no M has it. When this returns, every P has passed such a point, so it waits as
/// [`stop_the_world`] does. Go's `forEachP`, in `proc.go`.
///
/// # Safety
/// On a goroutine, which hasn't stopped the world. `f` is called on g0, with a valid P. It must not
/// park, unwind, or access the caller's stack.
pub unsafe fn for_each_p(reason: WaitReason, f: fn(*mut P)) {
    entry_check();
    runtime::for_each_p(reason, f)
}

/// Lets all goroutines run, or only those that have called [`become_system_goroutine`]. Goroutines
/// that run when this is called go on until they park; so stop the world, disable, and start the
/// world. Go's `schedEnableUser`, in `proc.go`.
///
/// # Safety
/// The runtime runs. A goroutine or thread that still runs enables the others again.
pub unsafe fn sched_enable_user(enable: bool) {
    entry_check();
    runtime::systemstack(|| runtime::sched_enable_user(enable))
}

/// Makes the running goroutine a system goroutine, one of the embedder's own, until it ends:
/// [`gcount`](super::gcount) doesn't count it, and [`sched_enable_user`] doesn't stop it. Go
/// recognizes such goroutines by their function, `isSystemGoroutine` in `traceback.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn become_system_goroutine() {
    runtime::become_system_goroutine()
}

/// Calls `f` with every G, while none can be added. G's whose goroutine has ended are included, as
/// [`GDEAD`](crate::runtime2::GDEAD), and will be used again. G's whose memory has gone back to the
/// system are left out. Go's `forEachG`, in `proc.go`.
///
/// # Safety
/// `f` is called on g0 with a lock held. It must not make a goroutine, wait for one, suspend one,
/// or unwind.
pub unsafe fn for_each_g(mut f: impl FnMut(*mut G)) {
    entry_check();
    runtime::systemstack(|| runtime::for_each_g(|gp| f(gp.as_ptr())))
}

/// [`for_each_g`] without the lock: `f` may do anything, and isn't called with G's that are added
/// meanwhile. The memory of a dead G may go back to the system meanwhile. Then the G is all zero,
/// and [`GIDLE`](crate::runtime2::GIDLE). In a stopped world, no goroutine can add a G. A thread
/// that isn't the runtime's can, and so can the poller, for
/// [`go_when_readable`](crate::net::go_when_readable). Go's `forEachGRace`, in `proc.go`.
pub fn for_each_g_race(mut f: impl FnMut(*mut G)) {
    runtime::for_each_g_race(|gp| f(gp.as_ptr()))
}

/// If the state of `gp` is `oldval`, sets the scan bit and returns true. Then the G can't start to
/// run, and its stack stays where it is. Otherwise returns false. `newval` is `oldval` with
/// [`GSCAN`](crate::runtime2::GSCAN). Go's `castogscanstatus`, in `proc.go`.
///
/// # Safety
/// `gp` is a G. The caller that sets the bit clears it, soon, by [`casfrom_gscanstatus`].
pub unsafe fn castogscanstatus(gp: *mut G, oldval: u32, newval: u32) -> bool {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::castogscanstatus(unsafe { &*gp }, oldval, newval)
}

/// Clears the scan bit. Go's `casfrom_Gscanstatus`, in `proc.go`.
///
/// # Safety
/// The caller has set the bit.
pub unsafe fn casfrom_gscanstatus(gp: *mut G, oldval: u32, newval: u32) {
    // SAFETY: a G, as the caller has set its scan bit, and G's are never freed.
    runtime::casfrom_gscanstatus(unsafe { &*gp }, oldval, newval)
}

/// Asks every running goroutine except the caller to stop at its next safe point and let others
/// run. Returns whether there was one to ask. A goroutine that is just being switched may miss the
/// request, so a caller that relies on the stop asks again. It can be called on any thread. Go's
/// `preemptall`, in `proc.go`.
pub fn preemptall() -> bool {
    started() && runtime::systemstack(runtime::preemptall)
}

/// Stops `gp` at a safe point, and keeps it there until [`resume_g`]. Meanwhile its stack and its
/// registers can be read: see [`scan_stack`]. The call waits, without parking, until the goroutine
/// has come to a safe point. Go's `suspendG`, in `preempt.go`.
///
/// # Safety
/// `gp` is a G that has been made. The caller's own goroutine doesn't run: this is called in
/// [`systemstack`](super::systemstack) after [`cas_g_to_waiting`](super::cas_g_to_waiting), or on a
/// thread that isn't the runtime's. (Otherwise it is a fatal error, because two goroutines that
/// suspend each other would wait forever.) If the caller holds a resource that the goroutine needs
/// to get to a safe point, such as a lock, the call waits forever.
pub unsafe fn suspend_g(gp: *mut G) -> SuspendGState {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::suspend_g(unsafe { &*gp })
}

/// Lets a suspended goroutine go on. Go's `resumeG`, in `preempt.go`.
///
/// # Safety
/// `state` is the unchanged result of [`suspend_g`].
pub unsafe fn resume_g(state: SuspendGState) {
    runtime::resume_g(state)
}

/// Calls `f` with each range of addresses in which `gp` may keep a pointer. It is for a collector
/// that doesn't know the goroutine's frames. The ranges are:
/// - the used part of its stack, with its general registers, wherever it was stopped;
/// - its vector registers, if it was preempted;
/// - `param`, and the sudogs that it waits on;
/// - the argument or the closure of a goroutine that hasn't begun;
/// - the result of a goroutine that has ended, until its handle takes it.
///
/// Each range begins at a multiple of 8, and so do pointers in it. Go's `scanstack`, in
/// `mgcmark.go`, does more.
///
/// The embedder itself scans [what this leaves out](crate::proc::preemption#for-a-collector).
///
/// # Safety
/// The goroutine is suspended ([`suspend_g`]), or its state has the scan bit for another reason.
/// While the world is stopped, it may also be parked, in a queue, or dead. (A goroutine in a system
/// call goes on even then.) A sender may write to the stack of a goroutine that waits for a value.
pub unsafe fn scan_stack(gp: *mut G, f: impl FnMut(std::ops::Range<usize>)) {
    // SAFETY: a G that doesn't run, as the caller says, and G's are never freed.
    runtime::scan_stack(unsafe { &*gp }, f)
}
