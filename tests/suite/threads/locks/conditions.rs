//! Conditions.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use gosched::go;

use super::objects::{Cond, Mapped, Mutex, after, mutex_of};
use super::{
    MANY, all_end, live_with_one_p_and_several, ok, on_goroutines_and_threads, times, without_threads,
};
use crate::harness::goroutines::{go_until_it_waits, wait_until};
use crate::harness::polled::HOUR;
use crate::harness::{Test, tests};

tests! {
    a_broadcast_wakes_all
    each_signal_wakes_one
    two_goroutines_take_turns
    a_goroutine_and_a_thread_take_turns
    two_threads_take_turns
    a_queue_between_goroutines_and_threads
    a_limit_ends_a_wait
    a_wrong_limit_is_an_error
    a_signal_comes_before_the_limit
    an_unlock_that_fails_ends_the_wait
    a_recursive_mutex_waits_too
    one_that_is_gone_after_the_last_wake
    one_that_processes_share
    mutexes_of_glibc
}

fn a_broadcast_wakes_all(test: Test) {
    without_threads(test, || {
        static MUTEX: Mutex = Mutex::new();
        static COND: Cond = Cond::new();
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let meet = || {
            MUTEX.with(|| {
                if COUNT.fetch_add(1, Relaxed) + 1 == MANY {
                    COND.broadcast();
                }
                while COUNT.load(Relaxed) < MANY {
                    ok(COND.wait(&MUTEX));
                }
            });
        };
        all_end((0..MANY).map(|_| go(meet)).collect());
    });
}

/// As many waits end as there were signals: those that wait longest.
fn each_signal_wakes_one(test: Test) {
    const N: usize = 20;
    live_with_one_p_and_several(test, || {
        static MUTEX: Mutex = Mutex::new();
        static COND: Cond = Cond::new();
        static WAITING: AtomicUsize = AtomicUsize::new(0);
        static WOKEN: AtomicUsize = AtomicUsize::new(0);
        let wait = || {
            MUTEX.with(|| {
                let place = WAITING.fetch_add(1, Relaxed);
                ok(COND.wait(&MUTEX));
                let woken = WOKEN.fetch_add(1, Relaxed);
                assert!(place == woken || woken >= N / 2);
            });
        };
        let waiters: Vec<_> = (0..N).map(|_| go(wait)).collect();
        // They have queued themselves once the mutex is free.
        wait_until(|| MUTEX.with(|| WAITING.load(Relaxed) == N));
        for n in 1..=N / 2 {
            COND.signal();
            wait_until(|| MUTEX.with(|| WOKEN.load(Relaxed) >= n));
            assert_eq!(WOKEN.load(Relaxed), n);
        }
        COND.broadcast();
        all_end(waiters);
        assert_eq!(WOKEN.load(Relaxed), N);
    });
}

/// Two take turns. A lost signal would end the test's time.
fn take_turns(test: Test, goroutines: usize) {
    static MUTEX: Mutex = Mutex::new();
    static CONDS: [Cond; 2] = [Cond::new(), Cond::new()];
    static TURN: AtomicUsize = AtomicUsize::new(0);

    fn play(me: usize) {
        for _ in 0..times(1_000) {
            MUTEX.with(|| {
                while TURN.load(Relaxed) % 2 != me {
                    ok(CONDS[me].wait(&MUTEX));
                }
                TURN.fetch_add(1, Relaxed);
                CONDS[1 - me].signal();
            });
        }
    }

    on_goroutines_and_threads(test, goroutines, 2 - goroutines, play, || {
        assert_eq!(TURN.load(Relaxed), 2 * times(1_000));
    });
}

fn two_goroutines_take_turns(test: Test) {
    take_turns(test, 2);
}

fn a_goroutine_and_a_thread_take_turns(test: Test) {
    take_turns(test, 1);
}

fn two_threads_take_turns(test: Test) {
    take_turns(test, 0);
}

