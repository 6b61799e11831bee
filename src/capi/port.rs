//! Goroutines, as a runtime uses them that is ported onto the scheduler: coroutines, data of the
//! port in each goroutine, locks, pinning, and system calls. Programs hardly need these.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::slice;

use crate::capi::caller::{need, need_g, need_goroutine, null, wait_reason};
use crate::capi::{Address, Goroutine, Machine, WaitReason};
use crate::runtime::runtime2::{G, M, SLOT_SIZE};
use crate::runtime::{
    Coro, Entry, GList, PortMutex, acquirem, coroswitch, curg, exitsyscall, free_os_memory, gcount,
    goparkunlock_of_port, gosched_if_busy, goschedguarded, goyield, injectglist, lock_of_port,
    lock_os_thread, locked_os_thread, mcount_now, newproc_at, poll_work, proc_pin, proc_unpin, releasem,
    set_max_threads, started, systemstack, unlock_of_port, unlock_os_thread,
};

/// A coroutine: like a channel in which one goroutine always waits. Go's `coro`, in `coro.go`. It
/// may be on a fixed stack, in the heap or static.
#[derive(Debug)]
#[repr(C)]
pub struct Coroutine {
    private: [*mut c_void; 2],
}

/// A lock that blocks its thread, for moments: Go's `mutex`, in `runtime2.go`. All zeros is an
/// unlocked one. It isn't on a copying stack.
#[derive(Debug)]
#[repr(C)]
pub struct Mutex {
    private: u64,
}

