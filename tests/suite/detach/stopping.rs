//! Goroutines that stop all others, or one, beside goroutines that have lost their P.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;

use gosched::proc::{self, StwReason};
use gosched::runtime2::{G, GRUNNING, P, WaitReason};
use gosched::{go, gomaxprocs, preemptible, scope, set_gomaxprocs, yield_now};

use super::ends_well;
use crate::harness::goroutines::dump_with_detached;
use crate::harness::{Test, rounds, tests};

tests! {
    the_world_stops
    every_p_runs_the_function
    gomaxprocs_changes
    #[slow] a_dump_shows_them
    one_in_preemptible_code_is_suspended
    one_that_goes_to_preemptible_code_is_suspended
}

static OVER: AtomicBool = AtomicBool::new(false);

/// The number of goroutines that have begun.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

#[inline(never)]
fn runs_until_it_is_over() {
    RUNNING.fetch_add(1, Ordering::Relaxed);
    while !OVER.load(Ordering::Relaxed) {
        black_box(());
    }
}

/// Calls `f` beside goroutines that compute all the time, with several settings.
fn beside_hogs(test: Test, f: fn()) {
    for (procs, godebug) in [("1", ""), ("2", ""), ("1", "detach=2"), ("2", "detach=2")] {
        ends_well(test, procs, godebug, || {
            scope(|s| {
                for _ in 0..3 {
                    s.go(runs_until_it_is_over);
                }
                while RUNNING.load(Ordering::Relaxed) < 3 {
                    yield_now();
                }
                f();
                OVER.store(true, Ordering::Relaxed);
            });
        });
    }
}

fn the_world_stops(test: Test) {
    beside_hogs(test, || {
        for _ in 0..20 {
            // SAFETY: it doesn't park in between.
            unsafe { proc::start_the_world(proc::stop_the_world(StwReason::Unknown)) };
        }
        yield_now();
        // SAFETY: as above.
        unsafe { proc::start_the_world(proc::stop_the_world(StwReason::Unknown)) };
    });
}

fn every_p_runs_the_function(test: Test) {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    fn note(_: *mut P) {
        RAN.fetch_add(1, Ordering::Relaxed);
    }
    beside_hogs(test, || {
        for round in 1..=20 {
            // SAFETY: on a goroutine, and `note` doesn't park.
            unsafe { proc::for_each_p(WaitReason::GarbageCollection, note) };
            assert_eq!(RAN.load(Ordering::Relaxed), round * gomaxprocs());
        }
    });
}

fn gomaxprocs_changes(test: Test) {
    beside_hogs(test, || {
        for n in [3, 1, 2, 8, 1].into_iter().cycle().take(20) {
            set_gomaxprocs(NonZeroUsize::new(n).unwrap());
            assert_eq!(gomaxprocs(), n);
            yield_now();
            assert_eq!(go(|| 7).join().unwrap(), 7);
        }
    });
}

fn a_dump_shows_them(test: Test) {
    beside_hogs(test, || {
        for _ in 0..rounds(3) {
            let text = dump_with_detached();
            assert_eq!(text.matches("runs_until_it_is_over(...)").count(), 3, "{text}");
            yield_now();
        }
    });
}

static HOG: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());

preemptible! {
    /// Computes for `rounds` rounds.
    unsafe fn compute(rounds: u64) -> u64 {
        let mut sum = 0_u64;
        let mut i = 0;
        while i < rounds {
            sum = sum.wrapping_mul(31) ^ i;
            i += 1;
        }
        sum
    }
}

/// Suspends the hog again and again, from a thread that isn't the runtime's.
fn suspended(test: Test, hog: fn()) {
    for (procs, godebug) in [("1", ""), ("2", ""), ("1", "detach=2"), ("2", "detach=2")] {
        ends_well(test, procs, godebug, || {
            let suspending = thread::spawn(|| {
                let mut running = 0;
                while HOG.load(Ordering::Acquire).is_null() {
                    thread::yield_now();
                }
                for _ in 0..rounds(300) {
                    let gp = HOG.load(Ordering::Acquire);
                    // SAFETY: a thread that isn't the runtime's, for a goroutine that ends after
                    // this.
                    unsafe {
                        running += usize::from(proc::readgstatus(gp) == GRUNNING);
                        let state = proc::suspend_g(gp);
                        assert!(!state.dead && state.g == gp);
                        let place = (*gp).sched.pc.get();
                        thread::yield_now();
                        assert_eq!((*gp).sched.pc.get(), place, "it goes on");
                        proc::resume_g(state);
                    }
                }
                eprintln!("{running} times it ran");
                OVER.store(true, Ordering::Release);
            });
            scope(|s| {
                s.go(|| {
                    HOG.store(proc::getg(), Ordering::Release);
                    while !OVER.load(Ordering::Acquire) {
                        hog();
                    }
                });
                // Other goroutines want the P, too.
                s.go(|| {
                    while !OVER.load(Ordering::Acquire) {
                        yield_now();
                    }
                });
            });
            suspending.join().unwrap();
        });
    }
}

fn one_in_preemptible_code_is_suspended(test: Test) {
    // SAFETY: it computes, and has nothing to do with threads.
    suspended(test, || _ = black_box(unsafe { compute(1_000_000) }));
}

fn one_that_goes_to_preemptible_code_is_suspended(test: Test) {
    suspended(test, || {
        (0..20_000).for_each(|i| _ = black_box(i));
        // SAFETY: it computes, and has nothing to do with threads.
        black_box(unsafe { compute(10_000) });
    });
}
