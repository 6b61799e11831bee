//! Signals: who is told of them, and what they do otherwise.

use std::array::from_fn;
use std::io::{Error, ErrorKind, Write, pipe};
use std::iter::repeat_with;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use std::{ptr, thread};

use gosched::chan::{RecvTimeoutError, TryRecvError, bounded};
use gosched::signal::{self, Signal, Signals};
use gosched::time::sleep;
use gosched::{blocking, go, num_goroutine, select, yield_now};

use crate::harness::emulator::emulator;
use crate::harness::rng::Rng;
use crate::harness::{Test, run, tests};

tests! {
    names
    what_cannot_be_asked_for
    everyone_is_told
    a_burst_coalesces
    no_kind_is_lost
    what_nobody_asked_for_ends_the_process
    a_pipe_that_nobody_reads
    a_handler_of_the_programs_own
    ignored_and_reset
    reset_after_notify
    stopped
    dropped
    blocked_in_all_threads
    inside_blocking
    the_runtimes_own
    waiting_is_no_deadlock
    on_a_thread_of_the_programs_own
    before_the_first_run
    ignored_before_the_first_run
    a_storm
}

/// Sends a signal to this process.
fn kill(signal: Signal) {
    // SAFETY: no memory is passed.
    assert_eq!(unsafe { libc::kill(libc::getpid(), signal.as_raw()) }, 0);
}

/// Sends a signal to this thread, which handles it before this returns.
fn raise(signal: Signal) {
    // SAFETY: no memory is passed.
    assert_eq!(unsafe { libc::raise(signal.as_raw()) }, 0);
}

/// What a signal does now: the handler, the flags, and whether SIGHUP is blocked meanwhile.
fn action(signal: Signal) -> (usize, i32, i32) {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: reads an action.
    unsafe {
        assert_eq!(libc::sigaction(signal.as_raw(), ptr::null(), action.as_mut_ptr()), 0);
        let action = action.assume_init();
        (action.sa_sigaction, action.sa_flags, libc::sigismember(&action.sa_mask, libc::SIGHUP))
    }
}

fn notify(signals: &[Signal]) -> Signals {
    signal::notify(signals.iter().copied()).unwrap()
}

/// Fails if something comes within a while.
fn nothing_comes(signals: &Signals) {
    let came = signals.c().recv_timeout(Duration::from_millis(20));
    assert_eq!(came, Err(RecvTimeoutError::Timeout));
}

fn names(_: Test) {
    let name = |number| Signal::from_raw(number).map(|signal| signal.to_string());
    assert_eq!(name(libc::SIGINT).as_deref(), Some("SIGINT"));
    assert_eq!(name(libc::SIGUSR2).as_deref(), Some("SIGUSR2"));
    assert_eq!(name(libc::SIGRTMIN()).as_deref(), Some("SIGRTMIN"));
    assert_eq!(name(libc::SIGRTMAX()).as_deref(), Some("SIGRTMIN+30"));
    assert_eq!(name(32).as_deref(), Some("signal 32"));
    assert_eq!([name(0), name(-1), name(65)], [None, None, None]);
    assert_eq!(format!("{:?} {:>8}", Signal::TERM, Signal::HUP), "SIGTERM   SIGHUP");
    assert_eq!(Signal::TERM.as_raw(), 15);
}

fn what_cannot_be_asked_for(test: Test) {
    let process = test.process(|| {
        run(|| {
            let all: Vec<Signal> = Signal::all().collect();
            for number in 1..=libc::SIGRTMAX() {
                let signal = Signal::from_raw(number).unwrap();
                let asked = signal::notify([Signal::USR1, signal]);
                assert_eq!(asked.is_ok(), all.contains(&signal), "{signal}");
            }
            let errors: [Error; 3] = [
                signal::notify([Signal::KILL]).unwrap_err(),
                signal::ignore([Signal::SEGV]).unwrap_err(),
                signal::reset([Signal::from_raw(33).unwrap()]).unwrap_err(),
            ];
            assert_eq!(
                errors.map(|error| (error.kind(), error.to_string())),
                [
                    "SIGKILL can't be asked for: the kernel lets nobody catch it",
                    "SIGSEGV can't be asked for: it says that an instruction has failed, which would fail again",
                    "signal 33 can't be asked for: the C library needs it",
                ]
                .map(|text| (ErrorKind::InvalidInput, text.to_owned()))
            );
            let everything = signal::notify(Signal::all()).unwrap();
            kill(Signal::WINCH);
            assert_eq!(everything.c().iter().find(|signal| *signal != Signal::CHLD), Some(Signal::WINCH));
            assert_eq!(num_goroutine(), 1);
        });
        // It was asked for together with one that can't be.
        kill(Signal::USR1);
    });
    process.end().with("signal: 10");
}

