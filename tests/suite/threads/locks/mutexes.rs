//! Mutexes.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use gosched::go;

use super::super::run_live;
use super::objects::{Mapped, Mutex, after, mutex_of};
use super::{
    MANY, all_end, live_with_one_p_and_several, ok, on_goroutines_and_threads, times, without_threads,
};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::polled::HOUR;
use crate::harness::{Test, tests};

tests! {
    a_mutex_that_is_held_across_waits
    goroutines_and_threads_share_one
    a_recursive_one_belongs_to_its_goroutine
    a_checked_one_tells_of_mistakes
    a_limit_ends_a_wait
    a_wrong_limit_is_an_error
    errno_stays
    one_that_is_gone_after_its_unlock
    those_of_glibc_work_too
    a_robust_one_tells_of_a_dead_owner
    a_thread_that_waits_for_one_of_glibc_is_joined
    a_user_is_counted
}

const KINDS: [i32; 4] = [
    libc::PTHREAD_MUTEX_NORMAL,
    libc::PTHREAD_MUTEX_RECURSIVE,
    libc::PTHREAD_MUTEX_ERRORCHECK,
    3, // adaptive
];

fn a_mutex_that_is_held_across_waits(test: Test) {
    without_threads(test, || {
        static MUTEX: Mutex = Mutex::new();
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let add = || {
            MUTEX.with(|| {
                let before = COUNT.load(Relaxed);
                thread::sleep(Duration::from_micros(1));
                thread::yield_now();
                COUNT.store(before + 1, Relaxed);
            });
        };
        all_end((0..MANY).map(|_| go(add)).collect());
        assert_eq!(COUNT.load(Relaxed), MANY);
    });
}

fn goroutines_and_threads_share_one(test: Test) {
    static MUTEX: Mutex = Mutex::new();
    static COUNT: AtomicUsize = AtomicUsize::new(0);

    fn work(_: usize) {
        for i in 0..times(500) {
            MUTEX.with(|| {
                let before = COUNT.load(Relaxed);
                if i.is_multiple_of(8) {
                    thread::yield_now();
                }
                COUNT.store(before + 1, Relaxed);
            });
        }
    }

    on_goroutines_and_threads(test, 8, 3, work, || assert_eq!(COUNT.load(Relaxed), 11 * times(500)));
}

fn a_recursive_one_belongs_to_its_goroutine(test: Test) {
    live_with_one_p_and_several(test, || {
        let mutex = Mutex::of_kind(libc::PTHREAD_MUTEX_RECURSIVE);
        ok(mutex.lock());
        // The goroutine may go on on another thread.
        thread::sleep(Duration::from_micros(1));
        ok(mutex.lock());
        ok(mutex.try_lock());
        gosched::scope(|s| {
            s.go(|| {
                assert_eq!(mutex.try_lock(), libc::EBUSY);
                assert_eq!(mutex.unlock(), libc::EPERM);
            });
        });
        (0..3).for_each(|_| ok(mutex.unlock()));
        assert_eq!(mutex.unlock(), libc::EPERM);
        ok(mutex.destroy());
    });
}

fn a_checked_one_tells_of_mistakes(test: Test) {
    live_with_one_p_and_several(test, || {
        let mutex = Mutex::of_kind(libc::PTHREAD_MUTEX_ERRORCHECK);
        assert_eq!(mutex.unlock(), libc::EPERM);
        ok(mutex.lock());
        assert_eq!(mutex.lock(), libc::EDEADLK);
        assert_eq!(mutex.lock_until(&after(libc::CLOCK_REALTIME, HOUR)), libc::EDEADLK);
        assert_eq!(mutex.try_lock(), libc::EBUSY);
        thread::sleep(Duration::from_micros(1));
        assert_eq!(mutex.lock(), libc::EDEADLK);
        ok(mutex.unlock());
        assert_eq!(mutex.unlock(), libc::EPERM);
    });
}

