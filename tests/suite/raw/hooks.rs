//! An embedder's hooks: calls of the scheduler's, and a collector's worker that runs first.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::panic::catch_unwind;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use gosched::proc::{self, Hooks, set_hooks};
use gosched::runtime2::{G, P, TraceBlockReason, WaitReason};
use gosched::{go, gomaxprocs, run, set_gomaxprocs, yield_now};

use crate::harness::goroutines::others_ended;
use crate::harness::tests;

tests! {
    the_scheduler_calls_the_hooks
}

const ROUNDS: usize = 1000;

static P_INITS: AtomicUsize = AtomicUsize::new(0);
static ACQUIREPS: AtomicUsize = AtomicUsize::new(0);
static DESTROYED: AtomicUsize = AtomicUsize::new(0);
static WORKED: AtomicUsize = AtomicUsize::new(0);

/// The worker, while it is parked, and whether it has work.
static PARKED: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
static WORKER: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());

/// Notes that the worker has just parked.
unsafe extern "C" fn publish(gp: *mut G, _: *mut c_void) -> bool {
    PARKED.store(gp, Ordering::Release);
    true
}

/// Parks and works in turns. Only the scheduler makes it go on.
unsafe extern "C" fn worker(_: *mut c_void) {
    for _ in 0..ROUNDS {
        // SAFETY: on a goroutine; publish doesn't touch its stack.
        unsafe {
            proc::gopark(
                Some(publish),
                ptr::null_mut(),
                WaitReason::GCWorkerIdle,
                TraceBlockReason::SystemGoroutine,
                0,
            );
        }
        WORKED.fetch_add(1, Ordering::Release);
    }
}

fn find_worker(_: &P) -> *mut G {
    WORKER.swap(ptr::null_mut(), Ordering::Acquire)
}

fn the_scheduler_calls_the_hooks() {
    let hooks = Hooks {
        p_init: Some(|_| _ = P_INITS.fetch_add(1, Ordering::Relaxed)),
        acquirep: Some(|_| _ = ACQUIREPS.fetch_add(1, Ordering::Relaxed)),
        find_runnable_gc_worker: Some(find_worker),
        gdestroy: Some(|gp| _ = DESTROYED.fetch_add(usize::from(gp.goid.get() != 0), Ordering::Relaxed)),
        ..Hooks::default()
    };
    // SAFETY: no other test is in this process, and nothing has run yet.
    unsafe { set_hooks(hooks) };
    run(|| {
        assert_eq!(P_INITS.load(Ordering::Relaxed), gomaxprocs());
        assert!(ACQUIREPS.load(Ordering::Relaxed) > 0);
        // The only P finds the worker beside a goroutine that yields all the time. Nobody takes the
        // P away.
        proc::set_detach(false);
        let procs = set_gomaxprocs(NonZeroUsize::MIN);
        // SAFETY: `worker` fits its stack.
        unsafe { proc::newproc(Some(worker), ptr::null_mut()) };
        let mut yields = 0;
        while WORKED.load(Ordering::Acquire) < ROUNDS {
            let parked = PARKED.swap(ptr::null_mut(), Ordering::Acquire);
            if !parked.is_null() {
                WORKER.store(parked, Ordering::Release);
            }
            yields += 1;
            yield_now();
        }
        assert!(yields < 2 * ROUNDS, "{yields} yields");
        set_gomaxprocs(NonZeroUsize::new(procs).unwrap());
        let handles: Vec<_> = (0..100).map(|i| go(move || i)).collect();
        assert_eq!(handles.into_iter().map(|handle| handle.join().unwrap()).sum::<i32>(), 4950);
        others_ended();
        assert_eq!(DESTROYED.load(Ordering::Relaxed), 101);
    });
    // SAFETY: it panics before it changes anything.
    assert!(catch_unwind(|| unsafe { set_hooks(hooks) }).is_err(), "a second time");
}