fn everyone_is_told(test: Test) {
    let process = |procs| {
        test.process(|| {
            run(|| {
                let both = notify(&[Signal::USR1, Signal::USR2]);
                let one = notify(&[Signal::USR2]);
                for _ in 0..100 {
                    kill(Signal::USR1);
                    assert_eq!(both.c().recv(), Ok(Signal::USR1));
                    kill(Signal::USR2);
                    assert_eq!(one.c().recv(), Ok(Signal::USR2));
                    assert_eq!(both.c().recv(), Ok(Signal::USR2));
                }
                assert_eq!(
                    (one.c().try_recv(), both.c().try_recv()),
                    (Err(TryRecvError::Empty), Err(TryRecvError::Empty))
                );
                let (_tx, never) = bounded::<()>(0);
                kill(Signal::USR1);
                select! {
                    recv(both.c()) -> signal => assert_eq!(signal, Ok(Signal::USR1)),
                    recv(never) -> _ => unreachable!("nobody sends"),
                }
            });
        })
        .env("GOMAXPROCS", procs)
    };
    for procs in ["1", "4"] {
        process(procs).end().with("exit status: 0");
    }
}

fn a_burst_coalesces(test: Test) {
    let process = test.process(|| {
        run(|| {
            let signals = notify(&[Signal::USR1, Signal::USR2]);
            for _ in 0..10 {
                for (signal, times) in [(Signal::USR1, 50), (Signal::USR1, 50), (Signal::USR2, 1)] {
                    (0..times).for_each(|_| raise(signal));
                    // As a rule they come into the channel meanwhile.
                    sleep(Duration::from_millis(1));
                }
                // Of each kind there is one in the channel at most, and two more may be on their way.
                let received = signals.c().iter().take_while(|signal| *signal == Signal::USR1).count();
                assert!((1..=3).contains(&received), "{received}");
            }
        });
    });
    process.end().with("exit status: 0");
}

fn no_kind_is_lost(test: Test) {
    let process = test.process(|| {
        run(|| {
            const KINDS: [Signal; 3] = [Signal::USR1, Signal::USR2, Signal::TERM];
            let signals = notify(&KINDS);
            for round in 0..200 {
                for _ in 0..50 {
                    kill(KINDS[round % 3]);
                }
                kill(KINDS[(round + 1) % 3]);
                kill(KINDS[(round + 2) % 3]);
                let mut missing = KINDS.to_vec();
                while !missing.is_empty() {
                    let signal = signals.c().recv().unwrap();
                    missing.retain(|other| *other != signal);
                }
            }
            // One of the last burst may be on its way: if nobody wanted it, it would end the process.
            signal::ignore(KINDS).unwrap();
        });
    });
    process.end().with("exit status: 0");
}

fn what_nobody_asked_for_ends_the_process(test: Test) {
    let process = test.process(|| {
        run(|| {
            let _signals = notify(&[Signal::USR1]);
            kill(Signal::TERM);
            loop {
                yield_now();
            }
        });
    });
    process.end().with("signal: 15");
}

/// Writes to a pipe that nobody reads.
fn write_in_vain() -> ErrorKind {
    let (reader, mut writer) = pipe().unwrap();
    drop(reader);
    writer.write(b"x").unwrap_err().kind()
}

fn a_pipe_that_nobody_reads(test: Test) {
    let process = test.process(|| {
        run(|| {
            assert_eq!(action(Signal::PIPE).0, libc::SIG_IGN);
            let other = notify(&[Signal::USR1]);
            assert_eq!(write_in_vain(), ErrorKind::BrokenPipe);
            assert_eq!(action(Signal::PIPE).0, libc::SIG_IGN);
            nothing_comes(&other);

            let signals = notify(&[Signal::PIPE]);
            assert_eq!(write_in_vain(), ErrorKind::BrokenPipe);
            assert_eq!(signals.c().recv(), Ok(Signal::PIPE));

            signal::reset([Signal::PIPE]).unwrap();
            assert_eq!(signals.c().recv().ok(), None);
            assert_eq!(write_in_vain(), ErrorKind::BrokenPipe);
            assert_eq!(action(Signal::PIPE).0, libc::SIG_IGN);
        });
    });
    process.end().with("exit status: 0");
}

