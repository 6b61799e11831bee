//! A thread gets an M, and gives it up: Go's `mstart0`, `mstart1`, `minit` and `mexit` for our own
//! threads, and `needm` and `dropm` for others. Also the fatal errors on a thread's own stacks,
//! which assembly and signal handlers detect: Go's `badmcall` and similar functions.
//!
//! A thread that isn't ours needs no M to make goroutines and ready them. To park, it needs a G
//! that others can ready, and an M to sleep on.
//!
//! So [`must_wait`] makes the thread a goroutine for that time. The thread borrows an extra M (Go's
//! `needm`), with a G that is locked to the M, and gives it back (`dropm`). In between the thread
//! is a goroutine like any other that is locked to its thread. At first it is in a system call,
//! like a goroutine that has called C code:
//!
//! ```text
//!     needm   exitsyscall   (runs, parks, ...)   entersyscallblock   dropm
//! ```
//!
//! The goroutine runs on the thread's own stack, and g0's stack is a segment that comes with the M.
//! (Go has it the other way round, and calls back on a goroutine's stack.) The thread's signal
//! stack and mask stay as they are.
//!
//! No code of the program's is called meanwhile, neither a closure nor a destructor. Such code
//! could keep something of the goroutine's after the goroutine is gone, for example a lock of its
//! thread.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use crate::runtime::arch::{getg, sanitizer, setg, thread_pointer, tsan};
use crate::runtime::base::fatal::{exit, throw};
use crate::runtime::base::os::{G0_STACK, gettid, stack_from_here, thread_stack};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::real::count_thread;
use crate::runtime::base::this::{getm, on_goroutine, started};
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::link::{Link, SharedLink};
use crate::runtime::data::runtime2::{G, GDEAD, GSYSCALL, M, Stack, sched};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::extent::end_with_run;
use crate::runtime::g::gfree::gfput;
use crate::runtime::g::status::casgstatus;
use crate::runtime::g::values::has_values_of_thread;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::checkdead;
use crate::runtime::m::sigstack::{minit_signals, sigblock, unminit_signals};
use crate::runtime::m::startm::take_nextp;
use crate::runtime::m::thread::{
    EXTRAM_LENGTH, FREE_M_REF, FREE_M_WAIT, allocm, extram_length, m_reserve_id, m_unreserve_id,
    start_template_thread,
};
use crate::runtime::mem::morestack_check::{forget_stack_limit, remember_stack_limit};
use crate::runtime::mem::segment::{stackalloc, stackfree};
use crate::runtime::mem::sizes::STACK_GUARD;
use crate::runtime::p::owner::releasep;
use crate::runtime::prof::profiler_hooks::{thread_begins, thread_ends};
use crate::runtime::sched::detach::leave_m;
use crate::runtime::sched::entersyscall::{entersyscallblock, exitsyscall, handoffp};
use crate::runtime::sched::newproc::malg;
use crate::runtime::sched::schedule::schedule;

/// Whether the system allocates the stacks of threads. It does: pthreads are used. Go's
/// `mStackIsSystemAllocated`.
fn m_stack_is_system_allocated() -> bool {
    true
}

/// Begins an M's thread. `mstart`, in assembly, calls this first. Go's `mstart0`.
#[unsafe(no_mangle)]
extern "C" fn gosched_mstart0() -> ! {
    // Counted before anything that might take a lock.
    sched().ext.turns.starting.fetch_sub(1, Ordering::Relaxed);
    let mp = getm();
    let g0 = &mp.ext.g0;
    if m_stack_is_system_allocated() {
        g0.stack.set(thread_stack().unwrap_or_else(|_| stack_from_here()));
    }
    g0.stackguard0.store(g0.stack.get().lo + STACK_GUARD, Ordering::Relaxed);
    g0.stackguard1.set(g0.stack.get().lo + STACK_GUARD);
    mstart1(mp)
}

/// Prepares the thread and enters the scheduler. Go's `mstart1`.
fn mstart1(mp: &'static M) -> ! {
    minit(mp);
    trace(|| Event::ThreadStart(mp));
    if let Some(f) = mp.mstartfn.get() {
        f();
    }
    if mp.p.is_null() {
        take_nextp(mp);
    }
    // SAFETY: on g0 of `mp`, a new M without a goroutine, which has just got a P.
    unsafe { schedule(mp) }
}

