//! Signals from threads and from another process, as fast as they can be sent.

use std::array::from_fn;
use std::iter::repeat_with;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::signal::Signal;
use gosched::{blocking, go, run};

use super::{kill, notify, raise};
use crate::harness::emulator::emulator;
use crate::harness::rng::Rng;
use crate::harness::{Test, Tests, tests};

tests! {
    a_storm
}

/// Returns the command of a process that sends `n` signals of a kind to this one.
fn other_process(name: &str, n: usize) -> Command {
    let mut command = Command::new("sh");
    let pid = std::process::id();
    command.args(["-c", &format!("i=0; while [ $i -lt {n} ]; do kill -{name} {pid}; i=$((i+1)); done")]);
    command
}

/// Returns how many signals each of two threads sends, and how many another process.
fn storm_size() -> (usize, usize) {
    match Tests::said() {
        _ if emulator().is_some() => (2_000, 100),
        Tests::All if cfg!(debug_assertions) => (50_000, 2_000),
        Tests::All => (480_000, 40_000),
        _ => (5_000, 500),
    }
}

/// Two threads and another process send three kinds of signals, while goroutines pass values and
/// block in system calls. Again and again a thread waits until its last signal was received.
fn a_storm(test: Test) {
    static SEEN: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
    static OVER: AtomicBool = AtomicBool::new(false);
    const KINDS: [Signal; 3] = [Signal::USR1, Signal::USR2, Signal::HUP];

    /// Sends a signal of a kind, and returns when it was received.
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
