//! What a deadlock is, and what not.

use std::thread;
use std::time::Duration;

use gosched::chan::{bounded, never};
use gosched::iter::{Yielder, pull};
use gosched::sync::{Condvar, Mutex, RwLock, WaitGroup};
use gosched::{Builder, go, goid, lock_os_thread, select};

use crate::harness::{Test, run, tests};

tests! {
    deadlock_of_main
    deadlock_lists_every_wait
    deadlock_of_locked_goroutines
    deadlock_of_two_calls_of_run
    no_deadlock_while_a_thread_may_send
    deadlock_when_the_last_thread_has_ended
    deadlock_of_threads_that_wait
    no_deadlock_between_two_calls_of_run
}

const DEADLOCK: &str = "all goroutines are asleep - deadlock!";

/// Parks the running goroutine for good.
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

/// Ways to wait forever, by what a report calls them.
const WAITS: [(&str, fn()); 11] = [
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
        // Its frames, and then who made it.
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
    assert_eq!(ended.stderr.matches(" [chan receive]:\n").count(), 2, "{}", ended.stderr);
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
        thread::spawn(|| thread::sleep(Duration::from_millis(50)));
        run(forever);
    });
    process.end().fatal(DEADLOCK).says("\ngoroutine 1 [chan receive]:\n");
}

/// A thread that waits as a goroutine does is one of those that are asleep.
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
        // Until all threads of the runtime sleep.
        thread::sleep(Duration::from_millis(100));
        assert_eq!(run(|| rx.recv()), Ok("from before"));
    });
    process.end().with("exit status: 0");
}