/// Sets up this thread. Go's `minit`.
fn minit(mp: &M) {
    mp.ext.tp.set(thread_pointer());
    mp.ext.next_tp.set(thread_pointer());
    remember_stack_limit(mp);
    mp.has_thread(gettid());
    // Last: from here on signals come. Others that look for the thread have to find it before it
    // has chosen what it blocks.
    minit_signals(mp);
    thread_begins(mp);
}

/// Undoes [`minit`]. Go's `unminit`.
fn unminit(mp: &M) {
    forget_stack_limit(mp);
    mp.has_no_thread();
    thread_ends(mp);
    unminit_signals();
}

/// Ends this thread, whose goroutine has ended while it was locked to the thread. Assembly calls
/// this at the base of g0's stack, and then returns to the code that started the thread. Go's
/// `mexit`.
///
/// Destructors of thread-locals run after that. To them, the thread is a foreign thread.
#[unsafe(no_mangle)]
extern "C" fn gosched_mexit() {
    let mp = getm();
    sigblock();
    unminit(mp);
    sanitizer::thread_ends(mp);
    lock(&sched().lock);
    mp.free_wait.store(FREE_M_WAIT, Ordering::Relaxed);
    mp.freelink.set(sched().freem.get());
    sched().freem.set(Some(mp));
    unlock(&sched().lock);
    if !mp.p.is_null() || leave_m(mp) {
        handoffp(releasep(mp));
    }
    trace(|| Event::ThreadDestroy(mp));
    // Only now: a thread that is made for the P mustn't inherit this thread's state, and newm asks
    // the template thread for it while this says that the thread was locked.
    mp.locked_ext.set(0);
    // Counted only now, when an M may have been started for the P. Otherwise checkdead might find
    // that no M runs.
    lock(&sched().lock);
    sched().nmfreed.set(sched().nmfreed.get() + 1);
    checkdead();
    unlock(&sched().lock);
    // newosproc has taken the thread off glibc's count, and its end does so again.
    count_thread();
    // SAFETY: the thread isn't ours any more, and g0 is left: assembly pops its last frame.
    unsafe { setg(None) };
    // Release pairs with reuse_m, which gives the M to another thread.
    mp.free_wait.store(FREE_M_REF, Ordering::Release);
}

/// Lets the caller wait while the result lives: [`must_run`]. If the run that the caller is in is
/// over, unwinds to it.
///
/// # Panics
/// As [`must_run`].
#[inline(always)]
#[track_caller]
pub(crate) fn must_wait(what: &str) -> Option<Guest> {
    end_with_run();
    must_run(what)
}

/// Lets the caller park while the result lives. Makes a thread that isn't the runtime's a
/// goroutine. A goroutine needs nothing, and gets none.
///
/// # Panics
/// Inside [`blocking`](crate::blocking), on g0, before the first [`run`](crate::run), and if there
/// is no memory to make the thread a goroutine. `what` is the operation that the message names.
#[inline(always)]
#[track_caller]
pub(crate) fn must_run(what: &str) -> Option<Guest> {
    if on_goroutine() { None } else { Some(become_goroutine(what)) }
}

/// [`must_wait`] for C, which has no panics. Returns none on a goroutine, and where nothing can
/// wait.
#[cold]
#[inline(never)]
pub(crate) fn guest() -> Option<Guest> {
    if getg().is_none() && started() { Guest::new().ok() } else { None }
}

/// Returns where the caller is, if it is on a thread of the runtime's but can't park: inside
/// [`blocking`](crate::blocking), or on g0.
pub(crate) fn where_nothing_parks() -> Option<&'static str> {
    let gp = getg().filter(|_| !on_goroutine())?;
    Some(if gp.syscallsp.get() != 0 { "gosched::blocking" } else { "gosched::proc::systemstack" })
}

#[cold]
#[inline(never)]
#[track_caller]
fn become_goroutine(what: &str) -> Guest {
    if let Some(place) = where_nothing_parks() {
        panic!("gosched: {what} would have to wait, which nothing can inside {place}: do it outside");
    }
    assert!(
        started(),
        "gosched: {what} would have to wait, and nobody could end that before the first gosched::run: \
         use it inside, or afterwards"
    );
    Guest::new().unwrap_or_else(|error| {
        panic!("gosched: {what} would have to wait, and this thread can't be made a goroutine: {error}")
    })
}

