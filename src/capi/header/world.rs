//! What C programs see of all goroutines and all P's at once: what a collector needs.

use std::ffi::c_void;

use crate::capi::{Address, Goroutine, WaitReason};

/// A processor: Go's `p`. A thread runs goroutines while it has one. Its address is good forever.
pub struct Processor {
    _opaque: (),
}

/// A thread that runs goroutines: Go's `m`. Its address is good forever; it becomes another thread's when its own
/// has ended.
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

/// What `gosched_suspend_g` has done to a goroutine: Go's `suspendGState`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SuspendState {
    /// The goroutine that is suspended; NULL if it is dead.
    pub g: *mut Goroutine,
    /// It had ended. Its address may be another goroutine's by now.
    pub dead: bool,
    /// It was running, and `gosched_resume_g` makes it ready.
    pub stopped: bool,
}

// C has only addresses of the opaque types.
#[allow(improper_ctypes)]
unsafe extern "C" {
    /// `gosched_systemstack` for a goroutine that makes itself waiting there (`gosched_cas_g_to_waiting`), so that its
    /// stack can be scanned, by `fn` itself too: what its caller keeps in registers is saved on that stack first. Go's
    /// `systemstack`, in `asm_amd64.s`, whose callers keep nothing there.
    ///
    /// # Safety
    /// As `gosched_systemstack`.
    pub fn gosched_systemstack_scannable(
        r#fn: Option<unsafe extern "C" fn(arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// Calls `fn(g, arg)` for every goroutine, while none can be added. Those that have ended are among them, as
    /// `GOSCHED_GDEAD`: they will be used again. Go's `forEachG`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `fn` is called on the scheduler's stack with a lock held: it makes no goroutine,
    /// suspends none, and doesn't park or unwind.
    pub fn gosched_for_each_g(
        r#fn: Option<unsafe extern "C" fn(g: *mut Goroutine, arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// `gosched_for_each_g` without the lock: `fn` may suspend goroutines, and make some; those that are made
    /// meanwhile may be left out. The memory of a dead one may go back to the system meanwhile: then it is
    /// `GOSCHED_GIDLE`. In a stopped world, no goroutine can add one. Go's `forEachGRace`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere, and calls `fn` there. On a copying stack `fn` has to keep the rules for those.
    pub fn gosched_for_each_g_race(
        r#fn: Option<unsafe extern "C" fn(g: *mut Goroutine, arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// Calls `fn(p, arg)` for every P, each where it could be stopped: on the thread that has it, or here, if none
    /// has. When this returns, every P has passed such a point. It waits as `gosched_stop_the_world` does; `reason`
    /// is what reports show meanwhile. Go's `forEachP`, in `proc.go`.
    ///
    /// # Safety
    /// On a goroutine, which hasn't stopped the world. `fn` is called on the scheduler's stack, and must not park,
    /// unwind, or look at the caller's stack, which `arg` is no address of.
    pub fn gosched_for_each_p(
        reason: WaitReason,
        r#fn: Option<unsafe extern "C" fn(p: *mut Processor, arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// The number of `p`, from 0 on, less than GOMAXPROCS while it is in use. Go's `p.id`.
    ///
    /// # Safety
    /// `p` is a P: it can be called anywhere.
    pub fn gosched_p_id(p: *mut Processor) -> i32;

    /// The place of a word that `p` has for the program, NULL at first: for what an allocator keeps for each P. The
    /// library doesn't use it. It is whose the P is: of code that can't lose it (between `gosched_proc_pin` and
    /// `gosched_proc_unpin`), and of a function that was passed it (hooks, `gosched_for_each_p`). Go's `p.mcache`.
    ///
    /// # Safety
    /// `p` is a P: it can be called anywhere.
    pub fn gosched_p_slot(p: *mut Processor) -> *mut *mut c_void;

    /// The P of a thread, NULL if it has none now; another thread's is that of a moment ago. Go's `m.p`.
    ///
    /// # Safety
    /// `m` is an M: it can be called anywhere. Its own P a goroutine keeps only while it is pinned, or has acquired
    /// its M.
    pub fn gosched_m_p(m: *mut Machine) -> *mut Processor;

    /// Asks every goroutine that runs now to stop at its next safe point and let others run; says whether there is
    /// one, but for the caller. One that is just being switched may miss it: who needs it asks again. Go's
    /// `preemptall`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere. Before the runtime has started it says false.
    pub fn gosched_preemptall() -> bool;

    /// Stops every P but the caller's, each where its goroutine parks, yields, is preempted or is in a system call,
    /// and returns when all have stopped. What a collector begins with. Others that call this wait until the world
    /// has been started again. Go's `stopTheWorld`, in `proc.go`.
    ///
    /// A goroutine that is in a system call goes on there, and so does one that runs code where nobody can stop it,
    /// without a P: see `gosched_set_detach`.
    ///
    /// # Safety
    /// On a goroutine. It passes the result to `gosched_start_the_world`, and until then doesn't park: that ends the
    /// process, as does stopping the world again.
    pub fn gosched_stop_the_world(reason: StwReason) -> WorldStop;

    /// Lets all P's run again. Go's `startTheWorld`, in `proc.go`.
    ///
    /// # Safety
    /// On the goroutine that has stopped the world, once.
    pub fn gosched_start_the_world(stop: WorldStop);

    /// Says whether goroutines that keep a P from others, in code where nobody can stop them, go on without one; at
    /// first they do. A program that relies on a stopped world alone, as a collector does that doesn't suspend every
    /// goroutine, switches it off before its goroutines run: one without a P goes on in a stopped world, too. Hooks
    /// that need a P switch it off by themselves. `GODEBUG=detach=1` or `0` prevails. `docs/preemption.md` tells
    /// more.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_set_detach(on: bool);

    /// Lets goroutines run, or none but those that have called `gosched_become_system_goroutine`. Those that run go on
    /// until they park: so stop the world, disable, and start it. Go's `schedEnableUser`, in `proc.go`.
    ///
    /// # Safety
    /// Where the runtime has started. Something that still runs enables them again.
    pub fn gosched_sched_enable_user(enable: bool);

    /// Makes the running goroutine one of the program's own runtime, until it ends: it isn't counted, and
    /// `gosched_sched_enable_user` doesn't stop it. Go knows such goroutines by their function: `isSystemGoroutine`,
    /// in `traceback.go`.
    ///
    /// # Safety
    /// On a goroutine.
    pub fn gosched_become_system_goroutine();

    /// Stops `g` at a safe point, keeps it there until `gosched_resume_g`, and stores at `state` what it has done.
    /// Meanwhile its stack and its registers can be read: see `gosched_scan_stack`. Waits, without parking, until the
    /// goroutine has come to a safe point; one that has ended it leaves alone. Go's `suspendG`, in `preempt.go`.
    ///
    /// # Safety
    /// The caller's goroutine doesn't run, because two that suspend each other would wait forever: this is called on
    /// the scheduler's stack (`gosched_systemstack_scannable`) after `gosched_cas_g_to_waiting`, or on a thread that
    /// isn't the runtime's. Otherwise it ends the process. Who has what the goroutine may need to get to a safe
    /// point, a lock for example, waits forever. The states of several may be kept at once.
    pub fn gosched_suspend_g(g: *mut Goroutine, state: *mut SuspendState);

    /// Lets a goroutine go on that was suspended. Go's `resumeG`, in `preempt.go`.
    ///
    /// # Safety
    /// `state` is what `gosched_suspend_g` has stored, as it was, and is used once.
    pub fn gosched_resume_g(state: *const SuspendState);

    /// Calls `fn(lo, hi, arg)` for each range of addresses in which `g` may keep a pointer, for a collector that
    /// doesn't know its frames: the used part of its stack, with its general registers, wherever it was stopped; its
    /// vector registers, if it was preempted; what it waits for and is woken with; the argument of a goroutine that
    /// hasn't begun. Each range begins at a multiple of 8, and so do pointers in it. Go's `scanstack`, in
    /// `mgcmark.go`, does more.
    ///
    /// What isn't named is for the caller to find: globals, what is in a channel's buffer, the arguments of timers,
    /// C code on the scheduler's stack, threads that aren't the runtime's. `docs/preemption.md` has a list.
    ///
    /// # Safety
    /// The goroutine is suspended, or its state has `GOSCHED_GSCAN` for another reason. In a stopped world it may
    /// also be one that is parked, in a queue, or dead. `fn` is called where this is. A sender may write to the stack
    /// of one that waits for a value.
    pub fn gosched_scan_stack(
        g: *mut Goroutine,
        r#fn: Option<unsafe extern "C" fn(lo: Address, hi: Address, arg: *mut c_void)>,
        arg: *mut c_void,
    );

    /// Halves the copying stack of `g` if it uses less than a quarter of it. Does nothing if it uses more, if the
    /// stack is fixed, or if this is no time to move it. (`gosched_shrink_stack` does it for the caller's.) Go's
    /// `shrinkstack`, in `stack.go`.
    ///
    /// # Safety
    /// `g` isn't running and can't begin to: its state has `GOSCHED_GSCAN`, as that of a suspended one has.
    pub fn gosched_shrinkstack(g: *mut Goroutine);
}
