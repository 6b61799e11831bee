//! The raw layer: goroutines on copying stacks, and the basic steps of the scheduler.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;

use gosched::proc::{self, GList, getg};
use gosched::runtime2::{G, GCOPYSTACK, GRUNNING, GSCAN, GWAITING, TraceBlockReason, WaitReason};
use gosched::{go, run, scope, yield_now};

use crate::harness::goroutines::{arg, others_ended, wait_until};
use crate::harness::storm::storm;
use crate::harness::{Test, run_with_procs, tests};

tests! {
    newproc_passes_its_argument
    newproc_can_be_called_anywhere
    a_parked_goroutine_is_made_ready_from_anywhere
    a_park_without_unlockf_stays_parked
    an_unlockf_that_says_no_lets_the_goroutine_go_on
    goyield_and_gosched_come_back
    goexit_ends_the_goroutine_there
    systemstack_runs_on_g0
    a_panic_goes_through_systemstack
    mcall_leaves_and_gogo_comes_back
    a_list_of_goroutines_is_injected
    a_list_longer_than_a_queue_is_counted
    a_state_can_be_changed_and_put_back
    poll_work_sees_what_waits
    acquirem_holds_the_m
}

/// A place where a G is stored when it parks.
type Parked = AtomicPtr<G>;

/// Stores the parked G at `lock`, which is a [`Parked`].
unsafe extern "C" fn publish(gp: *mut G, lock: *mut c_void) -> bool {
    // SAFETY: park passes a place that stays.
    unsafe { &*lock.cast::<Parked>() }.store(gp, Ordering::Release);
    true
}

/// Parks the running goroutine, which is stored at `parked` then.
///
/// # Safety
/// On a goroutine; another goroutine takes it from there.
unsafe fn park(parked: &Parked) {
    // SAFETY: publish touches neither the stack nor anything that isn't atomic.
    unsafe {
        proc::gopark(Some(publish), arg(parked), WaitReason::Sleep, TraceBlockReason::Sleep, 0);
    }
}

/// Takes a goroutine that parks at `parked`, or will park there.
fn take(parked: &Parked) -> *mut G {
    loop {
        let gp = parked.swap(ptr::null_mut(), Ordering::Acquire);
        if !gp.is_null() {
            return gp;
        }
        if getg().is_null() { thread::yield_now() } else { yield_now() }
    }
}

fn newproc_passes_its_argument() {
    static SUM: AtomicUsize = AtomicUsize::new(0);
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn add(arg: *mut c_void) {
        SUM.fetch_add(arg.addr(), Ordering::Relaxed);
        ENDED.fetch_add(1, Ordering::Release);
    }
    run(|| {
        for i in 0..5000 {
            // SAFETY: `add` fits its stack.
            unsafe { proc::newproc(Some(add), ptr::without_provenance_mut(i)) };
        }
        wait_until(|| ENDED.load(Ordering::Acquire) == 5000);
        assert_eq!(SUM.load(Ordering::Relaxed), (0..5000).sum());
    });
}

fn newproc_can_be_called_anywhere() {
    static LEFT: AtomicUsize = AtomicUsize::new(2047);
    unsafe extern "C" fn two_more(depth: *mut c_void) {
        LEFT.fetch_sub(1, Ordering::Relaxed);
        if depth.addr() > 0 {
            let depth = ptr::without_provenance_mut(depth.addr() - 1);
            // SAFETY: this function fits its stack.
            unsafe {
                proc::newproc(Some(two_more), depth);
                proc::systemstack(|| proc::newproc(Some(two_more), depth));
            }
        }
    }
    run(|| {
        // SAFETY: likewise; the runtime runs.
        thread::spawn(|| unsafe { proc::newproc(Some(two_more), ptr::without_provenance_mut(10)) });
        wait_until(|| LEFT.load(Ordering::Relaxed) == 0);
    });
}

