//! Threads: how an M is made, starts and ends. Go's `newm`, `allocm`, `mstart`, `mexit`.
//!
//! Every M but the extra ones is a pthread that the runtime made, m0 too: the thread that
//! called `run` waits for its main goroutine and is no M.

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::c_void;
use std::io;
use std::sync::atomic::Ordering;

use crate::arch::{getg, setg};
use crate::lock::{assert_lock_held, lock, unlock};
use crate::os::{gettid, newosproc};
use crate::panic::throw;
use crate::print::eprintln;
use crate::proc::boot::init_sigmask;
use crate::proc::checkdead::checkdead;
use crate::proc::p::{acquirep, releasep};
use crate::proc::schedule::schedule;
use crate::proc::startstop::handoffp;
use crate::proc::template::newm_by_template;
use crate::proc::trace::{Event, trace};
use crate::rand::mrandinit;
use crate::runtime2::{G, Link, M, P, Stack, sched};
use crate::signal_unix::{minit_signals, mpreinit, sigblock, unminit_signals};
use crate::stack::STACK_GUARD;
use crate::stack::limit::{forget_stack_limit, remember_stack_limit};

/// The list of all M's, linked through `alllink`. Go's `allm`.
pub(crate) static ALLM: Link<M> = Link::null();

/// This thread's M; none on a thread that isn't ours.
#[inline(always)]
pub(crate) fn this_m() -> Option<&'static M> {
    getg().and_then(|gp| gp.m.get())
}

/// This thread's M. Throws on a thread that isn't ours.
#[inline(always)]
pub(crate) fn getm() -> &'static M {
    match this_m() {
        Some(mp) => mp,
        None => throw("no m on this thread"),
    }
}

/// The P of this thread's M; none if the M has none, and on a thread that isn't ours.
#[inline(always)]
pub(crate) fn this_p() -> Option<&'static P> {
    this_m().and_then(|mp| mp.p.get())
}

/// Keeps the caller on its M, and the M on its P, until [`releasem`]; none on a thread
/// that isn't ours. Go's `acquirem`.
#[inline(always)]
pub(crate) fn acquirem() -> Option<&'static M> {
    let mp = this_m()?;
    mp.locks.set(mp.locks.get() + 1);
    Some(mp)
}

/// Undoes [`acquirem`]. Go's `releasem`.
#[inline(always)]
pub(crate) fn releasem(mp: Option<&'static M>) {
    if let Some(mp) = mp {
        mp.locks.set(mp.locks.get() - 1);
    }
}

/// How many M's there are. `sched.lock` is held. Go's `mcount`.
pub(crate) fn mcount() -> i32 {
    (sched().mnext.get() - sched().nmfreed.get()) as i32
}

/// Throws if there are too many M's. `sched.lock` is held. Go's `checkmcount`.
fn checkmcount() {
    assert_lock_held(&sched().lock);
    if mcount() > sched().maxmcount.get() {
        eprintln!("runtime: program exceeds {}-thread limit", sched().maxmcount.get());
        throw("thread exhaustion");
    }
}

/// Sets how many M's there may be, and returns the limit before. Go's
/// `setMaxThreads`.
pub(crate) fn set_max_threads(max: i32) -> i32 {
    lock(&sched().lock);
    let out = sched().maxmcount.replace(max);
    checkmcount();
    unlock(&sched().lock);
    out
}

/// The number of an M to be made, which counts as running from here on. `sched.lock` is
/// held. Go's `mReserveID`.
pub(crate) fn m_reserve_id() -> i64 {
    assert_lock_held(&sched().lock);
    let id = sched().mnext.get();
    sched().mnext.set(id + 1);
    checkmcount();
    id
}

/// Undoes the count of [`m_reserve_id`], for an M that couldn't be made.
pub(crate) fn m_unreserve_id() {
    lock(&sched().lock);
    sched().nmfreed.set(sched().nmfreed.get() + 1);
    unlock(&sched().lock);
}

