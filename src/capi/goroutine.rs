//! Goroutines, as programs use them.

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::capi::caller::{need_g, need_goroutine, null, wait_reason};
use crate::runtime::runtime2::{self, G, TraceBlockReason, Unlockf};
use crate::runtime::{
    ENTRY_ROOM, Entry, MAIN_KIND, MAX_GOMAXPROCS, Maker, StackKind, enqueue, entersyscall, exitsyscall,
    fixed_kind, getg, goexit1, gogo, gopark_of_program, goready, gosched, guest, mcall, newproc1,
    on_goroutine, room_for, rt0_go, run_main, set_default_gomaxprocs, set_gomaxprocs, set_max_stack,
    shrinkstack, started, systemstack, time_sleep, wanted_procs,
};

/// A goroutine: Go's `g`. Its address stays valid forever: when a goroutine has ended, its memory
/// is used for another goroutine and for nothing else.
pub struct Goroutine {
    _opaque: (),
}

/// Why a goroutine is parked, for reports: Go's `waitReason`. Go's other numbers, up to 36, are
/// accepted as well, and so are those that this crate adds behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum WaitReason {
    /// No reason: "waiting".
    None = 0,
    /// "IO wait"
    IoWait = 2,
    /// "semacquire"
    Semacquire = 18,
    /// "sleep"
    Sleep = 19,
    /// "sync.Cond.Wait"
    CondWait = 20,
    /// "sync.Mutex.Lock"
    MutexLock = 21,
    /// "sync.RWMutex.RLock"
    RwmutexRlock = 22,
    /// "sync.RWMutex.Lock"
    RwmutexLock = 23,
    /// "coroutine"
    Coroutine = 36,
}

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// Starts the runtime, unless it runs already, and runs `main(arg)` on a goroutine with a fixed
    /// stack of 8 MiB. Waits until `main` returns, and stores its result at `result`, unless that
    /// is NULL. Go's `main`, in `proc.go`.
    ///
    /// The calling thread isn't a goroutine, and sleeps meanwhile. When `main` has returned, other
    /// goroutines go on. `gosched_run` may be called again, also by several threads at once.
    ///
    /// If `main` and every other goroutine wait, and no thread is left that could wake one, that is
    /// a deadlock: it is reported, and the process ends with status 2. While a thread of the
    /// program's own might wake a goroutine, a message on stderr reports the state after two
    /// seconds, and the process goes on. `GODEBUG=deadlock=off` switches the message off, and
    /// `GODEBUG=deadlock=fatal` ends the process instead.
    ///
    /// Returns 0, or an errno value:
    /// - `EDEADLK`: this is a goroutine already;
    /// - `EINVAL`: `main` is NULL;
    /// - `ENOMEM`: there is no memory for a stack;
    /// - `EAGAIN`: there is no thread to start with;
    /// - `ENOTSUP`: the environment asks for guard pages that this kernel can't make, or for stacks
    ///   of a size that can't be.
    ///
    /// # Safety
    /// `main` doesn't unwind: no C++ exception leaves it, and no `longjmp`. While there are
    /// goroutines, the program keeps the rules at the head of this file.
    pub fn gosched_run(
        main: Option<unsafe extern "C" fn(arg: *mut c_void) -> *mut c_void>,
        arg: *mut c_void,
        result: *mut *mut c_void,
    ) -> c_int;

    /// As `gosched_run`, but the goroutine has a copying stack. If no goroutine was made before,
    /// its number is 1, as in Go.
    ///
    /// # Safety
    /// As `gosched_run`; and `main` keeps the rules for copying stacks.
    pub fn gosched_run_copying(
        main: Option<unsafe extern "C" fn(arg: *mut c_void) -> *mut c_void>,
        arg: *mut c_void,
        result: *mut *mut c_void,
    ) -> c_int;

    /// Makes a goroutine on a copying stack that runs `fn(arg)`, and puts it next on this
    /// processor. It ends when `fn` returns. Go's `newproc`, in `proc.go`, which is its `go`
    /// statement.
    ///
    /// It ends the process, with a report, if `fn` is NULL, if the runtime hasn't started, or if
    /// there is no memory for a goroutine.
    ///
    /// # Safety
    /// `fn` keeps the rules for copying stacks, and doesn't unwind.
    // stub: ENTRY _from, ARG_2
    pub fn gosched_newproc(r#fn: Option<unsafe extern "C" fn(arg: *mut c_void)>, arg: *mut c_void);

    /// Makes a goroutine as `gosched_newproc` does, but on a fixed stack of at least `stack_size`
    /// bytes, up to 1 GiB. 0 stands for the size that `GOSCHED_STACK_SIZE` in the environment sets,
    /// or 256 KiB (1 MiB where the library was built without optimisation). Only the part of the
    /// stack that is used takes memory.
    ///
    /// Returns 0, or an errno value:
    /// - `EINVAL`: `fn` is NULL, or `stack_size` too large;
    /// - `EPERM`: the runtime hasn't started;
    /// - `ENOMEM`: there is no memory or address space for a stack, or, where the environment asks
    ///   for that, none for its guard page.
    ///
    /// # Safety
    /// `fn` doesn't unwind.
    // stub: ENTRY _from, ARG_3
    pub fn gosched_newproc_fixed(
        r#fn: Option<unsafe extern "C" fn(arg: *mut c_void)>,
        arg: *mut c_void,
        stack_size: usize,
    ) -> c_int;

    /// Lets other goroutines run. The running goroutine goes to the end of the queue that all
    /// processors share. Go's `Gosched`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_yield();

    /// Ends the running goroutine, as if its function had returned. Go's `goexit1`, in `proc.go`.
    ///
    /// If it is the main goroutine, the others go on, and its `gosched_run` doesn't return. When no
    /// goroutine is left, that is a deadlock.
    ///
    /// # Safety
    /// On a goroutine of C code. C++ destructors don't run.
    pub fn gosched_exit() -> !;

    /// The running goroutine; NULL on a thread that isn't one of the runtime's. In a signal
    /// handler, it is the goroutine that was interrupted. Go's `getg`.
    ///
    /// On the scheduler's stack, in a function that `gosched_systemstack` or `gosched_park` calls,
    /// the result is the scheduler's own context, which isn't a goroutine.
    ///
    /// # Safety
    /// It can be called anywhere.
    // stub: none; asm.S has the whole function
    pub fn gosched_getg() -> *mut Goroutine;

    /// Parks the running goroutine until another caller passes it to `gosched_ready`. Reports show
    /// `reason`. Go's `gopark`, in `proc.go`.
    ///
    /// Parking has two steps, so that no wake-up is lost in between: when the goroutine is off its
    /// stack, `unlockf(g, lock)` is called on the scheduler's stack. There it may publish `g`, or
    /// release the lock of the list that `g` is in. If it returns false, the goroutine goes on at
    /// once.
    ///
    /// If `unlockf` is NULL, `g` was published before. The caller that makes `g` ready must be sure
    /// that it has parked.
    ///
    /// # Safety
    /// On a goroutine. `unlockf` must not touch the goroutine's stack, park, or unwind. It must not
    /// return false if another caller may have made the goroutine ready.
    pub fn gosched_park(
        unlockf: Option<unsafe extern "C" fn(g: *mut Goroutine, lock: *mut c_void) -> bool>,
        lock: *mut c_void,
        reason: WaitReason,
    );

    /// Makes a parked goroutine ready: it runs next on this processor. If this thread isn't one of
    /// the runtime's, the goroutine goes to the queue that all processors share. Go's `goready`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// `g` has parked, or its `unlockf` has been called, and no other caller makes it ready. (A
    /// second `gosched_ready` ends the process, if it is noticed.)
    pub fn gosched_ready(g: *mut Goroutine);

    /// Calls `fn(arg)` on the scheduler's stack, which has about 200 KiB, and returns when `fn` has
    /// returned. It is for code that needs more room than a copying stack has. Called elsewhere
    /// than on a goroutine, it calls `fn` directly. Go's `systemstack`, in `asm_amd64.s`.
    ///
    /// Addresses of the goroutine's stack stay valid meanwhile: `arg` may be one.
    ///
    /// # Safety
    /// `fn` must not park, yield, exit, unwind, or do a channel operation that has to wait.
    // stub: none; asm.S has the whole function
    pub fn gosched_systemstack(r#fn: Option<unsafe extern "C" fn(arg: *mut c_void)>, arg: *mut c_void);

    /// Sets how many bytes a copying stack may have, and returns the previous limit. The default is
    /// 1 GiB. A goroutine that needs more ends the process with a report. Go's `debug.SetMaxStack`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_set_max_stack(bytes: usize) -> usize;

    /// Halves the running goroutine's stack if it is a copying stack and less than a quarter of it
    /// is in use. It is for a goroutine that used much stack once and lives long. Go's
    /// `shrinkstack`, in `stack.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_shrink_stack();

    /// Calls `fn(arg)`, which may block its thread (a read, a mutex of pthreads), on the
    /// scheduler's stack. Other goroutines get the processor of this one after 10 ms, or sooner if
    /// some wait for a processor. Called elsewhere than on a goroutine, it calls `fn` directly.
    /// Go's `cgocall`, in `cgocall.go`.
    ///
    /// # Safety
    /// As `gosched_systemstack`.
    pub fn gosched_blocking(r#fn: Option<unsafe extern "C" fn(arg: *mut c_void)>, arg: *mut c_void);

    /// Parks the running goroutine for at least `ns` nanoseconds. On a thread that isn't one of the
    /// runtime's, the thread sleeps. Go's `time.Sleep`.
    ///
    /// # Safety
    /// Not on the scheduler's stack.
    pub fn gosched_sleep(ns: i64);

    /// Sets how many goroutines can run at once, from 1 to 16,384, and returns the previous number.
    /// With 0, it only returns the number. It waits until every running goroutine has come to a
    /// point where it can be stopped. From then on the number stays as it is. Returns -1 and
    /// changes nothing if `n` is any other number, if the runtime doesn't run, or on the
    /// scheduler's stack, where it can't wait. Go's `GOMAXPROCS`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_set_gomaxprocs(n: c_int) -> c_int;

    /// Makes the number of goroutines that can run at once follow the system, whatever the
    /// environment variable says. It is the number of processors that the process may use, or that
    /// its control group has time for, and changes with them. This is the default if nothing sets
    /// the number. Returns the previous number. Returns -1 and changes nothing where
    /// `gosched_set_gomaxprocs` can't set it. Go's `SetDefaultGOMAXPROCS`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_set_default_gomaxprocs() -> c_int;
}

/// [`ENTRY_ROOM`] for the stubs. `tests/suite/raw/capi.rs` measures the stack that the functions
/// behind them take.
#[unsafe(no_mangle)]
static gosched_entry_room: usize = ENTRY_ROOM;

/// The errno value of a runtime's error.
pub(super) fn errno(error: &io::Error) -> c_int {
    error.raw_os_error().unwrap_or(match error.kind() {
        io::ErrorKind::Unsupported => libc::ENOTSUP,
        _ => libc::ENOMEM,
    })
}

type MainFn = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// The arguments and the result of a call of `gosched_run`.
struct Call {
    main: MainFn,
    arg: *mut c_void,
    result: *mut c_void,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_run_impl(
    main: Option<MainFn>,
    arg: *mut c_void,
    result: *mut *mut c_void,
) -> c_int {
    // SAFETY: the program keeps to the contract of `gosched_run`.
    unsafe { run_on(MAIN_KIND, main, arg, result) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_run_copying_impl(
    main: Option<MainFn>,
    arg: *mut c_void,
    result: *mut *mut c_void,
) -> c_int {
    // SAFETY: the program keeps to the contract of `gosched_run_copying`.
    unsafe { run_on(StackKind::Copying, main, arg, result) }
}

/// Runs `main(arg)` on a goroutine with this kind of stack, and waits for its result.
///
/// # Safety
/// As `gosched_run`.
unsafe fn run_on(kind: StackKind, main: Option<MainFn>, arg: *mut c_void, result: *mut *mut c_void) -> c_int {
    unsafe fn call(call: *mut c_void) {
        // SAFETY: it is `this` below, which isn't touched before run_main has returned.
        let call = unsafe { &mut *call.cast::<Call>() };
        // SAFETY: the program passed `main` to be called with `arg`; it doesn't unwind.
        call.result = unsafe { (call.main)(call.arg) };
    }

    let Some(main) = main else { return libc::EINVAL };
    if getg().is_some() {
        return libc::EDEADLK;
    }
    let mut this = Call { main, arg, result: ptr::null_mut() };
    let ran = rt0_go(Some(false)).and_then(|()| {
        // SAFETY: `call` may run on another thread, and doesn't unwind, as `main` doesn't.
        unsafe { run_main(call, (&raw mut this).cast(), kind, &Maker::at(0)) }
    });
    if let Err(error) = ran {
        return errno(&error);
    }
    if !result.is_null() {
        // SAFETY: `result` is a place for an address.
        unsafe { result.write(this.result) };
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_newproc_fixed_from(
    f: Option<Entry>,
    arg: *mut c_void,
    stack_size: usize,
    callerpc: usize,
) -> c_int {
    // On g0: making a stack may take more than a copying stack has.
    systemstack(|| {
        let kind = if stack_size == 0 { Some(fixed_kind()) } else { room_for(stack_size) };
        let (Some(f), Some(kind)) = (f, kind) else { return libc::EINVAL };
        if !started() {
            return libc::EPERM;
        }
        match newproc1(f, kind, &Maker::at(callerpc)) {
            Ok(newg) => {
                newg.sched.ctxt.set(arg);
                enqueue(newg);
                0
            }
            Err(error) => errno(&error),
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_yield_impl() {
    need_goroutine("gosched_yield", "yield");
    // SAFETY: on a goroutine.
    unsafe { gosched() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_exit_impl() -> ! {
    need_goroutine("gosched_exit", "end so");
    // SAFETY: on a goroutine of C code: there are no destructors of Rust's on its stack. If it is a
    // main goroutine, the thread that waits for its end keeps what it has passed.
    unsafe { goexit1() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_park_impl(unlockf: Option<Unlockf>, lock: *mut c_void, reason: u32) {
    need_goroutine("gosched_park", "park");
    let reason = wait_reason("gosched_park", reason);
    // SAFETY: `unlockf` touches no stack of the goroutine's, doesn't park or unwind, and returns
    // false only if nobody made the goroutine ready; without one, it was published before.
    unsafe { gopark_of_program(unlockf, lock, reason, TraceBlockReason::Generic, 1) }
}

/// The reasons in C have Go's numbers.
const _: () = {
    assert!(WaitReason::None as u8 == runtime2::WaitReason::Zero as u8);
    assert!(WaitReason::IoWait as u8 == runtime2::WaitReason::IOWait as u8);
    assert!(WaitReason::Semacquire as u8 == runtime2::WaitReason::Semacquire as u8);
    assert!(WaitReason::Sleep as u8 == runtime2::WaitReason::Sleep as u8);
    assert!(WaitReason::CondWait as u8 == runtime2::WaitReason::SyncCondWait as u8);
    assert!(WaitReason::MutexLock as u8 == runtime2::WaitReason::SyncMutexLock as u8);
    assert!(WaitReason::RwmutexRlock as u8 == runtime2::WaitReason::SyncRWMutexRLock as u8);
    assert!(WaitReason::RwmutexLock as u8 == runtime2::WaitReason::SyncRWMutexLock as u8);
    assert!(WaitReason::Coroutine as u8 == runtime2::WaitReason::Coroutine as u8);
};

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_ready_impl(gp: *mut G) {
    // SAFETY: gosched_park passed the G to `unlockf`, or gosched_getg returned it.
    goready(unsafe { need_g("gosched_ready", gp) })
}

#[unsafe(no_mangle)]
extern "C" fn gosched_set_max_stack_impl(bytes: usize) -> usize {
    set_max_stack(bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_shrink_stack_impl() {
    need_goroutine("gosched_shrink_stack", "shrink its stack");
    // SAFETY: need_goroutine has returned, so this is one; shrink_m resumes it.
    unsafe { mcall(shrink_m) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_blocking_impl(f: Option<unsafe extern "C" fn(*mut c_void)>, arg: *mut c_void) {
    let Some(f) = f else { null("gosched_blocking", "fn") };
    // SAFETY: the program passed `f` to be called with `arg`; it doesn't unwind, park or exit.
    let call = || systemstack(|| unsafe { f(arg) });
    if !on_goroutine() {
        return call();
    }
    // SAFETY: on a goroutine, which holds no runtime lock; nothing parks in between, nor is there a
    // thread-local.
    unsafe {
        entersyscall();
        call();
        exitsyscall();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_sleep_impl(ns: i64) {
    if getg().is_none() {
        return thread::sleep(Duration::from_nanos(ns.max(0) as u64));
    }
    need_goroutine("gosched_sleep", "sleep so");
    // SAFETY: need_goroutine has returned, so this is one.
    unsafe { time_sleep(ns) }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_set_gomaxprocs_impl(n: c_int) -> c_int {
    if n == 0 && started() {
        return wanted_procs();
    }
    let _guest = guest();
    if !on_goroutine() || !(1..=MAX_GOMAXPROCS).contains(&n) {
        return -1;
    }
    set_gomaxprocs(n)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_set_default_gomaxprocs_impl() -> c_int {
    let _guest = guest();
    if !on_goroutine() {
        return -1;
    }
    let was = wanted_procs();
    set_default_gomaxprocs();
    was
}

/// What `gosched_shrink_stack` does on g0.
///
/// # Safety
/// Called by [`mcall`].
unsafe extern "C" fn shrink_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and has saved its state in `sched`; no other M can
    // run it before this resumes it.
    unsafe {
        shrinkstack(&*gp);
        gogo(&(*gp).sched, (*gp).stackguard0.load(Ordering::Relaxed))
    }
}
