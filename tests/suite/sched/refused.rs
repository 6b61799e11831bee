//! System calls that a sandbox refuses.

use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use gosched::time::sleep;
use gosched::{go, lock_os_thread, proc, scope, yield_now};

use crate::harness::polled::MS;
use crate::harness::{Test, run, tests};

tests! {
    no_signals_to_threads
    no_thread_ids
    no_process_id
}

/// From here on the system call fails, on this thread and those that it makes. As a container's profile does it.
fn refuse(number: libc::c_long) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_NOT_SKIP: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    let mut filter = [
        step(LOAD, 0, 0),
        step(IF_NOT_SKIP, 1, number as u32),
        step(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel reads the program, which ends in a return on each way.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, ptr::from_ref(&program)), 0);
        assert_eq!(libc::syscall(number), -1, "it isn't refused");
    }
}

gosched::preemptible! {
    /// # Safety
    /// As for each preemptible function; it has nothing to do with a thread.
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

/// Goroutines that are asked to stop, and such that keep their threads: all end. One line says what isn't done.
fn goes_on_without(test: Test, number: libc::c_long) {
    if test.skipped_in_emulator("system calls are refused to the emulator") {
        return;
    }
    for procs in ["1", "4"] {
        let process = test.process(|| {
            refuse(number);
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
                        // SAFETY: no lock is held, and no thread-local in use.
                        s.go(|| black_box(unsafe { count(black_box(20_000_000)) }))
                    });
                    assert!(counters.into_iter().all(|counter| counter.join().is_ok()));
                    done.store(true, Ordering::Relaxed);
                });
                go(|| ()).join().unwrap();
            });
        });
        let ended = process.env("GOMAXPROCS", procs).end();
        ended.with("exit status: 0");
        let said = "gosched: a thread can't be sent a signal (Operation not permitted (os error 1)): ";
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
