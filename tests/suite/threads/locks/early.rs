//! Objects that threads use already when threads become goroutines.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gosched::{go, run};

use super::objects::{Barrier, Cond, Mutex, Once, RwLock, Sem, after};
use super::{ok, run_live};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::polled::HOUR;
use crate::harness::tests;

tests! {
    a_mutex
    a_mutex_that_a_thread_has
    a_condition
    a_condition_with_waits_of_both
    a_condition_with_a_limit
    a_read_write_lock
    a_read_write_lock_that_a_thread_has
    a_semaphore
    a_barrier
    a_function_that_runs
    a_function_that_unwinds
    before_that_all_is_glibc_s
    a_child_of_fork
}

/// Makes a thread, and returns once it sleeps in the kernel, or has ended.
fn thread_that_sleeps(f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    static TID: AtomicUsize = AtomicUsize::new(0);
    let thread = thread::spawn(move || {
        // SAFETY: no arguments.
        TID.store(unsafe { libc::gettid() } as usize, Relaxed);
        f();
    });
    let tid = loop {
        match TID.swap(0, Relaxed) {
            0 => thread::yield_now(),
            tid => break tid,
        }
    };
    // The call's number is that of the machine's architecture, also in an emulator.
    const FUTEX: [&str; 2] = ["202 ", "98 "];
    let call = || std::fs::read_to_string(format!("/proc/self/task/{tid}/syscall"));
    while call().is_ok_and(|call| !FUTEX.iter().any(|futex| call.starts_with(futex))) {
        thread::yield_now();
    }
    thread
}

fn ends(thread: JoinHandle<()>) {
    gosched::blocking(|| thread.join()).unwrap();
}

fn a_mutex() {
    static MUTEX: Mutex = Mutex::new();
    ok(MUTEX.lock());
    let thread = thread_that_sleeps(|| MUTEX.with(|| ()));
    // This thread may unlock it, although another one has locked it: it isn't checked.
    run_live(move || {
        let goroutine = go_until_it_waits(|| MUTEX.with(|| ()));
        ok(MUTEX.unlock());
        ends(thread);
        goroutine.join().unwrap();
        ok(MUTEX.try_lock());
    });
}

/// The thread unlocks it when there are goroutines.
fn a_mutex_that_a_thread_has() {
    static MUTEX: Mutex = Mutex::new();
    static END: Sem = Sem::new();
    let thread = thread_that_sleeps(|| {
        MUTEX.with(|| ok(END.wait()));
    });
    run_live(move || {
        let goroutines = [(); 3].map(|()| go_until_it_waits(|| MUTEX.with(|| ())));
        ok(END.post());
        ends(thread);
        goroutines.into_iter().for_each(|goroutine| goroutine.join().unwrap());
    });
}

fn a_condition() {
    static MUTEX: Mutex = Mutex::new();
    static COND: Cond = Cond::new();
    for wakes_all in [false, true] {
        let thread = thread_that_sleeps(|| MUTEX.with(|| ok(COND.wait(&MUTEX))));
        run_live(move || {
            MUTEX.with(|| if wakes_all { COND.broadcast() } else { COND.signal() });
            ends(thread);
        });
        if !wakes_all {
            // From here on the threads' waits are ours, too.
            break;
        }
    }
}

fn a_condition_with_waits_of_both() {
    static MUTEX: Mutex = Mutex::new();
    static COND: Cond = Cond::new();
    static TOLD: AtomicUsize = AtomicUsize::new(0);

    fn wait() {
        MUTEX.with(|| {
            while TOLD.load(Relaxed) == 0 {
                ok(COND.wait(&MUTEX));
            }
            TOLD.fetch_sub(1, Relaxed);
        });
    }

    let threads = [(); 2].map(|()| thread_that_sleeps(wait));
    run_live(move || {
        let goroutines = [(); 2].map(|()| go_until_it_waits(wait));
        for _ in 0..4 {
            MUTEX.with(|| TOLD.fetch_add(1, Relaxed));
            COND.signal();
            // A signal may end a wait of each kind, and one of the two finds nothing to do.
            while MUTEX.with(|| TOLD.load(Relaxed)) != 0 {
                thread::yield_now();
            }
        }
        goroutines.into_iter().for_each(|goroutine| goroutine.join().unwrap());
        threads.into_iter().for_each(ends);
        COND.destroy();
    });
}

fn a_condition_with_a_limit() {
    static MUTEX: Mutex = Mutex::new();
    static COND: Cond = Cond::new();
    let soon = after(libc::CLOCK_REALTIME, Duration::from_millis(50));
    let limited = thread_that_sleeps(move || {
        MUTEX.with(|| assert_eq!(COND.wait_until(&MUTEX, &soon), libc::ETIMEDOUT));
    });
    let later = after(libc::CLOCK_REALTIME, HOUR);
    let other = thread_that_sleeps(move || MUTEX.with(|| ok(COND.wait_until(&MUTEX, &later))));
    run_live(move || {
        let goroutine = go_until_it_waits(|| {
            MUTEX.with(|| ());
        });
        ends(limited);
        MUTEX.with(|| COND.signal());
        ends(other);
        goroutine.join().unwrap();
    });
}

