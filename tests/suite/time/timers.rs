//! Timers and tickers: none fires too early, each fires once, and stopped ones don't fire.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::{RecvTimeoutError, TryRecvError, bounded};
use gosched::runtime2::P;
use gosched::time::{Ticker, Timer, after, sleep, tick};
use gosched::{go, proc, run, scope, select, yield_now};

use crate::harness::rng::Rng;
use crate::harness::storm::turns;
use crate::harness::{Test, tests};

tests! {
    a_timer_fires_once
    a_timer_that_is_stopped_is_not_heard_of
    a_timer_that_is_reset_forgets_what_was
    a_timer_at_the_end_of_time
    a_timer_calls_a_function
    a_dropped_timer_closes_its_channel
    stopped_and_reset_by_many
    functions_stopped_and_reset_by_many
    tickers
    a_slow_receiver_misses_ticks
    dropped_timers_leave_their_heap
    dropped_on_a_thread
}

pub(super) const MS: Duration = Duration::from_millis(1);
pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// Runs `main` in a process with one P, and in one with several.
#[track_caller]
pub(super) fn with_one_p_and_several(test: Test, main: fn()) {
    for procs in ["1", "2", "4"] {
        test.process(|| run(main)).env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

fn a_timer_fires_once(test: Test) {
    with_one_p_and_several(test, || {
        let start = Instant::now();
        let timer = Timer::new(2 * MS);
        let fired = timer.c().recv().unwrap();
        assert!(fired - start >= 2 * MS && Instant::now() >= fired);
        assert_eq!(timer.c().recv_timeout(5 * MS), Err(RecvTimeoutError::Timeout));
        assert!(!timer.stop());

        assert!(!timer.reset(3 * MS), "it had fired");
        assert!(timer.c().recv().unwrap() - fired >= 3 * MS);
        let once = after(MS);
        assert!(once.recv().is_ok());
        assert_eq!(once.recv_timeout(5 * MS), Err(RecvTimeoutError::Timeout));
    });
}

fn a_timer_that_is_stopped_is_not_heard_of(test: Test) {
    with_one_p_and_several(test, || {
        let timer = Timer::new(HOUR);
        assert!(timer.stop() && !timer.stop());
        // The timer has fired, and its time wasn't received.
        timer.reset(Duration::from_nanos(1));
        sleep(MS);
        assert!(timer.stop() && !timer.stop());
        assert_eq!(timer.c().recv_timeout(5 * MS), Err(RecvTimeoutError::Timeout));
        // The timer is about to fire, or is firing.
        for i in 0..2_000 {
            timer.reset(Duration::from_nanos(i));
            if i % 3 == 0 {
                yield_now();
            }
            assert!(timer.stop(), "nobody has received");
            assert_eq!(timer.c().try_recv(), Err(TryRecvError::Empty));
        }
        sleep(5 * MS);
        assert_eq!(timer.c().try_recv(), Err(TryRecvError::Empty));
    });
}

fn a_timer_that_is_reset_forgets_what_was(test: Test) {
    with_one_p_and_several(test, || {
        let timer = Timer::new(HOUR);
        for i in 0..300 {
            // Sets it to fire sooner or later, and also after it has fired.
            assert!(timer.reset(Duration::from_nanos(100 * i)), "nobody has received");
            let pause = Duration::from_nanos(50 * (i % 7));
            if i % 2 == 0 {
                sleep(pause);
            }
            let start = Instant::now();
            assert!(timer.reset(MS), "nobody has received");
            assert!(timer.c().recv().unwrap() - start >= MS, "the time of before");
            timer.reset(HOUR);
        }
    });
}

fn a_timer_at_the_end_of_time(test: Test) {
    with_one_p_and_several(test, || {
        let timer = Timer::new(Duration::MAX);
        let never = after(Duration::MAX);
        let ticker = Ticker::new(Duration::MAX);
        let dreamer = go(|| sleep(Duration::MAX));
        select! {
            recv(timer.c()) -> _ => panic!("it is the end of time"),
            recv(never) -> _ => panic!("it is the end of time"),
            recv(ticker.c()) -> _ => panic!("it is the end of time"),
            default(5 * MS) => {}
        }
        assert!(timer.reset(Duration::MAX) && timer.reset(MS));
        assert!(timer.c().recv().is_ok() && !timer.reset(Duration::MAX) && timer.stop());
        drop(dreamer);
    });
}

fn a_timer_calls_a_function(test: Test) {
    with_one_p_and_several(test, || {
        let (tx, rx) = bounded(0);
        let start = Instant::now();
        let timer = Timer::after_func(2 * MS, move || tx.send(Instant::now()).unwrap());
        assert!(rx.recv().unwrap() - start >= 2 * MS);
        assert!(!timer.stop());
        assert!(!timer.reset(MS));
        assert!(rx.recv().is_ok(), "it is called again");
        assert!(!timer.reset(HOUR) && timer.stop() && !timer.stop());
        assert_eq!(timer.c().try_recv(), Err(TryRecvError::Empty));
        drop(timer);
        // The function was dropped with the timer, and its sender with the function.
        assert!(rx.recv().is_err());
    });
}

fn a_dropped_timer_closes_its_channel(test: Test) {
    with_one_p_and_several(test, || {
        let (timer, ticker) = (Timer::new(HOUR), Ticker::new(HOUR));
        let channels = [timer.c().clone(), ticker.c().clone()];
        let waiting: Vec<_> = channels.iter().cloned().map(|c| go(move || c.recv().is_err())).collect();
        yield_now();
        drop((timer, ticker));
        assert!(waiting.into_iter().all(|waiting| waiting.join().unwrap()));
        assert!(channels.iter().all(|c| c.recv().is_err()));
    });
}

/// The outcomes of a timer's settings.
#[derive(Default)]
struct Settings {
    made: AtomicUsize,
    /// Settings that were stopped or replaced, and had no effect.
    ended: AtomicUsize,
    fired: AtomicUsize,
}

impl Settings {
    fn count(counter: &AtomicUsize, more: bool) {
        counter.fetch_add(usize::from(more), Ordering::SeqCst);
    }

    /// Changes the timer again and again, at random, until each outcome has occurred. On a slow
    /// machine that may take more than [`CHANGES`].
    fn change(&self, timer: &Timer, rng: &mut Rng) {
        let missing = || [&self.ended, &self.fired].iter().any(|count| count.load(Ordering::SeqCst) == 0);
        for _ in turns(CHANGES, || !missing()) {
            match rng.below(4) {
                0 => Self::count(&self.ended, timer.stop()),
                1 => sleep(Duration::from_nanos(rng.below(50_000) as u64)),
                _ => {
                    Self::count(&self.made, true);
                    Self::count(&self.ended, timer.reset(Duration::from_nanos(rng.below(100_000) as u64)));
                }
            }
        }
    }

    #[track_caller]
    fn settle(&self) {
        let [made, ended, fired] =
            [&self.made, &self.ended, &self.fired].map(|count| count.load(Ordering::SeqCst));
        assert_eq!(made, ended + fired, "{ended} ended and {fired} fired");
    }
}

const CHANGES: usize = if cfg!(debug_assertions) { 3_000 } else { 20_000 };

fn stopped_and_reset_by_many(test: Test) {
    with_one_p_and_several(test, || {
        let (mut rng, settings, timer) = (Rng::seeded(), Settings::default(), Timer::new(HOUR));
        settings.made.store(1, Ordering::SeqCst);
        let done = AtomicBool::new(false);
        scope(|s| {
            let receivers = [(); 2].map(|()| {
                s.go(|| {
                    while !done.load(Ordering::SeqCst) {
                        Settings::count(&settings.fired, timer.c().recv_timeout(MS).is_ok());
                    }
                })
            });
            scope(|s| {
                for _ in 0..3 {
                    let (mut rng, settings, timer) = (rng.fork(), &settings, &timer);
                    s.go(move || settings.change(timer, &mut rng));
                }
            });
            Settings::count(&settings.ended, timer.stop());
            done.store(true, Ordering::SeqCst);
            receivers.into_iter().for_each(|receiver| receiver.join().unwrap());
        });
        settings.settle();
    });
}

fn functions_stopped_and_reset_by_many(test: Test) {
    with_one_p_and_several(test, || {
        let (mut rng, settings) = (Rng::seeded(), Arc::new(Settings::default()));
        let called = settings.clone();
        let timer = Timer::after_func(HOUR, move || Settings::count(&called.fired, true));
        settings.made.store(1, Ordering::SeqCst);
        scope(|s| {
            for _ in 0..3 {
                let (mut rng, settings, timer) = (rng.fork(), &settings, &timer);
                s.go(move || settings.change(timer, &mut rng));
            }
        });
        Settings::count(&settings.ended, timer.stop());
        drop(timer);
        // Waits until all calls that have begun have ended.
        while Arc::strong_count(&settings) > 1 {
            yield_now();
        }
        settings.settle();
    });
}

fn tickers(test: Test) {
    with_one_p_and_several(test, || {
        let start = Instant::now();
        let ticker = Ticker::new(MS);
        for i in 1..=5 {
            assert!(ticker.c().recv().unwrap() - start >= i * MS);
        }
        ticker.stop();
        assert_eq!(ticker.c().recv_timeout(5 * MS), Err(RecvTimeoutError::Timeout));
        let start = Instant::now();
        ticker.reset(2 * MS);
        for i in 1..=3 {
            assert!(ticker.c().recv().unwrap() - start >= 2 * i * MS);
        }
        ticker.reset(HOUR);
        assert_eq!(ticker.c().recv_timeout(5 * MS), Err(RecvTimeoutError::Timeout));
        let start = Instant::now();
        let ticks: Vec<Instant> = tick(MS).iter().take(4).collect();
        assert!(ticks.is_sorted() && ticks[3] - start >= 4 * MS);
    });
}

fn a_slow_receiver_misses_ticks(test: Test) {
    with_one_p_and_several(test, || {
        let ticks = tick(Duration::from_micros(50));
        for _ in 0..5 {
            sleep(MS);
            assert!(ticks.recv().is_ok());
        }
        // The ticker is due more often than anything can look at it.
        let ticks = tick(Duration::from_nanos(1));
        assert_eq!(ticks.iter().take(100).count(), 100);
    });
}

/// Returns how many timers are in the heap of this P; None if the goroutine has just lost it.
fn timers_here() -> u32 {
    // SAFETY: on a goroutine, and only an atomic of its P is read.
    unsafe {
        let pp: Option<&P> = (*proc::getm()).p.peek();
        pp.map_or(0, |pp| pp.num_timers.load(Ordering::Relaxed))
    }
}

fn dropped_timers_leave_their_heap(test: Test) {
    let process = test.process(|| {
        run(|| {
            let first = Timer::new(HOUR / 2);
            for i in 0..100_000 {
                drop(after(HOUR));
                drop(Timer::new(2 * HOUR));
                if i % 100 == 0 {
                    yield_now();
                }
                assert!(timers_here() < 1_000);
            }
            assert!(first.stop());
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn dropped_on_a_thread(test: Test) {
    let process = test.process(|| {
        let (timer, function, ticks, once) = run(|| {
            let (tx, rx) = bounded::<()>(0);
            let function = Timer::after_func(HOUR, move || tx.close());
            (Timer::new(HOUR), (function, rx), tick(MS), after(Duration::ZERO))
        });
        for timed in [&ticks, &once] {
            while timed.try_recv().is_err() {
                thread::sleep(MS);
            }
        }
        assert!(timer.stop() && function.0.stop());
        drop((timer, ticks, once, function.0));
        assert_eq!(function.1.try_recv(), Err(TryRecvError::Disconnected));
        run(|| sleep(5 * MS));
    });
    process.end().with("exit status: 0");
}