static OWN: AtomicUsize = AtomicUsize::new(0);

extern "C" fn own_handler(_: libc::c_int) {
    OWN.fetch_add(1, Ordering::SeqCst);
}

/// Installs a handler of the program's own, with flags and a mask that are no default.
fn install_own(signal: Signal) {
    // SAFETY: the handler counts, and nothing else.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = own_handler as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigaddset(&mut action.sa_mask, libc::SIGHUP);
        assert_eq!(libc::sigaction(signal.as_raw(), &action, ptr::null_mut()), 0);
    }
}

/// How often the program's own handler is called for a signal that this thread sends to itself.
fn own_calls(signal: Signal) -> usize {
    let before = OWN.load(Ordering::SeqCst);
    raise(signal);
    OWN.load(Ordering::SeqCst) - before
}

fn a_handler_of_the_programs_own(test: Test) {
    let process = test.process(|| {
        const SIGNALS: [Signal; 2] = [Signal::USR1, Signal::CHLD];
        install_own(SIGNALS[0]);
        run(|| {
            install_own(SIGNALS[1]);
            for signal in SIGNALS {
                let before = action(signal);
                assert_eq!(own_calls(signal), 1);
                for ends in [
                    |signals: Signals| drop(signals),
                    |signals: Signals| signals.stop(),
                    |_signals: Signals| signal::reset(SIGNALS).unwrap(),
                ] {
                    let signals = notify(&[signal]);
                    assert_ne!(action(signal).0, before.0);
                    assert_eq!(own_calls(signal), 0);
                    assert_eq!(signals.c().recv(), Ok(signal));
                    ends(signals);
                    assert_eq!(action(signal), before);
                    assert_eq!(own_calls(signal), 1);
                }
                signal::ignore([signal]).unwrap();
                assert_eq!(own_calls(signal), 0);
                let signals = notify(&[signal]);
                assert_eq!(own_calls(signal), 0);
                assert_eq!(signals.c().recv(), Ok(signal));
                signal::reset([signal]).unwrap();
                assert_eq!(action(signal), before);
                // Once more changes nothing.
                signal::reset([signal]).unwrap();
                assert_eq!(action(signal), before);
            }
        });
    });
    process.end().with("exit status: 0");
}

fn ignored_and_reset(test: Test) {
    let process = test.process(|| {
        run(|| {
            let signals = notify(&[Signal::TERM, Signal::USR1]);
            signal::ignore([Signal::TERM]).unwrap();
            kill(Signal::TERM);
            nothing_comes(&signals);
            kill(Signal::USR1);
            assert_eq!(signals.c().recv(), Ok(Signal::USR1));
            signal::reset([Signal::TERM]).unwrap();
            eprint!("until here");
            kill(Signal::TERM);
            loop {
                yield_now();
            }
        });
    });
    process.end().with("signal: 15").says("until here");
}

fn reset_after_notify(test: Test) {
    let process = test.process(|| {
        run(|| {
            let signals = notify(&[Signal::USR1]);
            kill(Signal::USR1);
            assert_eq!(signals.c().recv(), Ok(Signal::USR1));
            signal::reset([Signal::USR1]).unwrap();
            assert_eq!(action(Signal::USR1).0, libc::SIG_DFL);
            assert_eq!(signals.c().recv().ok(), None);
            eprint!("until here");
            kill(Signal::USR1);
            loop {
                yield_now();
            }
        });
    });
    process.end().with("signal: 10").says("until here");
}

fn stopped(test: Test) {
    let process = test.process(|| {
        run(|| {
            for _ in 0..100 {
                let signals = notify(&[Signal::USR1, Signal::USR2]);
                raise(Signal::USR1);
                signals.stop();
                signals.stop();
                assert_eq!(action(Signal::USR1).0, libc::SIG_DFL);
                assert_eq!(signals.c().iter().collect::<Vec<_>>(), [Signal::USR1]);
            }
        });
    });
    process.end().with("exit status: 0");
}

fn dropped(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (first, second) = (notify(&[Signal::USR1]), notify(&[Signal::USR1]));
            drop(first);
            kill(Signal::USR1);
            assert_eq!(second.c().recv(), Ok(Signal::USR1));
            drop(second);
            assert_eq!(action(Signal::USR1).0, libc::SIG_DFL);
        });
    });
    process.end().with("exit status: 0");
}