fn a_parked_goroutine_is_made_ready_from_anywhere() {
    static ME: Parked = Parked::new(ptr::null_mut());
    static WOKEN: AtomicUsize = AtomicUsize::new(0);
    static READIED: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn body(_: *mut c_void) {
        loop {
            // SAFETY: on a goroutine, which the test takes.
            unsafe { park(&ME) };
            WOKEN.fetch_add(1, Ordering::Release);
        }
    }
    /// Makes the goroutine ready once it has parked.
    fn ready() {
        let gp = take(&ME);
        READIED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the goroutine has parked.
        unsafe { proc::goready(gp, 0) }
    }
    run(|| {
        // SAFETY: `body` fits its stack.
        unsafe { proc::newproc(Some(body), ptr::null_mut()) };
        for _ in storm(1000) {
            ready();
            let gp = take(&ME);
            READIED.fetch_add(1, Ordering::Relaxed);
            // SAFETY: the goroutine has parked.
            unsafe { proc::systemstack(|| proc::goready(gp, 0)) };
        }
        let thread = thread::spawn(|| storm(1000).for_each(|_| ready()));
        wait_until(|| thread.is_finished());
        wait_until(|| WOKEN.load(Ordering::Acquire) == READIED.load(Ordering::Relaxed));
    });
}

fn a_park_without_unlockf_stays_parked() {
    static ME: Parked = Parked::new(ptr::null_mut());
    static WOKEN: AtomicBool = AtomicBool::new(false);
    unsafe extern "C" fn body(_: *mut c_void) {
        ME.store(getg(), Ordering::Release);
        // SAFETY: on a goroutine that the test knows.
        unsafe { proc::gopark(None, ptr::null_mut(), WaitReason::Sleep, TraceBlockReason::Sleep, 0) };
        WOKEN.store(true, Ordering::Release);
    }
    run(|| {
        // SAFETY: `body` fits its stack.
        unsafe { proc::newproc(Some(body), ptr::null_mut()) };
        let gp = take(&ME);
        // Its status is waiting before it has left its thread. It may be made ready only after
        // that.
        // SAFETY: G's are never freed.
        wait_until(|| unsafe { proc::readgstatus(gp) == GWAITING && (*gp).m.is_null() });
        (0..100).for_each(|_| yield_now());
        assert!(!WOKEN.load(Ordering::Acquire));
        // SAFETY: the goroutine has parked. Its reason may be written until it is made ready.
        unsafe {
            assert_eq!((*gp).waitreason.get().as_str(), "sleep");
            proc::goready(gp, 0);
        }
        wait_until(|| WOKEN.load(Ordering::Acquire));
    });
}

fn an_unlockf_that_says_no_lets_the_goroutine_go_on() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static ENDED: AtomicBool = AtomicBool::new(false);
    unsafe extern "C" fn no(gp: *mut G, lock: *mut c_void) -> bool {
        // SAFETY: on g0, for the goroutine that parks.
        // Sysmon may be checking how long it has waited.
        let waits = unsafe { proc::readgstatus(gp) & !GSCAN == GWAITING };
        // SAFETY: as above.
        let passed = waits && unsafe { (*proc::getm()).g0.get().is_some() };
        if passed && lock.addr() == 7 && getg() != gp {
            CALLS.fetch_add(1, Ordering::Relaxed);
        }
        false
    }
    unsafe extern "C" fn body(rounds: *mut c_void) {
        for _ in 0..rounds.addr() {
            let lock = ptr::without_provenance_mut(7);
            // SAFETY: on a goroutine, which nobody else will make ready.
            unsafe { proc::gopark(Some(no), lock, WaitReason::Sleep, TraceBlockReason::Sleep, 0) };
        }
        ENDED.store(true, Ordering::Release);
    }
    run(|| {
        // SAFETY: `body` fits its stack.
        unsafe { proc::newproc(Some(body), ptr::without_provenance_mut(500)) };
        wait_until(|| ENDED.load(Ordering::Acquire));
        // SAFETY: on a goroutine, too.
        unsafe { body(ptr::without_provenance_mut(500)) };
        assert_eq!(CALLS.load(Ordering::Relaxed), 1000);
    });
}

fn goyield_and_gosched_come_back() {
    static TURNS: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn body(_: *mut c_void) {
        for _ in 0..1000 {
            // SAFETY: on a goroutine.
            unsafe {
                proc::goyield();
                proc::gosched();
            }
            TURNS.fetch_add(1, Ordering::Relaxed);
        }
    }
    run(|| {
        // SAFETY: `body` fits its stack.
        (0..20).for_each(|_| unsafe { proc::newproc(Some(body), ptr::null_mut()) });
        // SAFETY: on a goroutine.
        unsafe { body(ptr::null_mut()) };
        wait_until(|| TURNS.load(Ordering::Relaxed) == 21_000);
    });
}

