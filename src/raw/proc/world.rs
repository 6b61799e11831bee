//! The raw face's functions about system calls, and about stopping others.

use std::ffi::{c_int, c_void};

use crate::runtime::runtime2::{G, Note, P, WaitReason};
use crate::runtime::{self, StwReason, SuspendGState, WorldStop, entry_check, started};

offered! {
    /// Lets the running goroutine's P go, before a system call: it is taken back by [`exitsyscall`], or given
    /// to another M if that takes long. Where the goroutine is, and what its callee-saved registers are, is
    /// noted for who looks at its stack meanwhile. Go's `entersyscall`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine. [`exitsyscall`] follows, in this function or one that it calls. In between nothing
    /// parks and nothing asks for more of a copying stack.
    pub unsafe fn entersyscall();

    /// [`entersyscall`], for a system call that is known to block: the P is given to another M at once. Go's
    /// `entersyscallblock`, in `proc.go`.
    ///
    /// # Safety
    /// As [`entersyscall`].
    pub unsafe fn entersyscallblock();

    /// Calls `f(arg)`, C code that needs a thread's stack, on g0, of which there are some 200 KiB; returns
    /// what it returns. Anywhere but on a goroutine it just calls it. With [`entersyscall`] before and
    /// [`exitsyscall`] after, this is Go's `cgocall`. Go's `asmcgocall`, in `asm_amd64.s`.
    ///
    /// # Safety
    /// As calling `f(arg)`; it must not park, and not unwind.
    pub unsafe fn asmcgocall(f: unsafe extern "C" fn(*mut c_void) -> c_int, arg: *mut c_void) -> c_int;

    /// Lets other goroutines run if there is a reason to: somebody wants this one to stop, or no P is idle
    /// that could run them. Go's `goschedIfBusy`, in `proc.go`.
    ///
    /// # Safety
    /// As [`gosched`](super::gosched()).
    pub unsafe fn gosched_if_busy();

    /// [`gosched`](super::gosched()), unless the goroutine may not be descheduled now. Go's `goschedguarded`,
    /// in `proc.go`.
    ///
    /// # Safety
    /// As [`gosched`](super::gosched()).
    pub unsafe fn goschedguarded();
}

/// The system call is over: returns when the goroutine has a P. Go's `exitsyscall`, in `proc.go`.
///
/// # Safety
/// After [`entersyscall`] or [`entersyscallblock`]. Nothing obtained from a thread-local is kept across this.
#[inline(always)]
pub unsafe fn exitsyscall() {
    // SAFETY: the goroutine is in a system call, and no thread-local is kept, as the caller says.
    unsafe { runtime::exitsyscall() }
}

/// Makes a note ready to be slept on. Go's `noteclear`, in `lock_futex.go`.
///
/// # Safety
/// Nobody sleeps on the note, and nobody is about to wake it.
pub unsafe fn noteclear(n: *const Note) {
    // SAFETY: a note, as the caller says, that nobody else uses now.
    runtime::noteclear(unsafe { &*n })
}

/// Wakes who sleeps on the note, or lets a sleep to come return at once; on any thread, and in a signal
/// handler. A second time is a fatal error. Go's `notewakeup`, in `lock_futex.go`.
///
/// # Safety
/// `n` is a note.
pub unsafe fn notewakeup(n: *const Note) {
    // SAFETY: a note, as the caller says; once its sleeper may go on only its address is used.
    runtime::notewakeup(unsafe { &*n })
}

/// Sleeps on a note until it is woken, or, if `ns` isn't negative, for so many nanoseconds; says whether it was
/// woken. Its thread sleeps, and its P goes to another. For a wakeup from where nothing can be readied, such as a
/// signal handler. Go's `notetsleepg`, in `lock_futex.go`.
///
/// # Safety
/// On a goroutine; one at a time, and nothing obtained from a thread-local is kept across this. The note isn't on
/// a copying stack.
pub unsafe fn notetsleepg(n: *const Note, ns: i64) -> bool {
    entry_check();
    // SAFETY: on a goroutine, as the caller says, and the note stays where it is while this sleeps.
    unsafe { runtime::notetsleepg(&*n, ns) }
}

/// Stops every P but the caller's, each where its goroutine parks, yields, is preempted or is in a system
/// call, and returns when all have stopped. A goroutine that does none of that goes on without a P (see
/// [`set_detach`]). Other calls
/// wait until the world has been started again. What a collector begins with. Go's `stopTheWorld`, in
/// `proc.go`.
///
/// # Safety
/// On a goroutine. It calls [`start_the_world`], and until then it doesn't park: that is a fatal error, as is
/// stopping the world again.
pub unsafe fn stop_the_world(reason: StwReason) -> WorldStop {
    entry_check();
    runtime::stop_the_world(reason)
}

/// Whether goroutines that keep a P from others, in code where nobody can stop them, go on
/// [without one](crate::proc::preemption); at first they do. An embedder that relies on a stopped world alone, as
/// a collector does that doesn't suspend every goroutine, switches it off before its goroutines run: in a stopped
/// world such a goroutine goes on, too. [`set_hooks`](crate::proc::set_hooks) does so if there is a hook that needs
/// a P (`acquirep`, `find_runnable_gc_worker`, `gdestroy`). `GODEBUG=detach=1` or `0`, read at the start of the
/// runtime, prevails.
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

/// Calls `f` for every P, when it is at a point where it could be stopped: on the M that has it, or here,
/// if no M has. When this returns, every P has passed such a point; so it waits as [`stop_the_world`] does. Go's
/// `forEachP`, in `proc.go`.
///
/// # Safety
/// On a goroutine, which hasn't stopped the world. `f` is called on g0, with a P that is valid; it must not
/// park, unwind, or look at the caller's stack.
pub unsafe fn for_each_p(reason: WaitReason, f: fn(*mut P)) {
    entry_check();
    runtime::for_each_p(reason, f)
}

