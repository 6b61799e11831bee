//! The clock of explorations and of `synctest`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gosched::chan::bounded;
use gosched::context::Context;
use gosched::explore::{Explorer, FailureKind, Strategy};
use gosched::sync::{Condvar, Mutex, Semaphore};
use gosched::time::{Ticker, Timer, after, now, sleep};
use gosched::{block_on, go, select, synctest};

use crate::harness::tests;

tests! {
    an_hour_takes_no_time
    each_kind_of_timeout_is_on_the_clock
    timers_that_are_due_at_once_come_in_any_order
    many_timers_at_one_instant
    a_stopped_timer_does_nothing
    timers_that_are_reset_to_earlier
    a_run_has_no_timers_of_the_last
    the_clock_stands_still_while_one_can_run
    synctest_waits_for_the_others
    synctest_tells_of_a_deadlock
    timers_that_nobody_waits_for_hide_no_deadlock
    timers_that_nobody_waits_for_do_not_go_on
    each_kind_of_wait_for_a_ticker
    a_real_deadline_is_met
    the_end_of_the_clock_never_comes
}

const HOUR: Duration = Duration::from_secs(3600);

fn an_hour_takes_no_time() {
    // In real time it would take days.
    Explorer::new().iterations(100).run(|| {
        let start = now();
        let other = go(|| sleep(HOUR));
        sleep(HOUR / 2);
        other.join().unwrap();
        assert_eq!(now() - start, HOUR);
    });
}

fn each_kind_of_timeout_is_on_the_clock() {
    synctest::test(|| {
        let took = |f: &dyn Fn()| {
            let start = now();
            f();
            assert_eq!(now() - start, HOUR);
        };
        let (_tx, rx) = bounded::<()>(0);
        let (lock, condvar, permits) = (Mutex::new(()), Condvar::new(), Semaphore::new(0));
        took(&|| assert!(rx.recv_timeout(HOUR).is_err()));
        took(&|| _ = after(HOUR).recv().unwrap());
        took(&|| assert!(condvar.wait_timeout(lock.lock(), HOUR).1.timed_out()));
        took(&|| assert!(condvar.wait_timeout_while(lock.lock(), HOUR, |_| true).1.timed_out()));
        took(&|| assert!(permits.acquire_timeout(HOUR).is_none()));
        let held = lock.lock();
        took(&|| assert!(lock.lock_timeout(HOUR).is_none()));
        drop(held);
        took(&|| {
            let (ctx, _cancel) = Context::background().with_timeout(HOUR);
            ctx.done().recv().unwrap_err();
        });
        took(&|| {
            let sleeper = go(|| sleep(2 * HOUR));
            let Err(sleeper) = sleeper.join_timeout(HOUR) else { panic!("it sleeps") };
            drop(sleeper);
        });
        let ticker = Ticker::new(HOUR / 4);
        took(&|| (0..4).for_each(|_| _ = ticker.c().recv().unwrap()));
        drop(ticker);
    });
}

fn timers_that_are_due_at_once_come_in_any_order() {
    for first in 0..3 {
        let found = Explorer::new().iterations(1_000).check(move || {
            let (tx, rx) = bounded(3);
            let timers: Vec<_> = (0..3)
                .map(|i| {
                    let tx = tx.clone();
                    Timer::after_func(HOUR, move || _ = tx.try_send(i))
                })
                .collect();
            assert_ne!(rx.recv(), Ok(first));
            drop(timers);
        });
        assert!(found.is_err(), "timer {first} is never the first");
    }
}

fn many_timers_at_one_instant() {
    let n = if cfg!(debug_assertions) { 1_000 } else { 100_000 };
    static FIRED: AtomicUsize = AtomicUsize::new(0);
    let fire = move || {
        let channels: Vec<_> = (0..n).map(|_| after(HOUR)).collect();
        sleep(HOUR * 2);
        FIRED.fetch_add(channels.iter().filter(|rx| rx.try_recv().is_ok()).count(), Ordering::Relaxed);
    };
    Explorer::new().strategy(Strategy::Random).iterations(1).max_choices(u64::MAX).run(fire);
    assert_eq!(FIRED.load(Ordering::Relaxed), n);
}

fn a_stopped_timer_does_nothing() {
    Explorer::new().run(|| {
        let fired = Arc::new(AtomicUsize::new(0));
        let count = fired.clone();
        let timer = Timer::after_func(HOUR, move || _ = count.fetch_add(1, Ordering::Relaxed));
        let stopper = go(move || {
            sleep(HOUR);
            timer.stop()
        });
        sleep(2 * HOUR);
        // Both are due at the same time: either may come first.
        assert_eq!(usize::from(!stopper.join().unwrap()), fired.load(Ordering::Relaxed));
    });
}

fn timers_that_are_reset_to_earlier() {
    synctest::test(|| {
        let start = now();
        let timers: Vec<_> = (0..3).map(|_| Timer::new(10 * HOUR)).collect();
        // The earliest timer is neither the first nor the last.
        for (timer, hours) in timers.iter().zip([3, 1, 2]) {
            assert!(timer.reset(hours * HOUR));
        }
        for (i, hours) in [(1, 1), (2, 2), (0, 3)] {
            assert_eq!(timers[i].c().recv().unwrap() - start, hours * HOUR);
            assert_eq!(now() - start, hours * HOUR);
        }
    });
}

