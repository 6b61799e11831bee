//! `RateLimiter`: tokens come by the clock, which these tests move.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gosched::context::{Context, ContextError, RateContextError};
use gosched::explore::Explorer;
use gosched::sync::{Mutex, RateLimiter};
use gosched::{blocking, go, run, scope, synctest, time};

use crate::harness::explored::schedules;
use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    tokens_come_by_the_clock
    waiters_go_on_in_their_order
    many_tokens_are_waited_for
    a_wait_fails_at_once_if_it_would_be_too_late
    a_canceled_wait_gives_its_tokens_back
    a_canceled_reservation_leaves_later_ones_their_times
    rate_and_burst_may_change
    an_infinite_rate_limits_nothing
    no_more_than_the_rate_in_any_order
    threads_are_limited_too
    what_can_never_be_is_refused
}

const TENTH: Duration = Duration::from_millis(100);

fn tokens_come_by_the_clock() {
    synctest::test(|| {
        let limiter = RateLimiter::new(10.0, 2);
        assert!(limiter.allow() && limiter.allow() && !limiter.allow());
        time::sleep(TENTH / 2);
        assert_eq!(limiter.tokens(), 0.5);
        assert!(!limiter.allow());
        time::sleep(TENTH / 2);
        assert!(limiter.allow() && !limiter.allow());
        time::sleep(TENTH * 100);
        assert_eq!(limiter.tokens(), 2.0, "the bucket is full");
        assert!(limiter.allow_n(2) && !limiter.allow_n(1));
        assert!(!limiter.allow_n(3));
        time::sleep(TENTH);
        assert!(limiter.allow(), "what isn't allowed takes nothing");
    });
}

fn waiters_go_on_in_their_order() {
    synctest::test(|| {
        let limiter = Arc::new(RateLimiter::new(10.0, 1));
        let (order, start) = (Arc::new(Mutex::new(Vec::new())), time::now());
        for n in 0..4 {
            let (limiter, order) = (limiter.clone(), order.clone());
            go(move || {
                limiter.wait();
                order.lock().push((n, time::now() - start));
            });
            synctest::wait();
        }
        time::sleep(TENTH * 10);
        assert_eq!(*order.lock(), [0, 1, 2, 3].map(|n| (n, TENTH * n)));
    });
}

fn many_tokens_are_waited_for() {
    synctest::test(|| {
        let limiter = RateLimiter::new(10.0, 5);
        let start = time::now();
        limiter.wait_n(5).unwrap();
        limiter.wait_n(3).unwrap();
        assert_eq!(time::now() - start, TENTH * 3);
        limiter.wait();
        assert_eq!(time::now() - start, TENTH * 4);
        limiter.wait_n(6).unwrap_err();
        assert!(limiter.reserve_n(6).is_err());
        assert_eq!((limiter.tokens(), time::now() - start), (0.0, TENTH * 4));
    });
}

fn a_wait_fails_at_once_if_it_would_be_too_late() {
    synctest::test(|| {
        let limiter = RateLimiter::new(10.0, 1);
        let start = time::now();
        let (ctx, _cancel) = Context::background().with_timeout(TENTH * 3 / 2);
        assert_eq!(ctx.with(&limiter).wait(), Ok(()));
        assert_eq!(ctx.with(&limiter).wait(), Ok(()));
        assert_eq!(time::now() - start, TENTH);
        assert_eq!(ctx.with(&limiter).wait(), Err(RateContextError::TooLate));
        assert!(limiter.wait_timeout(TENTH / 2).timed_out());
        assert_eq!(time::now() - start, TENTH, "at once");
        assert!(matches!(ctx.with(&limiter).wait_n(2), Err(RateContextError::Burst(_))));
        assert!(!limiter.wait_timeout(TENTH).timed_out());
        assert_eq!(time::now() - start, TENTH * 2, "the others have taken no token");
        let ended = Err(RateContextError::Ended(ContextError::DeadlineExceeded));
        assert_eq!(ctx.with(&limiter).wait(), ended);
    });
}

fn a_canceled_wait_gives_its_tokens_back() {
    synctest::test(|| {
        let limiter = Arc::new(RateLimiter::new(10.0, 2));
        assert!(limiter.allow_n(2));
        let (ctx, cancel) = Context::background().with_cancel();
        let waits = {
            let limiter = limiter.clone();
            go(move || ctx.with(&limiter).wait_n(2))
        };
        synctest::wait();
        assert_eq!(limiter.tokens(), -2.0);
        cancel.cancel();
        assert_eq!(waits.join().unwrap(), Err(RateContextError::Ended(ContextError::Canceled)));
        assert_eq!(limiter.tokens(), 0.0);
        assert_eq!(Context::background().with(&limiter).wait(), Ok(()));
    });
}

