//! What is a deadlock, and what isn't.

use std::future::{pending, poll_fn};
use std::io::{self, BufRead, BufReader};
use std::mem::forget;
use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::{bounded, never};
use gosched::explore::Explorer;
use gosched::iter::{Yielder, pull};
use gosched::net::UdpSocket;
use gosched::signal::{self, Signal};
use gosched::sync::{Condvar, Mutex, RwLock, WaitGroup};
use gosched::{
    Builder, DeadlockMode, block_on, blocking, go, goid, lock_os_thread, run, select, set_deadlock_mode, time,
};

use crate::harness::{Test, tests};

tests! {
    deadlock_of_main
    deadlock_lists_every_wait
    deadlock_of_locked_goroutines
    deadlock_of_two_calls_of_run
    deadlock_beside_what_an_exploration_has_left
    no_deadlock_while_a_thread_may_send
    deadlock_when_the_last_thread_has_ended
    deadlock_of_threads_that_wait
    no_deadlock_between_two_calls_of_run
    deadlock_beside_another_thread_is_told
    deadlock_beside_another_thread_can_be_fatal
    who_was_taken_for_deadlocked_goes_on
    waits_that_may_end_are_not_told
    a_thread_that_comes_again_and_again_is_not_told
}

const DEADLOCK: &str = "all goroutines are asleep - deadlock!";

/// Parks the running goroutine forever.
pub(super) fn forever() {
    let (_tx, rx) = bounded::<()>(0);
    let _ = rx.recv();
}

fn deadlock_of_main(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    for procs in ["1", "4"] {
        let process = test.process(|| run(forever));
        process.env("GOMAXPROCS", procs).end().fatal(DEADLOCK).says("\ngoroutine 1 [chan receive]:\n");
    }
}

/// A failed exploration may have left goroutines that could run, and never will.
fn deadlock_beside_what_an_exploration_has_left(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    let process = test.process(|| {
        let failed = Explorer::new().iterations(1).check(|| {
            go(|| {});
            panic!();
        });
        assert!(failed.is_err());
        run(forever);
    });
    process.end().fatal(DEADLOCK);
}

/// Ways to wait forever, by the name that a report uses.
const WAITS: [(&str, fn()); 12] = [
    ("chan receive", forever),
    ("chan receive (nil chan)", || {
        let _ = never::<()>().recv();
    }),
    ("chan send", || {
        let (tx, _rx) = bounded(0);
        let _ = tx.send(());
    }),
    ("select", || {
        let (_tx, rx) = bounded::<()>(0);
        select! { recv(rx) -> _ => {}, recv(never::<()>()) -> _ => {} }
    }),
    ("select (no cases)", || select! {}),
    ("sync.Mutex.Lock", || {
        let mutex = Mutex::new(());
        let _held = mutex.lock();
        drop(mutex.lock());
    }),
    ("sync.RWMutex.RLock", || {
        let lock = RwLock::new(());
        let _held = lock.write();
        drop(lock.read());
    }),
    ("sync.RWMutex.Lock", || {
        let lock = RwLock::new(());
        let _held = lock.read();
        drop(lock.write());
    }),
    ("sync.Cond.Wait", || {
        let mutex = Mutex::new(());
        drop(Condvar::new().wait(mutex.lock()));
    }),
    ("coroutine", || _ = pull(|_: &Yielder<()>| forever()).next()),
    ("semacquire", || {
        let group = WaitGroup::new();
        group.add(1);
        group.wait();
    }),
    ("future", || block_on(pending())),
];

fn deadlock_lists_every_wait(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    let process = test.process(|| {
        run(|| {
            for (reason, wait) in WAITS {
                let f = move || {
                    eprintln!("{reason}: {}", goid());
                    wait();
                };
                let (made, line) = (Builder::new().name(&format!("in {reason}")).go(f), line!());
                drop(made.unwrap());
                eprintln!("line: {line}");
            }
            go(forever).join().unwrap();
        });
    });
    let ended = process.end();
    ended.fatal(DEADLOCK).says("\ngoroutine 1 [semacquire]:\n");
    for (reason, _) in WAITS {
        let header = format!("\ngoroutine {} \"in {reason}\" [{reason}]:\n", ended.told(reason));
        let origin = format!("created at {}:{}:", file!(), ended.told("line"));
        let parent = " in goroutine 1";
        let (_, rest) = ended.says(&header).stderr.split_once(&header).expect("it says so");
        // The report has its frames, and then its maker.
        let stack = rest.split("\n\n").next().unwrap_or_default();
        assert!(stack.contains("deadlock::deadlock_lists_every_wait::"), "no frame of its own: {stack}");
        let last = stack.lines().last().unwrap_or_default();
        assert!(last.starts_with(&origin) && last.ends_with(parent), "expected {origin} .. {parent}: {last}");
    }
}

