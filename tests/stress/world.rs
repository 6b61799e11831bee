//! Goroutines that stop the world, change the number of P's, make system calls, or hold their P for
//! long; and threads that wait as goroutines do.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::bounded;
use gosched::proc::{self, StwReason};
use gosched::runtime2::{P, WaitReason};
use gosched::{blocking, go, gomaxprocs, morestack_check, scope, set_gomaxprocs};

use crate::channels::room;
use crate::ledger::Ledger;
use crate::rng::Rng;
use crate::tally::{Op, count};

/// Stops the world, and asserts that no other goroutine has stopped it at the same time.
pub fn stops(rng: &mut Rng) {
    static STOPPED: AtomicI32 = AtomicI32::new(0);
    for _ in 0..rng.up_to(5) {
        // SAFETY: on a goroutine, which doesn't park until it starts the world again.
        let w = unsafe { proc::stop_the_world(StwReason::Unknown) };
        assert_eq!(STOPPED.fetch_add(1, Ordering::Relaxed), 0, "two goroutines have stopped the world");
        count(Op::Stop);
        assert_eq!(STOPPED.fetch_sub(1, Ordering::Relaxed), 1, "two goroutines have stopped the world");
        // SAFETY: this goroutine has stopped the world.
        unsafe { proc::start_the_world(w) };
        rng.pause();
    }
}

/// Sets GOMAXPROCS to random values from 1 to 8.
pub fn resizes(rng: &mut Rng) {
    for _ in 0..rng.up_to(5) {
        let n = rng.up_to(8);
        set_gomaxprocs(NonZeroUsize::new(n).expect("not 0"));
        assert!((1..=8).contains(&gomaxprocs()));
        count(Op::Resize);
        rng.pause();
    }
}

/// Runs a function on every P.
pub fn safe_points(rng: &mut Rng) {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    fn note(_: *mut P) {
        RAN.fetch_add(1, Ordering::Relaxed);
    }
    for _ in 0..rng.up_to(3) {
        let before = RAN.load(Ordering::Relaxed);
        // SAFETY: on a goroutine, and `note` doesn't park.
        unsafe { proc::for_each_p(WaitReason::GarbageCollection, note) };
        assert!(RAN.load(Ordering::Relaxed) > before);
        count(Op::Stop);
        rng.pause();
    }
}

/// Goroutines that block their threads in `blocking`. They return from it, or panic out of it, with
/// their results.
pub fn syscalls(rng: &mut Rng) {
    scope(|s| {
        for _ in 0..rng.up_to(6) {
            let mut rng = rng.fork();
            s.go(move || {
                for i in 0..rng.up_to(20) {
                    let pause = Duration::from_micros(rng.below(300) as u64);
                    let fails = rng.one_in(8);
                    let outcome = catch_unwind(AssertUnwindSafe(|| {
                        blocking(|| {
                            if !pause.is_zero() {
                                thread::sleep(pause);
                            }
                            if fails {
                                count(Op::Panic);
                                resume_unwind(Box::new(()))
                            }
                            blocking(|| go(move || i))
                        })
                    }));
                    count(Op::Syscall);
                    match outcome {
                        Ok(handle) => assert_eq!(handle.join().unwrap(), i),
                        Err(_) => assert!(fails && !thread::panicking()),
                    }
                }
            });
        }
    });
}

/// Threads that wait as goroutines do.
pub fn guests(rng: &mut Rng) {
    let (threads, each) = (rng.up_to(3), rng.up_to(30));
    let ledger = Ledger::new(2 * threads * each);
    let (to_threads, from_goroutines) = bounded(room(rng));
    let (to_goroutines, from_threads) = bounded(room(rng));
    let made: Vec<_> = (0..threads)
        .map(|_| {
            let (ledger, tx, rx) = (ledger.clone(), to_goroutines.clone(), from_goroutines.clone());
            thread::spawn(move || {
                for _ in 0..each {
                    ledger.sent();
                    assert!(tx.send(ledger.token()).is_ok());
                    count(Op::Thread);
                    ledger.received(rx.recv().expect("there is a token for each receive"));
                }
            })
        })
        .collect();
    drop(to_goroutines);
    scope(|s| {
        s.go(|| from_threads.iter().for_each(|token| ledger.received(token)));
        s.go(|| {
            for _ in 0..threads * each {
                ledger.sent();
                assert!(to_threads.send(ledger.token()).is_ok());
            }
        });
    });
    made.into_iter().for_each(|thread| blocking(|| thread.join()).unwrap());
    ledger.settle();
}

/// Goroutines that run for longer than a time slice without parking. They stop at their checks.
pub fn hogs(rng: &mut Rng) {
    fn turn(n: u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7)
    }
    scope(|s| {
        for _ in 0..rng.up_to(2) {
            let mut n = rng.below(1000) as u64;
            s.go(move || {
                let until = Instant::now() + Duration::from_millis(15);
                while Instant::now() < until {
                    for _ in 0..1000 {
                        n = morestack_check!(200, turn, n);
                    }
                }
                std::hint::black_box(n);
                count(Op::Yield);
            });
        }
    });
}
