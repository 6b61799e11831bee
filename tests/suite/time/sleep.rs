//! Sleeping; timers where nothing can wait, and where nothing else is waited for.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::{RecvTimeoutError, bounded};
use gosched::net::Pollable;
use gosched::sync::WaitGroup;
use gosched::time::{Ticker, Timer, after, sleep, sleep_until, tick};
use gosched::{blocking, go, run, scope};

use super::timers::{HOUR, MS, with_one_p_and_several};
use crate::harness::panics::panics;
use crate::harness::polled::{limit_descriptors, read_one};
use crate::harness::{Test, tests};

tests! {
    no_sleep_is_too_short
    many_sleep_at_once
    sleeping_until_a_time_that_has_passed
    where_nothing_can_wait
    on_a_thread
    deadlock_after_the_last_timer
    no_deadlock_while_one_sleeps
    without_a_descriptor
}

fn no_sleep_is_too_short(test: Test) {
    with_one_p_and_several(test, || {
        let sleepers: Vec<_> = (0..2_000)
            .map(|i| {
                go(move || {
                    for d in [Duration::from_nanos(i), Duration::from_micros(i % 3_000)] {
                        let start = Instant::now();
                        sleep(d);
                        assert!(start.elapsed() >= d);
                        let deadline = start + 2 * d;
                        sleep_until(deadline);
                        assert!(Instant::now() >= deadline);
                    }
                })
            })
            .collect();
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
    });
}

fn many_sleep_at_once(test: Test) {
    with_one_p_and_several(test, || {
        let awake = Arc::new(WaitGroup::new());
        for i in 0..10_000 {
            let awake = awake.clone();
            awake.add(1);
            go(move || {
                sleep(Duration::from_micros(10_000 - i));
                awake.done();
            });
        }
        awake.wait();
    });
}

fn sleeping_until_a_time_that_has_passed(test: Test) {
    with_one_p_and_several(test, || {
        let now = Instant::now();
        sleep(Duration::ZERO);
        sleep_until(now);
        if let Some(past) = now.checked_sub(Duration::from_millis(10)) {
            sleep_until(past);
        }
        assert!(after(Duration::ZERO).recv().unwrap() >= now);
        assert!(Timer::new(Duration::ZERO).c().recv().unwrap() >= now);
    });
}

fn where_nothing_can_wait(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (timer, ticker) = (Timer::new(HOUR), Ticker::new(HOUR));
            let what_waits: [(&str, &dyn Fn()); 9] = [
                ("sleep", &|| sleep(MS)),
                ("sleep_until", &|| sleep_until(Instant::now())),
                ("after", &|| drop(after(MS))),
                ("tick", &|| drop(tick(MS))),
                ("Timer::new", &|| drop(Timer::new(MS))),
                ("Timer::after_func", &|| drop(Timer::after_func(MS, || ()))),
                ("Timer::reset", &|| _ = timer.reset(MS)),
                ("Ticker::new", &|| drop(Ticker::new(MS))),
                ("Ticker::reset", &|| ticker.reset(MS)),
            ];
            for (what, wait) in what_waits {
                let expected = format!(
                    "gosched: time::{what} would have to wait, which nothing can inside gosched::blocking: \
                     do it outside"
                );
                assert_eq!(blocking(|| panics(wait)), expected);
            }
            let text = panics(|| tick(Duration::ZERO));
            let expected = "gosched: non-positive interval for tick: time can't tick without passing, so give it at \
                            least a nanosecond";
            assert_eq!(text, expected);
            for text in [panics(|| Ticker::new(Duration::ZERO)), panics(|| ticker.reset(Duration::ZERO))] {
                assert!(text.starts_with("gosched: non-positive interval for Ticker::"), "{text}");
            }
        });
    });
    process.end().with("exit status: 0");
}

fn on_a_thread(test: Test) {
    let process = test.process(|| {
        run(|| ());
        let began = Instant::now();
        sleep(2 * MS);
        sleep_until(Instant::now() + 2 * MS);
        assert!(after(2 * MS).recv().is_ok());
        assert!(Timer::new(2 * MS).c().recv().is_ok());
        let ticker = Ticker::new(MS);
        assert!(ticker.c().recv().is_ok() && ticker.c().recv().is_ok());
        assert!(began.elapsed() >= 10 * MS);
        let (tx, rx) = bounded(0);
        assert_eq!(rx.recv_timeout(2 * MS), Err(RecvTimeoutError::Timeout));
        assert!(tx.send_timeout((), 2 * MS).is_err_and(|error| error.is_timeout()));
    });
    process.end().with("exit status: 0");
}

/// Parks the running goroutine forever.
fn forever() {
    let (_tx, rx) = bounded::<()>(0);
    let _ = rx.recv();
}

fn deadlock_after_the_last_timer(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    let before: [fn(); 5] = [
        || sleep(5 * MS),
        || assert!(after(5 * MS).recv().is_ok()),
        || assert!(Timer::new(HOUR).stop()),
        || drop(tick(MS)),
        || assert!(bounded::<()>(0).1.recv_timeout(MS).is_err()),
    ];
    for procs in ["1", "4"] {
        let process = test.process(|| {
            run(|| {
                before.iter().for_each(|before| before());
                forever();
            })
        });
        let ended = process.env("GOMAXPROCS", procs).end();
        let deadlock = "fatal error: all goroutines are asleep - deadlock!\n";
        ended.with("exit status: 2").says(deadlock).says("\ngoroutine 1 [chan receive]:\n");
    }
}

fn no_deadlock_while_one_sleeps(test: Test) {
    with_one_p_and_several(test, || {
        drop(go(forever));
        let (tx, rx) = bounded(0);
        go(move || {
            sleep(50 * MS);
            tx.send("awake").unwrap();
        });
        assert_eq!(rx.recv(), Ok("awake"));
    });
}

/// When the first timers are set, the process can't have another descriptor, and so no epoll
/// instance: making a socket fails then. The first socket that succeeds comes while an M waits for
/// a timer that is far away.
fn without_a_descriptor(test: Test) {
    with_one_p_and_several(test, || {
        let (refused, _other) = UnixStream::pair().unwrap();
        let (reader, mut writer) = UnixStream::pair().unwrap();
        limit_descriptors(0);
        scope(|s| {
            for _ in 0..10 {
                s.go(|| (0..10).for_each(|_| sleep(MS)));
            }
            let start = Instant::now();
            assert!(Timer::new(3 * MS).c().recv().is_ok() && start.elapsed() >= 3 * MS);
        });
        go(|| sleep(HOUR));
        blocking(|| thread::sleep(20 * MS));
        assert!(after(MS).recv().is_ok(), "earlier than the one that is waited for");
        let error = Pollable::new(refused).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE), "{error}");

        blocking(|| thread::sleep(20 * MS));
        limit_descriptors(1024);
        let reader = Pollable::new(reader).unwrap();
        let writer = thread::spawn(move || {
            thread::sleep(20 * MS);
            writer.write_all(b"x")
        });
        assert_eq!(read_one(&reader).unwrap(), b'x');
        writer.join().unwrap().unwrap();
    });
}
