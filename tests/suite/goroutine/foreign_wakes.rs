//! Once the runtime has started, a foreign thread waits as a goroutine does, and wakes goroutines.

use std::thread;
use std::time::Duration;

use gosched::chan::{RecvError, Select, Sender, bounded, never};
use gosched::sync::{Barrier, Condvar, Mutex, RwLock, Semaphore, WaitGroup};
use gosched::{blocking, go, goid, run, select, yield_now};

use crate::harness::panics::panics;
use crate::harness::storm::storm;
use crate::harness::{Test, tests};

tests! {
    a_thread_waits
    threads_and_goroutines
    foreign_thread_wakes_goroutines
}

/// Calls `wait` on this thread, which runs no goroutine, and `end` on a goroutine once the thread
/// waits.
fn wait_for(end: impl FnOnce() + Send + 'static, wait: impl FnOnce()) {
    let handle = go(move || {
        for _ in 0..100 {
            yield_now();
        }
        end();
    });
    wait();
    handle.join().unwrap();
}

/// A thread waits, whatever for, until that is there.
fn waits() {
    let (tx, rx) = bounded(0);
    wait_for(move || assert_eq!(rx.recv(), Ok(1)), move || tx.send(1).unwrap());
    let (tx, rx) = bounded(0);
    wait_for(move || tx.send(2).unwrap(), move || assert_eq!(rx.recv(), Ok(2)));
    let (tx, rx) = bounded::<()>(0);
    wait_for(move || drop(tx), move || assert_eq!(rx.iter().count(), 0));
    let (tx, rx) = bounded(0);
    wait_for(
        move || tx.send(3).unwrap(),
        || {
            select! {
                recv(rx) -> value => assert_eq!(value, Ok(3)),
                recv(never::<()>()) -> _ => unreachable!("never has a value"),
            }
        },
    );
    let (tx, rx) = bounded(0);
    wait_for(
        move || assert_eq!(rx.recv(), Ok(4)),
        || {
            let mut select = Select::new();
            select.send(&tx, 4);
            drop(select.select());
        },
    );
    SHARED.group.add(1);
    wait_for(|| SHARED.group.done(), || SHARED.group.wait());
    wait_for(|| SHARED.permits.add_permits(3), || SHARED.permits.acquire_many(3).forget());
    wait_for(
        || {
            *SHARED.flag.lock() = true;
            SHARED.flag_is_set.notify_one();
        },
        || *SHARED.flag_is_set.wait_while(SHARED.flag.lock(), |set| !*set) = false,
    );
    static MEETING: Barrier = Barrier::new(2);
    wait_for(|| _ = MEETING.wait(), || _ = MEETING.wait());
    for goroutine_first in [true, false] {
        let (locked, is_locked) = bounded(0);
        let hold = move || {
            let mut value = SHARED.lock.write();
            locked.send(()).unwrap();
            (0..100).for_each(|_| thread::yield_now());
            *value += 1;
        };
        let wait = move || {
            is_locked.recv().unwrap();
            drop(SHARED.lock.read());
        };
        if goroutine_first { wait_for(hold, wait) } else { wait_for(wait, hold) }
    }
    // A panic while it waits leaves the thread as it was.
    let (tx, rx) = bounded::<()>(0);
    drop(rx);
    assert!(panics(|| tx.send(()).unwrap()).contains("SendError"));
}

