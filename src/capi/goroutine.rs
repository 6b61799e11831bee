//! Goroutines for C: the functions that the stubs of `asm/*/entry.S` jump to. Each `unsafe` block
//! relies on what the function of the same name in `header/` asks of its caller.

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::capi;
use crate::capi::caller::{need_g, need_goroutine, null, wait_reason};
use crate::runtime::runtime2::{G, TraceBlockReason, Unlockf, WaitReason};
use crate::runtime::{
    ENTRY_ROOM, Entry, MAIN_KIND, MAX_GOMAXPROCS, Maker, StackKind, enqueue, entersyscall, exitsyscall,
    fixed_kind, getg, goexit1, gogo, gopark_of_program, goready, gosched, guest, mcall, newproc1,
    on_goroutine, room_for, rt0_go, run_main, set_default_gomaxprocs, set_gomaxprocs, set_max_stack,
    shrinkstack, started, systemstack, time_sleep, wanted_procs,
};

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
    // SAFETY: as the program says.
    unsafe { run_on(MAIN_KIND, main, arg, result) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_run_copying_impl(
    main: Option<MainFn>,
    arg: *mut c_void,
    result: *mut *mut c_void,
) -> c_int {
    // SAFETY: as the program says.
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
    use capi::WaitReason as C;
    assert!(C::None as u8 == WaitReason::Zero as u8);
    assert!(C::IoWait as u8 == WaitReason::IOWait as u8);
    assert!(C::Semacquire as u8 == WaitReason::Semacquire as u8);
    assert!(C::Sleep as u8 == WaitReason::Sleep as u8);
    assert!(C::CondWait as u8 == WaitReason::SyncCondWait as u8);
    assert!(C::MutexLock as u8 == WaitReason::SyncMutexLock as u8);
    assert!(C::RwmutexRlock as u8 == WaitReason::SyncRWMutexRLock as u8);
    assert!(C::RwmutexLock as u8 == WaitReason::SyncRWMutexLock as u8);
    assert!(C::Coroutine as u8 == WaitReason::Coroutine as u8);
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