/// Makes an M that runs `f`, which never returns, and no goroutines: it has no P, and once this returns it
/// doesn't count for deadlock. (In Go such an M counts itself out, when it runs.)
pub(crate) fn new_system_m(f: fn()) -> io::Result<()> {
    lock(&sched().lock);
    let id = m_reserve_id();
    unlock(&sched().lock);
    newm(Some(f), None, id)?;
    // Only when there is a thread: checkdead compares the number of M's with that of threads.
    lock(&sched().lock);
    sched().nmsys.set(sched().nmsys.get() + 1);
    checkdead();
    unlock(&sched().lock);
    Ok(())
}

/// Sets up what every M has. Go's `mcommoninit`.
fn mcommoninit(mp: &'static M, id: i64) {
    mp.id.set(id);
    mrandinit(mp);
    lock(&sched().lock);
    mp.alllink.set(ALLM.get());
    // Release pairs with readers that don't take the lock: they see the M set up.
    ALLM.store(Some(mp), Ordering::Release);
    unlock(&sched().lock);
}

/// An M without a thread, which will run `f` before the scheduler. Go's `allocm`.
pub(crate) fn allocm(f: Option<fn()>, id: i64) -> io::Result<&'static M> {
    let mp = match reuse_m() {
        Some(mp) => {
            mp.id.set(id);
            mp
        }
        None => {
            // SAFETY: the layout isn't empty, all zero is a valid M, and an M is never freed.
            let mp = unsafe { alloc_zeroed(Layout::new::<M>()).cast::<M>().as_ref::<'static>() };
            let mp = mp.ok_or(io::ErrorKind::OutOfMemory)?;
            mpreinit(mp)?;
            mcommoninit(mp, id);
            mp
        }
    };
    mp.mstartfn.set(f);
    mp.g0.set(Some(&mp.ext.g0));
    mp.ext.g0.m.set(Some(mp));
    Ok(mp)
}

/// An M whose thread has ended, or could not be made.
fn reuse_m() -> Option<&'static M> {
    lock(&sched().lock);
    let mut link = &sched().freem;
    let found = loop {
        let Some(mp) = link.get() else { break None };
        // Acquire pairs with mexit: the thread doesn't use the M any more.
        if mp.free_wait.load(Ordering::Acquire) != FREE_M_WAIT {
            link.set(mp.freelink.get());
            break Some(mp);
        }
        link = &mp.freelink;
    };
    unlock(&sched().lock);
    found
}

/// In `m.free_wait`: the M's thread is about to end, and still uses the M. Go's `freeMWait`.
const FREE_M_WAIT: u32 = 2;

/// In `m.free_wait`: the M can be used again. Go's `freeMRef`.
const FREE_M_REF: u32 = 1;

/// Makes an M that will run `f` and then the scheduler, with `pp`; without a P if `f` never returns.
/// Go's `newm`.
pub(crate) fn newm(f: Option<fn()>, pp: Option<&'static P>, id: i64) -> io::Result<()> {
    let locked = acquirem();
    let made = allocm(f, id).and_then(|mp| {
        mp.nextp.set(pp);
        mp.ext.system.set(pp.is_none());
        mp.sigmask.set(init_sigmask());
        // A goroutine may have changed this thread, or it isn't ours: a new one would inherit its state.
        let strange = locked.is_none_or(|mine| mine.locked_ext.get() != 0 || mine.isextra.get());
        let made = if strange { newm_by_template(mp) } else { None };
        made.unwrap_or_else(|| newm1(mp))
    });
    releasem(locked);
    made
}