fn a_canceled_reservation_leaves_later_ones_their_times() {
    synctest::test(|| {
        let limiter = RateLimiter::new(10.0, 3);
        assert!(limiter.allow_n(3));
        let (first, second) = (limiter.reserve_n(2).unwrap(), limiter.reserve());
        assert_eq!((first.delay(), second.delay()), (TENTH * 2, TENTH * 3));
        first.cancel();
        assert_eq!(second.delay(), TENTH * 3);
        // One of the two tokens: the other one was counted on by the second.
        assert_eq!(limiter.tokens(), -2.0);
        second.cancel();
        assert_eq!(limiter.tokens(), -1.0);
        // After its time nothing is given back.
        let late = limiter.reserve();
        time::sleep(late.delay() + TENTH);
        let tokens = limiter.tokens();
        late.cancel();
        assert_eq!(limiter.tokens(), tokens);
    });
}

fn rate_and_burst_may_change() {
    synctest::test(|| {
        let limiter = RateLimiter::new(10.0, 10);
        assert!(limiter.allow_n(10));
        time::sleep(TENTH * 2);
        limiter.set_rate(100.0);
        assert_eq!((limiter.rate(), limiter.tokens()), (100.0, 2.0));
        time::sleep(TENTH / 2);
        assert_eq!(limiter.tokens(), 7.0);
        limiter.set_burst(3);
        assert_eq!((limiter.burst(), limiter.tokens()), (3, 3.0));
        limiter.set_burst(20);
        assert_eq!(limiter.tokens(), 3.0, "it isn't full at once");
        assert_eq!(RateLimiter::every(TENTH, 1).rate(), 10.0);
        let text = format!("{:?}", RateLimiter::new(10.0, 3));
        assert_eq!(text, "RateLimiter { rate: 10.0, burst: 3, tokens: 3.0 }");
    });
}

fn an_infinite_rate_limits_nothing() {
    synctest::test(|| {
        let start = time::now();
        for limiter in [RateLimiter::new(f64::INFINITY, 1), RateLimiter::every(Duration::ZERO, 1)] {
            assert!(limiter.allow_n(1000) && limiter.allow());
            limiter.wait_n(1000).unwrap();
            assert_eq!(Context::background().with(&limiter).wait_n(1000), Ok(()));
            limiter.reserve().cancel();
        }
        // Nearly nothing: it waits as long as a timer can.
        let limiter = RateLimiter::new(f64::MIN_POSITIVE, 1);
        assert!(limiter.allow());
        assert!(limiter.reserve().delay() > Duration::from_secs(1 << 30));
        assert!(limiter.wait_timeout(Duration::from_secs(1 << 30)).timed_out());
        assert_eq!(time::now(), start);
    });
}

fn no_more_than_the_rate_in_any_order() {
    Explorer::new().iterations(schedules()).run(|| {
        let limiter = RateLimiter::new(10.0, 2);
        let (start, times) = (time::now(), Mutex::new(Vec::new()));
        scope(|s| {
            for _ in 0..2 {
                s.go(|| {
                    for _ in 0..2 {
                        limiter.wait();
                        times.lock().push(time::now() - start);
                    }
                });
            }
            s.go(|| {
                let (ctx, _cancel) = Context::background().with_timeout(TENTH / 2);
                if ctx.with(&limiter).wait().is_ok() {
                    times.lock().push(time::now() - start);
                }
            });
        });
        let mut times = times.into_inner();
        times.sort();
        let expected = [0, 0, 1, 2, 3].map(|n| TENTH * n);
        assert_eq!(times, expected[..times.len()]);
    });
}

fn threads_are_limited_too() {
    static LIMITER: RateLimiter = RateLimiter::new(1000.0, 1);
    // Before the runtime has started.
    assert!(!LIMITER.wait_timeout(Duration::ZERO).timed_out());
    run(|| {
        let start = time::now();
        let threads = [(); 3].map(|()| thread::spawn(|| LIMITER.wait()));
        blocking(|| threads.into_iter().for_each(|thread| thread.join().unwrap()));
        assert!(time::now() - start >= Duration::from_millis(2));
        let limiter = RateLimiter::every(Duration::from_secs(3600), 1);
        blocking(|| {
            limiter.wait();
            assert!(limiter.wait_timeout(Duration::from_secs(60)).timed_out());
            assert!(panics(|| limiter.wait()).contains("RateLimiter::wait"));
            assert!(limiter.wait_n(2).is_err());
        });
        assert!(limiter.tokens() >= 0.0, "the panic has taken no token");
    });
}

fn what_can_never_be_is_refused() {
    for rate in [0.0, -1.0, f64::NAN] {
        assert!(panics(|| RateLimiter::new(rate, 1)).contains("rate"));
    }
    assert!(panics(|| RateLimiter::new(1.0, 0)).contains("burst"));
    let limiter = RateLimiter::new(1.0, 1);
    assert!(panics(|| limiter.set_rate(0.0)).contains("rate"));
    assert!(panics(|| limiter.set_burst(0)).contains("burst"));
    assert!(limiter.allow());
}