/// Blocks a signal in this thread.
fn block(signal: Signal) {
    let mut blocked = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the first call fills the set.
    unsafe {
        libc::sigemptyset(blocked.as_mut_ptr());
        libc::sigaddset(blocked.as_mut_ptr(), signal.as_raw());
        libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), ptr::null_mut());
    }
}

fn blocked_in_all_threads(test: Test) {
    let process = test.process(|| {
        block(Signal::USR1);
        run(|| {
            for _ in 0..20 {
                let signals = notify(&[Signal::USR1]);
                kill(Signal::USR1);
                assert_eq!(signals.c().recv(), Ok(Signal::USR1));
                drop(signals);
            }
            // It would end the process if a thread took it.
            kill(Signal::USR1);
            thread::sleep(Duration::from_millis(20));
            let mut pending = MaybeUninit::<libc::sigset_t>::zeroed();
            // SAFETY: the kernel fills the set.
            let waits = unsafe {
                libc::sigpending(pending.as_mut_ptr());
                libc::sigismember(pending.as_ptr(), libc::SIGUSR1)
            };
            assert_eq!(waits, 1);
        });
    });
    process.end().with("exit status: 0");
}

/// Nothing can wait there, and nothing is left half done; what is dropped there is dropped.
fn inside_blocking(test: Test) {
    fn refused(f: impl FnOnce()) {
        let payload = catch_unwind(AssertUnwindSafe(|| blocking(f))).unwrap_err();
        let text = payload.downcast_ref::<String>().expect("it says why");
        assert!(text.contains("would have to wait, which nothing can inside gosched::blocking"), "{text}");
    }
    let process = test.process(|| {
        block(Signal::USR1);
        run(|| {
            let dropped = notify(&[Signal::USR1]);
            refused(|| drop(notify(&[Signal::USR1])));
            refused(|| signal::ignore([Signal::USR1]).unwrap());
            refused(|| signal::reset([Signal::USR1]).unwrap());
            refused(|| dropped.stop());
            kill(Signal::USR1);
            assert_eq!(dropped.c().recv(), Ok(Signal::USR1));
            blocking(|| drop(dropped));
            let signals = notify(&[Signal::USR1]);
            kill(Signal::USR1);
            assert_eq!(signals.c().recv(), Ok(Signal::USR1));
        });
    });
    process.end().with("exit status: 0");
}

fn the_runtimes_own(test: Test) {
    let process = test.process(|| {
        install_own(Signal::URG);
        run(|| {
            let handler = action(Signal::URG);
            assert_eq!(own_calls(Signal::URG), 1);
            let signals = notify(&[Signal::URG]);
            assert_eq!(own_calls(Signal::URG), 0);
            assert_eq!(signals.c().recv(), Ok(Signal::URG));
            signal::ignore([Signal::URG]).unwrap();
            assert_eq!(own_calls(Signal::URG), 0);
            signal::reset([Signal::URG]).unwrap();
            assert_eq!(own_calls(Signal::URG), 1);
            assert_eq!(action(Signal::URG), handler);
        });
    });
    process.end().with("exit status: 0");
}

/// A process that sends `n` signals of a kind to this one.
fn other_process(name: &str, n: usize) -> Command {
    let mut command = Command::new("sh");
    let pid = std::process::id();
    command.args(["-c", &format!("i=0; while [ $i -lt {n} ]; do kill -{name} {pid}; i=$((i+1)); done")]);
    command
}

fn waiting_is_no_deadlock(test: Test) {
    let process = test.process(|| {
        run(|| {
            let signals = notify(&[Signal::HUP]);
            let mut child = Command::new("sh");
            child.args(["-c", &format!("sleep 0.2; kill -HUP {}", std::process::id())]);
            let mut child = child.spawn().unwrap();
            assert_eq!(signals.c().recv(), Ok(Signal::HUP));
            assert!(child.wait().unwrap().success());
        });
    });
    process.end().with("exit status: 0");
}

fn on_a_thread_of_the_programs_own(test: Test) {
    let process = test.process(|| {
        run(|| ());
        let signals = notify(&[Signal::USR1]);
        for _ in 0..10 {
            kill(Signal::USR1);
            assert_eq!(signals.c().recv(), Ok(Signal::USR1));
        }
        signals.stop();
        assert_eq!(signals.c().recv().ok(), None);
        assert_eq!(action(Signal::USR1).0, libc::SIG_DFL);
    });
    process.end().with("exit status: 0");
}