fn goexit_ends_the_goroutine_there() {
    static BEFORE: AtomicUsize = AtomicUsize::new(0);
    static AFTER: AtomicUsize = AtomicUsize::new(0);
    fn deeper() {
        BEFORE.fetch_add(1, Ordering::Relaxed);
        // SAFETY: newproc made it, and nothing on its stack has a destructor.
        unsafe { proc::goexit() }
    }
    unsafe extern "C" fn body(_: *mut c_void) {
        deeper();
        AFTER.fetch_add(1, Ordering::Relaxed);
    }
    run(|| {
        // SAFETY: `body` fits its stack.
        (0..1000).for_each(|_| unsafe { proc::newproc(Some(body), ptr::null_mut()) });
        wait_until(|| BEFORE.load(Ordering::Relaxed) == 1000);
        (0..100).for_each(|_| yield_now());
        assert_eq!(AFTER.load(Ordering::Relaxed), 0);
    });
}

fn systemstack_runs_on_g0() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    fn check() -> usize {
        let gp = getg();
        let mut local = 1;
        // SAFETY: the closures don't park, and on a copying stack don't panic.
        let sum: usize = unsafe {
            proc::systemstack(|| {
                let g0 = (*proc::getm()).g0.get().map(G::as_ptr);
                let on_g0 = g0 == Some(getg()) && getg() != gp;
                local += usize::from(on_g0);
                // This needs more than a copying stack has.
                let numbers = std::hint::black_box([1; 10_000]);
                proc::systemstack(|| numbers.iter().sum())
            })
        };
        assert!(getg() == gp);
        sum + local
    }
    unsafe extern "C" fn body(_: *mut c_void) {
        SEEN.store(check(), Ordering::Release);
    }
    run(|| {
        assert_eq!(check(), 10_002);
        // SAFETY: `body` fits its stack.
        unsafe { proc::newproc(Some(body), ptr::null_mut()) };
        wait_until(|| SEEN.load(Ordering::Acquire) != 0);
        assert_eq!(SEEN.load(Ordering::Acquire), 10_002);
    });
    // SAFETY: on a foreign thread it just calls the closure.
    assert_eq!(unsafe { proc::systemstack(|| (getg(), proc::getm())) }, (ptr::null_mut(), ptr::null_mut()));
}

fn a_panic_goes_through_systemstack() {
    run(|| {
        scope(|s| {
            for i in 0..20u32 {
                s.go(move || {
                    for _ in 0..50 {
                        let gp = getg();
                        let panicking = AssertUnwindSafe(|| {
                            // SAFETY: the closure doesn't park, and the stack is a fixed one.
                            unsafe { proc::systemstack(|| resume_unwind(Box::new(i))) }
                        });
                        let payload: Box<u32> = catch_unwind(panicking).unwrap_err().downcast().unwrap();
                        assert_eq!(*payload, i);
                        assert!(getg() == gp, "it is on the goroutine's stack again");
                        yield_now();
                        assert!(getg() == gp);
                    }
                });
            }
        });
    });
}

fn mcall_leaves_and_gogo_comes_back() {
    static LEFT: Parked = Parked::new(ptr::null_mut());
    unsafe extern "C" fn there(gp: *mut G) -> ! {
        // SAFETY: on g0.
        let on_g0 = unsafe { (*proc::getm()).g0.get() }.map(G::as_ptr) == Some(getg());
        LEFT.store(if on_g0 { gp } else { ptr::null_mut() }, Ordering::Relaxed);
        // SAFETY: the goroutine called mcall.
        unsafe { proc::gogo(gp) }
    }
    run(|| {
        let lock = gosched::lock_os_thread(); // keeps others from using LEFT
        for _ in 0..1000 {
            // SAFETY: on a goroutine, which `there` resumes.
            unsafe { proc::mcall(there) };
            assert_eq!(LEFT.swap(ptr::null_mut(), Ordering::Relaxed), getg());
            // SAFETY: it runs as before.
            assert_eq!(unsafe { proc::readgstatus(getg()) }, GRUNNING);
        }
        drop(lock);
    });
}

