//! The part of the C interface for all goroutines and all P's at once, which a garbage collector
//! needs.

use std::ffi::c_void;

use crate::capi::{Address, Goroutine, WaitReason};

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
    /// function. `docs/preemption.md` tells more.
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
    /// `docs/preemption.md` has a list.
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