fn before_the_first_run(test: Test) {
    let process = test.process(|| {
        let error = signal::notify([Signal::USR1]).unwrap_err();
        assert_eq!(error.to_string(), "the runtime isn't running: the first call of gosched::run starts it");
        assert_eq!(action(Signal::USR1).0, libc::SIG_DFL);
    });
    process.end().with("exit status: 0");
}

/// Also the one that the runtime handles itself.
fn ignored_before_the_first_run(test: Test) {
    let process = test.process(|| {
        signal::ignore([Signal::USR1, Signal::QUIT]).unwrap();
        run(|| {
            kill(Signal::USR1);
            kill(Signal::QUIT);
            thread::sleep(Duration::from_millis(50));
        });
    });
    process.end().with("exit status: 0");
}

/// Signals that each of two threads sends, and another process.
fn storm_size() -> (usize, usize) {
    match emulator() {
        Some(_) => (2_000, 100),
        None if cfg!(debug_assertions) => (50_000, 2_000),
        None => (480_000, 40_000),
    }
}

/// Two threads and another process send three kinds of signals, while goroutines pass values and block in
/// system calls. Again and again a thread waits until its last signal was received.
fn a_storm(test: Test) {
    static SEEN: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
    static OVER: AtomicBool = AtomicBool::new(false);
    const KINDS: [Signal; 3] = [Signal::USR1, Signal::USR2, Signal::HUP];

    /// Sends one of a kind, and returns when it was received.
    fn send_and_see(kind: usize, send: impl Fn()) {
        let before = SEEN[kind].load(Ordering::SeqCst);
        send();
        until(|| SEEN[kind].load(Ordering::SeqCst) > before);
    }
    fn until(condition: impl Fn() -> bool) {
        while !condition() {
            thread::sleep(Duration::from_micros(50));
        }
    }
    fn over() -> bool {
        OVER.load(Ordering::Relaxed)
    }

    let process = test.process(|| {
        let mut rng = Rng::seeded();
        let (by_thread, by_process) = storm_size();
        let (passed, blocked) = run(|| {
            let signals = notify(&KINDS);
            go(move || {
                for signal in signals.c() {
                    let kind = KINDS.iter().position(|other| *other == signal).unwrap();
                    SEEN[kind].fetch_add(1, Ordering::SeqCst);
                }
            });
            let passing = from_fn::<_, 4, _>(|_| {
                let (tx, rx) = bounded(1);
                go(move || (0_usize..).take_while(|i| tx.send(*i).is_ok() && (*i == 0 || !over())).count());
                go(move || rx.iter().enumerate().map(|(n, i)| assert_eq!(n, i)).count())
            });
            let calling = from_fn::<_, 3, _>(|_| {
                go(|| {
                    let call = || blocking(|| thread::sleep(Duration::from_micros(20)));
                    call();
                    1 + repeat_with(call).take_while(|()| !over()).count()
                })
            });

            let sends: [fn(); 2] = [|| kill(KINDS[0]), || raise(KINDS[1])];
            let mut threads = Vec::new();
            for (kind, send) in sends.into_iter().enumerate() {
                let mut rng = rng.fork();
                threads.push(thread::spawn(move || {
                    let mut left = by_thread;
                    while left > 0 {
                        let burst = (1 + rng.below(1000)).min(left);
                        (1..burst).for_each(|_| send());
                        send_and_see(kind, send);
                        left -= burst;
                    }
                }));
            }
            let mut child = other_process("HUP", by_process).spawn().unwrap();
            blocking(|| threads.into_iter().for_each(|thread| thread.join().unwrap()));
            blocking(|| assert!(child.wait().unwrap().success()));
            blocking(|| until(|| SEEN[2].load(Ordering::SeqCst) > 0));
            for (kind, signal) in KINDS.into_iter().enumerate() {
                blocking(|| send_and_see(kind, || kill(signal)));
            }
            OVER.store(true, Ordering::Relaxed);
            let count = |handles: Vec<gosched::JoinHandle<usize>>| -> Vec<usize> {
                handles.into_iter().map(|handle| handle.join().unwrap()).collect()
            };
            (count(passing.into()), count(calling.into()))
        });
        eprintln!("{SEEN:?} {passed:?} {blocked:?}");
    });
    process.end().with("exit status: 0");
}
