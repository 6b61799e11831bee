//! A goroutine's state, and all goroutines and all P's at once: stopping, suspending, scanning. A
//! garbage collector needs these.

use std::ffi::c_void;
use std::mem::{self, offset_of};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::capi::caller::{need, need_g, need_goroutine, no_reason, null, wait_reason};
use crate::capi::{Address, Goroutine, WaitReason};
use crate::runtime::runtime2::{
    G, GCOPYSTACK, GDEAD, GIDLE, GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL, GWAITING, M, P,
};
use crate::runtime::{
    self, SuspendGState, become_system_goroutine, cas_g_to_waiting, casfrom_gscanstatus, casgcopystack,
    casgstatus, castogscanstatus, curg, for_each_g, for_each_g_race, for_each_p, getg, misuse, preemptall,
    readgstatus, resume_g, scan_stack, sched_enable_user, semacquire, semrelease, set_detach, shrinkstack,
    start_the_world, started, stop_the_world, suspend_g, systemstack, systemstack_scannable, this_m,
};

/// The G was just allocated, or was given back to the system: it isn't a goroutine. Go's `_Gidle`.
pub const GOSCHED_GIDLE: u32 = 0;
/// The goroutine is in a queue, to run; nothing owns its stack. Go's `_Grunnable`.
pub const GOSCHED_GRUNNABLE: u32 = 1;
/// The goroutine runs, and owns its stack. Go's `_Grunning`.
pub const GOSCHED_GRUNNING: u32 = 2;
/// The goroutine is in a system call and owns its stack. It runs none of the program's code that
/// counts. Go's `_Gsyscall`.
pub const GOSCHED_GSYSCALL: u32 = 3;
/// The goroutine is parked, and is recorded where the code that will make it ready finds it. Go's
/// `_Gwaiting`.
pub const GOSCHED_GWAITING: u32 = 4;
/// The goroutine isn't in use: it has ended, or is being made. Go's `_Gdead`.
pub const GOSCHED_GDEAD: u32 = 6;
/// The stack belongs to the caller that has set this state, and that moves the stack. Go's
/// `_Gcopystack`.
pub const GOSCHED_GCOPYSTACK: u32 = 8;
/// The goroutine has stopped for `gosched_suspend_g`, which hasn't noticed it yet. Go's
/// `_Gpreempted`.
pub const GOSCHED_GPREEMPTED: u32 = 9;
/// Added to one of the other states: the stack belongs to a scan, and the state can't change before
/// the scan is over. Go's `_Gscan`.
pub const GOSCHED_GSCAN: u32 = 4096;

/// A processor: Go's `p`. A thread runs goroutines while it has one. Its address stays valid
/// forever.
pub struct Processor {
    _opaque: (),
}

/// A thread that runs goroutines: Go's `m`. Its address stays valid forever. When the thread has
/// ended, the address becomes another thread's.
pub struct Machine {
    _opaque: (),
}

/// Why the world is stopped, for traces and metrics: Go's `stwReason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum StwReason {
    /// "unknown"
    Unknown = 0,
    /// "GC mark termination"
    GcMarkTerm = 1,
    /// "GC sweep termination"
    GcSweepTerm = 2,
    /// "write heap dump"
    WriteHeapDump = 3,
    /// "goroutine profile"
    GoroutineProfile = 4,
    /// "goroutine profile cleanup"
    GoroutineProfileCleanup = 5,
    /// "all goroutines stack trace"
    AllGoroutinesStack = 6,
    /// "read mem stats"
    ReadMemStats = 7,
    /// "AllThreadsSyscall"
    AllThreadsSyscall = 8,
    /// "GOMAXPROCS"
    Gomaxprocs = 9,
    /// "start trace"
    StartTrace = 10,
    /// "stop trace"
    StopTrace = 11,
}

/// A stopped world, to be started again: Go's `worldStop`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WorldStop {
    /// Why it was stopped.
    pub reason: StwReason,
    /// When stopping it began, in nanoseconds of the monotonic clock.
    pub started_stopping: i64,
}