fn a_thread_waits(test: Test) {
    for procs in ["1", "4"] {
        let process = test.process(|| {
            run(|| ());
            waits();
            run(|| blocking(|| thread::spawn(waits).join()).unwrap());
            let threads: Vec<_> =
                (0..4).map(|_| thread::spawn(|| storm(20).for_each(|_| pass_on()))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

/// Sends values through a goroutine, and waits for each.
fn pass_on() {
    let (tx, through) = bounded(0);
    let (from, rx) = bounded(0);
    let goroutine = go(move || through.iter().for_each(|value: u32| from.send(value + 1).unwrap()));
    for i in 0..20 {
        tx.send(i).unwrap();
        assert_eq!(rx.recv(), Ok(i + 1));
    }
    drop(tx);
    goroutine.join().unwrap();
}

/// A lock and a channel between goroutines and threads: no wake is lost, whichever side waits.
fn threads_and_goroutines(test: Test) {
    fn work(tx: &Sender<u32>) {
        for i in 0..100 {
            *SHARED.mutex.lock() += 1;
            tx.send(i).unwrap();
        }
    }
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded(3);
            let threads: Vec<_> =
                (0..3).map(|_| tx.clone()).map(|tx| thread::spawn(move || work(&tx))).collect();
            let goroutines: Vec<_> = (0..3).map(|_| tx.clone()).map(|tx| go(move || work(&tx))).collect();
            drop(tx);
            assert_eq!(rx.iter().sum::<u32>(), 6 * (0..100).sum::<u32>());
            goroutines.into_iter().for_each(|handle| handle.join().unwrap());
            threads.into_iter().for_each(|thread| blocking(|| thread.join()).unwrap());
            assert_eq!(*SHARED.mutex.lock(), 600);
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

/// Things that goroutines wait for, and a thread provides.
struct Shared {
    mutex: Mutex<u32>,
    lock: RwLock<u32>,
    group: WaitGroup,
    permits: Semaphore,
    flag: Mutex<bool>,
    flag_is_set: Condvar,
}

static SHARED: Shared = Shared {
    mutex: Mutex::new(0),
    lock: RwLock::new(0),
    group: WaitGroup::new(),
    permits: Semaphore::new(0),
    flag: Mutex::new(false),
    flag_is_set: Condvar::new(),
};

/// Makes goroutines wait for everything that one can wait for, and a thread wake them.
fn wake_goroutines() {
    /// Tries until it succeeds.
    fn eventually(mut try_it: impl FnMut() -> bool) {
        while !try_it() {
            thread::yield_now();
        }
    }

    let (tx, from_thread) = bounded(0);
    let (to_thread, rx) = bounded(0);
    let (to_select, selected) = bounded(0);
    let (dropped, last_sender_gone) = bounded::<()>(0);
    let (closed, channel_closed) = bounded::<()>(0);
    let still_open = closed.clone();
    SHARED.group.add(1);
    let (mut mutex, mut lock) = (SHARED.mutex.lock(), SHARED.lock.write());
    let thread = thread::spawn(move || {
        // The channel has no buffer, so these find a goroutine that waits.
        eventually(|| tx.try_send("from a thread").is_ok());
        eventually(|| rx.try_recv() == Ok("to a thread"));
        eventually(|| to_select.try_send("selected").is_ok());
        // Usually the others wait by then, too.
        thread::sleep(Duration::from_millis(50));
        drop(dropped);
        closed.close();
        *mutex += 1;
        drop(mutex);
        *lock += 1;
        drop(lock);
        SHARED.group.done();
        SHARED.permits.add_permits(2);
        eventually(|| SHARED.flag.try_lock().map(|mut flag| *flag = true).is_some());
        SHARED.flag_is_set.notify_one();
        go(goid)
    });
    run(|| {
        let waiting = [
            go(move || assert_eq!(from_thread.recv(), Ok("from a thread"))),
            go(move || to_thread.send("to a thread").unwrap()),
            go(move || {
                select! {
                    recv(selected) -> value => assert_eq!(value, Ok("selected")),
                    recv(never::<()>()) -> _ => unreachable!("never has a value"),
                }
            }),
            go(move || assert_eq!(last_sender_gone.recv(), Err(RecvError))),
            go(move || assert_eq!(channel_closed.recv(), Err(RecvError))),
            go(|| assert_eq!(*SHARED.mutex.lock(), 1)),
            go(|| assert_eq!(*SHARED.lock.read(), 1)),
            go(|| SHARED.group.wait()),
            go(|| SHARED.permits.acquire_many(2).forget()),
            go(|| drop(SHARED.flag_is_set.wait_while(SHARED.flag.lock(), |set| !*set))),
        ];
        for handle in waiting {
            handle.join().unwrap();
        }
    });
    drop(still_open);
    let made_by_a_thread = thread.join().unwrap();
    assert_ne!(run(|| made_by_a_thread.join().unwrap()), 0);
}

fn foreign_thread_wakes_goroutines(test: Test) {
    for procs in ["1", "4"] {
        test.process(wake_goroutines).env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}