fn a_list_of_goroutines_is_injected() {
    const N: usize = 300;
    static WAITING: [Parked; N] = [const { Parked::new(ptr::null_mut()) }; N];
    static WOKEN: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn body(i: *mut c_void) {
        for _ in 0..3 {
            // SAFETY: on a goroutine, which the test takes.
            unsafe { park(&WAITING[i.addr()]) };
            WOKEN.fetch_add(1, Ordering::Release);
        }
    }
    fn inject() {
        let list = GList::default();
        // SAFETY: they have parked, and G's are never freed.
        WAITING.iter().for_each(|parked| list.push(unsafe { &*take(parked) }));
        // SAFETY: likewise.
        unsafe { proc::injectglist(&list) };
        assert!(list.empty());
    }
    run(|| {
        // SAFETY: `body` fits its stack.
        (0..N).for_each(|i| unsafe { proc::newproc(Some(body), ptr::without_provenance_mut(i)) });
        inject();
        wait_until(|| WOKEN.load(Ordering::Acquire) == N);
        thread::spawn(inject);
        wait_until(|| WOKEN.load(Ordering::Acquire) == 2 * N);
        go(inject).join().unwrap();
        wait_until(|| WOKEN.load(Ordering::Acquire) == 3 * N);
    });
}

/// A part of the list goes to the global queue, which counts only that part.
fn a_list_longer_than_a_queue_is_counted(test: Test) {
    const N: usize = 300;
    static WAITING: [Parked; N] = [const { Parked::new(ptr::null_mut()) }; N];
    unsafe extern "C" fn body(i: *mut c_void) {
        // SAFETY: on a goroutine, which the test takes.
        unsafe { park(&WAITING[i.addr()]) };
    }
    let process = test.process(|| {
        run_with_procs(1, || {
            for i in 0..N {
                // SAFETY: `body` fits its stack.
                unsafe { proc::newproc(Some(body), ptr::without_provenance_mut(i)) };
            }
            let list = GList::default();
            // SAFETY: they have parked, and G's are never freed.
            WAITING.iter().for_each(|parked| list.push(unsafe { &*take(parked) }));
            // SAFETY: likewise.
            unsafe { proc::injectglist(&list) };
            others_ended();
            proc::schedtrace(false);
        });
    });
    process.end().with("exit status: 0").says("runqueue=0 [0]\n");
}

fn a_state_can_be_changed_and_put_back() {
    static ME: Parked = Parked::new(ptr::null_mut());
    static WOKEN: AtomicBool = AtomicBool::new(false);
    unsafe extern "C" fn body(_: *mut c_void) {
        // SAFETY: on a goroutine, which the test takes.
        unsafe { park(&ME) };
        WOKEN.store(true, Ordering::Release);
    }
    run(|| {
        // SAFETY: `body` fits its stack. Then it is parked, and belongs to this test.
        unsafe {
            proc::newproc(Some(body), ptr::null_mut());
            let gp = take(&ME);
            let before = proc::casgcopystack(gp);
            assert_eq!((before, proc::readgstatus(gp)), (GWAITING, GCOPYSTACK));
            proc::casgstatus(gp, GCOPYSTACK, before);
            proc::goready(gp, 0);
        }
        wait_until(|| WOKEN.load(Ordering::Acquire));

        // A goroutine may be waiting for work that it does itself on g0.
        let gp = getg();
        // SAFETY: the running goroutine, which isn't on any queue.
        unsafe {
            proc::systemstack(|| {
                proc::cas_g_to_waiting(gp, GRUNNING, WaitReason::StoppingTheWorld);
                assert_eq!(proc::readgstatus(gp) & !GSCAN, GWAITING);
                assert_eq!((*gp).waitreason.get(), WaitReason::StoppingTheWorld);
                proc::casgstatus(gp, GWAITING, GRUNNING);
            });
        }
        yield_now();
    });
}

fn poll_work_sees_what_waits() {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    run_with_procs(1, || {
        // SAFETY: on an M.
        let poll_work = || unsafe { proc::poll_work() };
        wait_until(|| !poll_work());
        // The goroutine may lose its P in between and come too late, so not every round sees it.
        let seen = (0..10_000).any(|_| {
            // SAFETY: `nothing` fits its stack.
            unsafe { proc::newproc(Some(nothing), ptr::null_mut()) };
            poll_work()
        });
        assert!(seen);
    });
}

fn acquirem_holds_the_m() {
    run(|| {
        let mp = proc::acquirem();
        assert!(!mp.is_null() && mp == proc::getm());
        // SAFETY: this goroutine's M, until it is released.
        unsafe {
            assert_eq!((*mp).locks.get(), 1);
            proc::releasem(mp);
            assert_eq!((*mp).locks.get(), 0);
            assert!((0..1000).any(|_| proc::gcount() >= 1));
        }
        assert!(proc::mcount() >= 1);
    });
    let none = proc::acquirem();
    assert!(none.is_null() && getg().is_null());
    // SAFETY: the result of acquirem.
    unsafe { proc::releasem(none) };
}
