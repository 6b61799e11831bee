//! Which receivers get which signals, and for how long.

use std::io::{Error, ErrorKind};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;
use std::{ptr, thread};

use gosched::chan::{TryRecvError, bounded};
use gosched::signal::{self, Signal};
use gosched::time::sleep;
use gosched::{blocking, num_goroutine, run, select, yield_now};

use super::{action, kill, nothing_comes, notify, raise};
use crate::harness::{Test, rounds, tests};

tests! {
    names
    what_cannot_be_asked_for
    everyone_is_told
    a_burst_coalesces
    no_kind_is_lost
    ignored_and_reset
    reset_after_notify
    stopped
    dropped
    blocked_in_all_threads
    inside_blocking
    waiting_is_no_deadlock
    on_a_thread_of_the_programs_own
    before_the_first_run
    ignored_before_the_first_run
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
            // The runtime sends one of these to its own threads, because this binary has
            // preemptible code. And a user may have stopped this process for a while.
            let others = [Signal::CHLD, Signal::CONT, Signal::URG];
            assert_eq!(everything.c().iter().find(|signal| !others.contains(signal)), Some(Signal::WINCH));
            assert_eq!(num_goroutine(), 1);
        });
        // The signal was requested together with one that can't be received.
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
                for _ in 0..rounds(100) {
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
                    // Usually the signals reach the channel meanwhile.
                    sleep(Duration::from_millis(1));
                }
                // The channel has at most one signal of each kind, and two more may be on their
                // way.
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
            for round in 0..rounds(200) {
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
            // A signal of the last burst may be on its way. Without a receiver it would end the
            // process.
            signal::ignore(KINDS).unwrap();
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
            for _ in 0..rounds(100) {
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
            // The signal would end the process if any thread took it.
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

/// Nothing can wait there, and nothing remains half done. Values that are dropped there are dropped
/// properly.
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

/// This includes the signal that the runtime handles itself.
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
