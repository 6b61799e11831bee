//! Cases in which a goroutine may not park, and in which a wake is left to other threads.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use gosched::signal::Signal;
use gosched::{Builder, blocking, go, park_std_waits, run};

use super::futexes::{self, WAKE};
use super::{parks, run_live};
use crate::harness::goroutines::wait_until;
use crate::harness::{Test, tests};

tests! {
    without_the_call_nobody_parks
    the_environment_turns_it_on
    the_environment_turns_it_off
    a_library_may_ask_late
    who_blocks_its_thread_keeps_it
    who_shares_locals_keeps_its_thread
    a_child_of_fork_has_its_own_waits
    a_child_of_vfork_has_its_own_memory
    a_handler_runs_on_the_signal_stack
    a_handler_that_was_there_before_is_moved
    a_handler_keeps_its_thread
    a_handler_may_wake
    what_handlers_wake_is_not_forgotten
    a_handler_may_end_what_looks_like_a_deadlock
    handlers_by_other_names
}

/// Makes two goroutines wait for each other.
fn meet() {
    let barrier = Barrier::new(2);
    gosched::scope(|s| {
        drop(s.go(|| barrier.wait()));
        barrier.wait();
    });
}

/// Makes a goroutine wait for this one until it has parked.
fn one_parks() {
    let before = parks();
    let (tx, rx) = mpsc::channel();
    let waits = go(move || rx.recv());
    wait_until(|| parks() > before);
    tx.send(()).unwrap();
    assert_eq!(waits.join().unwrap(), Ok(()));
}

fn without_the_call_nobody_parks(test: Test) {
    let process = test.process(|| {
        run(|| {
            meet();
            thread::sleep(Duration::from_micros(1));
            assert_eq!(parks(), 0);
        });
    });
    process.env("GOSCHED_STD", "0").end().with("exit status: 0");
}

fn the_environment_turns_it_on(test: Test) {
    let process = test.process(|| {
        run(|| {
            one_parks();
        });
    });
    process.env("GOSCHED_STD", "1").end().with("exit status: 0");
}

fn the_environment_turns_it_off(test: Test) {
    let process = test.process(|| {
        run_live(|| {
            meet();
            assert_eq!(parks(), 0);
        });
    });
    process.env("GOSCHED_STD", "1").also("stdpark=0").end().with("exit status: 0");
}

fn a_library_may_ask_late(test: Test) {
    let process = test.process(|| {
        run(|| {
            park_std_waits().unwrap();
            park_std_waits().unwrap();
            one_parks();
        });
    });
    process.env("GOSCHED_STD", "0").end().with("exit status: 0");
}

fn who_blocks_its_thread_keeps_it() {
    run_live(|| {
        let barrier = Barrier::new(2);
        gosched::scope(|s| {
            drop(s.go(|| blocking(|| barrier.wait())));
            blocking(|| barrier.wait());
        });
        blocking(|| thread::sleep(Duration::from_micros(1)));
        assert_eq!(parks(), 0);
    });
}

fn who_shares_locals_keeps_its_thread() {
    run_live(|| {
        static BARRIER: Barrier = Barrier::new(2);
        // SAFETY: the goroutine keeps nothing of its thread's.
        let shares = unsafe { Builder::new().shared_locals() };
        let handle = shares.go(|| BARRIER.wait().is_leader()).unwrap();
        blocking(|| BARRIER.wait());
        let _leads = handle.join().unwrap();
        assert_eq!(parks(), 0);
    });
}

/// Runs `f` in a child that `make` makes, and waits for its end.
fn in_child(make: unsafe extern "C" fn() -> libc::pid_t, f: impl FnOnce()) {
    // SAFETY: the child is this thread alone. It calls only functions that need no other thread,
    // and ends.
    let child = unsafe { make() };
    assert!(child >= 0);
    if child == 0 {
        f();
        // SAFETY: as above.
        unsafe { libc::_exit(7) };
    }
    let mut status = 0;
    // SAFETY: the kernel writes the status.
    let ended = blocking(|| unsafe { libc::waitpid(child, &mut status, 0) });
    assert_eq!((ended, libc::WEXITSTATUS(status)), (child, 7));
}