fn deadlock_of_locked_goroutines(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    let process = test.process(|| {
        run(|| {
            let _locked = lock_os_thread();
            go(|| {
                let _locked = lock_os_thread();
                forever();
            });
            forever();
        });
    });
    let ended = process.end();
    ended.fatal(DEADLOCK).says("\ngoroutine 1 [chan receive, locked to thread]:\n");
    assert_eq!(ended.stderr.matches(" [chan receive, locked to thread]:\n").count(), 2, "{}", ended.stderr);
}

fn deadlock_of_two_calls_of_run(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    let process = test.process(|| {
        thread::spawn(|| run(forever));
        run(forever);
    });
    let ended = process.end();
    ended.fatal(DEADLOCK);
    // While the thread is on its way, the other call may be reported.
    let (_, stacks) = ended.stderr.split_once("fatal error: ").unwrap();
    assert_eq!(stacks.matches(" [chan receive]:\n").count(), 2, "{}", ended.stderr);
}

fn no_deadlock_while_a_thread_may_send(test: Test) {
    let process = test.process(|| {
        let (tx, rx) = bounded(1);
        let sender = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            tx.send("late").unwrap();
        });
        assert_eq!(run(|| rx.recv()), Ok("late"));
        sender.join().unwrap();
    });
    process.end().with("exit status: 0");
}

fn deadlock_when_the_last_thread_has_ended(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded(1);
            thread::spawn(move || {
                // Each time that nothing runs, the thread is seen again.
                for i in 0..20 {
                    thread::sleep(Duration::from_millis(i % 3));
                    tx.send(i).unwrap();
                }
                forget(tx);
            });
            rx.iter().for_each(drop);
        });
    });
    process.end().fatal(DEADLOCK).says("\ngoroutine 1 [chan receive]:\n");
}

/// A thread that waits as a goroutine does counts as asleep.
fn deadlock_of_threads_that_wait(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    let process = test.process(|| {
        run(|| {
            thread::spawn(forever);
            forever();
        });
    });
    process.end().fatal(DEADLOCK).says(" [chan receive, locked to thread]:\n");
}

fn no_deadlock_between_two_calls_of_run(test: Test) {
    let process = test.process(|| {
        let (tx, rx) = bounded(0);
        run(|| drop(go(move || tx.send("from before").unwrap())));
        // Waits until all threads of the runtime sleep.
        thread::sleep(Duration::from_millis(100));
        assert_eq!(run(|| rx.recv()), Ok("from before"));
    });
    process.end().with("exit status: 0");
}

/// The setting that reports a deadlock beside another thread after 100 ms, instead of two seconds.
const SOON: &str = "period=5";

/// Longer than that.
const LONG: Duration = Duration::from_millis(300);

/// The report of goroutines that wait for each other beside a thread that might wake one.
const TOLD: &str = "gosched: all goroutines are asleep - deadlock?";

/// Calls `main` as libtest calls a test: on a thread for which the first thread waits.
fn as_a_test(main: impl FnOnce() + Send + 'static) {
    thread::spawn(move || run(main)).join().unwrap();
}

fn deadlock_beside_another_thread_is_told(test: Test) {
    let process = test.process(|| {
        as_a_test(|| {
            let waits = Builder::new().name("waits").go(forever).unwrap();
            waits.join().unwrap();
        });
    });
    let text = process.also(SOON).until(|text| text.contains("created at "));
    let (_, stacks) = text.split_once(TOLD).unwrap_or_else(|| panic!("nothing was told: {text}"));
    for waits in
        ["\ngoroutine 1 [semacquire]:\n", "\ngoroutine 2 \"waits\" [chan receive]:\n", "deadlock::forever"]
    {
        assert!(stacks.contains(waits), "expected {waits:?} in: {text}");
    }
}

fn deadlock_beside_another_thread_can_be_fatal(test: Test) {
    let process = test.process(|| {
        // The environment's setting overrides this.
        set_deadlock_mode(DeadlockMode::Off);
        as_a_test(forever);
    });
    let ended = process.also(&format!("deadlock=fatal,{SOON}")).end();
    ended.fatal(DEADLOCK).says("\ngoroutine 1 [chan receive]:\n");
}

