//! A goroutine yields again and again while every queue is empty, so it continues at once.
//! Goroutines that are in no queue get their turns all the same, even where nobody loses its P.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::proc;
use gosched::runtime2::{G, GRUNNABLE};
use gosched::time::{now, sleep_until};
use gosched::{go, run, yield_now};

use crate::harness::goroutines::wait_until;
use crate::harness::{Test, tests};

tests! {
    a_timer_fires
    one_that_was_kept_has_its_turn
    it_can_be_suspended
    it_waits_while_users_are_disabled
}

/// Repeats until ten counts in a row are small. A slow machine may make some large, but chance
/// alone doesn't make ten in a row small.
pub fn until_ten_are_few(yields_after: impl Fn() -> u32) {
    let mut few = 0;
    while few < 10 {
        few = if yields_after() < 1_000 { few + 1 } else { 0 };
    }
}

/// The timer fires at the first yield after its time. The sleeper's thread may stand still before
/// it sets the timer: then the timer is late.
fn a_timer_fires(test: Test) {
    let process = test.process(|| {
        static DONE: AtomicBool = AtomicBool::new(false);
        let yields_after = || {
            DONE.store(false, Ordering::Relaxed);
            let due = now() + Duration::from_millis(1);
            let sleeper = go(move || {
                sleep_until(due);
                DONE.store(true, Ordering::Relaxed);
            });
            let mut late = 0_u32;
            while !DONE.load(Ordering::Relaxed) {
                late += u32::from(now() > due);
                yield_now();
            }
            sleeper.join().unwrap();
            late
        };
        run(|| until_ten_are_few(yields_after));
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

/// A goroutine that computes where it can't be stopped waits in a signal handler.
fn one_that_was_kept_has_its_turn(test: Test) {
    let process = test.process(|| {
        run(|| {
            static DONE: AtomicBool = AtomicBool::new(false);
            let computing = go(|| {
                let mut bytes = vec![1_u8; 1 << 20];
                for _ in 0..3_000 {
                    // SAFETY: within the buffer. This code belongs to the C library.
                    unsafe {
                        libc::memmove(
                            bytes.as_mut_ptr().add(1).cast(),
                            bytes.as_ptr().cast(),
                            bytes.len() - 1,
                        )
                    };
                }
                DONE.store(true, Ordering::Relaxed);
            });
            wait_until(|| DONE.load(Ordering::Relaxed));
            computing.join().unwrap();
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

/// No signal stops the goroutine, so it has to stop by itself.
fn it_can_be_suspended(test: Test) {
    let process = test.process(|| {
        static GP: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
        static DONE: AtomicBool = AtomicBool::new(false);
        static YIELDS: AtomicUsize = AtomicUsize::new(0);
        thread::scope(|threads| {
            threads.spawn(|| {
                while GP.load(Ordering::Acquire).is_null() {
                    thread::yield_now();
                }
                for _ in 0..100 {
                    // SAFETY: on a foreign thread. The goroutine ends later.
                    unsafe {
                        let state = proc::suspend_g(GP.load(Ordering::Acquire));
                        let before = YIELDS.load(Ordering::Relaxed);
                        (0..1_000).for_each(|_| std::hint::spin_loop());
                        assert_eq!(YIELDS.load(Ordering::Relaxed), before);
                        proc::resume_g(state);
                    }
                }
                DONE.store(true, Ordering::Relaxed);
            });
            run(|| {
                GP.store(proc::getg(), Ordering::Release);
                while !DONE.load(Ordering::Relaxed) {
                    YIELDS.fetch_add(1, Ordering::Relaxed);
                    yield_now();
                }
            });
        });
    });
    process.env("GODEBUG", "asyncpreemptoff=1,detach=0").end().with("exit status: 0");
}

fn it_waits_while_users_are_disabled(test: Test) {
    let process = test.process(|| {
        run(|| {
            static GP: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
            static DONE: AtomicBool = AtomicBool::new(false);
            static YIELDS: AtomicUsize = AtomicUsize::new(0);
            let user = go(|| {
                GP.store(proc::getg(), Ordering::Release);
                while !DONE.load(Ordering::Relaxed) {
                    YIELDS.fetch_add(1, Ordering::SeqCst);
                    yield_now();
                }
            });
            while GP.load(Ordering::Acquire).is_null() {
                yield_now();
            }
            // SAFETY: this goroutine goes on all the same, and enables the other, whose G stays.
            unsafe {
                proc::become_system_goroutine();
                proc::sched_enable_user(false);
                let before = YIELDS.load(Ordering::SeqCst);
                while proc::readgstatus(GP.load(Ordering::Relaxed)) != GRUNNABLE {
                    yield_now();
                }
                let after = YIELDS.load(Ordering::SeqCst);
                assert!(after <= before + 10, "{} yields later", after - before);
                proc::sched_enable_user(true);
            }
            DONE.store(true, Ordering::Relaxed);
            user.join().unwrap();
        });
    });
    process.env("GOMAXPROCS", "2").env("GODEBUG", "detach=0").end().with("exit status: 0");
}
