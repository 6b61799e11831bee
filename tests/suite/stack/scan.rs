//! A collector that scans a goroutine finds all of its words: in a frame, in a register, or where
//! the runtime keeps them meanwhile. (`sched/async_preempt.rs` tests preempted goroutines.)
//!
//! In each test a goroutine keeps a *secret* in some place and nowhere else. Assembly makes the
//! secret from its complement, so that there is no copy.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::thread;

use gosched::chan::{Receiver, bounded};
use gosched::proc::{self, Coro, StwReason};
use gosched::runtime2::{G, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL, GWAITING, TraceBlockReason, WaitReason};
use gosched::{go, run, yield_now};

use crate::asm::secrets_in_registers::{KEEP_IN_ALLOCA, KEPT, Meanwhile, keep};
use crate::harness::{Test, tests};

tests! {
    while_it_waits
    on_a_stack_that_never_moves
    in_a_system_call
    while_it_works_on_g0
    while_it_stops_the_world
    in_a_thread_that_is_a_guest
    in_a_coroutine_that_waits
    in_what_alloca_has_got
}

/// Secrets are the numbers after this one.
pub(super) const BASE: u64 = 0x5ec2_e7ab_cdef_0000;
/// The goroutine that keeps the secrets, once one does.
pub(super) static KEEPER: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
/// Whether the keeper may go on.
pub(super) static GO_ON: AtomicBool = AtomicBool::new(false);

/// Makes the running goroutine the keeper.
pub(super) fn here_i_am() {
    KEEPER.store(proc::getg(), Ordering::Release);
}

/// Returns the keeper, once there is one. Others run meanwhile.
pub(super) fn keeper() -> *mut G {
    loop {
        let gp = KEEPER.load(Ordering::Acquire);
        if !gp.is_null() {
            return gp;
        }
        yield_now();
    }
}

/// Returns the words that a scan of `gp` finds.
///
/// # Safety
/// As [`proc::scan_stack`].
pub(super) unsafe fn scanned(gp: *mut G) -> BTreeSet<u64> {
    let mut words = BTreeSet::new();
    let word = |at| ptr::with_exposed_provenance::<u64>(at);
    // SAFETY: the caller's; what is scanned can be read.
    unsafe {
        proc::scan_stack(gp, |range| {
            assert!(range.start.is_multiple_of(8));
            words.extend(range.step_by(8).map(|at| word(at).read_volatile()));
        });
    }
    words
}

/// Does the same for a goroutine that is suspended meanwhile. The caller's goroutine waits itself,
/// as a collector's does.
pub(super) fn suspended(gp: *mut G) -> BTreeSet<u64> {
    let me = proc::getg();
    // SAFETY: on a goroutine, which nobody else makes ready.
    unsafe {
        proc::systemstack(|| {
            proc::cas_g_to_waiting(me, GRUNNING, WaitReason::GarbageCollectionScan);
            let state = proc::suspend_g(gp);
            assert!(!state.dead);
            let words = scanned(gp);
            proc::resume_g(state);
            proc::casgstatus(me, GWAITING, GRUNNING);
            words
        })
    }
}

/// Does the same in a stopped world.
pub(super) fn stopped(gp: *mut G) -> BTreeSet<u64> {
    // SAFETY: on a goroutine, which doesn't park meanwhile.
    unsafe {
        let w = proc::stop_the_world(StwReason::GcMarkTerm);
        let words = suspended(gp);
        proc::start_the_world(w);
        words
    }
}

/// Fails unless exactly the first `n` secrets were found.
#[track_caller]
pub(super) fn has(words: &BTreeSet<u64>, n: u64) {
    let found: Vec<u64> = words.range(BASE..BASE + 100).map(|word| word - BASE).collect();
    assert_eq!(found, (1..=n).collect::<Vec<_>>());
}

/// Fails unless each kind of scan finds the first `n` secrets in the keeper.
#[track_caller]
pub(super) fn keeps(gp: *mut G, n: u64) {
    has(&suspended(gp), n);
    has(&stopped(gp), n);
}

