//! All goroutines and all P's for C: the functions that the stubs of `asm/*/entry.S` jump to. Each
//! `unsafe` block relies on what the function of the same name in `header/` asks of its caller.

use std::ffi::c_void;
use std::mem::{self, offset_of};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::capi;
use crate::capi::caller::{need, need_g, need_goroutine, no_reason, null, wait_reason};
use crate::runtime::runtime2::{G, GRUNNING, M, P};
use crate::runtime::{
    StwReason, SuspendGState, WorldStop, become_system_goroutine, curg, for_each_g, for_each_g_race,
    for_each_p, getg, misuse, preemptall, readgstatus, resume_g, scan_stack, sched_enable_user, semacquire,
    semrelease, set_detach, shrinkstack, start_the_world, started, stop_the_world, suspend_g, systemstack,
    systemstack_scannable, this_m,
};

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
    use capi::StwReason as C;
    assert!(C::Unknown as u32 == StwReason::Unknown as u32);
    assert!(C::GcMarkTerm as u32 == StwReason::GcMarkTerm as u32);
    assert!(C::GcSweepTerm as u32 == StwReason::GcSweepTerm as u32);
    assert!(C::WriteHeapDump as u32 == StwReason::WriteHeapDump as u32);
    assert!(C::GoroutineProfile as u32 == StwReason::GoroutineProfile as u32);
    assert!(C::GoroutineProfileCleanup as u32 == StwReason::GoroutineProfileCleanup as u32);
    assert!(C::AllGoroutinesStack as u32 == StwReason::AllGoroutinesStack as u32);
    assert!(C::ReadMemStats as u32 == StwReason::ReadMemStats as u32);
    assert!(C::AllThreadsSyscall as u32 == StwReason::AllThreadsSyscall as u32);
    assert!(C::Gomaxprocs as u32 == StwReason::GoMaxProcs as u32);
    assert!(C::StartTrace as u32 == StwReason::StartTrace as u32);
    assert!(C::StopTrace as u32 == StwReason::StopTrace as u32);
    assert!(StwReason::ALL.len() == 12);
};

/// A stopped world as C knows it: its reason is a number, as C may change it to any.
#[repr(C)]
struct Stop {
    reason: u32,
    started_stopping: i64,
}

const _: () = {
    use capi::WorldStop as C;
    assert!(size_of::<C>() == size_of::<Stop>());
    assert!(offset_of!(C, started_stopping) == offset_of!(Stop, started_stopping));
};

/// The reason with this number. Another number ends the process.
fn stw_reason(function: &str, reason: u32) -> StwReason {
    match StwReason::ALL.get(reason as usize) {
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
    start_the_world(WorldStop { reason, started_stopping: stop.started_stopping })
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
unsafe extern "C" fn gosched_suspend_g_impl(gp: *mut G, state: *mut capi::SuspendState) {
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
    unsafe { state.write(capi::SuspendState { g: g.cast(), dead, stopped }) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_resume_g_impl(state: *const capi::SuspendState) {
    // SAFETY: what gosched_suspend_g has stored.
    let &capi::SuspendState { g, dead, stopped } = unsafe { need("gosched_resume_g", "state", state) };
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