fn a_run_has_no_timers_of_the_last() {
    static FIRED: AtomicUsize = AtomicUsize::new(0);
    let found = Explorer::new().iterations(1).check(|| {
        std::mem::forget(Timer::after_func(HOUR, || _ = FIRED.fetch_add(1, Ordering::Relaxed)));
        panic!("before it is due");
    });
    assert_eq!(found.unwrap_err().kind(), FailureKind::Panic);
    Explorer::new().iterations(1).run(|| sleep(2 * HOUR));
    assert_eq!(FIRED.load(Ordering::Relaxed), 0);
}

fn the_clock_stands_still_while_one_can_run() {
    Explorer::new().run(|| {
        let start = now();
        let sleeper = go(|| sleep(Duration::from_nanos(1)));
        for _ in 0..10 {
            gosched::yield_now();
        }
        assert_eq!(now(), start);
        sleeper.join().unwrap();
        assert_eq!(now() - start, Duration::from_nanos(1));
    });
}

fn synctest_waits_for_the_others() {
    synctest::test(|| {
        let steps = Arc::new(AtomicUsize::new(0));
        for i in 1..=3 {
            let steps = steps.clone();
            go(move || {
                steps.fetch_add(1, Ordering::Relaxed);
                sleep(i * HOUR);
                steps.fetch_add(1, Ordering::Relaxed);
            });
        }
        let start = now();
        for done in 3..=6 {
            synctest::wait();
            assert_eq!(steps.load(Ordering::Relaxed), done);
            sleep(HOUR);
            synctest::wait();
        }
        assert_eq!(now() - start, 4 * HOUR);
    });
}

fn synctest_tells_of_a_deadlock() {
    let told = std::panic::catch_unwind(|| {
        synctest::test(|| {
            let (_tx, rx) = bounded::<()>(0);
            let _ = rx.recv();
        });
    });
    let text = *told.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("a deadlock") && text.contains("[chan receive]"), "{text}");
    assert!(!text.contains("GOSCHED_REPLAY"), "{text}");
}

fn timers_that_nobody_waits_for_hide_no_deadlock() {
    let stuck = || {
        let (ticker, timer, once) = (Ticker::new(HOUR), Timer::new(HOUR), after(Duration::MAX));
        assert!(timer.reset(2 * HOUR));
        let dreamer = go(|| sleep(Duration::MAX));
        sleep(HOUR / 2);
        let (_tx, rx) = bounded::<()>(0);
        let _ = rx.recv();
        drop((ticker, timer, once, dreamer));
    };
    let found = Explorer::new().iterations(10).check(stuck);
    assert_eq!(found.unwrap_err().kind(), FailureKind::Deadlock);
    assert!(std::panic::catch_unwind(|| synctest::test(stuck)).is_err());
}

fn timers_that_nobody_waits_for_do_not_go_on() {
    Explorer::new().iterations(10).run(|| {
        std::mem::forget((Ticker::new(HOUR), after(HOUR)));
        sleep(HOUR);
    });
}

fn each_kind_of_wait_for_a_ticker() {
    Explorer::new().run(|| {
        let start = now();
        let ticker = Ticker::new(HOUR);
        assert_eq!(ticker.c().recv(), Ok(start + HOUR));
        select! {
            recv(ticker.c()) -> time => assert_eq!(time, Ok(start + 2 * HOUR)),
        }
        assert_eq!(block_on(ticker.c().recv_async()), Ok(start + 3 * HOUR));
        assert_eq!(ticker.c().recv_timeout(2 * HOUR), Ok(start + 4 * HOUR));
    });
}

fn a_real_deadline_is_met() {
    // A program may have a time of std's clock from elsewhere.
    synctest::test(|| {
        let (_tx, rx) = bounded::<()>(0);
        let deadline = Instant::now() + HOUR;
        assert!(rx.recv_deadline(deadline).is_err());
        assert!(now() >= deadline);
    });
}

fn the_end_of_the_clock_never_comes() {
    // A wait of this length lasts forever: the exploration doesn't hide that, and doesn't jump to
    // its end.
    let waits: [fn(); 4] = [
        || sleep(Duration::MAX),
        || {
            let (_tx, rx) = bounded::<()>(0);
            let _ = rx.recv_timeout(Duration::MAX);
        },
        || _ = after(Duration::MAX).recv(),
        || _ = Ticker::new(Duration::MAX).c().recv(),
    ];
    for wait in waits {
        let found = Explorer::new().iterations(10).check(move || {
            let _never = Ticker::new(Duration::MAX);
            sleep(HOUR);
            let (tx, rx) = bounded::<()>(0);
            std::mem::forget(tx);
            assert!(rx.recv_timeout(HOUR).is_err());
            wait();
        });
        assert_eq!(found.unwrap_err().kind(), FailureKind::Deadlock);
    }
    Explorer::new().run(|| {
        let (tx, rx) = bounded(0);
        go(move || tx.send(1));
        assert_eq!(rx.recv_timeout(Duration::MAX), Ok(1));
    });
}