/// Producers and consumers of a queue with few places. The sum says whether anything is lost.
fn a_queue_between_goroutines_and_threads(test: Test) {
    const PLACES: usize = 4;
    const PAIRS: usize = 5;
    static MUTEX: Mutex = Mutex::new();
    static NOT_FULL: Cond = Cond::new();
    static NOT_EMPTY: Cond = Cond::new();
    static QUEUED: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());
    static SUM: AtomicUsize = AtomicUsize::new(0);

    fn work(i: usize) {
        for item in 0..times(500) {
            if i.is_multiple_of(2) { produce(item) } else { consume() }
        }
    }

    fn produce(item: usize) {
        MUTEX.with(|| {
            while QUEUED.lock().unwrap().len() == PLACES {
                ok(NOT_FULL.wait(&MUTEX));
            }
            QUEUED.lock().unwrap().push(item);
        });
        NOT_EMPTY.signal();
    }

    fn consume() {
        let item = MUTEX.with(|| {
            loop {
                if let Some(item) = QUEUED.lock().unwrap().pop() {
                    break item;
                }
                // A limit that passes now and then.
                let soon = after(libc::CLOCK_REALTIME, Duration::from_micros(50));
                let result = NOT_EMPTY.wait_until(&MUTEX, &soon);
                assert!([0, libc::ETIMEDOUT].contains(&result));
            }
        });
        NOT_FULL.signal();
        SUM.fetch_add(item, Relaxed);
    }

    on_goroutines_and_threads(test, 2 * (PAIRS - 1), 2, work, || {
        let n = times(500);
        assert_eq!(SUM.load(Relaxed), PAIRS * n * (n - 1) / 2);
    });
}

fn a_limit_ends_a_wait(test: Test) {
    static MUTEX: Mutex = Mutex::new();
    static COND: Cond = Cond::new();

    fn wait() {
        let soon = Duration::from_millis(1);
        let monotonic = Cond::with_clock(libc::CLOCK_MONOTONIC, libc::PTHREAD_PROCESS_PRIVATE);
        MUTEX.with(|| {
            let by = |clock| COND.wait_by(&MUTEX, clock, &after(clock, soon));
            assert_eq!(by(libc::CLOCK_MONOTONIC), libc::ETIMEDOUT);
            assert_eq!(by(libc::CLOCK_REALTIME), libc::ETIMEDOUT);
            assert_eq!(COND.wait_until(&MUTEX, &after(libc::CLOCK_REALTIME, soon)), libc::ETIMEDOUT);
            let time = after(libc::CLOCK_MONOTONIC, soon);
            assert_eq!(monotonic.wait_until(&MUTEX, &time), libc::ETIMEDOUT);
            // On the other clock, this would be long ago.
            assert_eq!(COND.wait_until(&MUTEX, &time), libc::ETIMEDOUT);
            let long_ago = libc::timespec { tv_sec: -1, tv_nsec: 0 };
            assert_eq!(COND.wait_until(&MUTEX, &long_ago), libc::ETIMEDOUT);
            // The mutex is locked again.
            assert_eq!(MUTEX.try_lock(), libc::EBUSY);
        });
    }

    live_with_one_p_and_several(test, || {
        wait();
        go(wait).join().unwrap();
        gosched::blocking(wait);
    });
}

fn a_wrong_limit_is_an_error(test: Test) {
    live_with_one_p_and_several(test, || {
        let (mutex, cond) = (Mutex::new(), Cond::new());
        mutex.with(|| {
            for tv_nsec in [-1, 1_000_000_000] {
                let time = libc::timespec { tv_sec: 1 << 40, tv_nsec };
                assert_eq!(cond.wait_until(&mutex, &time), libc::EINVAL);
            }
            let time = after(libc::CLOCK_MONOTONIC, HOUR);
            assert_eq!(cond.wait_by(&mutex, libc::CLOCK_PROCESS_CPUTIME_ID, &time), libc::EINVAL);
        });
    });
}

fn a_signal_comes_before_the_limit(test: Test) {
    static MUTEX: Mutex = Mutex::new();
    static COND: Cond = Cond::new();
    live_with_one_p_and_several(test, || {
        let wait = || MUTEX.with(|| ok(COND.wait_until(&MUTEX, &after(libc::CLOCK_REALTIME, HOUR))));
        let waiter = go_until_it_waits(wait);
        MUTEX.with(|| COND.signal());
        waiter.join().unwrap();
    });
}

/// The wait isn't queued any more: the signal wakes the next.
fn an_unlock_that_fails_ends_the_wait(test: Test) {
    static COND: Cond = Cond::new();
    static MUTEX: Mutex = Mutex::new();
    live_with_one_p_and_several(test, || {
        let checked = Mutex::of_kind(libc::PTHREAD_MUTEX_ERRORCHECK);
        assert_eq!(COND.wait(&checked), libc::EPERM);
        let waiter = go_until_it_waits(|| MUTEX.with(|| ok(COND.wait(&MUTEX))));
        MUTEX.with(|| COND.signal());
        waiter.join().unwrap();
    });
}