/// While this lives, the thread that made it is a goroutine, and can park.
pub(crate) struct Guest {
    /// A guest belongs to its thread.
    not_send: PhantomData<*const ()>,
}

impl Guest {
    /// Makes this thread, which isn't ours, a goroutine. Waits until it gets a P.
    #[inline(never)]
    fn new() -> io::Result<Guest> {
        if getg().is_some() {
            throw("needm: on a thread that has an m");
        }
        needm()?;
        // SAFETY: needm has put this G into a system call, as entersyscall would. Thread-locals
        // stay right, as the goroutine is locked to this thread.
        unsafe { exitsyscall() };
        Ok(Guest { not_send: PhantomData })
    }
}

impl Drop for Guest {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: on the goroutine that `new` has made of this thread, which holds no runtime lock.
        // No exitsyscall follows, as dropm ends the goroutine in the system call, nor does anything
        // park.
        unsafe { entersyscallblock() };
        dropm();
    }
}

/// The extra M's that no thread has, linked by `schedlink`. Protected by `sched.lock`. Go's
/// `extraM`.
static EXTRAM: SharedLink<M> = SharedLink(Link::null());

/// Locks the list, and returns its head. Go's `lockextra`.
fn lockextra() -> Option<&'static M> {
    lock(&sched().lock);
    EXTRAM.0.get()
}

/// Makes `mp` the head of the list, which is longer by `delta` now, and unlocks the list. The
/// search for a deadlock doesn't count the M's on the list. Go's `unlockextra`.
fn unlockextra(mp: Option<&'static M>, delta: i32) {
    EXTRAM.0.set(mp);
    EXTRAM_LENGTH.store(extram_length() + delta, Ordering::Relaxed);
    sched().nmsys.set(sched().nmsys.get() + delta);
    unlock(&sched().lock);
}

/// Takes an M from the list; makes one if there is none. Go's `getExtraM`.
fn get_extra_m() -> io::Result<&'static M> {
    loop {
        let head = lockextra();
        unlockextra(head.and_then(|mp| mp.schedlink.get()), if head.is_some() { -1 } else { 0 });
        match head {
            Some(mp) => return Ok(mp),
            None => newextram()?,
        }
    }
}

/// Puts an M on the list. Go's `addExtraM`.
fn add_extra_m(mp: &'static M) {
    mp.schedlink.set(lockextra());
    unlockextra(Some(mp), 1);
}

/// Adds a new M to the list. Go's `newextram`.
fn newextram() -> io::Result<()> {
    start_template_thread();
    lock(&sched().lock);
    let id = m_reserve_id();
    unlock(&sched().lock);
    one_new_extra_m(id).inspect_err(|_| m_unreserve_id())
}

/// Makes an M with its goroutine, and puts it on the list. Go's `oneNewExtraM`.
fn one_new_extra_m(id: i64) -> io::Result<()> {
    let gp = malg(None, StackKind::Fixed(0))?;
    let g0_stack = stackalloc(G0_STACK).inspect_err(|_| {
        gfput(None, gp);
    })?;
    let mp = allocm(None, id).inspect_err(|_| {
        stackfree(g0_stack);
        gfput(None, gp);
    })?;
    let g0 = &mp.ext.g0;
    g0.stack.set(g0_stack);
    g0.stackguard0.store(g0_stack.lo + STACK_GUARD, Ordering::Relaxed);
    g0.stackguard1.set(g0_stack.lo + STACK_GUARD);
    // Two words are left free, so that the stack is aligned as it is after mstart.
    g0.sched.sp.set(g0_stack.hi - 2 * size_of::<usize>());
    g0.sched.g.set(Some(g0));
    gp.m.set(Some(mp));
    mp.curg.set(Some(gp));
    mp.isextra.set(true);
    mp.locked_int.set(1);
    mp.lockedg.set(Some(gp));
    gp.lockedm.set(Some(mp));
    gp.sched.g.set(Some(gp));
    gp.goid.set(sched().goidgen.fetch_add(1, Ordering::Relaxed) + 1);
    // The G counts as a goroutine only while a thread has it.
    sched().ngsys.fetch_add(1, Ordering::Relaxed);
    add_extra_m(mp);
    Ok(())
}

