//! Things that an exploration refuses, and that the next exploration is unharmed.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::iter;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Barrier, PoisonError};
use std::thread;
use std::time::Duration;

use gosched::chan::{TryRecvError, bounded};
use gosched::explore::{Explorer, Failure, FailureKind, Strategy, explore};
use gosched::io::{stderr, stdin, stdout};
use gosched::signal::{self, Signal, Signals};
use gosched::sync::Mutex;
use gosched::trace::FlightRecorder;
use gosched::{Builder, go, run, synctest};

use crate::harness::emulator::emulator;
use crate::harness::storm::turns;
use crate::harness::{Test, tests};

tests! {
    an_exploration_in_an_exploration_is_refused
    run_in_an_exploration_is_refused
    an_exploration_on_a_goroutine_is_refused
    a_thread_that_sends_is_told_of
    a_goroutine_of_others_that_sends_is_told_of
    a_real_socket_is_refused
    a_real_signal_is_refused
    a_trace_begins_and_ends_elsewhere
    a_failure_leaves_the_standard_streams_to_others
    blocking_is_done_at_once
    one_that_never_ends_is_told_of
    explorations_of_several_threads_take_turns
    others_go_on_beside_an_exploration
    others_begin_beside_an_exploration
    the_world_may_be_stopped_meanwhile
    a_trace_has_each_switch
    others_that_yield_for_ever_keep_nobody_out
    the_number_of_processors_is_set_meanwhile
    the_number_of_processors_stays_one_within
    a_wait_outside_is_refused
    #[slow] a_synctest_that_never_ends_is_told_of
    a_bad_token_is_refused
    a_token_that_is_no_text_is_refused
    those_left_behind_harm_nobody
}

/// Returns the text with which `f` panics.
fn text(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().expect("a text")).to_owned(),
    }
}

/// Explores a program that passes in each schedule.
fn goes_well() -> Result<u64, Failure> {
    Explorer::new().iterations(50).check(|| {
        let (tx, rx) = bounded(1);
        go(move || tx.send(6 * 7).unwrap());
        assert_eq!(rx.recv(), Ok(42));
    })
}

/// Checks that explorations work.
fn all_is_well() {
    assert_eq!(goes_well().unwrap(), 50);
    assert_eq!(run(|| go(|| 42).join().unwrap()), 42);
}

fn an_exploration_in_an_exploration_is_refused() {
    let told = text(|| explore(|| explore(|| {})));
    assert!(told.contains("gosched: explore was called on a goroutine"), "{told}");
    all_is_well();
    let told = text(|| synctest::test(|| synctest::test(|| {})));
    assert!(told.contains("gosched: synctest was called on a goroutine"), "{told}");
    all_is_well();
}

fn run_in_an_exploration_is_refused() {
    let told = text(|| explore(|| run(|| {})));
    assert!(told.contains("gosched::run called on a goroutine"), "{told}");
    all_is_well();
}

fn an_exploration_on_a_goroutine_is_refused() {
    let told = run(|| text(|| explore(|| {})));
    assert!(told.contains("gosched: explore was called on a goroutine"), "{told}");
    all_is_well();
}

fn a_thread_that_sends_is_told_of() {
    let failure = Explorer::new().check(|| {
        let (tx, rx) = bounded(0);
        let thread = thread::spawn(move || tx.send(1));
        let _ = rx.recv();
        let _ = thread.join();
    });
    let failure = failure.unwrap_err();
    // If nothing can run, and the thread hasn't come yet, it is a deadlock.
    assert!(matches!(failure.kind(), FailureKind::Foreign | FailureKind::Deadlock), "{failure}");
    all_is_well();
    // The thread comes while another goroutine runs.
    let failure = Explorer::new().check(|| {
        let (tx, rx) = bounded(1);
        let receiver = go(move || rx.recv());
        gosched::yield_now();
        gosched::yield_now();
        gosched::time::sleep(Duration::from_millis(1));
        thread::spawn(move || tx.send(1)).join().unwrap().unwrap();
        receiver.join().unwrap().unwrap();
    });
    assert_eq!(failure.unwrap_err().kind(), FailureKind::Foreign);
    all_is_well();
}

