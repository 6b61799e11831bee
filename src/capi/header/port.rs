//! What a runtime that is ported onto the scheduler sees of goroutines, and programs hardly need: coroutines, words of
//! its own with each goroutine, what keeps a goroutine where it is, system calls.

use std::ffi::{c_int, c_void};

use crate::capi::{Address, Goroutine, Machine, WaitReason};

/// A coroutine: like a channel in which one goroutine always waits. Go's `coro`, in `coro.go`. It may be
/// on a fixed stack, in the heap or static.
#[derive(Debug)]
#[repr(C)]
pub struct Coroutine {
    private: [*mut c_void; 2],
}

/// A lock that blocks its thread, for moments: Go's `mutex`, in `runtime2.go`. All zeros is one that nobody
/// has. It isn't on a copying stack.
#[derive(Debug)]
#[repr(C)]
pub struct Mutex {
    private: u64,
}

/// How many bytes there are in each goroutine for the port: see `gosched_slot`.
pub const GOSCHED_SLOT_SIZE: usize = 1024;

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// `gosched_newproc`, for a goroutine that was made at `callerpc`, which is what reports show: an address
    /// that a call returns to. Go's `newproc1`, in `proc.go`.
    ///
    /// # Safety
    /// As `gosched_newproc`.
    pub fn gosched_newproc_at(
        r#fn: Option<unsafe extern "C" fn(arg: *mut c_void)>,
        arg: *mut c_void,
        callerpc: Address,
    );

    /// Makes a goroutine on a copying stack that waits in `coro` to run `fn(coro, arg)`, until
    /// `gosched_coroswitch`. When `fn` returns the coroutine has ended, and the goroutine that waits in it then
    /// goes on. Go's `newcoro`, in `coro.go`. It ends the process if there is no memory.
    ///
    /// # Safety
    /// `coro` is no coroutine, or one that has ended, and stays where it is until it has ended. `fn` keeps the
    /// rules for copying stacks, and ends by returning.
    pub fn gosched_newcoro(
        coro: *mut Coroutine,
        r#fn: Option<unsafe extern "C" fn(coro: *mut Coroutine, arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// Waits in `coro` in place of the goroutine that waits there, which goes on at once, on this thread;
    /// returns when another switches in turn, or when the coroutine ends. Go's `coroswitch`, in `coro.go`.
    ///
    /// # Safety
    /// On a goroutine. `gosched_newcoro` was called with `coro`, which stays until this returns.
    pub fn gosched_coroswitch(coro: *mut Coroutine);

    /// Lets other goroutines run; the running one goes to the end of this processor's queue, and not, as by
    /// `gosched_yield`, to that of all. Go's `goyield`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_goyield();

    /// `gosched_yield`, if somebody wants this goroutine to stop, or if no processor is idle. Go's
    /// `goschedIfBusy`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_yield_if_busy();

    /// `gosched_yield`, unless the goroutine is to stay where it is: see `gosched_acquirem`. Go's
    /// `goschedguarded`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_yield_guarded();

    /// Whether this processor has something else to do: for work in the background, which should then let
    /// others run. Go's `pollWork`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine, or on the scheduler's stack.
    pub fn gosched_poll_work() -> bool;

    /// Leaves the running goroutine and calls `fn` with it, on the scheduler's stack. The goroutine goes on,
    /// as if this had returned, when something resumes it: `gosched_gogo`. Go's `mcall`, in `asm_amd64.s`.
    ///
    /// # Safety
    /// On a goroutine. `fn` never returns, doesn't unwind, and sees to it that the goroutine is resumed.
    pub fn gosched_mcall(r#fn: Option<unsafe extern "C" fn(g: *mut Goroutine)>);

    /// Resumes a goroutine where it has left off. Go's `gogo`, in `asm_amd64.s`.
    ///
    /// # Safety
    /// In what `gosched_mcall` has called, for the goroutine that did.
    pub fn gosched_gogo(g: *mut Goroutine) -> !;

    /// Makes goroutines that are parked ready, as `gosched_ready` does with one, but all in one go. Go's
    /// `injectglist`, in `proc.go`.
    ///
    /// # Safety
    /// `gs` are `n` goroutines. As `gosched_ready`, for each of them.
    pub fn gosched_injectglist(gs: *const *mut Goroutine, n: usize);

    /// Makes sure of `n` bytes of stack, for what the caller calls next: a copying stack that has less grows. They are
    /// there until the caller has returned, or parks. Code without checks needs some: an unwinder 16 KiB. Go's compiler puts
    /// such a check in each function, and calls `morestack`, in `asm_amd64.s`.
    ///
    /// No other stack grows. If less is left of a fixed stack, or of the scheduler's, the process ends; in a signal
    /// handler, and on a thread that isn't the runtime's, nobody looks.
    ///
    /// # Safety
    /// The caller keeps the rules for copying stacks.
    pub fn gosched_ensure_stack(n: usize);

    /// The goroutine that this thread runs, also while it is on the scheduler's stack for it; NULL if there is none. Go's
    /// `getg().m.curg`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_curg() -> *mut Goroutine;

    /// The goroutine's number, which no other ever has; 0 for what isn't one, and is `gosched_getg`'s on the scheduler's
    /// stack. Go's `goid`.
    ///
    /// # Safety
    /// `g` is a goroutine that hasn't ended, or what `gosched_getg` has returned.
    pub fn gosched_goid(g: *mut Goroutine) -> u64;

    /// `GOSCHED_SLOT_SIZE` bytes that are the port's, in each goroutine that C has made, a main one too: for its own idea
    /// of a goroutine. They begin at a multiple of 16, and stay where they are. They aren't cleared: what a goroutine
    /// that has ended left there, the next one may find.
    ///
    /// # Safety
    /// `g` is a goroutine that hasn't ended, and was made by C.
    pub fn gosched_slot(g: *mut Goroutine) -> *mut c_void;

    /// The place of a word of the port's in each goroutine: the head of its list of deferred calls. NULL when a
    /// goroutine begins. If it is an address of the goroutine's stack it is right after a move. Go's `_defer`,
    /// in `g`.
    ///
    /// # Safety
    /// `g` is a goroutine that hasn't ended.
    pub fn gosched_defer(g: *mut Goroutine) -> *mut *mut c_void;

    /// As `gosched_defer`, for the innermost panic. Go's `_panic`, in `g`.
    ///
    /// # Safety
    /// `g` is a goroutine that hasn't ended.
    pub fn gosched_panic(g: *mut Goroutine) -> *mut *mut c_void;

    /// Keeps the caller on its thread and that on its processor, until `gosched_releasem`: no check stops it, and nobody
    /// preempts it. It nests. For a moment, in which nothing parks. Go's `acquirem`, in `runtime1.go`.
    ///
    /// Returns the thread, or NULL if it isn't the scheduler's.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_acquirem() -> *mut Machine;

    /// Undoes `gosched_acquirem`. Go's `releasem`, in `runtime1.go`.
    ///
    /// # Safety
    /// `m` is what that has returned.
    pub fn gosched_releasem(m: *mut Machine);

    /// Keeps the running goroutine on its processor, unpreempted, until `gosched_proc_unpin`; returns the
    /// processor's number, from 0 on. What is pinned doesn't park. Go's `procPin`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_proc_pin() -> c_int;

    /// Undoes `gosched_proc_pin`. Go's `procUnpin`, in `proc.go`.
    ///
    /// # Safety
    /// Once for each `gosched_proc_pin`, on the same goroutine.
    pub fn gosched_proc_unpin();

    /// Takes a lock; blocks the thread meanwhile. Its owner is not stopped by any check, as after
    /// `gosched_acquirem`, so others wait for moments only. Go's `lock`, in `lock_futex.go`.
    ///
    /// A lock of the program's own, held into `gosched_park`, is one that others may wait for in vain: the check at the
    /// entry may stop its owner there. This one is made for that, with `gosched_parkunlock`.
    ///
    /// # Safety
    /// The caller hasn't taken it. Whoever holds one doesn't park or wait, but by `gosched_parkunlock`.
    pub fn gosched_lock(lock: *mut Mutex);

    /// Releases a lock. Whoever takes it next may free it: nothing of it is used after that. Go's `unlock`, in
    /// `lock_futex.go`.
    ///
    /// # Safety
    /// This thread, or this goroutine, has taken it.
    pub fn gosched_unlock(lock: *mut Mutex);

    /// Parks the running goroutine, as `gosched_park` does, and releases the lock once that is off its stack: who takes it
    /// then finds in the lock's list a goroutine that can be made ready. Go's `goparkunlock`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine, which has taken the lock, and holds no other. The lock stays until the goroutine goes on.
    pub fn gosched_parkunlock(lock: *mut Mutex, reason: WaitReason);

    /// Locks the running goroutine to its thread: it runs on no other, and no other goroutine on that thread, until
    /// `gosched_unlock_os_thread` was called as often. If it ends before, the thread does. Go's `LockOSThread`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_lock_os_thread();

    /// Undoes one `gosched_lock_os_thread`; does nothing if there was none. Go's `UnlockOSThread`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_unlock_os_thread();

    /// Whether the running goroutine is locked to its thread. Go's `lockedOSThread`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine, or on the scheduler's stack.
    pub fn gosched_locked_os_thread() -> bool;

    /// Lets the running goroutine's processor go, before a system call: `gosched_exitsyscall` takes it back, unless it
    /// was given to another meanwhile. Go's `entersyscall`, in `proc.go`.
    ///
    /// `gosched_blocking` does this, and calls on the scheduler's stack in between. This is for who calls where the
    /// goroutine is: what that needs of a copying stack is asked for before, by `gosched_ensure_stack`.
    ///
    /// # Safety
    /// On a goroutine. `gosched_exitsyscall` follows in the same function. In between nothing parks, and no check
    /// finds too little of a copying stack: that ends the process.
    pub fn gosched_entersyscall();

    /// `gosched_entersyscall`, for a call that is known to block: the processor is given to another at once. Go's
    /// `entersyscallblock`, in `proc.go`.
    ///
    /// # Safety
    /// As `gosched_entersyscall`.
    pub fn gosched_entersyscallblock();

    /// The system call is over: returns when the goroutine has a processor. Go's `exitsyscall`, in `proc.go`.
    ///
    /// # Safety
    /// After `gosched_entersyscall` or `gosched_entersyscallblock`.
    pub fn gosched_exitsyscall();

    /// Calls `fn(arg)` on the scheduler's stack, as `gosched_systemstack` does, and returns what it returns. Go's
    /// `asmcgocall`, in `asm_amd64.s`.
    ///
    /// # Safety
    /// As `gosched_systemstack`. `fn` isn't NULL.
    pub fn gosched_asmcgocall(
        r#fn: Option<unsafe extern "C" fn(arg: *mut c_void) -> c_int>,
        arg: *mut c_void,
    ) -> c_int;

    /// How many goroutines there are; an estimate while others come and go. Go's `gcount`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_gcount() -> c_int;

    /// How many threads the scheduler has made. Go's `mcount`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_mcount() -> c_int;

    /// Sets how many threads the scheduler may make, 10,000 at first, and returns what it was. To need more ends the
    /// process. Go's `debug.SetMaxThreads`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_set_max_threads(n: c_int) -> c_int;

    /// Gives memory back to the system that is kept for later: that of goroutines that have ended, of stacks that were
    /// larger, of channels. Go's `debug.FreeOSMemory`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_free_os_memory();
}