fn a_limit_ends_a_wait(test: Test) {
    static MUTEX: Mutex = Mutex::new();

    fn wait() {
        let soon = Duration::from_millis(1);
        for clock in [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC] {
            assert_eq!(MUTEX.lock_by(clock, &after(clock, soon)), libc::ETIMEDOUT);
        }
        assert_eq!(MUTEX.lock_until(&after(libc::CLOCK_REALTIME, soon)), libc::ETIMEDOUT);
        let long_ago = libc::timespec { tv_sec: -1, tv_nsec: 0 };
        assert_eq!(MUTEX.lock_until(&long_ago), libc::ETIMEDOUT);
    }

    live_with_one_p_and_several(test, || {
        MUTEX.with(|| {
            wait();
            go(wait).join().unwrap();
            gosched::blocking(wait);
        });
        // A limit that isn't reached.
        let waiter = MUTEX.with(|| {
            go_until_it_waits(|| {
                ok(MUTEX.lock_until(&after(libc::CLOCK_REALTIME, HOUR)));
                ok(MUTEX.unlock());
            })
        });
        waiter.join().unwrap();
        // A mutex that is free needs no limit.
        ok(MUTEX.lock_until(&libc::timespec { tv_sec: 0, tv_nsec: -1 }));
        ok(MUTEX.unlock());
    });
}

fn a_wrong_limit_is_an_error(test: Test) {
    live_with_one_p_and_several(test, || {
        let mutex = Mutex::new();
        mutex.with(|| {
            for tv_nsec in [-1, 1_000_000_000] {
                assert_eq!(mutex.lock_until(&libc::timespec { tv_sec: 1 << 40, tv_nsec }), libc::EINVAL);
            }
            let time = after(libc::CLOCK_MONOTONIC, HOUR);
            assert_eq!(mutex.lock_by(libc::CLOCK_PROCESS_CPUTIME_ID, &time), libc::EINVAL);
        });
    });
}

fn errno_stays(test: Test) {
    static MUTEX: Mutex = Mutex::new();

    fn keeps_errno(_: usize) {
        for i in 0..times(200) as i32 {
            // SAFETY: errno of this goroutine.
            unsafe { *libc::__errno_location() = i };
            MUTEX.with(thread::yield_now);
            // SAFETY: the same.
            assert_eq!(unsafe { *libc::__errno_location() }, i);
        }
    }

    on_goroutines_and_threads(test, 6, 2, keeps_errno, || {});
}

/// The mutex is in memory that the other side unmaps as soon as it has the mutex.
fn one_that_is_gone_after_its_unlock(test: Test) {
    struct Shared {
        mutex: Mutex,
        ends: AtomicUsize,
    }

    fn end(shared: Mapped<Shared>) {
        ok(shared.mutex.lock());
        let is_last = shared.ends.fetch_add(1, Relaxed) == 1;
        if !is_last {
            thread::yield_now();
        }
        ok(shared.mutex.unlock());
        if is_last {
            shared.unmap();
        }
    }

    live_with_one_p_and_several(test, || {
        for kind in KINDS {
            for _ in 0..times(300) {
                let shared = Mapped::new(Shared { mutex: Mutex::of_kind(kind), ends: AtomicUsize::new(0) });
                let other = shared.share();
                let other = go(move || end(other));
                end(shared);
                other.join().unwrap();
            }
        }
    });
}