/// The size in bytes of the port's data in each goroutine: see `gosched_slot`.
pub const GOSCHED_SLOT_SIZE: usize = 1024;

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// As `gosched_newproc`, but reports show `callerpc` as the place where the goroutine was made.
    /// It is an address that a call returns to. Go's `newproc1`, in `proc.go`.
    ///
    /// # Safety
    /// As `gosched_newproc`.
    pub fn gosched_newproc_at(
        r#fn: Option<unsafe extern "C" fn(arg: *mut c_void)>,
        arg: *mut c_void,
        callerpc: Address,
    );

    /// Makes a goroutine on a copying stack that waits in `coro` until `gosched_coroswitch`, and
    /// then runs `fn(coro, arg)`. When `fn` returns, the coroutine has ended, and the goroutine
    /// that waits in it goes on. It ends the process if there is no memory. Go's `newcoro`, in
    /// `coro.go`.
    ///
    /// # Safety
    /// `coro` isn't a coroutine yet, or has ended. It stays where it is until it has ended. `fn`
    /// keeps the rules for copying stacks, and ends by returning.
    // stub: ENTRY _from, ARG_3
    pub fn gosched_newcoro(
        coro: *mut Coroutine,
        r#fn: Option<unsafe extern "C" fn(coro: *mut Coroutine, arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// Switches to the goroutine that waits in `coro`, which goes on at once on this thread, while
    /// the running goroutine waits there in its place. Returns when another goroutine switches in
    /// turn, or when the coroutine ends. Go's `coroswitch`, in `coro.go`.
    ///
    /// # Safety
    /// On a goroutine. `gosched_newcoro` was called with `coro`, which stays until this returns.
    pub fn gosched_coroswitch(coro: *mut Coroutine);

    /// Lets other goroutines run. The running goroutine goes to the end of this processor's queue;
    /// `gosched_yield` puts it into the queue that all processors share. Go's `goyield`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_goyield();

    /// As `gosched_yield`, but only if this goroutine was asked to stop, or if no processor is
    /// idle. Go's `goschedIfBusy`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_yield_if_busy();

    /// As `gosched_yield`, unless the goroutine is kept on its thread: see `gosched_acquirem`. Go's
    /// `goschedguarded`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_yield_guarded();

    /// Whether this processor has other work. Work in the background should yield then. Go's
    /// `pollWork`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine, or on the scheduler's stack.
    pub fn gosched_poll_work() -> bool;

    /// Leaves the running goroutine and calls `fn` with it, on the scheduler's stack. The goroutine
    /// goes on, as if this had returned, when `gosched_gogo` or the scheduler resumes it. Go's
    /// `mcall`, in `asm_amd64.s`.
    ///
    /// # Safety
    /// On a goroutine. `fn` never returns and doesn't unwind. It ensures that the goroutine is
    /// resumed.
    // stub: none; asm.S has the whole function
    pub fn gosched_mcall(r#fn: Option<unsafe extern "C" fn(g: *mut Goroutine)>);

    /// Resumes a goroutine where it left off. Go's `gogo`, in `asm_amd64.s`.
    ///
    /// # Safety
    /// In the function that `gosched_mcall` has called, for the goroutine that called
    /// `gosched_mcall`.
    // stub: none; asm.S has the whole function
    pub fn gosched_gogo(g: *mut Goroutine) -> !;

    /// Makes parked goroutines ready, as `gosched_ready` does with one, but all at once. Go's
    /// `injectglist`, in `proc.go`.
    ///
    /// # Safety
    /// `gs` holds `n` goroutines. As `gosched_ready`, for each of them.
    pub fn gosched_injectglist(gs: *const *mut Goroutine, n: usize);

    /// Ensures that the functions that the caller calls next have `n` bytes of stack: a copying
    /// stack that has less grows. The bytes are there until the caller has returned, or parks. Code
    /// without stack checks needs this: an unwinder needs 16 KiB. Go's compiler puts such a check
    /// into each function, which calls `morestack`, in `asm_amd64.s`.
    ///
    /// No other stack grows. If less is left of a fixed stack, or of the scheduler's, the process
    /// ends. In a signal handler, and on a thread that isn't the runtime's, nothing is checked.
    ///
    /// # Safety
    /// The caller keeps the rules for copying stacks.
    // stub: none; entry.S has the whole function
    pub fn gosched_ensure_stack(n: usize);

    /// The goroutine that this thread runs, also while the thread is on the scheduler's stack for
    /// it; NULL if there is none. Go's `getg().m.curg`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_curg() -> *mut Goroutine;

    /// The goroutine's number, which no other goroutine ever has. It is 0 for the scheduler's own
    /// context, which `gosched_getg` returns on the scheduler's stack. Go's `goid`.
    ///
    /// # Safety
    /// `g` is a goroutine that hasn't ended, or a result of `gosched_getg`.
    pub fn gosched_goid(g: *mut Goroutine) -> u64;

    /// The address of `GOSCHED_SLOT_SIZE` bytes that belong to the port, in each goroutine that C
    /// has made, main ones included. The port keeps its own data about the goroutine there. The
    /// bytes begin at a multiple of 16, and stay where they are. They aren't cleared: a goroutine
    /// may find the data of an earlier one that has ended.
    ///
    /// # Safety
    /// `g` is a goroutine that hasn't ended, and was made by C.
    pub fn gosched_slot(g: *mut Goroutine) -> *mut c_void;

    /// The address of a word in each goroutine that belongs to the port: the head of its list of
    /// deferred calls. It is NULL when a goroutine begins. If it is an address of the goroutine's
    /// stack, it is adjusted when the stack moves. Go's `_defer`, in `g`.
    ///
    /// # Safety
    /// `g` is a goroutine that hasn't ended.
    pub fn gosched_defer(g: *mut Goroutine) -> *mut *mut c_void;

    /// As `gosched_defer`, for the innermost panic. Go's `_panic`, in `g`.
    ///
    /// # Safety
    /// `g` is a goroutine that hasn't ended.
    pub fn gosched_panic(g: *mut Goroutine) -> *mut *mut c_void;

    /// Keeps the caller on its thread, and the thread on its processor, until `gosched_releasem`:
    /// no stack check stops the caller, and it isn't preempted. Calls nest. It is for moments, in
    /// which nothing parks. Go's `acquirem`, in `runtime1.go`.
    ///
    /// Returns the thread, or NULL if it isn't the scheduler's.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_acquirem() -> *mut Machine;

    /// Undoes `gosched_acquirem`. Go's `releasem`, in `runtime1.go`.
    ///
    /// # Safety
    /// `m` is the result of `gosched_acquirem`.
    pub fn gosched_releasem(m: *mut Machine);

    /// Keeps the running goroutine on its processor, without preemption, until
    /// `gosched_proc_unpin`. A pinned goroutine doesn't park. Returns the processor's number, from
    /// 0 on. Go's `procPin`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_proc_pin() -> c_int;

    /// Undoes `gosched_proc_pin`. Go's `procUnpin`, in `proc.go`.
    ///
    /// # Safety
    /// Once for each `gosched_proc_pin`, on the same goroutine.
    pub fn gosched_proc_unpin();

    /// Takes a lock, and blocks the thread until it has the lock. As after `gosched_acquirem`, no
    /// stack check stops the owner, so other threads wait for moments only. Go's `lock`, in
    /// `lock_futex.go`.
    ///
    /// A lock of the program's own that is held into `gosched_park` can make others wait in vain,
    /// because the stack check at the entry of `gosched_park` may stop the owner. `gosched_lock`
    /// with `gosched_parkunlock` is made for that case.
    ///
    /// # Safety
    /// The caller doesn't have the lock. A caller that holds a lock doesn't park or wait, except by
    /// `gosched_parkunlock`.
    pub fn gosched_lock(lock: *mut Mutex);

    /// Releases a lock. The next owner may free the lock at once: nothing of it is used after the
    /// release. Go's `unlock`, in `lock_futex.go`.
    ///
    /// # Safety
    /// This thread, or this goroutine, has taken the lock.
    pub fn gosched_unlock(lock: *mut Mutex);

    /// Parks the running goroutine, as `gosched_park` does, and releases the lock once the
    /// goroutine is off its stack. So the next owner of the lock finds, in the list that the lock
    /// protects, a goroutine that can be made ready. Go's `goparkunlock`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine, which has taken the lock and holds no other. The lock stays until the
    /// goroutine goes on.
    pub fn gosched_parkunlock(lock: *mut Mutex, reason: WaitReason);

    /// Locks the running goroutine to its thread: it runs on no other thread, and no other
    /// goroutine runs on that thread, until `gosched_unlock_os_thread` was called as often. If the
    /// goroutine ends before, the thread ends too. Go's `LockOSThread`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_lock_os_thread();

    /// Undoes one `gosched_lock_os_thread`. Does nothing if the goroutine isn't locked. Go's
    /// `UnlockOSThread`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_unlock_os_thread();

    /// Whether the running goroutine is locked to its thread. Go's `lockedOSThread`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine, or on the scheduler's stack.
    pub fn gosched_locked_os_thread() -> bool;

    /// Releases the running goroutine's processor before a system call. `gosched_exitsyscall` takes
    /// the processor back, unless another thread got it meanwhile. Go's `entersyscall`, in
    /// `proc.go`.
    ///
    /// `gosched_blocking` does the same and runs the call on the scheduler's stack. This function
    /// is for callers that run the call on the goroutine's stack. On a copying stack they first ask
    /// for the bytes that the call needs, by `gosched_ensure_stack`.
    ///
    /// # Safety
    /// On a goroutine. `gosched_exitsyscall` follows in the same function. In between nothing
    /// parks. A stack check that finds too little of a copying stack there ends the process.
    pub fn gosched_entersyscall();

    /// As `gosched_entersyscall`, for a call that is known to block: another thread gets the
    /// processor at once. Go's `entersyscallblock`, in `proc.go`.
    ///
    /// # Safety
    /// As `gosched_entersyscall`.
    pub fn gosched_entersyscallblock();

    /// Ends a system call: returns when the goroutine has a processor. Go's `exitsyscall`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// After `gosched_entersyscall` or `gosched_entersyscallblock`.
    // stub: UNCHECKED
    pub fn gosched_exitsyscall();

    /// Calls `fn(arg)` on the scheduler's stack, as `gosched_systemstack` does, and returns the
    /// result of `fn`. Go's `asmcgocall`, in `asm_amd64.s`.
    ///
    /// # Safety
    /// As `gosched_systemstack`. `fn` isn't NULL.
    // stub: none; syscall.S has the whole function
    pub fn gosched_asmcgocall(
        r#fn: Option<unsafe extern "C" fn(arg: *mut c_void) -> c_int>,
        arg: *mut c_void,
    ) -> c_int;

    /// The number of goroutines; an estimate while others begin and end. Go's `gcount`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_gcount() -> c_int;

    /// The number of threads that the scheduler has made. Go's `mcount`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_mcount() -> c_int;

    /// Sets how many threads the scheduler may make, and returns the previous limit. The default is
    /// 10,000. If more are needed, the process ends. Go's `debug.SetMaxThreads`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_set_max_threads(n: c_int) -> c_int;

    /// Returns memory to the system that the library keeps for later use: that of goroutines that
    /// have ended, of stacks that were larger, and of channels. Go's `debug.FreeOSMemory`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_free_os_memory();
}

const _: () = assert!(size_of::<Coroutine>() == size_of::<Coro>());
const _: () = assert!(size_of::<Mutex>() == size_of::<PortMutex>());
const _: () = assert!(align_of::<Mutex>() == align_of::<PortMutex>());
const _: () = assert!(GOSCHED_SLOT_SIZE <= SLOT_SIZE);

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_newproc_at_impl(f: Option<Entry>, arg: *mut c_void, callerpc: usize) {
    // SAFETY: `f` keeps the rules for copying stacks.
    unsafe { newproc_at(f, arg, callerpc) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_coroswitch_impl(coro: *mut Coro) {
    need_goroutine("gosched_coroswitch", "switch to a coroutine");
    if coro.is_null() {
        null("gosched_coroswitch", "coro")
    }
    // SAFETY: on a goroutine, and the coroutine stays.
    unsafe { coroswitch(coro) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_goyield_impl() {
    need_goroutine("gosched_goyield", "yield");
    // SAFETY: on a goroutine.
    unsafe { goyield() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_yield_if_busy_impl() {
    need_goroutine("gosched_yield_if_busy", "yield");
    // SAFETY: on a goroutine.
    unsafe { gosched_if_busy() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_yield_guarded_impl() {
    need_goroutine("gosched_yield_guarded", "yield");
    // SAFETY: on a goroutine.
    unsafe { goschedguarded() }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_poll_work_impl() -> bool {
    poll_work()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_injectglist_impl(gs: *const *mut G, n: usize) {
    if n == 0 {
        return;
    }
    if gs.is_null() {
        null("gosched_injectglist", "gs")
    }
    let list = GList::default();
    // SAFETY: `gs` are `n` G's.
    for &gp in unsafe { slice::from_raw_parts(gs, n) }.iter().rev() {
        // SAFETY: a G, and those are never freed.
        list.push(unsafe { need_g("gosched_injectglist", gp) });
    }
    systemstack(|| injectglist(&list))
}

#[unsafe(no_mangle)]
extern "C" fn gosched_curg_impl() -> *const G {
    curg().map_or(ptr::null(), ptr::from_ref)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_goid_impl(gp: *mut G) -> u64 {
    // SAFETY: a G, and those are never freed.
    unsafe { need_g("gosched_goid", gp) }.goid.get()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_slot_impl(gp: *mut G) -> *mut c_void {
    // SAFETY: a G, and those are never freed.
    unsafe { need_g("gosched_slot", gp) }.ext.slot.for_port()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_defer_impl(gp: *mut G) -> *mut *mut c_void {
    // SAFETY: a G, and those are never freed.
    unsafe { need_g("gosched_defer", gp) }._defer.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_panic_impl(gp: *mut G) -> *mut *mut c_void {
    // SAFETY: a G, and those are never freed.
    unsafe { need_g("gosched_panic", gp) }._panic.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn gosched_acquirem_impl() -> *const M {
    acquirem().map_or(ptr::null(), ptr::from_ref)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_releasem_impl(mp: *const M) {
    // SAFETY: null, or an M, which is never freed.
    releasem(unsafe { mp.as_ref() })
}

#[unsafe(no_mangle)]
extern "C" fn gosched_proc_pin_impl() -> c_int {
    need_goroutine("gosched_proc_pin", "be pinned");
    proc_pin()
}

#[unsafe(no_mangle)]
extern "C" fn gosched_proc_unpin_impl() {
    need_goroutine("gosched_proc_unpin", "be pinned");
    proc_unpin()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_lock_impl(l: *const PortMutex) {
    // SAFETY: a lock, which stays until it is released; zeros are one that nobody has.
    lock_of_port(unsafe { need("gosched_lock", "lock", l) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_unlock_impl(l: *const PortMutex) {
    // SAFETY: a lock, which stays until it is released; zeros are one that nobody has.
    unlock_of_port(unsafe { need("gosched_unlock", "lock", l) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_parkunlock_impl(l: *const PortMutex, reason: u32) {
    need_goroutine("gosched_parkunlock", "park");
    let reason = wait_reason("gosched_parkunlock", reason);
    // SAFETY: a lock, which stays until it is released; zeros are one that nobody has.
    goparkunlock_of_port(unsafe { need("gosched_parkunlock", "lock", l) }, reason)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_lock_os_thread_impl() {
    need_goroutine("gosched_lock_os_thread", "be locked to its thread");
    lock_os_thread()
}

#[unsafe(no_mangle)]
extern "C" fn gosched_unlock_os_thread_impl() {
    need_goroutine("gosched_unlock_os_thread", "be locked to its thread");
    unlock_os_thread()
}

#[unsafe(no_mangle)]
extern "C" fn gosched_locked_os_thread_impl() -> bool {
    locked_os_thread()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_exitsyscall_impl() {
    // SAFETY: the goroutine is in a system call.
    unsafe { exitsyscall() }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_gcount_impl() -> c_int {
    if started() { gcount() } else { 0 }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_mcount_impl() -> c_int {
    mcount_now()
}

#[unsafe(no_mangle)]
extern "C" fn gosched_set_max_threads_impl(n: c_int) -> c_int {
    set_max_threads(n)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_free_os_memory_impl() {
    systemstack(free_os_memory)
}