/// Runs `f` on a copying stack, with the secrets of [`keep`].
pub(super) fn newproc_that_keeps(f: Meanwhile) {
    unsafe extern "C" fn start(f: *mut c_void) {
        // SAFETY: it is a Meanwhile; those here take little stack.
        unsafe { keep(!BASE, std::mem::transmute::<*mut c_void, Meanwhile>(f), ptr::null_mut()) }
    }
    // SAFETY: it doesn't panic.
    unsafe { proc::newproc(Some(start), f as *mut c_void) }
}

/// Parks until another goroutine makes the keeper ready.
pub(super) unsafe extern "C" fn park(_: *mut c_void) {
    unsafe extern "C" fn publish(gp: *mut G, _: *mut c_void) -> bool {
        KEEPER.store(gp, Ordering::Release);
        true
    }
    // SAFETY: `publish` touches nothing of this stack.
    unsafe { proc::gopark(Some(publish), ptr::null_mut(), WaitReason::Zero, TraceBlockReason::Generic, 0) }
}

/// Makes a parked goroutine ready, and scans it in the queue.
pub(super) fn ready(gp: *mut G) -> BTreeSet<u64> {
    // SAFETY: it is parked. This goroutine doesn't park until it starts the world.
    unsafe {
        let w = proc::stop_the_world(StwReason::GcMarkTerm);
        proc::goready(gp, 0);
        assert_eq!(proc::readgstatus(gp), GRUNNABLE);
        let words = suspended(gp);
        proc::start_the_world(w);
        words
    }
}

/// Runs `main` in a process with `n` P's, to its end.
pub(super) fn with_procs(test: Test, n: usize, main: impl FnOnce() + Send) {
    let process = test.process(|| {
        run(main);
        eprintln!("all found");
    });
    process.env("GOMAXPROCS", &n.to_string()).end().with("exit status: 0").says("all found\n");
}

fn while_it_waits(test: Test) {
    with_procs(test, 2, || {
        newproc_that_keeps(park);
        let gp = keeper();
        keeps(gp, KEPT);
        has(&ready(gp), KEPT);
    });
}

fn on_a_stack_that_never_moves(test: Test) {
    with_procs(test, 2, || {
        // SAFETY: it parks.
        go(|| unsafe { keep(!BASE, park, ptr::null_mut()) });
        keeps(keeper(), KEPT);
    });
}

/// Stays in a system call until the keeper may go on.
unsafe extern "C" fn system_call(_: *mut c_void) {
    // SAFETY: on a goroutine; in between nothing is done that needs a P.
    unsafe {
        proc::entersyscall();
        here_i_am();
        while !GO_ON.load(Ordering::Acquire) {
            spin_loop();
        }
        proc::exitsyscall();
    }
}

fn in_a_system_call(test: Test) {
    with_procs(test, 2, || {
        newproc_that_keeps(system_call);
        let gp = keeper();
        // SAFETY: a G; this goroutine doesn't park until it starts the world.
        unsafe {
            assert_eq!(proc::readgstatus(gp) & !GSCAN, GSYSCALL);
            keeps(gp, KEPT);
            // The goroutine gets no P. So it is in a queue, with its registers as they were when it
            // was queued.
            let w = proc::stop_the_world(StwReason::GcMarkTerm);
            GO_ON.store(true, Ordering::Release);
            while proc::readgstatus(gp) != GRUNNABLE {
                spin_loop();
            }
            has(&suspended(gp), KEPT);
            proc::start_the_world(w);
        }
    });
}

fn while_it_works_on_g0(test: Test) {
    unsafe extern "C" fn look_at_itself(_: *mut c_void) {
        has(&suspended(proc::getg()), KEPT);
    }
    with_procs(test, 1, || {
        // SAFETY: its stack doesn't move.
        go(|| unsafe { keep(!BASE, look_at_itself, ptr::null_mut()) }).join().unwrap();
    });
}