/// Why an emulator can't run a child of a process with threads.
const ITS_THREADS: &str = "threads of its own are missing in a child";

/// The child has no other thread: if a wait parked, the child would stand still.
fn a_child_of_fork_has_its_own_waits(test: Test) {
    if test.skipped_in_emulator(ITS_THREADS) {
        return;
    }
    let process = test.process(|| {
        run_live(|| {
            in_child(libc::fork, || {
                thread::sleep(Duration::from_micros(1));
                thread::yield_now();
                let word = AtomicU32::new(0);
                assert_eq!(futexes::wait_for(&word, 0, Duration::from_micros(1)), Err(libc::ETIMEDOUT));
            });
            one_parks();
        })
    });
    process.end().with("exit status: 0");
}

unsafe extern "C" {
    fn vfork() -> libc::pid_t;
}

fn a_child_of_vfork_has_its_own_memory(test: Test) {
    if test.skipped_in_emulator(ITS_THREADS) {
        return;
    }
    let process = test.process(|| {
        run_live(|| {
            static CHANGED: AtomicBool = AtomicBool::new(false);
            in_child(vfork, || {
                thread::sleep(Duration::from_micros(1));
                CHANGED.store(true, Ordering::Relaxed);
            });
            assert!(!CHANGED.load(Ordering::Relaxed));
        })
    });
    process.end().with("exit status: 0");
}

/// The address of the handler's frame, and the handler's task.
static FRAME: AtomicU64 = AtomicU64::new(0);
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn note_frame(_: c_int) {
    let here = 0_u8;
    FRAME.store((&raw const here).addr() as u64, Ordering::Relaxed);
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// Installs a handler, without SA_ONSTACK.
fn handle(signal: Signal, handler: extern "C" fn(c_int)) {
    // SAFETY: all zero is a valid action; the handler may be called at any time.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        assert_eq!(libc::sigaction(signal.as_raw(), &action, ptr::null_mut()), 0);
    }
}

/// Sends this thread a signal, and fails unless the signal is handled on another stack than the
/// goroutine's.
fn handled_elsewhere(signal: Signal) {
    super::super::signal::raise(signal);
    // SAFETY: the running G.
    let stack = unsafe { (*gosched::proc::getg()).stack.get() };
    let frame = FRAME.swap(0, Ordering::Relaxed) as usize;
    assert!(frame != 0 && !(stack.lo..stack.hi).contains(&frame));
}

fn a_handler_runs_on_the_signal_stack() {
    run_live(|| {
        handle(Signal::USR1, note_frame);
        handled_elsewhere(Signal::USR1);
        // SAFETY: the handler may be called at any time.
        let old = unsafe { libc::signal(libc::SIGUSR1, note_frame as *const () as usize) };
        assert_eq!(old, note_frame as *const () as usize);
        handled_elsewhere(Signal::USR1);
        handled_elsewhere(Signal::USR1);
    });
}

fn a_handler_that_was_there_before_is_moved(test: Test) {
    let process = test.process(|| {
        run(|| {
            handle(Signal::USR1, note_frame);
            park_std_waits().unwrap();
            handled_elsewhere(Signal::USR1);
        });
    });
    process.env("GOSCHED_STD", "0").end().with("exit status: 0");
}

static WORD: AtomicU32 = AtomicU32::new(0);