fn a_recursive_mutex_waits_too(test: Test) {
    live_with_one_p_and_several(test, || {
        for kind in [libc::PTHREAD_MUTEX_RECURSIVE, libc::PTHREAD_MUTEX_ERRORCHECK] {
            let (mutex, cond) = (Mutex::of_kind(kind), Cond::new());
            let there = AtomicUsize::new(0);
            gosched::scope(|s| {
                let waiter = s.go(|| {
                    mutex.with(|| {
                        there.store(1, Relaxed);
                        while there.load(Relaxed) == 1 {
                            ok(cond.wait(&mutex));
                        }
                        // It belongs to this goroutine again.
                        let again = mutex.lock();
                        if kind == libc::PTHREAD_MUTEX_RECURSIVE {
                            ok(again);
                            ok(mutex.unlock());
                        } else {
                            assert_eq!(again, libc::EDEADLK);
                        }
                    });
                });
                wait_until(|| mutex.with(|| there.load(Relaxed) == 1));
                // A mutex with a wait isn't free.
                assert_eq!(mutex.destroy(), libc::EBUSY);
                mutex.with(|| there.store(2, Relaxed));
                cond.signal();
                waiter.join().unwrap();
            });
            ok(mutex.destroy());
        }
    });
}

/// The last one to be woken unmaps the condition, and so does a signaller that has seen it gone.
fn one_that_is_gone_after_the_last_wake(test: Test) {
    struct Shared {
        mutex: Mutex,
        cond: Cond,
        told: AtomicUsize,
    }

    live_with_one_p_and_several(test, || {
        for i in 0..times(500) {
            let shared =
                Mapped::new(Shared { mutex: Mutex::new(), cond: Cond::new(), told: AtomicUsize::new(0) });
            let other = shared.share();
            let waiter = go(move || {
                other.mutex.with(|| {
                    while other.told.load(Relaxed) == 0 {
                        ok(other.cond.wait(&other.mutex));
                    }
                });
                other.cond.destroy();
                other.unmap();
            });
            if i.is_multiple_of(2) {
                thread::yield_now();
            }
            ok(shared.mutex.lock());
            shared.told.store(1, Relaxed);
            shared.cond.broadcast();
            ok(shared.mutex.unlock());
            waiter.join().unwrap();
        }
    });
}

/// glibc's wait releases the mutex, and goroutines that wait for the mutex get it.
fn one_that_processes_share(test: Test) {
    static MUTEX: Mutex = Mutex::new();
    static TURN: AtomicUsize = AtomicUsize::new(0);
    const N: usize = 3;
    live_with_one_p_and_several(test, || {
        let cond = Cond::with_clock(libc::CLOCK_REALTIME, libc::PTHREAD_PROCESS_SHARED);
        let play = |me: usize| {
            for _ in 0..times(100) {
                MUTEX.with(|| {
                    while TURN.load(Relaxed) % N != me {
                        ok(cond.wait(&MUTEX));
                    }
                    TURN.fetch_add(1, Relaxed);
                    cond.broadcast();
                });
            }
        };
        gosched::scope(|s| {
            let play = &play;
            (0..N).for_each(|me| drop(s.go(move || play(me))));
            // These only want the mutex.
            for _ in 0..N {
                s.go(|| (0..times(100)).for_each(|_| MUTEX.with(thread::yield_now)));
            }
        });
        assert_eq!(TURN.load(Relaxed), N * times(100));
    });
}

fn mutexes_of_glibc(test: Test) {
    live_with_one_p_and_several(test, || {
        let mutex =
            mutex_of(libc::PTHREAD_MUTEX_NORMAL, libc::PTHREAD_PROCESS_SHARED, libc::PTHREAD_PRIO_NONE);
        let (cond, told) = (Cond::new(), AtomicUsize::new(0));
        gosched::scope(|s| {
            s.go(|| {
                mutex.with(|| {
                    while told.load(Relaxed) == 0 {
                        ok(cond.wait(&mutex));
                    }
                });
            });
            thread::yield_now();
            mutex.with(|| told.store(1, Relaxed));
            cond.signal();
        });
        mutex.with(|| {
            let soon = after(libc::CLOCK_REALTIME, Duration::from_millis(1));
            assert_eq!(cond.wait_until(&mutex, &soon), libc::ETIMEDOUT);
        });
    });
}
