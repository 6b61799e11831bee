//! System calls that a sandbox refuses.

use std::env;
use std::hint::black_box;
use std::mem::zeroed;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use gosched::time::sleep;
use gosched::{go, gomaxprocs, lock_os_thread, proc, run, scope, yield_now};

use crate::harness::panics::panics;
use crate::harness::polled::MS;
use crate::harness::process::wait_for_end_of_stdin;
use crate::harness::sandbox::{NO_FILTER, refuse};
use crate::harness::{Test, tests};

tests! {
    no_signals_to_threads
    no_thread_ids
    no_process_id
    a_start_that_fails_can_be_tried_again
    more_processors_than_a_set_has_room_for
}

gosched::preemptible! {
    /// # Safety
    /// As for each preemptible function; it doesn't depend on a thread.
    unsafe fn count(n: u64) -> u64 {
        let mut sum = 0_u64;
        let mut i = 0;
        while i < n {
            sum = sum.wrapping_mul(31) ^ i;
            i += 1;
        }
        sum
    }
}

/// Goroutines are asked to stop until a line says what the runtime does without. Beside them others
/// keep their threads. All goroutines end.
fn goes_on_without(test: Test, number: libc::c_long) {
    if test.skipped_in_emulator(NO_FILTER) {
        return;
    }
    for procs in ["1", "4"] {
        let process = test.process(|| {
            static SAID: AtomicBool = AtomicBool::new(false);
            thread::spawn(|| {
                wait_for_end_of_stdin();
                SAID.store(true, Ordering::Relaxed);
            });
            refuse(number, None, libc::EPERM);
            run(|| {
                let done = AtomicBool::new(false);
                scope(|s| {
                    s.go(|| {
                        while !done.load(Ordering::Relaxed) {
                            proc::preemptall();
                            sleep(MS);
                        }
                    });
                    for _ in 0..4 {
                        s.go(|| {
                            let _locked = lock_os_thread();
                            (0..20).for_each(|_| yield_now());
                        });
                    }
                    let counters: [_; 4] = std::array::from_fn(|_| {
                        s.go(|| {
                            while !SAID.load(Ordering::Relaxed) {
                                // SAFETY: no lock is held, and no thread-local in use.
                                black_box(unsafe { count(black_box(1_000_000)) });
                            }
                        })
                    });
                    assert!(counters.into_iter().all(|counter| counter.join().is_ok()));
                    done.store(true, Ordering::Relaxed);
                });
                go(|| ()).join().unwrap();
            });
        });
        let said = "gosched: a thread can't be sent a signal (Operation not permitted (os error 1)): ";
        let ended = process.env("GOMAXPROCS", procs).end_after(said);
        ended.with("exit status: 0");
        assert_eq!(ended.stderr.matches(said).count(), 1, "{procs} P's:\n{}", ended.stderr);
    }
}

fn no_signals_to_threads(test: Test) {
    goes_on_without(test, libc::SYS_tgkill);
}

fn no_thread_ids(test: Test) {
    goes_on_without(test, libc::SYS_gettid);
}

fn no_process_id(test: Test) {
    goes_on_without(test, libc::SYS_getpid);
}

fn a_start_that_fails_can_be_tried_again(test: Test) {
    if test.skipped_in_emulator(NO_FILTER) {
        return;
    }
    let process = test.process(|| {
        refuse(libc::SYS_madvise, None, libc::EINVAL);
        for _ in 0..2 {
            let message = panics(|| run(|| ()));
            assert!(
                message.contains("GOSCHED_GUARD=region, but this kernel has no guard regions"),
                "{message}"
            );
        }
        // SAFETY: there is one thread.
        unsafe { env::remove_var("GOSCHED_GUARD") };
        assert_eq!(run(|| go(|| 7).join().unwrap()), 7);
    });
    process.env("GOSCHED_GUARD", "region").end().with("exit status: 0");
}

/// A kernel for more than 1,024 processors refuses a set that has room for only 1,024.
fn more_processors_than_a_set_has_room_for(test: Test) {
    if test.skipped_in_emulator(NO_FILTER) {
        return;
    }
    let process = test.process(|| {
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: all zero is a set, and the kernel fills it.
        let processors = unsafe {
            let mut set: libc::cpu_set_t = zeroed();
            assert_eq!(libc::sched_getaffinity(0, size, &mut set), 0);
            libc::CPU_COUNT(&set)
        };
        refuse(libc::SYS_sched_getaffinity, Some(size as u32), libc::EINVAL);
        assert_eq!(run(gomaxprocs), processors as usize);
    });
    process.env("GODEBUG", "containermaxprocs=0").end().with("exit status: 0");
}
