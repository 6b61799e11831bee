//! The channel of a timer that is due: it is ready, whatever else the timer's P does.

use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use gosched::chan::{Select, TryRecvError};
use gosched::explore::Explorer;
use gosched::time::{Ticker, Timer, after, now, sleep, tick};
use gosched::{blocking, go, run, select, synctest, yield_now};

use super::timers::{HOUR, MS, with_one_p_and_several};
use crate::harness::{Test, tests};

tests! {
    what_is_due_is_ready
    what_is_due_is_ready_after_a_computation
    either_of_two_that_are_due_may_be_chosen
    a_time_limit_that_is_over_comes_after_what_is_ready
    the_time_is_when_it_was_due
    the_buffer_cannot_be_seen
    what_is_due_is_ready_in_each_schedule
    each_tick_comes_once_in_each_schedule
    ticks_are_as_far_apart_as_they_are_due
    what_is_due_is_ready_where_nothing_can_wait
}

/// Keeps its processor until `d` is over.
fn compute(d: Duration) {
    let start = Instant::now();
    while start.elapsed() < d {
        std::hint::spin_loop();
    }
}

fn what_is_due_is_ready(test: Test) {
    with_one_p_and_several(test, || {
        let ticks = tick(Duration::from_nanos(1));
        let timer = Timer::new(HOUR);
        for _ in 0..200 {
            assert!(after(Duration::ZERO).try_recv().is_ok());
            select! {
                recv(after(Duration::ZERO)) -> time => assert!(time.is_ok()),
                default => panic!("it is due"),
            }
            let due = after(Duration::ZERO);
            let mut set = Select::new();
            set.recv(&due);
            assert!(set.try_select().is_some());
            drop(set);
            let due = after(Duration::ZERO);
            let mut future = std::pin::pin!(due.recv_async());
            let poll = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(poll, Poll::Ready(Ok(_))));

            timer.reset(Duration::ZERO);
            assert!(timer.c().try_recv().is_ok() && timer.c().try_recv() == Err(TryRecvError::Empty));
            assert!(!timer.stop(), "it was received");
            timer.reset(Duration::ZERO);
            assert!(timer.stop(), "nobody has received");
            assert_eq!(timer.c().try_recv(), Err(TryRecvError::Empty));
            assert!(ticks.try_recv().is_ok());
        }
    });
}

fn what_is_due_is_ready_after_a_computation(test: Test) {
    with_one_p_and_several(test, || {
        for _ in 0..10 {
            let (timer, ticks) = (after(MS), tick(MS));
            compute(MS);
            assert!(timer.try_recv().is_ok());
            select! {
                recv(ticks) -> time => assert!(time.is_ok()),
                default => panic!("it is due"),
            }
        }
    });
}

fn either_of_two_that_are_due_may_be_chosen(test: Test) {
    with_one_p_and_several(test, || {
        let mut chosen = [0, 0];
        // Each is chosen half of the time: the chance that one never is, is 1 to 2 to the power of
        // 999.
        for _ in 0..1_000 {
            let [first, second] = [(); 2].map(|()| after(Duration::ZERO));
            select! {
                recv(first) -> _ => chosen[0] += 1,
                recv(second) -> _ => chosen[1] += 1,
            }
        }
        assert!(chosen[0] > 0 && chosen[1] > 0, "{chosen:?}");
    });
}

fn a_time_limit_that_is_over_comes_after_what_is_ready(test: Test) {
    with_one_p_and_several(test, || {
        for _ in 0..200 {
            let due = after(Duration::ZERO);
            assert!(due.recv_timeout(Duration::ZERO).is_ok());
            let due = after(Duration::ZERO);
            select! {
                recv(due) -> _ => {}
                default(Duration::ZERO) => panic!("the other is ready"),
            }
        }
    });
}

fn the_time_is_when_it_was_due(test: Test) {
    // If a computing goroutine keeps the only P, no timer fires meanwhile.
    for (procs, debug) in [("1", "detach=0"), ("1", "detach=1"), ("4", "detach=1")] {
        let process = test.process(|| run(receive_late));
        process.env("GOMAXPROCS", procs).env("GODEBUG", debug).end().with("exit status: 0");
    }
}

fn receive_late() {
    let start = Instant::now();
    let (timer, ticker, once) = (Timer::new(MS), Ticker::new(2 * MS), after(Duration::ZERO));
    let made = Instant::now();
    compute(50 * MS);
    // All were due before this, and only this goroutine has received.
    let late = made + 40 * MS;
    for (rx, d) in [(timer.c(), MS), (ticker.c(), 2 * MS), (&once, Duration::ZERO)] {
        let time = rx.recv().unwrap();
        assert!(time >= start + d, "too early");
        assert!(time < late, "when it was received");
    }
}

fn the_buffer_cannot_be_seen(test: Test) {
    with_one_p_and_several(test, || {
        let (timer, ticker, once) = (Timer::new(Duration::ZERO), Ticker::new(MS), after(Duration::ZERO));
        let function = Timer::after_func(HOUR, || {});
        for _ in 0..10 {
            for rx in [timer.c(), ticker.c(), function.c(), &once] {
                assert_eq!((rx.len(), rx.capacity()), (0, Some(0)));
                assert!(rx.is_empty() && rx.is_full());
            }
            sleep(MS);
        }
        assert!(timer.c().try_recv().is_ok() && ticker.c().try_recv().is_ok() && once.try_recv().is_ok());
    });
}

fn what_is_due_is_ready_in_each_schedule() {
    Explorer::new().iterations(300).run(|| {
        let start = now();
        assert_eq!(after(Duration::ZERO).try_recv(), Ok(start));
        let (timer, once) = (Timer::new(HOUR), after(HOUR));
        // When the clock reaches the hour, any of the three may be first.
        let sleeper = go(move || {
            sleep(HOUR);
            assert_eq!(once.try_recv(), Ok(start + HOUR));
        });
        sleep(HOUR);
        select! {
            recv(timer.c()) -> time => assert_eq!(time, Ok(start + HOUR)),
            default => panic!("it is due"),
        }
        assert_eq!(timer.c().try_recv(), Err(TryRecvError::Empty));
        sleeper.join().unwrap();
        assert!(!timer.stop());
    });
}

fn each_tick_comes_once_in_each_schedule() {
    Explorer::new().iterations(300).run(|| {
        let start = now();
        let ticker = Ticker::new(HOUR);
        for i in 1..4 {
            sleep(HOUR);
            assert_eq!(ticker.c().try_recv(), Ok(start + i * HOUR));
            yield_now();
            assert_eq!(ticker.c().try_recv(), Err(TryRecvError::Empty));
        }
        // Two ticks are due, and one is dropped.
        sleep(HOUR * 5 / 2);
        assert_eq!(ticker.c().recv(), Ok(start + 4 * HOUR));
        assert_eq!(ticker.c().recv(), Ok(start + 6 * HOUR));
    });
}

fn ticks_are_as_far_apart_as_they_are_due() {
    synctest::test(|| {
        let start = now();
        for (i, time) in (1..).zip(tick(MS).iter().take(100)) {
            assert_eq!(time, start + i * MS);
            sleep(MS / 3);
        }
    });
}

fn what_is_due_is_ready_where_nothing_can_wait() {
    let (once, ticks) = run(|| {
        let due = after(Duration::ZERO);
        assert!(blocking(|| due.try_recv()).is_ok());
        (after(Duration::ZERO), tick(Duration::from_nanos(1)))
    });
    // No P runs.
    assert!(once.try_recv().is_ok() && ticks.try_recv().is_ok());
}