fn while_it_stops_the_world(test: Test) {
    unsafe extern "C" fn stop_and_start(_: *mut c_void) {
        here_i_am();
        while !GO_ON.load(Ordering::Acquire) {
            spin_loop();
        }
        // SAFETY: on a goroutine, which starts the world at once.
        unsafe { proc::start_the_world(proc::stop_the_world(StwReason::Unknown)) };
    }
    with_procs(test, 2, || {
        // SAFETY: its stack doesn't move.
        go(|| unsafe { keep(!BASE, stop_and_start, ptr::null_mut()) });
        let gp = keeper();
        // SAFETY: on a goroutine, which unpins it below.
        unsafe { proc::proc_pin() };
        GO_ON.store(true, Ordering::Release);
        // SAFETY: a G.
        while unsafe { (*gp).waitreason.get() } != WaitReason::StoppingTheWorld {
            spin_loop();
        }
        // It waits for this goroutine, which keeps its P and isn't at a safe point.
        has(&suspended(gp), KEPT);
        // SAFETY: pinned above.
        unsafe { proc::proc_unpin() };
    });
}

/// Returns the G for which `f` is true.
pub(super) fn find(f: impl Fn(&G) -> bool) -> *mut G {
    loop {
        let mut found = ptr::null_mut();
        proc::for_each_g_race(|gp| {
            // SAFETY: `f` reads only fields that can be read at any time.
            if unsafe { f(&*gp) } {
                found = gp;
            }
        });
        if !found.is_null() {
            return found;
        }
        thread::yield_now();
    }
}

fn in_a_thread_that_is_a_guest(test: Test) {
    unsafe extern "C" fn receive(rx: *mut c_void) {
        // SAFETY: the receiver below.
        assert_eq!(unsafe { &*rx.cast::<Receiver<u32>>() }.recv(), Ok(1));
    }
    with_procs(test, 2, || {
        let (tx, rx) = bounded(0);
        // SAFETY: a thread's stack doesn't move.
        let thread =
            thread::spawn(move || unsafe { keep(!BASE, receive, (&raw const rx).cast_mut().cast()) });
        let is_guest = |gp: &G| gp.lockedm.get().is_some_and(|mp| mp.isextra.get());
        let gp = find(|gp| is_guest(gp) && gp.atomicstatus.load(Ordering::Acquire) == GWAITING);
        keeps(gp, KEPT);
        tx.send(1).unwrap();
        thread.join().unwrap();
    });
}

pub(super) static CORO: Coro = Coro::new();

fn in_a_coroutine_that_waits(test: Test) {
    unsafe extern "C" fn switch(c: *mut c_void) {
        here_i_am();
        // SAFETY: the coroutine of this goroutine.
        unsafe { proc::coroswitch(c.cast()) };
    }
    unsafe extern "C" fn coroutine(c: *mut Coro, _: *mut c_void) {
        // SAFETY: on a goroutine with a few words on its stack.
        unsafe { keep(!BASE, switch, c.cast()) };
    }
    with_procs(test, 2, || {
        let c = (&raw const CORO).cast_mut();
        // SAFETY: the coroutine is static, and ends when it is switched to again.
        unsafe {
            proc::newcoro(c, coroutine, ptr::null_mut());
            proc::coroswitch(c);
            keeps(keeper(), KEPT);
            proc::coroswitch(c);
        }
    });
}

fn in_what_alloca_has_got(test: Test) {
    unsafe extern "C" fn start(_: *mut c_void) {
        if let Some(keep_in_alloca) = KEEP_IN_ALLOCA {
            // SAFETY: the stack grows by the check in `keep_in_alloca`.
            unsafe { keep_in_alloca(!BASE, park) }
        }
    }
    if KEEP_IN_ALLOCA.is_none() {
        return test.skip("no compiler makes such code for this architecture");
    }
    with_procs(test, 2, || {
        // SAFETY: it doesn't panic.
        unsafe { proc::newproc(Some(start), ptr::null_mut()) };
        keeps(keeper(), 1);
        // SAFETY: it is parked.
        unsafe { proc::goready(keeper(), 0) };
    });
}