fn a_read_write_lock() {
    static LOCK: RwLock = RwLock::new();
    ok(LOCK.read());
    let writer = thread_that_sleeps(|| {
        ok(LOCK.write());
        LOCK.unlock();
    });
    run_live(move || {
        let goroutine = go_until_it_waits(|| {
            ok(LOCK.write());
            LOCK.unlock();
        });
        LOCK.unlock();
        ends(writer);
        goroutine.join().unwrap();
        ok(LOCK.try_write());
    });
}

fn a_read_write_lock_that_a_thread_has() {
    static LOCK: RwLock = RwLock::new();
    static END: Sem = Sem::new();
    let writer = thread_that_sleeps(|| {
        ok(LOCK.write());
        ok(END.wait());
        LOCK.unlock();
    });
    let reader = thread_that_sleeps(|| {
        ok(LOCK.read());
        LOCK.unlock();
    });
    run_live(move || {
        let goroutines = [true, false].map(|writes| {
            go_until_it_waits(move || {
                ok(if writes { LOCK.write() } else { LOCK.read() });
                LOCK.unlock();
            })
        });
        ok(END.post());
        ends(writer);
        ends(reader);
        goroutines.into_iter().for_each(|goroutine| goroutine.join().unwrap());
    });
}

fn a_semaphore() {
    static SEM: Sem = Sem::new();
    let thread = thread_that_sleeps(|| ok(SEM.wait()));
    run_live(move || {
        let goroutine = go_until_it_waits(|| ok(SEM.wait()));
        ok(SEM.post());
        ok(SEM.post());
        ends(thread);
        goroutine.join().unwrap();
        assert_eq!(SEM.try_wait(), libc::EAGAIN);
    });
}

fn a_barrier() {
    static BARRIER: Barrier = Barrier::new();
    BARRIER.init(3);
    let thread = thread_that_sleeps(|| _ = BARRIER.wait());
    run_live(move || {
        let goroutine = go_until_it_waits(|| _ = BARRIER.wait());
        BARRIER.wait();
        ends(thread);
        goroutine.join().unwrap();
        BARRIER.destroy();
    });
}

fn a_function_that_runs() {
    static ONCE: Once = Once::new();
    static END: Sem = Sem::new();
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    extern "C-unwind" fn make() {
        CALLS.fetch_add(1, Relaxed);
        ok(END.wait());
    }

    let first = thread_that_sleeps(|| ONCE.call(make));
    let second = thread_that_sleeps(|| ONCE.call(make));
    run_live(move || {
        let goroutine = go_until_it_waits(|| ONCE.call(make));
        assert!(!goroutine.is_finished());
        ok(END.post());
        ends(first);
        ends(second);
        goroutine.join().unwrap();
        assert_eq!(CALLS.load(Relaxed), 1);
    });
}

fn a_function_that_unwinds() {
    static ONCE: Once = Once::new();
    static END: Sem = Sem::new();
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    extern "C-unwind" fn fail_once() {
        if CALLS.fetch_add(1, Relaxed) == 0 {
            ok(END.wait());
            panic!("not yet");
        }
    }

    let first = thread_that_sleeps(|| assert!(catch_unwind(|| ONCE.call(fail_once)).is_err()));
    run_live(move || {
        let goroutine = go_until_it_waits(|| ONCE.call(fail_once));
        ok(END.post());
        ends(first);
        goroutine.join().unwrap();
        assert_eq!(CALLS.load(Relaxed), 2);
    });
}

/// Goroutines wait as threads do, and all is right.
fn before_that_all_is_glibc_s() {
    static MUTEX: Mutex = Mutex::new();
    static COND: Cond = Cond::new();
    static TURN: AtomicUsize = AtomicUsize::new(0);
    run(|| {
        let play = |me: usize| {
            for _ in 0..20 {
                MUTEX.with(|| {
                    while TURN.load(Relaxed) % 2 != me {
                        ok(COND.wait(&MUTEX));
                    }
                    TURN.fetch_add(1, Relaxed);
                    COND.signal();
                });
            }
        };
        let other = go(move || play(1));
        play(0);
        other.join().unwrap();
        assert_eq!(TURN.load(Relaxed), 40);
    });
}

/// A child has the objects as they are, and none of the goroutines.
fn a_child_of_fork() {
    static MUTEX: Mutex = Mutex::new();
    static SEM: Sem = Sem::new();
    static COND: Cond = Cond::new();
    run_live(|| {
        let waiter = go_until_it_waits(|| ok(SEM.wait()));
        let waits = go_until_it_waits(|| MUTEX.with(|| ok(COND.wait(&MUTEX))));
        ok(MUTEX.lock());
        // SAFETY: the child calls functions of C's, and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let soon = after(libc::CLOCK_REALTIME, Duration::from_millis(1));
                let results = [
                    MUTEX.unlock(),
                    MUTEX.lock(),
                    SEM.post(),
                    SEM.wait(),
                    SEM.try_wait() - libc::EAGAIN,
                    COND.wait_until(&MUTEX, &soon) - libc::ETIMEDOUT,
                ];
                COND.broadcast();
                libc::_exit(i32::from(results != [0; 6]));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            assert_eq!(status, 0);
        }
        COND.signal();
        ok(MUTEX.unlock());
        ok(SEM.post());
        waiter.join().unwrap();
        waits.join().unwrap();
    });
}