fn a_goroutine_of_others_that_sends_is_told_of() {
    let (tx, rx) = bounded::<()>(0);
    let (asked, asks) = mpsc::channel::<()>();
    thread::scope(|s| {
        s.spawn(move || {
            run(move || {
                gosched::blocking(|| asks.recv()).unwrap();
                let _ = tx.send(());
            })
        });
        let failure = Explorer::new().check(move || {
            let rx = rx.clone();
            let asked = asked.clone();
            let receiver = go(move || rx.recv());
            gosched::time::sleep(Duration::from_secs(1));
            asked.send(()).unwrap();
            // In real time, until the other goroutine wants the processor.
            thread::sleep(Duration::from_millis(100));
            gosched::yield_now();
            gosched::time::sleep(Duration::from_secs(1));
            let _ = receiver.join();
        });
        let kind = failure.unwrap_err().kind();
        assert!(matches!(kind, FailureKind::Foreign | FailureKind::Deadlock), "{kind:?}");
    });
    all_is_well();
}

fn a_real_socket_is_refused() {
    let told = text(|| explore(|| drop(gosched::net::TcpListener::bind("127.0.0.1:0"))));
    assert!(told.contains("gosched: a real socket in an exploration"), "{told}");
    all_is_well();
}

/// Makes a goroutine fail while others do `f`, in many schedules. Each schedule leaves them at some
/// point of `f`.
fn fails_beside(f: fn()) {
    for seed in 0..30 {
        let found = Explorer::new().seed(seed).strategy(Strategy::Random).iterations(10).check(move || {
            let others = [go(f), go(f)];
            gosched::yield_now();
            assert!(others.len() > 2, "it fails");
        });
        assert_eq!(found.unwrap_err().kind(), FailureKind::Panic);
    }
}

fn a_failure_leaves_the_standard_streams_to_others() {
    fn each() {
        stdout().flush().unwrap();
        stderr().flush().unwrap();
        stdin().read_line(&mut String::new()).unwrap();
    }
    fails_beside(each);
    run(each);
    all_is_well();
}

fn a_real_signal_is_refused() {
    static SIGNALS: std::sync::Mutex<Option<Signals>> = std::sync::Mutex::new(None);
    fn signals() -> Signals {
        signal::notify([Signal::USR1]).unwrap()
    }
    for f in [
        || drop(signal::notify([Signal::USR2])),
        || drop(signal::ignore([Signal::USR2])),
        || drop(signal::reset([Signal::USR2])),
        || SIGNALS.lock().unwrap_or_else(PoisonError::into_inner).as_ref().unwrap().stop(),
    ] {
        *SIGNALS.lock().unwrap_or_else(PoisonError::into_inner) = Some(run(signals));
        let told = text(move || explore(f));
        assert!(told.contains(" in an exploration, whose order no real signal keeps"), "{told}");
    }
    all_is_well();
    // An operation that began before the exploration may end in it.
    SIGNALS.clear_poison();
    for _ in 0..30 {
        *SIGNALS.lock().unwrap() = Some(run(signals));
        let found = Explorer::new().iterations(10).check(|| {
            drop(SIGNALS.lock().unwrap().take());
            panic!("it fails");
        });
        assert_eq!(found.unwrap_err().kind(), FailureKind::Panic);
    }
    run(|| {
        let signals = signals();
        // SAFETY: a signal that is waited for.
        unsafe { libc::raise(libc::SIGUSR1) };
        assert_eq!(signals.c().recv(), Ok(Signal::USR1));
        signals.stop();
    });
}

fn a_trace_begins_and_ends_elsewhere() {
    fn refused<T>(result: io::Result<T>) {
        assert_eq!(result.err().map(|error| error.kind()), Some(io::ErrorKind::Unsupported));
    }
    static RECORDER: std::sync::Mutex<Option<FlightRecorder>> = std::sync::Mutex::new(None);
    all_is_well();
    Explorer::new().iterations(10).run(|| {
        refused(gosched::trace::start(io::sink()));
        refused(gosched::trace::stop());
        refused(FlightRecorder::new().start());
    });
    // An operation that began before the exploration may be stopped in it.
    for _ in 0..3 {
        let mut recorder = FlightRecorder::new();
        recorder.start().unwrap();
        *RECORDER.lock().unwrap() = Some(recorder);
        Explorer::new().iterations(10).run(|| drop(RECORDER.lock().unwrap().take()));
    }
    gosched::trace::start(io::sink()).unwrap();
    gosched::trace::stop().unwrap();
}

fn blocking_is_done_at_once() {
    Explorer::new().iterations(100).run(|| {
        let text = gosched::blocking(|| std::fs::read_to_string("/proc/self/comm"));
        assert!(text.is_ok());
        let (tx, rx) = bounded(0);
        go(move || tx.send(gosched::blocking(|| 42)).unwrap());
        assert_eq!(rx.recv(), Ok(42));
    });
}