/// The result of `gosched_suspend_g`: Go's `suspendGState`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SuspendState {
    /// The goroutine that is suspended; NULL if it is dead.
    pub g: *mut Goroutine,
    /// The goroutine had ended. Its address may be another goroutine's by now.
    pub dead: bool,
    /// The goroutine was running, and `gosched_resume_g` makes it ready.
    pub stopped: bool,
}

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// The state of `g`, one of `GOSCHED_GIDLE` to `GOSCHED_GPREEMPTED`, perhaps with
    /// `GOSCHED_GSCAN`. It may have changed since, unless the caller keeps it from changing. Go's
    /// `readgstatus`, in `proc.go`.
    ///
    /// # Safety
    /// `g` is a goroutine's address: it can be called anywhere.
    pub fn gosched_readgstatus(g: *mut Goroutine) -> u32;

    /// Changes the state of `g` from `oldval` to `newval`. Waits while a scan holds the state. If
    /// the state isn't `oldval`, or if `oldval` or `newval` has `GOSCHED_GSCAN`, the process ends.
    /// Go's `casgstatus`, in `proc.go`.
    ///
    /// # Safety
    /// The caller owns the change: for example, the caller has parked the goroutine and found it,
    /// or has made it waiting.
    pub fn gosched_casgstatus(g: *mut Goroutine, oldval: u32, newval: u32);

    /// Changes the state of `g` from `oldval` to `GOSCHED_GWAITING`, and records `reason` for
    /// reports. A running goroutine that does this on the scheduler's stack
    /// (`gosched_systemstack_scannable`) can be suspended and scanned, by others and by itself,
    /// until `gosched_casgstatus` makes it `GOSCHED_GRUNNING` again. Go's `casGToWaiting`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// As `gosched_casgstatus`. A running goroutine stays on the scheduler's stack until its state
    /// is `GOSCHED_GRUNNING` again, and nothing makes it ready meanwhile.
    pub fn gosched_cas_g_to_waiting(g: *mut Goroutine, oldval: u32, reason: WaitReason);

    /// Takes the stack of a goroutine that waits or is in a queue: its state becomes
    /// `GOSCHED_GCOPYSTACK`. Returns the previous state, which the caller sets again with
    /// `gosched_casgstatus`. Go's `casgcopystack`, in `proc.go`.
    ///
    /// # Safety
    /// As `gosched_casgstatus`. Nothing runs the goroutine meanwhile: it is in no queue.
    pub fn gosched_casgcopystack(g: *mut Goroutine) -> u32;

    /// If the state of `g` is `oldval`, adds `GOSCHED_GSCAN` to it and returns true. Then the
    /// goroutine can't start to run or stop, and its stack stays where it is. Otherwise returns
    /// false. `newval` is `oldval + GOSCHED_GSCAN`. Go's `castogscanstatus`, in `proc.go`.
    ///
    /// # Safety
    /// On the scheduler's stack (`gosched_systemstack`), or on a thread that isn't the runtime's.
    /// The caller that sets the bit clears it there, soon, with `gosched_casfrom_gscanstatus`.
    pub fn gosched_castogscanstatus(g: *mut Goroutine, oldval: u32, newval: u32) -> bool;

    /// Removes `GOSCHED_GSCAN` from the state of `g`: `oldval` has the bit, `newval` doesn't. Go's
    /// `casfrom_Gscanstatus`, in `proc.go`.
    ///
    /// # Safety
    /// The caller has set the bit.
    pub fn gosched_casfrom_gscanstatus(g: *mut Goroutine, oldval: u32, newval: u32);

    /// As `gosched_systemstack`, for a goroutine that makes itself waiting on the scheduler's stack
    /// (`gosched_cas_g_to_waiting`) so that its own stack can be scanned, also by `fn`. The
    /// caller's registers are saved on the goroutine's stack first. Go's `systemstack`, in
    /// `asm_amd64.s`, whose callers keep nothing in registers.
    ///
    /// # Safety
    /// As `gosched_systemstack`.
    pub fn gosched_systemstack_scannable(
        r#fn: Option<unsafe extern "C" fn(arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// Calls `fn(g, arg)` for every goroutine, while none can be added. Goroutines that have ended
    /// are included, as `GOSCHED_GDEAD`, because their G's will be used again. Go's `forEachG`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `fn` is called on the scheduler's stack with a lock held: it
    /// makes no goroutine, suspends none, and doesn't park or unwind.
    pub fn gosched_for_each_g(
        r#fn: Option<unsafe extern "C" fn(g: *mut Goroutine, arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// As `gosched_for_each_g`, but without the lock: `fn` may suspend goroutines and make some.
    /// Goroutines that are made meanwhile may be left out. The memory of a dead goroutine may go
    /// back to the system meanwhile; then its state is `GOSCHED_GIDLE`. In a stopped world, no
    /// goroutine can add one. Go's `forEachGRace`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere, and calls `fn` on the caller's stack. If that is a copying stack,
    /// `fn` keeps the rules for copying stacks.
    pub fn gosched_for_each_g_race(
        r#fn: Option<unsafe extern "C" fn(g: *mut Goroutine, arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// Calls `fn(p, arg)` for every P at a point where the P could be stopped: on the thread that
    /// has the P, or on the caller's if no thread has it. When this returns, every P has passed
    /// such a point. It waits as `gosched_stop_the_world` does; reports show `reason` meanwhile.
    /// Go's `forEachP`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine, which hasn't stopped the world. `fn` is called on the scheduler's stack, and
    /// must not park, unwind, or access the caller's stack. `arg` isn't an address of that stack.
    pub fn gosched_for_each_p(
        reason: WaitReason,
        r#fn: Option<unsafe extern "C" fn(p: *mut Processor, arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// The number of `p`, from 0 on; less than GOMAXPROCS while `p` is in use. Go's `p.id`.
    ///
    /// # Safety
    /// `p` is a P: it can be called anywhere.
    pub fn gosched_p_id(p: *mut Processor) -> i32;

    /// The address of a word that each P has for the program, NULL at first, such as an allocator's
    /// cache for the P. The library doesn't use it. It may be accessed by code that can't lose the
    /// P (between `gosched_proc_pin` and `gosched_proc_unpin`), and by a function that was passed
    /// the P (hooks, `gosched_for_each_p`). Go's `p.mcache`.
    ///
    /// # Safety
    /// `p` is a P: it can be called anywhere.
    pub fn gosched_p_slot(p: *mut Processor) -> *mut *mut c_void;

    /// The P of a thread; NULL if it has none now. For another thread, the result may be outdated
    /// at once. Go's `m.p`.
    /// # Safety
    /// `m` is an M: it can be called anywhere. A goroutine keeps its own P only while it is pinned,
    /// or has acquired its M.
    pub fn gosched_m_p(m: *mut Machine) -> *mut Processor;

    /// Asks every running goroutine except the caller to stop at its next safe point and let others
    /// run. Returns whether there was one to ask. A goroutine that is just being switched may miss
    /// the request, so a caller that relies on the stop asks again. Go's `preemptall`, in
    /// `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere. Before the runtime has started it returns false.
    pub fn gosched_preemptall() -> bool;

    /// Stops every P but the caller's, and returns when all have stopped. A P stops where its
    /// goroutine parks, yields, is preempted or is in a system call. A garbage collection begins
    /// with this call. Other callers wait until the world has been started again. Go's
    /// `stopTheWorld`, in `proc.go`.
    ///
    /// A goroutine that is in a system call goes on there. So does a goroutine in code where it
    /// can't be stopped; it goes on without a P: see `gosched_set_detach`.
    ///
    /// # Safety
    /// On a goroutine. It passes the result to `gosched_start_the_world`. Until then it doesn't
    /// park and doesn't stop the world again: both end the process.
    pub fn gosched_stop_the_world(reason: StwReason) -> WorldStop;

    /// Lets all P's run again. Go's `startTheWorld`, in `proc.go`.
    ///
    /// # Safety
    /// Once, on the goroutine that has stopped the world.
    pub fn gosched_start_the_world(stop: WorldStop);

    /// Sets whether a goroutine that keeps its P from others, in code where it can't be stopped,
    /// loses the P and goes on without one. The default is true. Such a goroutine goes on in a
    /// stopped world, too. So a program that relies on the stopped world alone, such as a collector
    /// that doesn't suspend every goroutine, switches this off before its goroutines run. Hooks
    /// that need a P switch it off by themselves. `GODEBUG=detach=1` or `0` overrides this
    /// function. `docs/guide/preemption.md` tells more.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_set_detach(on: bool);

    /// Lets all goroutines run, or only those that have called `gosched_become_system_goroutine`.
    /// Goroutines that run when this is called go on until they park; so stop the world, disable,
    /// and start the world. Go's `schedEnableUser`, in `proc.go`.
    ///
    /// # Safety
    /// Where the runtime has started. A goroutine or thread that still runs enables the others
    /// again.
    pub fn gosched_sched_enable_user(enable: bool);

    /// Makes the running goroutine a system goroutine, one of the program's own runtime, until it
    /// ends: it isn't counted, and `gosched_sched_enable_user` doesn't stop it. Go recognizes such
    /// goroutines by their function: `isSystemGoroutine`, in `traceback.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_become_system_goroutine();

    /// Stops `g` at a safe point, keeps it there until `gosched_resume_g`, and stores the result at
    /// `state`. Meanwhile its stack and its registers can be read: see `gosched_scan_stack`. The
    /// call waits, without parking, until the goroutine has come to a safe point. A goroutine that
    /// has ended is left alone. Go's `suspendG`, in `preempt.go`.
    ///
    /// # Safety
    /// The caller's goroutine doesn't run, because two goroutines that suspend each other would
    /// wait forever. So this is called on the scheduler's stack (`gosched_systemstack_scannable`)
    /// after `gosched_cas_g_to_waiting`, or on a thread that isn't the runtime's. Anywhere else it
    /// ends the process. If the caller holds a resource that the goroutine needs to get to a safe
    /// point, such as a lock, the call waits forever. The states of several goroutines may be kept
    /// at once.
    pub fn gosched_suspend_g(g: *mut Goroutine, state: *mut SuspendState);

    /// Lets a suspended goroutine go on. Go's `resumeG`, in `preempt.go`.
    ///
    /// # Safety
    /// `state` is as `gosched_suspend_g` has stored it, and is used once.
    pub fn gosched_resume_g(state: *const SuspendState);

    /// Calls `fn(lo, hi, arg)` for each range of addresses in which `g` may keep a pointer. It is
    /// for a collector that doesn't know the goroutine's frames. The ranges are:
    /// - the used part of its stack, with its general registers, wherever it was stopped;
    /// - its vector registers, if it was preempted;
    /// - the records of its wait, and the value that it is woken with;
    /// - the argument of a goroutine that hasn't begun.
    ///
    /// Each range begins at a multiple of 8, and so do pointers in it. Go's `scanstack`, in
    /// `mgcmark.go`, does more.
    ///
    /// The caller itself scans the rest: globals, values in a channel's buffer, the arguments of
    /// timers, C code on the scheduler's stack, and threads that aren't the runtime's.
    /// `docs/guide/collectors.md` has a list.
    ///
    /// # Safety
    /// The goroutine is suspended, or its state has `GOSCHED_GSCAN` for another reason. In a
    /// stopped world it may also be parked, in a queue, or dead. `fn` is called on the caller's
    /// stack. A sender may write to the stack of a goroutine that waits for a value.
    pub fn gosched_scan_stack(
        g: *mut Goroutine,
        r#fn: Option<unsafe extern "C" fn(lo: Address, hi: Address, arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// Halves the copying stack of `g` if `g` uses less than a quarter of it. Does nothing if `g`
    /// uses more, if the stack is fixed, or if it can't be moved now. (`gosched_shrink_stack` does
    /// the same for the caller's stack.) Go's `shrinkstack`, in `stack.go`.
    ///
    /// # Safety
    /// `g` isn't running and can't begin to: its state has `GOSCHED_GSCAN`, as that of a suspended
    /// one has.
    pub fn gosched_shrinkstack(g: *mut Goroutine);
}

/// The states in C have the runtime's numbers, which are Go's.
const _: () = {
    assert!(GOSCHED_GIDLE == GIDLE);
    assert!(GOSCHED_GRUNNABLE == GRUNNABLE);
    assert!(GOSCHED_GRUNNING == GRUNNING);
    assert!(GOSCHED_GSYSCALL == GSYSCALL);
    assert!(GOSCHED_GWAITING == GWAITING);
    assert!(GOSCHED_GDEAD == GDEAD);
    assert!(GOSCHED_GCOPYSTACK == GCOPYSTACK);
    assert!(GOSCHED_GPREEMPTED == GPREEMPTED);
    assert!(GOSCHED_GSCAN == GSCAN);
};

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_readgstatus_impl(gp: *mut G) -> u32 {
    // SAFETY: a goroutine's address.
    readgstatus(unsafe { need_g("gosched_readgstatus", gp) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_casgstatus_impl(gp: *mut G, oldval: u32, newval: u32) {
    // SAFETY: a goroutine's address, whose state is the caller's to change.
    casgstatus(unsafe { need_g("gosched_casgstatus", gp) }, oldval, newval)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_cas_g_to_waiting_impl(gp: *mut G, oldval: u32, reason: u32) {
    let reason = wait_reason("gosched_cas_g_to_waiting", reason);
    // SAFETY: a goroutine's address, whose state is the caller's to change.
    cas_g_to_waiting(unsafe { need_g("gosched_cas_g_to_waiting", gp) }, oldval, reason)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_casgcopystack_impl(gp: *mut G) -> u32 {
    // SAFETY: a goroutine's address, whose state is the caller's to change.
    casgcopystack(unsafe { need_g("gosched_casgcopystack", gp) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_castogscanstatus_impl(gp: *mut G, oldval: u32, newval: u32) -> bool {
    // SAFETY: a goroutine's address; the caller clears the bit.
    castogscanstatus(unsafe { need_g("gosched_castogscanstatus", gp) }, oldval, newval)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_casfrom_gscanstatus_impl(gp: *mut G, oldval: u32, newval: u32) {
    // SAFETY: a goroutine's address, whose scan bit the caller has set.
    casfrom_gscanstatus(unsafe { need_g("gosched_casfrom_gscanstatus", gp) }, oldval, newval)
}

/// What is called with each goroutine.
type WithG = unsafe extern "C" fn(*mut G, *mut c_void);

/// What is called with each P.
type WithP = unsafe extern "C" fn(*mut P, *mut c_void);

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_systemstack_scannable_impl(
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    arg: *mut c_void,
) {
    let Some(f) = f else { null("gosched_systemstack_scannable", "fn") };
    // SAFETY: the program passed `f` to be called with `arg`; it doesn't unwind, park or exit.
    systemstack_scannable(|| unsafe { f(arg) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_for_each_g_impl(f: Option<WithG>, arg: *mut c_void) {
    let Some(f) = f else { null("gosched_for_each_g", "fn") };
    // SAFETY: the program passed `f` to be called so, on g0 and with the lock held.
    systemstack(|| for_each_g(|gp| unsafe { f(gp.as_ptr(), arg) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_for_each_g_race_impl(f: Option<WithG>, arg: *mut c_void) {
    let Some(f) = f else { null("gosched_for_each_g_race", "fn") };
    // SAFETY: the program passed `f` to be called so, where it has called this.
    for_each_g_race(|gp| unsafe { f(gp.as_ptr(), arg) })
}

/// The call of `gosched_for_each_p` that there is: one at a time. Rust's function is passed no
/// argument, and is no function of C's.
struct ForEachP {
    sema: AtomicU32,
    f: AtomicPtr<c_void>,
    arg: AtomicPtr<c_void>,
}

static FOR_EACH_P: ForEachP = ForEachP {
    sema: AtomicU32::new(1),
    f: AtomicPtr::new(ptr::null_mut()),
    arg: AtomicPtr::new(ptr::null_mut()),
};

/// Calls what `gosched_for_each_p` was passed.
fn with_p(pp: *mut P) {
    // The runtime hands each P over with what was stored before.
    let f = FOR_EACH_P.f.load(Ordering::Relaxed);
    // SAFETY: gosched_for_each_p stored a WithP here, and hasn't returned.
    let f = unsafe { mem::transmute::<*mut c_void, WithP>(f) };
    // SAFETY: the program passed it to be called so.
    unsafe { f(pp, FOR_EACH_P.arg.load(Ordering::Relaxed)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_for_each_p_impl(reason: u32, f: Option<WithP>, arg: *mut c_void) {
    need_goroutine("gosched_for_each_p", "wait for all P's");
    let reason = wait_reason("gosched_for_each_p", reason);
    let Some(f) = f else { null("gosched_for_each_p", "fn") };
    if has_stopped_the_world() {
        misuse(format_args!("gosched_for_each_p in a stopped world: gosched_start_the_world comes first"))
    }
    semacquire(&FOR_EACH_P.sema);
    FOR_EACH_P.f.store(f as *mut c_void, Ordering::Relaxed);
    FOR_EACH_P.arg.store(arg, Ordering::Relaxed);
    for_each_p(reason, with_p);
    semrelease(&FOR_EACH_P.sema);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_p_id_impl(pp: *mut P) -> i32 {
    // SAFETY: a P, which is never freed.
    unsafe { need("gosched_p_id", "p", pp) }.id.get()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_p_slot_impl(pp: *mut P) -> *mut *mut c_void {
    if pp.is_null() {
        null("gosched_p_slot", "p")
    }
    // SAFETY: a P, which is never freed; the field is a cell of a pointer.
    unsafe { pp.byte_add(offset_of!(P, mcache)).cast() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_m_p_impl(mp: *mut M) -> *mut P {
    // SAFETY: an M, which is never freed.
    let mp = unsafe { need("gosched_m_p", "m", mp) };
    mp.p.peek().map_or(ptr::null_mut(), |pp| ptr::from_ref(pp).cast_mut())
}

#[unsafe(no_mangle)]
extern "C" fn gosched_preemptall_impl() -> bool {
    started() && systemstack(preemptall)
}

/// The reasons in C have the runtime's numbers, which are Go's.
const _: () = {
    assert!(StwReason::Unknown as u32 == runtime::StwReason::Unknown as u32);
    assert!(StwReason::GcMarkTerm as u32 == runtime::StwReason::GcMarkTerm as u32);
    assert!(StwReason::GcSweepTerm as u32 == runtime::StwReason::GcSweepTerm as u32);
    assert!(StwReason::WriteHeapDump as u32 == runtime::StwReason::WriteHeapDump as u32);
    assert!(StwReason::GoroutineProfile as u32 == runtime::StwReason::GoroutineProfile as u32);
    assert!(StwReason::GoroutineProfileCleanup as u32 == runtime::StwReason::GoroutineProfileCleanup as u32);
    assert!(StwReason::AllGoroutinesStack as u32 == runtime::StwReason::AllGoroutinesStack as u32);
    assert!(StwReason::ReadMemStats as u32 == runtime::StwReason::ReadMemStats as u32);
    assert!(StwReason::AllThreadsSyscall as u32 == runtime::StwReason::AllThreadsSyscall as u32);
    assert!(StwReason::Gomaxprocs as u32 == runtime::StwReason::GoMaxProcs as u32);
    assert!(StwReason::StartTrace as u32 == runtime::StwReason::StartTrace as u32);
    assert!(StwReason::StopTrace as u32 == runtime::StwReason::StopTrace as u32);
    assert!(runtime::StwReason::ALL.len() == 12);
};

/// A stopped world as C knows it: its reason is a number, as C may change it to any.
#[repr(C)]
struct Stop {
    reason: u32,
    started_stopping: i64,
}

const _: () = {
    assert!(size_of::<WorldStop>() == size_of::<Stop>());
    assert!(offset_of!(WorldStop, started_stopping) == offset_of!(Stop, started_stopping));
};

/// The reason with this number. Another number ends the process.
fn stw_reason(function: &str, reason: u32) -> runtime::StwReason {
    match runtime::StwReason::ALL.get(reason as usize) {
        Some(&known) => known,
        None => no_reason(function, reason),
    }
}

/// Whether this goroutine has stopped the world, or something else forbids to preempt it.
fn has_stopped_the_world() -> bool {
    this_m().is_some_and(|mp| !mp.preemptoff.get().is_null())
}

#[unsafe(no_mangle)]
extern "C" fn gosched_stop_the_world_impl(reason: u32) -> Stop {
    need_goroutine("gosched_stop_the_world", "stop the world");
    let stop = stop_the_world(stw_reason("gosched_stop_the_world", reason));
    Stop { reason, started_stopping: stop.started_stopping }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_start_the_world_impl(stop: Stop) {
    need_goroutine("gosched_start_the_world", "have stopped the world");
    if !has_stopped_the_world() {
        misuse(format_args!(
            "gosched_start_the_world: this goroutine hasn't stopped the world; gosched_stop_the_world does"
        ))
    }
    let reason = stw_reason("gosched_start_the_world", stop.reason);
    start_the_world(runtime::WorldStop { reason, started_stopping: stop.started_stopping })
}

#[unsafe(no_mangle)]
extern "C" fn gosched_set_detach_impl(on: bool) {
    set_detach(on)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_sched_enable_user_impl(enable: bool) {
    systemstack(|| sched_enable_user(enable))
}

#[unsafe(no_mangle)]
extern "C" fn gosched_become_system_goroutine_impl() {
    need_goroutine("gosched_become_system_goroutine", "be one of the program's own");
    become_system_goroutine()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_suspend_g_impl(gp: *mut G, state: *mut SuspendState) {
    if state.is_null() {
        null("gosched_suspend_g", "state")
    }
    // SAFETY: a goroutine's address.
    let gp = unsafe { need_g("gosched_suspend_g", gp) };
    if curg().is_some_and(|curg| readgstatus(curg) == GRUNNING) {
        misuse(format_args!(
            "gosched_suspend_g on a goroutine that runs: two that suspend each other would wait forever; call it \
             in gosched_systemstack_scannable, after gosched_cas_g_to_waiting"
        ))
    }
    let SuspendGState { g, dead, stopped } = suspend_g(gp);
    // SAFETY: a place for a state.
    unsafe { state.write(SuspendState { g: g.cast(), dead, stopped }) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_resume_g_impl(state: *const SuspendState) {
    // SAFETY: what gosched_suspend_g has stored.
    let &SuspendState { g, dead, stopped } = unsafe { need("gosched_resume_g", "state", state) };
    resume_g(SuspendGState { g: g.cast(), dead, stopped });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_scan_stack_impl(
    gp: *mut G,
    f: Option<unsafe extern "C" fn(usize, usize, *mut c_void)>,
    arg: *mut c_void,
) {
    let Some(f) = f else { null("gosched_scan_stack", "fn") };
    // SAFETY: a goroutine's address.
    let gp = unsafe { need_g("gosched_scan_stack", gp) };
    // SAFETY: the program passed `f` to be called so, where it has called this.
    scan_stack(gp, |range| unsafe { f(range.start, range.end, arg) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_shrinkstack_impl(gp: *mut G) {
    // SAFETY: a goroutine's address.
    let gp = unsafe { need_g("gosched_shrinkstack", gp) };
    if getg().is_some_and(|running| ptr::eq(running, gp)) {
        misuse(format_args!(
            "gosched_shrinkstack of the running goroutine's stack: gosched_shrink_stack shrinks that"
        ))
    }
    systemstack(|| shrinkstack(gp))
}