/// Gives an M a thread; fails if none can be made. Go's `newm1`.
pub(crate) fn newm1(mp: &'static M) -> io::Result<()> {
    let g0: *const G = &mp.ext.g0;
    newosproc(g0.cast_mut().cast::<c_void>()).inspect_err(|_| {
        mp.nextp.set(None);
        lock(&sched().lock);
        mp.freelink.set(sched().freem.get());
        sched().freem.set(Some(mp));
        sched().nmfreed.set(sched().nmfreed.get() + 1);
        unlock(&sched().lock);
    })
}

/// Whether the system allocates the stacks of threads: pthreads does. Go's
/// `mStackIsSystemAllocated`.
fn m_stack_is_system_allocated() -> bool {
    true
}

/// Where `mstart`, in assembly, calls Rust for the first time. Go's `mstart0`.
#[unsafe(no_mangle)]
extern "C" fn gosched_mstart0() -> ! {
    let mp = getm();
    let g0 = &mp.ext.g0;
    if m_stack_is_system_allocated() {
        g0.stack.set(thread_stack());
    }
    g0.stackguard0.store(g0.stack.get().lo + STACK_GUARD, Ordering::Relaxed);
    g0.stackguard1.set(g0.stack.get().lo + STACK_GUARD);
    mstart1(mp)
}

/// The bounds of this thread's stack.
pub(crate) fn thread_stack() -> Stack {
    // SAFETY: the pointers are to locals. pthread_getattr_np fills the attributes, if it
    // returns 0; then they are read, and destroyed once.
    unsafe {
        let mut attr = std::mem::MaybeUninit::uninit();
        let mut lo = std::ptr::null_mut();
        let mut size = 0;
        if libc::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()) != 0 {
            throw("runtime: pthread_getattr_np failed");
        }
        libc::pthread_attr_getstack(attr.as_ptr(), &mut lo, &mut size);
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        Stack { lo: lo.addr(), hi: lo.addr() + size }
    }
}

/// Prepares the thread and enters the scheduler. Go's `mstart1`.
fn mstart1(mp: &'static M) -> ! {
    minit(mp);
    trace(|| Event::ThreadStart(mp));
    if let Some(f) = mp.mstartfn.get() {
        f();
    }
    let Some(pp) = mp.nextp.get() else { throw("mstart1: no p") };
    acquirep(mp, pp);
    mp.nextp.set(None);
    // SAFETY: on g0 of `mp`, a new M without a goroutine, which has just got a P.
    unsafe { schedule(mp) }
}

/// What each thread sets up for itself. Go's `minit`.
fn minit(mp: &M) {
    minit_signals(mp);
    remember_stack_limit(mp);
    mp.has_thread(gettid());
}

/// Undoes [`minit`]. Go's `unminit`.
fn unminit(mp: &M) {
    forget_stack_limit(mp);
    mp.has_no_thread();
    unminit_signals();
}

/// Ends this thread, whose goroutine has ended while it was locked to it: assembly calls this at the base
/// of g0's stack, and returns to where the thread came from. Go's `mexit`.
///
/// Destructors of thread-locals run after that: on a foreign thread, as far as they can tell.
#[unsafe(no_mangle)]
extern "C" fn gosched_mexit() {
    let mp = getm();
    sigblock();
    unminit(mp);
    lock(&sched().lock);
    mp.free_wait.store(FREE_M_WAIT, Ordering::Relaxed);
    mp.freelink.set(sched().freem.get());
    sched().freem.set(Some(mp));
    unlock(&sched().lock);
    handoffp(releasep(mp));
    trace(|| Event::ThreadDestroy(mp));
    // Only now, when another M may have been started for the P: else checkdead might see none run.
    lock(&sched().lock);
    sched().nmfreed.set(sched().nmfreed.get() + 1);
    checkdead();
    unlock(&sched().lock);
    // SAFETY: the thread isn't ours any more, and g0 is left: assembly pops its last frame.
    unsafe { setg(None) };
    // Release pairs with reuse_m, which gives the M to another thread.
    mp.free_wait.store(FREE_M_REF, Ordering::Release);
}