fn one_that_never_ends_is_told_of(test: Test) {
    let is_stuck =
        |ran: &Result<u64, Failure>| ran.as_ref().is_err_and(|failure| failure.kind() == FailureKind::Stuck);
    let process = test.process(|| {
        let failure = Explorer::new().check(|| {
            go(|| {
                loop {
                    std::hint::spin_loop();
                }
            });
        });
        assert!(is_stuck(&failure));
        // With so little patience, a thread that gets no processor for a while counts as stuck,
        // too.
        let ran = iter::repeat_with(goes_well).find(|ran| !is_stuck(ran));
        assert_eq!(ran.unwrap().unwrap(), 50);
        assert_eq!(run(|| go(|| 42).join().unwrap()), 42);
    });
    process.env("GODEBUG", "patience=5").end().with("exit status: 0");
}

fn explorations_of_several_threads_take_turns() {
    let barrier = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let barrier = barrier.clone();
            thread::spawn(move || {
                barrier.wait();
                for _ in 0..10 {
                    let found = Explorer::new().seed(i).iterations(100).check(move || {
                        let (tx, rx) = bounded(2);
                        let other = tx.clone();
                        go(move || tx.send(1).unwrap());
                        go(move || other.send(2).unwrap());
                        let first = rx.recv();
                        assert!(i % 2 == 0 || first == Ok(1));
                        rx.recv().unwrap();
                    });
                    assert_eq!(found.is_err(), i % 2 == 1);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn others_go_on_beside_an_exploration() {
    let (end, ends) = bounded::<()>(0);
    let rounds = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            run(|| {
                while ends.try_recv().is_err_and(|error| error == TryRecvError::Empty) {
                    gosched::time::sleep(Duration::from_micros(100));
                    go(|| gosched::yield_now()).join().unwrap();
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let program = || {
            let (tx, rx) = bounded(2);
            let other = tx.clone();
            go(move || tx.send(1).unwrap());
            go(move || other.send(2).unwrap());
            assert_eq!(rx.recv().unwrap() + rx.recv().unwrap(), 3);
            gosched::time::sleep(Duration::from_secs(1));
        };
        for _ in turns(20, || rounds.load(Ordering::Relaxed) > 0) {
            Explorer::new().iterations(200).run(program);
        }
        drop(end);
    });
}

/// An exploration never takes a goroutine that a thread makes for its own, at whatever moment.
fn others_begin_beside_an_exploration() {
    let ended = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                assert_eq!(run(|| 42), 42);
            }
        });
        let ran = Explorer::new().iterations(if emulator().is_some() { 200 } else { 2_000 }).check(|| {});
        ended.store(true, Ordering::Relaxed);
        ran.unwrap();
    });
}

fn the_world_may_be_stopped_meanwhile() {
    /// Computes, and returns the order in which the parts were done.
    fn computes() -> Vec<u32> {
        let order = Arc::new(Mutex::new(Vec::new()));
        let add = |number| {
            let order = order.clone();
            go(move || {
                for _ in 0..20 {
                    (0..50).for_each(|_| gosched::check());
                    order.lock().push(number);
                }
            })
        };
        [1, 2, 3].map(add).into_iter().for_each(|handle| handle.join().unwrap());
        order.lock().clone()
    }

    /// Returns the orders of some schedules.
    fn orders() -> Vec<Vec<u32>> {
        let orders = Arc::new(Mutex::new(Vec::new()));
        let seen = orders.clone();
        Explorer::new().strategy(Strategy::Random).iterations(20).run(move || seen.lock().push(computes()));
        orders.lock().clone()
    }

    let first = orders();
    let stops = AtomicUsize::new(0);
    let ended = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                gosched::trace::start(std::io::sink()).unwrap();
                gosched::trace::stop().unwrap();
                stops.fetch_add(1, Ordering::Relaxed);
            }
        });
        while stops.load(Ordering::Relaxed) < 10 {
            assert_eq!(orders(), first);
        }
        ended.store(true, Ordering::Relaxed);
    });
}