/// Returns the bounds of this thread's stack. They are kept, because they don't change and take a
/// while to find out.
#[inline(never)]
fn this_stack() -> io::Result<Stack> {
    thread_local! {
        static STACK: Cell<Option<Stack>> = const { Cell::new(None) };
    }
    if let Some(stack) = STACK.get() {
        return Ok(stack);
    }
    let stack = thread_stack()?;
    STACK.set(Some(stack));
    Ok(stack)
}

/// Gives this thread, which isn't ours, an extra M, with its goroutine in a system call. Go's
/// `needm`.
fn needm() -> io::Result<()> {
    let stack = this_stack()?;
    let mp = get_extra_m()?;
    let Some(gp) = mp.curg.get() else { throw("needm: no g") };
    tsan::guest_begins(gp, mp);
    has_values_of_thread(gp);
    gp.stack.set(stack);
    gp.stackguard0.store(stack.lo + STACK_GUARD, Ordering::Relaxed);
    gp.stktopsp.set(stack.hi);
    gp.syscallsp.set(stack.hi);
    // A traceback is to find no frame.
    gp.syscallpc.set(0);
    mp.has_thread(gettid());
    remember_stack_limit(mp);
    casgstatus(gp, GDEAD, GSYSCALL);
    sched().ngsys.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: the thread runs on its own stack, which is the G's stack now.
    unsafe { setg(Some(gp)) };
    trace(|| Event::GoCreateSyscall(gp));
    Ok(())
}

/// Takes the M from this thread. Go's `dropm`.
fn dropm() {
    let mp = getm();
    let Some(gp) = mp.curg.get() else { throw("dropm: no g") };
    casgstatus(gp, GSYSCALL, GDEAD);
    trace(|| Event::GoDestroySyscall(gp));
    gp.preempt_stop.store(false, Ordering::Relaxed);
    sched().ngsys.fetch_add(1, Ordering::Relaxed);
    forget_stack_limit(mp);
    // SAFETY: the thread isn't on a G's stack any more, but on its own, as a foreign thread. The
    // code below knows its M.
    unsafe { setg(None) };
    mp.has_no_thread();
    add_extra_m(mp);
}

/// Throws because mcall was called on g0, where there is no goroutine to leave. Go's `badmcall`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmcall() -> ! {
    throw("runtime: mcall called on m->g0 stack")
}

/// Throws because morestack was called on g0, whose stack can't grow. Go's `badmorestackg0`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmorestackg0() -> ! {
    let Some(g0) = getg() else { throw("morestack on g0") };
    badmorestackg0(g0, g0.stack.get().lo)
}

/// Ends the process because morestack was called in a signal handler. Go's `badmorestackgsignal`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmorestackgsignal() -> ! {
    badmorestackgsignal()
}

/// Throws because the function of an mcall returned, with nowhere to return to. Go's `badmcall2`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badmcall2() -> ! {
    throw("runtime: mcall function returned")
}

/// Ends the process because systemstack was called on a stack that belongs to no goroutine, g0 or
/// signal handler. On an unknown stack only a line and an exit are safe. Go's `badsystemstack`.
#[unsafe(no_mangle)]
extern "C" fn gosched_badsystemstack() -> ! {
    eprintln!("fatal: systemstack called from unexpected goroutine");
    exit(2)
}

/// Ends the process because g0's stack has overflowed at `addr`. A signal handler may call this.
/// Go's `badmorestackg0`.
pub(in crate::runtime) fn badmorestackg0(g0: &G, addr: usize) -> ! {
    let stack = g0.stack.get();
    eprintln!("runtime: stack overflow on g0, stack [{:#x}, {:#x}], at {addr:#x}", stack.lo, stack.hi);
    throw("morestack on g0")
}

/// Ends the process because a signal handler has overflowed the signal stack. The handler of that
/// fault may call this. Go's `badmorestackgsignal`.
pub(in crate::runtime) fn badmorestackgsignal() -> ! {
    eprintln!("fatal: morestack on gsignal");
    exit(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::base::testing::dies;

    #[test]
    fn each_says_what_went_wrong() {
        assert!(dies(|| gosched_badmcall()).contains("fatal error: runtime: mcall called on m->g0 stack\n"));
        assert!(dies(|| gosched_badmcall2()).contains("fatal error: runtime: mcall function returned\n"));
        let message = dies(|| gosched_badsystemstack());
        assert_eq!(message, "fatal: systemstack called from unexpected goroutine\n");
        assert_eq!(dies(|| badmorestackgsignal()), "fatal: morestack on gsignal\n");
    }
}
