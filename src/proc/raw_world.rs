//! The raw layer's functions about system calls, and about stopping others.

use std::ffi::{c_int, c_void};

use crate::arch;
use crate::lock::note;
use crate::proc::stw::{StwReason, WorldStop};
use crate::proc::{disable, gosched, pin, safepoint, stw, syscall};
use crate::runtime2::{Note, P, WaitReason};
use crate::stack::check::entry_check;

/// Lets the running goroutine's P go, before a system call: it is taken back by [`exitsyscall`], or given to
/// another M if that takes long. Where the goroutine is, and what its callee-saved registers are, is noted
/// for who looks at its stack meanwhile. Go's `entersyscall`, in `proc.go`.
///
/// # Safety
/// On a goroutine. [`exitsyscall`] follows, in this function or one that it calls. In between nothing parks
/// and nothing asks for more of a copying stack.
#[inline(always)]
pub unsafe fn entersyscall() {
    entry_check();
    // SAFETY: the caller's.
    unsafe { syscall::entersyscall() }
}

/// [`entersyscall`], for a system call that is known to block: the P is given to another M at once. Go's
/// `entersyscallblock`, in `proc.go`.
///
/// # Safety
/// As [`entersyscall`].
#[inline(always)]
pub unsafe fn entersyscallblock() {
    entry_check();
    // SAFETY: the caller's.
    unsafe { syscall::entersyscallblock() }
}

/// The system call is over: returns when the goroutine has a P. Go's `exitsyscall`, in `proc.go`.
///
/// # Safety
/// After [`entersyscall`] or [`entersyscallblock`]. Nothing obtained from a thread-local is kept across this.
#[inline(always)]
pub unsafe fn exitsyscall() {
    // SAFETY: the caller's.
    unsafe { syscall::exitsyscall() }
}

/// Makes a note ready to be slept on. Go's `noteclear`, in `lock_futex.go`.
///
/// # Safety
/// Nobody sleeps on the note, and nobody is about to wake it.
pub unsafe fn noteclear(n: *const Note) {
    // SAFETY: the caller's.
    note::noteclear(unsafe { &*n })
}

/// Wakes who sleeps on the note, or lets a sleep to come return at once; on any thread, and in a signal
/// handler. A second time is a fatal error. Go's `notewakeup`, in `lock_futex.go`.
///
/// # Safety
/// `n` is a note.
pub unsafe fn notewakeup(n: *const Note) {
    // SAFETY: the caller's.
    note::notewakeup(unsafe { &*n })
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
    // SAFETY: the caller's.
    unsafe { syscall::notetsleepg(&*n, ns) }
}

/// Calls `f(arg)`, C code that needs a thread's stack, on g0, of which there are some 200 KiB; returns what it
/// returns. Anywhere but on a goroutine it just calls it. With [`entersyscall`] before and [`exitsyscall`]
/// after, this is Go's `cgocall`. Go's `asmcgocall`, in `asm_amd64.s`.
///
/// # Safety
/// As calling `f(arg)`; it must not park, and not unwind.
#[inline(always)]
pub unsafe fn asmcgocall(f: unsafe extern "C" fn(*mut c_void) -> c_int, arg: *mut c_void) -> c_int {
    entry_check();
    // SAFETY: the caller's.
    unsafe { arch::asmcgocall(f, arg) }
}

/// Stops every P but the caller's, each where its goroutine parks, yields, is preempted or is in a system
/// call, and returns when all have stopped: so it waits for a goroutine that does none of that. Other calls
/// wait until the world has been started again. What a collector begins with. Go's `stopTheWorld`, in
/// `proc.go`.
///
/// # Safety
/// On a goroutine. It calls [`start_the_world`], and until then it doesn't park: that is a fatal error, as is
/// stopping the world again.
pub unsafe fn stop_the_world(reason: StwReason) -> WorldStop {
    entry_check();
    stw::stop_the_world(reason)
}

/// Lets all P's run again. Go's `startTheWorld`, in `proc.go`.
///
/// # Safety
/// On the goroutine that has stopped the world.
pub unsafe fn start_the_world(w: WorldStop) {
    entry_check();
    stw::start_the_world(w)
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
    safepoint::for_each_p(reason, f)
}

/// Lets goroutines run, or none but those that have called [`become_system_goroutine`]. Those that run go on
/// until they park: so stop the world, disable, and start it. Go's `schedEnableUser`, in `proc.go`.
///
/// # Safety
/// The runtime runs. Something that still runs enables them again.
pub unsafe fn sched_enable_user(enable: bool) {
    entry_check();
    arch::systemstack(|| disable::sched_enable_user(enable))
}

/// Makes the running goroutine one of the embedder's own, until it ends: [`gcount`](super::gcount) doesn't count
/// it, and [`sched_enable_user`] doesn't stop it. Go knows such goroutines by their function,
/// `isSystemGoroutine` in `traceback.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn become_system_goroutine() {
    disable::become_system_goroutine()
}

/// Keeps the running goroutine on its P, unpreempted, until [`proc_unpin`]; returns the P's number. What
/// pins doesn't park. Go's `procPin`, in `proc.go`.
///
/// # Safety
/// On a goroutine.
pub unsafe fn proc_pin() -> i32 {
    pin::proc_pin()
}

/// Undoes [`proc_pin`]. Go's `procUnpin`, in `proc.go`.
///
/// # Safety
/// Once for each [`proc_pin`], on the same goroutine.
pub unsafe fn proc_unpin() {
    pin::proc_unpin()
}

/// Lets other goroutines run if there is a reason to: somebody wants this one to stop, or no P is idle that
/// could run them. Go's `goschedIfBusy`, in `proc.go`.
///
/// # Safety
/// As [`gosched`](super::gosched()).
#[inline(always)]
pub unsafe fn gosched_if_busy() {
    entry_check();
    // SAFETY: the caller's.
    unsafe { gosched::gosched_if_busy() }
}

/// [`gosched`](super::gosched()), unless the goroutine may not be descheduled now. Go's `goschedguarded`, in
/// `proc.go`.
///
/// # Safety
/// As [`gosched`](super::gosched()).
#[inline(always)]
pub unsafe fn goschedguarded() {
    entry_check();
    // SAFETY: the caller's.
    unsafe { gosched::goschedguarded() }
}
