//! Signals without a receiver: handlers of the program and of the runtime, and the default.

use std::hint::black_box;
use std::io::{ErrorKind, Write, pipe};
use std::os::unix::process::ExitStatusExt;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gosched::signal::{self, Signal, Signals};
use gosched::{run, yield_now};

use super::{action, kill, nothing_comes, notify, raise};
use crate::harness::process::Ended;
use crate::harness::{Test, tests};

tests! {
    what_nobody_asked_for_ends_the_process
    a_fault_that_was_sent_ends_the_process
    a_fault_that_was_sent_ends_a_c_program
    a_fault_that_was_sent_can_be_ignored
    a_pipe_that_nobody_reads
    a_handler_of_the_programs_own
    the_runtimes_own
    before_the_first_run
    many_at_once
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

/// Returns the end of a process that sends itself a fault. Before the first `run`, the process had
/// `handler` for the fault; or std's handler, if `handler` is None.
fn sends_a_fault(test: Test, handler: Option<libc::sighandler_t>) -> Ended {
    let process = test.process(|| {
        if let Some(handler) = handler {
            // SAFETY: no handler of the program is installed.
            assert_ne!(unsafe { libc::signal(libc::SIGSEGV, handler) }, libc::SIG_ERR);
        }
        run(|| {
            // SAFETY: passes no memory.
            assert_eq!(unsafe { libc::raise(libc::SIGSEGV) }, 0);
        });
    });
    process.end()
}

fn a_fault_that_was_sent_ends_the_process(test: Test) {
    assert_eq!(sends_a_fault(test, None).status.signal(), Some(libc::SIGSEGV));
}

fn a_fault_that_was_sent_ends_a_c_program(test: Test) {
    assert_eq!(sends_a_fault(test, Some(libc::SIG_DFL)).status.signal(), Some(libc::SIGSEGV));
}

fn a_fault_that_was_sent_can_be_ignored(test: Test) {
    sends_a_fault(test, Some(libc::SIG_IGN)).with("exit status: 0").says_nothing();
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

/// Installs a handler of the program's own, with flags and a mask that aren't the defaults.
fn install_own(signal: Signal) {
    // SAFETY: the handler only counts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = own_handler as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigaddset(&mut action.sa_mask, libc::SIGHUP);
        assert_eq!(libc::sigaction(signal.as_raw(), &action, ptr::null_mut()), 0);
    }
}

/// Returns how often the program's own handler is called for a signal that this thread sends
/// itself.
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
                // A second reset changes nothing.
                signal::reset([signal]).unwrap();
                assert_eq!(action(signal), before);
            }
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
    // The only signal is the one that the test sends.
    process.env("GODEBUG", "asyncpreemptoff=1").end().with("exit status: 0");
}

/// Many threads call at the same time, before any can wait for another.
fn before_the_first_run() {
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..1_000 {
                    signal::ignore([Signal::USR1]).unwrap();
                    signal::reset([Signal::USR1]).unwrap();
                    assert!(signal::notify([Signal::USR1]).is_err());
                }
            });
        }
    });
    run(|| drop(notify(&[Signal::USR1])));
}

/// The thread that waits in `run` has room for handlers that interrupt each other.
fn many_at_once(test: Test) {
    const MANY: libc::c_int = 10;
    static CAME: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn handler(sig: libc::c_int) {
        // This is as much stack as a handler may use.
        let used = black_box([1_u8; 1024]);
        CAME.fetch_add(used[0].into(), Ordering::Relaxed);
        if sig < libc::SIGRTMIN() + MANY - 1 {
            // SAFETY: passes no memory.
            unsafe { libc::raise(sig + 1) };
        }
    }
    let process = test.process(|| {
        for sig in (0..MANY).map(|n| libc::SIGRTMIN() + n) {
            // SAFETY: the handler adds to an atomic, and raises a signal that has a handler.
            assert_ne!(unsafe { libc::signal(sig, handler as *const () as usize) }, libc::SIG_ERR);
        }
        // SAFETY: returns this thread.
        let waits = unsafe { libc::pthread_self() };
        run(move || {
            // SAFETY: the thread waits for this goroutine.
            assert_eq!(unsafe { libc::pthread_kill(waits, libc::SIGRTMIN()) }, 0);
            while CAME.load(Ordering::Relaxed) < MANY as usize {
                yield_now();
            }
        });
    });
    process.end().with("exit status: 0");
}