/// A record in the trace waits for its predecessor. A missing record would keep all later ones out.
fn a_trace_has_each_switch() {
    #[derive(Clone, Default)]
    struct Written(Arc<std::sync::Mutex<Vec<u8>>>);
    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    static RUNS: AtomicUsize = AtomicUsize::new(0);
    all_is_well();
    let written = Written::default();
    gosched::trace::start(written.clone()).unwrap();
    Explorer::new().strategy(Strategy::Random).iterations(20).run(|| {
        let waits = go(|| {
            (0..5).for_each(|_| gosched::check());
            synctest::wait();
        });
        (0..5).for_each(|_| gosched::check());
        let name = format!("run {}", RUNS.fetch_add(1, Ordering::Relaxed) + 1);
        Builder::new().name(&name).go(move || waits.join().unwrap()).unwrap().join().unwrap();
    });
    gosched::trace::stop().unwrap();
    let trace = written.0.lock().unwrap();
    let last = b"run 20";
    assert!(trace.windows(last.len()).any(|bytes| bytes == last), "a part is missing");
}

/// Explores eight goroutines that take a lock in turns.
fn take_turns() {
    Explorer::new().iterations(100).run(|| {
        let sum = Arc::new(Mutex::new(0));
        let handles = [(); 8].map(|()| {
            let sum = sum.clone();
            go(move || {
                for _ in 0..5 {
                    *sum.lock() += 1;
                    gosched::yield_now();
                }
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(*sum.lock(), 40);
    });
}

fn others_that_yield_for_ever_keep_nobody_out() {
    let (yields, done) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            run(|| {
                while !done.load(Ordering::Relaxed) {
                    gosched::yield_now();
                    yields.store(true, Ordering::Relaxed);
                }
            })
        });
        while !yields.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        take_turns();
        done.store(true, Ordering::Relaxed);
    });
}

fn the_number_of_processors_is_set_meanwhile() {
    let numbers = [4, 1, 3, 2].map(|n| NonZeroUsize::new(n).unwrap());
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            run(|| {
                for &n in numbers.iter().cycle() {
                    gosched::set_gomaxprocs(n);
                    assert_eq!(gosched::gomaxprocs(), n.get());
                    gosched::time::sleep(Duration::from_micros(200));
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            })
        });
        for _ in 0..10 {
            take_turns();
        }
        done.store(true, Ordering::Relaxed);
    });
    // The last setting holds.
    let last = run(gosched::gomaxprocs);
    all_is_well();
    assert_eq!(run(gosched::gomaxprocs), last);
}

fn the_number_of_processors_stays_one_within() {
    let before = run(gosched::gomaxprocs);
    Explorer::new().iterations(100).run(|| {
        assert_eq!(gosched::set_gomaxprocs(NonZeroUsize::new(4).unwrap()), 1);
        gosched::set_default_gomaxprocs();
        assert_eq!(gosched::gomaxprocs(), 1);
        go(|| gosched::yield_now()).join().unwrap();
    });
    assert_eq!(run(gosched::gomaxprocs), before);
    all_is_well();
}

fn a_wait_outside_is_refused() {
    let told = run(|| text(synctest::wait));
    assert!(told.contains("gosched: synctest::wait outside of synctest::test"), "{told}");
    let two = text(|| {
        synctest::test(|| {
            go(synctest::wait);
            synctest::wait();
        });
    });
    assert!(two.contains("gosched: synctest::wait, while another goroutine waits in it"), "{two}");
}

fn a_synctest_that_never_ends_is_told_of() {
    // Under an emulator this would take minutes.
    if emulator().is_some() {
        return;
    }
    let waits_for_nobody = || loop {
        gosched::yield_now();
    };
    let told = text(|| synctest::test(waits_for_nobody));
    assert!(told.contains("too many choices: a livelock"), "{told}");
    all_is_well();
}

fn a_bad_token_is_refused() {
    // SAFETY: this process has no other thread yet.
    unsafe { std::env::set_var("GOSCHED_REPLAY", "nonsense") };
    let told = text(|| explore(|| {}));
    assert!(told.contains("GOSCHED_REPLAY: \"nonsense\" is no token of a schedule"), "{told}");
}

fn a_token_that_is_no_text_is_refused() {
    // SAFETY: this process has no other thread yet.
    unsafe { std::env::set_var("GOSCHED_REPLAY", OsStr::from_bytes(b"s1\xff")) };
    let told = text(|| explore(|| {}));
    assert!(told.contains("is no token of a schedule"), "{told}");
}

fn those_left_behind_harm_nobody() {
    for _ in 0..50 {
        let leak = Explorer::new().iterations(1).check(|| {
            let (tx, rx) = bounded(0);
            go(move || tx.send(1));
            go(|| gosched::time::sleep(Duration::from_secs(1)));
            std::mem::forget(rx);
        });
        assert_eq!(leak.unwrap_err().kind(), FailureKind::Leak);
        all_is_well();
    }
}