/// Shared by processes, robust, or with a protocol for priorities. The kernel knows their owners.
fn those_of_glibc_work_too(test: Test) {
    live_with_one_p_and_several(test, || {
        let private = libc::PTHREAD_PROCESS_PRIVATE;
        let (shared, none) = (libc::PTHREAD_PROCESS_SHARED, libc::PTHREAD_PRIO_NONE);
        let recursive = libc::PTHREAD_MUTEX_RECURSIVE;
        let kinds = [
            mutex_of(libc::PTHREAD_MUTEX_NORMAL, shared, none),
            mutex_of(recursive, shared, none),
            mutex_of(libc::PTHREAD_MUTEX_NORMAL, private, libc::PTHREAD_PRIO_INHERIT),
            mutex_of(recursive, private, libc::PTHREAD_PRIO_INHERIT),
            robust(libc::PTHREAD_MUTEX_NORMAL),
        ];
        for (i, mutex) in kinds.into_iter().enumerate() {
            let count = AtomicUsize::new(0);
            gosched::scope(|s| {
                for _ in 0..4 {
                    s.go(|| {
                        for _ in 0..times(20) {
                            ok(mutex.lock_until(&after(libc::CLOCK_REALTIME, HOUR)));
                            let before = count.load(Relaxed);
                            // It stays on its thread.
                            thread::yield_now();
                            if i % 2 == 1 {
                                mutex.with(|| ());
                            } else {
                                assert_ne!(mutex.try_lock(), 0);
                            }
                            count.store(before + 1, Relaxed);
                            ok(mutex.unlock());
                        }
                    });
                }
            });
            assert_eq!(count.load(Relaxed), 4 * times(20));
            ok(mutex.destroy());
        }
        // The goroutine isn't locked to a thread any more: another one runs on it.
        let thread = || {
            // SAFETY: no arguments.
            unsafe { libc::gettid() }
        };
        if std::env::var("GOMAXPROCS").as_deref() == Ok("1") {
            assert_eq!(go(thread).join().unwrap(), thread());
        }
    });
}

fn robust(kind: c_int) -> Mutex {
    let mutex = Mutex::new();
    // SAFETY: objects of this function's.
    unsafe {
        let mut attr = std::mem::zeroed();
        ok(libc::pthread_mutexattr_init(&mut attr));
        ok(libc::pthread_mutexattr_settype(&mut attr, kind));
        ok(libc::pthread_mutexattr_setrobust(&mut attr, libc::PTHREAD_MUTEX_ROBUST));
        ok(libc::pthread_mutex_init(mutex.get(), &attr));
    }
    mutex
}

/// A thread has ended with it.
fn a_robust_one_tells_of_a_dead_owner(test: Test) {
    if test.skipped_in_emulator("no dead owner is told of") {
        return;
    }
    static MUTEXES: OnceLock<[Mutex; 2]> = OnceLock::new();
    for procs in ["1", "4"] {
        let process = test.process(|| {
            let make = || [libc::PTHREAD_MUTEX_NORMAL, libc::PTHREAD_MUTEX_RECURSIVE].map(robust);
            let mutexes = MUTEXES.get_or_init(make);
            thread::spawn(|| mutexes.iter().for_each(|mutex| ok(mutex.lock()))).join().unwrap();
            run_live(|| {
                for mutex in mutexes {
                    assert_eq!(mutex.lock(), libc::EOWNERDEAD);
                    thread::yield_now();
                    // SAFETY: a mutex that this goroutine has.
                    ok(unsafe { libc::pthread_mutex_consistent(mutex.get()) });
                    ok(mutex.unlock());
                    go(|| mutex.with(|| ())).join().unwrap();
                }
            });
        });
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

/// glibc knows the waiter by its thread's number meanwhile.
fn a_thread_that_waits_for_one_of_glibc_is_joined(test: Test) {
    live_with_one_p_and_several(test, || {
        static MUTEX: std::sync::OnceLock<Mutex> = std::sync::OnceLock::new();
        let (shared, none) = (libc::PTHREAD_PROCESS_SHARED, libc::PTHREAD_PRIO_NONE);
        let mutex = MUTEX.get_or_init(|| mutex_of(libc::PTHREAD_MUTEX_NORMAL, shared, none));
        ok(mutex.lock());
        let waits = thread::spawn(|| mutex.with(|| ()));
        while !mutex.has_waiters() {
            thread::yield_now();
        }
        let joins = go_until_it_waits(move || waits.join().unwrap());
        ok(mutex.unlock());
        joins.join().unwrap();
    });
}

fn a_user_is_counted(test: Test) {
    live_with_one_p_and_several(test, || {
        let mutex = Mutex::new();
        mutex.with(|| assert_eq!(mutex.destroy(), libc::EBUSY));
        ok(mutex.destroy());
        // What was destroyed isn't ours, and glibc refuses it.
        assert_eq!(mutex.lock(), libc::EINVAL);
    });
}