/// A thread may wake a goroutine after all. Then nothing more is reported.
fn who_was_taken_for_deadlocked_goes_on(test: Test) {
    let process = test.process(|| {
        let (stderr, writer) = io::pipe().unwrap();
        // SAFETY: both are open.
        assert_ne!(unsafe { libc::dup2(writer.as_raw_fd(), libc::STDERR_FILENO) }, -1);
        let (tx, rx) = bounded(0);
        thread::spawn(move || {
            let mut lines = BufReader::new(stderr).lines().map(Result::unwrap);
            let told = lines.find(|line| line.contains(TOLD));
            lines.find(|line| line == "goroutine 1 [chan receive]:").unwrap();
            tx.send(told.unwrap()).unwrap();
            let (said, more) = mpsc::channel();
            thread::spawn(move || lines.for_each(|line| _ = said.send(line)));
            thread::sleep(LONG);
            let more: Vec<_> = more.try_iter().filter(|line| line.contains(TOLD)).collect();
            tx.send(more.concat()).unwrap();
        });
        let (told, more) = run(|| (rx.recv().unwrap(), rx.recv().unwrap()));
        assert!(told.contains(TOLD) && more.is_empty(), "told again: {more}");
    });
    process.also(SOON).end().with("exit status: 0");
}

/// Waits that end by themselves, or that the program knows of, by the name that a failure uses.
const WAITS_THAT_END: [(&str, fn()); 7] = [
    ("a system call", || as_a_test(|| blocking(|| thread::sleep(LONG)))),
    ("a timer", || as_a_test(|| time::sleep(LONG))),
    ("the network", || {
        as_a_test(|| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_read_timeout(Some(LONG)).unwrap();
            socket.recv(&mut [0]).unwrap_err();
        });
    }),
    ("a signal", || {
        as_a_test(|| {
            let usr1 = signal::notify([Signal::USR1]).unwrap();
            thread::spawn(|| {
                thread::sleep(LONG);
                // SAFETY: passes no memory, and the signal is handled.
                unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
            });
            usr1.c().recv().unwrap();
        });
    }),
    ("a future", || {
        as_a_test(|| {
            let begun = Instant::now();
            block_on(poll_fn(|context| {
                if begun.elapsed() >= LONG {
                    return Poll::Ready(());
                }
                let waker = context.waker().clone();
                thread::spawn(move || {
                    thread::sleep(LONG);
                    waker.wake();
                });
                Poll::Pending
            }));
        });
    }),
    ("nothing that runs", || {
        let (tx, rx) = bounded(0);
        as_a_test(move || drop(go(move || tx.send(()).unwrap())));
        thread::sleep(LONG);
        as_a_test(move || rx.recv().unwrap());
    }),
    ("a thread that takes its time", || {
        set_deadlock_mode(DeadlockMode::Off);
        let (tx, rx) = bounded(1);
        thread::spawn(move || {
            thread::sleep(LONG);
            tx.send(()).unwrap();
        });
        run(|| rx.recv()).unwrap();
    }),
];

fn waits_that_may_end_are_not_told(test: Test) {
    const WHICH: &str = "GOSCHED_TEST_WAIT";
    let start = |at: usize| {
        let process = test.process(|| {
            let at: usize = std::env::var(WHICH).unwrap().parse().unwrap();
            WAITS_THAT_END[at].1();
        });
        process.also(SOON).env(WHICH, &at.to_string()).start()
    };
    let started: Vec<_> = (0..WAITS_THAT_END.len()).map(start).collect();
    for ((wait, _), child) in WAITS_THAT_END.iter().zip(started) {
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && stderr.is_empty(), "{wait}: {}, {stderr}", output.status);
    }
}

/// A thread keeps waking a goroutine, for longer than it takes to report a deadlock, each time
/// before it would be reported. If the machine has made the thread late once, the test says
/// nothing, and the thread tries again.
fn a_thread_that_comes_again_and_again_is_not_told(test: Test) {
    /// This setting reports a deadlock after 400 ms.
    const PERIOD: &str = "period=20";
    const TOO_LATE: Duration = Duration::from_millis(200);
    const LATE: &str = "the thread came too late";

    let process = || {
        let process = test.process(|| {
            let (tx, rx) = bounded(1);
            let longest = run(|| {
                // Waits for the start of the runtime, before which it couldn't wait.
                let begun = Instant::now();
                let comes = thread::spawn(move || {
                    let (mut last, mut longest) = (begun, Duration::ZERO);
                    while begun.elapsed() < 4 * TOO_LATE {
                        thread::sleep(Duration::from_millis(5));
                        let before = Instant::now();
                        tx.send(()).unwrap();
                        longest = longest.max(last.elapsed());
                        last = before;
                    }
                    (last, longest)
                });
                rx.iter().for_each(drop);
                let ended = Instant::now();
                let (last, longest) = blocking(|| comes.join().unwrap());
                longest.max(ended - last)
            });
            if longest >= TOO_LATE {
                eprintln!("{LATE}: {longest:?}");
            }
        });
        process.also(PERIOD).end()
    };
    let ended = (0..).map(|_| process()).find(|ended| !ended.with("exit status: 0").stderr.contains(LATE));
    ended.expect("there is no last one").says_nothing();
}