/// Lets goroutines run, or none but those that have called [`become_system_goroutine`]. Those that run go on
/// until they park: so stop the world, disable, and start it. Go's `schedEnableUser`, in `proc.go`.
///
/// # Safety
/// The runtime runs. Something that still runs enables them again.
pub unsafe fn sched_enable_user(enable: bool) {
    entry_check();
    runtime::systemstack(|| runtime::sched_enable_user(enable))
}

/// Makes the running goroutine one of the embedder's own, until it ends: [`gcount`](super::gcount) doesn't count
/// it, and [`sched_enable_user`] doesn't stop it. Go knows such goroutines by their function,
/// `isSystemGoroutine` in `traceback.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn become_system_goroutine() {
    runtime::become_system_goroutine()
}

/// Calls `f` with every G, while none can be added. Those whose goroutine has ended are
/// [`GDEAD`](crate::runtime2::GDEAD), and will be used again; one whose memory has gone back to the system
/// isn't among them. Go's `forEachG`, in `proc.go`.
///
/// # Safety
/// `f` is called on g0 with a lock held: it must not make a goroutine, wait for one, suspend one, or unwind.
pub unsafe fn for_each_g(mut f: impl FnMut(*mut G)) {
    entry_check();
    runtime::systemstack(|| runtime::for_each_g(|gp| f(gp.as_ptr())))
}

/// [`for_each_g`] without the lock: `f` may do anything, and isn't called with G's that are added meanwhile.
/// The memory of a dead one may go back meanwhile: then it is all zero, and [`GIDLE`](crate::runtime2::GIDLE).
/// In a stopped world, no goroutine can add one; a thread that isn't ours can, and the poller, for
/// [`go_when_readable`](crate::net::go_when_readable). Go's `forEachGRace`, in `proc.go`.
pub fn for_each_g_race(mut f: impl FnMut(*mut G)) {
    runtime::for_each_g_race(|gp| f(gp.as_ptr()))
}

/// Sets the scan bit, which keeps a G from running and its stack where it is, if its state is
/// `oldval`; says whether it was. `newval` is `oldval` with [`GSCAN`](crate::runtime2::GSCAN). Go's
/// `castogscanstatus`, in `proc.go`.
///
/// # Safety
/// `gp` is a G; who sets the bit clears it, soon, by [`casfrom_gscanstatus`].
pub unsafe fn castogscanstatus(gp: *mut G, oldval: u32, newval: u32) -> bool {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::castogscanstatus(unsafe { &*gp }, oldval, newval)
}

/// Clears the scan bit. Go's `casfrom_Gscanstatus`, in `proc.go`.
///
/// # Safety
/// The caller has set it.
pub unsafe fn casfrom_gscanstatus(gp: *mut G, oldval: u32, newval: u32) {
    // SAFETY: a G, as the caller has set its scan bit, and G's are never freed.
    runtime::casfrom_gscanstatus(unsafe { &*gp }, oldval, newval)
}

/// Asks every goroutine that runs now to stop at its next safe point and let others run; says whether
/// there is one, other than the caller. Best effort: a goroutine that is just being switched may miss
/// it, and who needs it asks again. On any thread. Go's `preemptall`, in `proc.go`.
pub fn preemptall() -> bool {
    started() && runtime::systemstack(runtime::preemptall)
}

/// Stops `gp` at a safe point, and keeps it there until [`resume_g`]. Its stack and its registers can
/// be read meanwhile: see [`scan_stack`]. Waits, without parking, until it has come to one. Go's
/// `suspendG`, in `preempt.go`.
///
/// # Safety
/// `gp` is a G that has been made. The caller's own goroutine doesn't run: this is called in
/// [`systemstack`](super::systemstack) after [`cas_g_to_waiting`](super::cas_g_to_waiting), or on a
/// thread that isn't ours. (Otherwise it is a fatal error, because two that suspend each other would
/// wait forever.) Who holds what the goroutine may need to get to a safe point, a lock for example,
/// waits forever.
pub unsafe fn suspend_g(gp: *mut G) -> SuspendGState {
    // SAFETY: a G, as the caller says, and G's are never freed.
    runtime::suspend_g(unsafe { &*gp })
}

/// Lets a goroutine go on that was suspended. Go's `resumeG`, in `preempt.go`.
///
/// # Safety
/// `state` is what [`suspend_g`] returned, as it was.
pub unsafe fn resume_g(state: SuspendGState) {
    runtime::resume_g(state)
}

/// Calls `f` with each range of addresses in which `gp` may keep a pointer, for a collector that doesn't
/// know its frames: the used part of its stack, with its general registers, wherever it was stopped; its
/// vector registers, if it was preempted; `param`, and the sudogs that it waits on; the argument or the
/// closure of a goroutine that hasn't begun; the result of one that has ended, until its handle takes it.
/// Each range begins at a multiple of 8, and so do pointers in it. Go's `scanstack`, in `mgcmark.go`, does
/// more.
///
/// [What it doesn't name](crate::proc::preemption#for-a-collector) is for the embedder to find.
///
/// # Safety
/// The goroutine is suspended ([`suspend_g`]), or its state has the scan bit for another reason. While the
/// world is stopped, it may be one that is parked, in a queue, or dead. (One in a system call goes on
/// also then.) A sender may write to the stack of one that waits for a value.
pub unsafe fn scan_stack(gp: *mut G, f: impl FnMut(std::ops::Range<usize>)) {
    // SAFETY: a G that doesn't run, as the caller says, and G's are never freed.
    runtime::scan_stack(unsafe { &*gp }, f)
}