extern "C" fn sleep_and_wait(_: c_int) {
    thread::sleep(Duration::from_micros(1));
    thread::yield_now();
    let waits = || futexes::wait_for(&WORD, 0, Duration::from_micros(1));
    // This waits in the kernel, where another signal may end it.
    assert!(matches!(waits(), Err(libc::ETIMEDOUT | libc::EINTR)));
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

fn a_handler_keeps_its_thread() {
    run_live(|| {
        handle(Signal::USR1, sleep_and_wait);
        super::super::signal::raise(Signal::USR1);
        assert_eq!((HANDLED.load(Ordering::Relaxed), parks()), (1, 0));
    });
}

extern "C" fn wake_one(_: c_int) {
    WORD.fetch_add(1, Ordering::SeqCst);
    futexes::wake(WAKE, &WORD, 1);
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

fn a_handler_may_wake() {
    run_live(|| {
        handle(Signal::USR1, wake_one);
        let handle = go(|| futexes::wait(&WORD, 0));
        wait_until(|| parks() == 1);
        super::super::signal::raise(Signal::USR1);
        assert_eq!(handle.join().unwrap(), Ok(()));
    });
}

/// A handler may interrupt anything: a wake, a wait, and the scheduler.
fn what_handlers_wake_is_not_forgotten(test: Test) {
    if test.skipped_in_emulator("signals come rarely") {
        return;
    }
    let process = test.process(|| {
        run_live(|| {
            handle(Signal::USR1, wake_one);
            let signals = thread::spawn(|| {
                for _ in 0..2_000 {
                    // SAFETY: no memory is passed. Any thread of the process may get the signal.
                    unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
                    thread::yield_now();
                }
            });
            let lock = Mutex::new(0);
            gosched::scope(|s| {
                for _ in 0..4 {
                    drop(s.go(|| {
                        for _ in 0..2_000 {
                            *lock.lock().unwrap() += 1;
                            thread::yield_now();
                        }
                    }));
                }
            });
            blocking(|| signals.join()).unwrap();
            // Sends one more signal, as the kernel may have merged all others: so there is one to
            // wait for.
            let seen = WORD.load(Ordering::SeqCst);
            let waits =
                go(
                    move || {
                        while futexes::wait(&WORD, seen).is_ok() && WORD.load(Ordering::SeqCst) == seen {}
                    },
                );
            super::super::signal::kill(Signal::USR1);
            waits.join().unwrap();
            assert_eq!(*lock.lock().unwrap(), 8_000);
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

/// All goroutines wait, in a process without other threads. A handler wakes one.
fn a_handler_may_end_what_looks_like_a_deadlock(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    let process = test.process(|| {
        run_live(|| {
            handle(Signal::ALRM, wake_one);
            // SAFETY: no memory is passed.
            unsafe { libc::alarm(1) };
            // The handler may come before the wait.
            while WORD.load(Ordering::SeqCst) == 0 {
                let _woken = futexes::wait(&WORD, 0);
            }
        });
    });
    process.end().with("exit status: 0");
}

unsafe extern "C" {
    fn ssignal(sig: c_int, handler: libc::sighandler_t) -> libc::sighandler_t;
    fn __sysv_signal(sig: c_int, handler: libc::sighandler_t) -> libc::sighandler_t;
}

fn handlers_by_other_names() {
    run_live(|| {
        let handler = note_frame as *const () as usize;
        // SAFETY: the handler may be called at any time.
        unsafe {
            assert_eq!(ssignal(libc::SIGUSR1, handler), libc::SIG_DFL);
            handled_elsewhere(Signal::USR1);
            assert_eq!(__sysv_signal(libc::SIGUSR1, handler), handler);
            handled_elsewhere(Signal::USR1);
            // The handler was called once, and isn't installed any more.
            assert_eq!(libc::signal(libc::SIGUSR1, libc::SIG_IGN), libc::SIG_DFL);
            assert_eq!(libc::signal(libc::SIGUSR1, libc::SIG_ERR), libc::SIG_ERR);
            assert_eq!(libc::signal(libc::SIGUSR1, libc::SIG_DFL), libc::SIG_IGN);
        }
    });
}
