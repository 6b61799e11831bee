//! Semaphores.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use gosched::go;

use super::objects::{Mapped, Sem, after};
use super::{
    MANY, all_end, live_with_one_p_and_several, ok, on_goroutines_and_threads, times, without_threads,
};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::polled::HOUR;
use crate::harness::{Test, tests};

tests! {
    many_wait_for_posts
    tokens_go_round
    a_limit_ends_a_wait
    errors_are_those_of_c
    a_post_in_a_handler
    one_that_is_gone_after_its_post
}

fn many_wait_for_posts(test: Test) {
    without_threads(test, || {
        static SEM: Sem = Sem::new();
        let waiters: Vec<_> = (0..MANY).map(|_| go(|| ok(SEM.wait()))).collect();
        thread::yield_now();
        (0..MANY).for_each(|_| ok(SEM.post()));
        all_end(waiters);
        assert_eq!(SEM.value(), 0);
    });
}

/// A lost post would end the test's time.
fn tokens_go_round(test: Test) {
    const TOKENS: usize = 3;
    static SEM: Sem = Sem::new();
    static HELD: AtomicUsize = AtomicUsize::new(0);

    fn pass(i: usize) {
        if i < TOKENS {
            ok(SEM.post());
        }
        for round in 0..times(500) {
            let soon = after(libc::CLOCK_MONOTONIC, Duration::from_micros(30));
            let limited = (round + i).is_multiple_of(5);
            let result = if limited { SEM.wait_by(libc::CLOCK_MONOTONIC, &soon) } else { SEM.wait() };
            if result != 0 {
                assert_eq!(result, libc::ETIMEDOUT);
                continue;
            }
            assert!(HELD.fetch_add(1, Relaxed) < TOKENS);
            thread::yield_now();
            HELD.fetch_sub(1, Relaxed);
            ok(SEM.post());
        }
    }

    on_goroutines_and_threads(test, 10, 3, pass, || assert_eq!(SEM.value() as usize, TOKENS));
}

fn a_limit_ends_a_wait(test: Test) {
    static SEM: Sem = Sem::new();

    fn wait() {
        let soon = Duration::from_millis(1);
        assert_eq!(SEM.wait_until(&after(libc::CLOCK_REALTIME, soon)), libc::ETIMEDOUT);
        for clock in [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC] {
            assert_eq!(SEM.wait_by(clock, &after(clock, soon)), libc::ETIMEDOUT);
        }
    }

    live_with_one_p_and_several(test, || {
        wait();
        gosched::blocking(wait);
        let waiter = go_until_it_waits(|| ok(SEM.wait_until(&after(libc::CLOCK_REALTIME, HOUR))));
        ok(SEM.post());
        waiter.join().unwrap();
    });
}

fn errors_are_those_of_c(test: Test) {
    live_with_one_p_and_several(test, || {
        let sem = Sem::new();
        sem.init(0);
        assert_eq!(sem.try_wait(), libc::EAGAIN);
        let wrong = libc::timespec { tv_sec: 1 << 40, tv_nsec: 1_000_000_000 };
        assert_eq!(sem.wait_until(&wrong), libc::EINVAL);
        sem.init(i32::MAX as u32);
        assert_eq!(sem.post(), libc::EOVERFLOW);
        assert_eq!(sem.value(), i32::MAX);
    });
}

/// The handler may interrupt anything, also code that holds a lock of the runtime's.
fn a_post_in_a_handler(test: Test) {
    static SEM: Sem = Sem::new();
    static POSTED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn post(_: i32) {
        ok(SEM.post());
        POSTED.fetch_add(1, Relaxed);
    }

    live_with_one_p_and_several(test, || {
        let n = times(200);
        let handler: extern "C" fn(i32) = post;
        // SAFETY: the handler posts a semaphore, and adds to an atomic.
        unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
        let waiters: Vec<_> = (0..4).map(|_| go(move || (0..n).for_each(|_| ok(SEM.wait())))).collect();
        gosched::blocking(|| {
            while POSTED.load(Relaxed) < 4 * n {
                let before = POSTED.load(Relaxed);
                // SAFETY: the signal has a handler, which runs on any thread.
                unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
                while POSTED.load(Relaxed) == before {
                    std::hint::spin_loop();
                }
            }
        });
        all_end(waiters);
        assert_eq!(SEM.value() as usize, POSTED.load(Relaxed) - 4 * n);
    });
}

/// The waiter unmaps the semaphore as soon as its wait has ended.
fn one_that_is_gone_after_its_post(test: Test) {
    live_with_one_p_and_several(test, || {
        for i in 0..times(500) {
            let sem = Mapped::new(Sem::new());
            let other = sem.share();
            let waiter = go(move || {
                ok(other.wait());
                other.unmap();
            });
            if i.is_multiple_of(2) {
                thread::yield_now();
            }
            ok(sem.post());
            waiter.join().unwrap();
        }
    });
}
