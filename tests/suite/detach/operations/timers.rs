//! Sleeps, timers and tickers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gosched::time::{Ticker, Timer, after, sleep, sleep_until};
use gosched::yield_now;

use super::{Operation, operations};
use crate::detach::stepper::operation;

const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_micros(20);

pub fn all() -> Vec<Operation> {
    operations! {
        "sleep" => || {
            let begin = Instant::now();
            operation(|| sleep(SOON));
            assert!(begin.elapsed() >= SOON);
        };
        "sleep until" => || {
            let end = Instant::now() + SOON;
            operation(|| sleep_until(end));
            assert!(Instant::now() >= end);
        };
        "sleep until it was" => || operation(|| sleep_until(Instant::now()));
        "after" => || {
            let begin = Instant::now();
            let c = operation(|| after(SOON));
            assert!(c.recv().unwrap() >= begin + SOON);
        };
        "wait for a timer" => || {
            let begin = Instant::now();
            let timer = Timer::new(SOON);
            assert!(operation(|| timer.c().recv()).unwrap() >= begin + SOON);
        };
        "make a timer, and stop it" => || assert!(operation(|| Timer::new(HOUR).stop()));
        "reset a timer that is set" => || {
            let timer = Timer::new(HOUR);
            assert!(operation(|| timer.reset(SOON)));
            timer.c().recv().unwrap();
        };
        "reset a timer that has fired" => || {
            let timer = Timer::new(SOON);
            timer.c().recv().unwrap();
            assert!(!operation(|| timer.reset(SOON)));
            timer.c().recv().unwrap();
        };
        "drop a timer" => || {
            let timer = Timer::new(HOUR);
            operation(|| drop(timer));
        };
        "a function after a while" => || {
            let calls = Arc::new(AtomicU32::new(0));
            let theirs = calls.clone();
            let _timer = operation(|| {
                Timer::after_func(SOON, move || _ = theirs.fetch_add(1, Ordering::Relaxed))
            });
            while calls.load(Ordering::Relaxed) == 0 {
                yield_now();
            }
            assert_eq!(calls.load(Ordering::Relaxed), 1);
        };
        "two ticks" => || {
            let ticker = Ticker::new(SOON);
            let (first, second) = operation(|| (ticker.c().recv().unwrap(), ticker.c().recv().unwrap()));
            assert!(first < second);
        };
        "make a ticker, reset and stop it" => || {
            let ticker = operation(|| {
                let ticker = Ticker::new(HOUR);
                ticker.reset(SOON);
                ticker
            });
            ticker.c().recv().unwrap();
            operation(|| ticker.stop());
        };
    }
}
