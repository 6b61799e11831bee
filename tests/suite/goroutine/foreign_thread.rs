//! What a thread that is no goroutine's can do. Before the runtime has started, what would wait panics and
//! says what to do, and everything else works; so it does inside `blocking`. Afterwards a thread waits
//! as a goroutine does.

use std::thread;
use std::time::Duration;

use gosched::chan::{RecvError, Select, Sender, TryRecvError, TrySendError, bounded, never};
use gosched::sync::{Barrier, Condvar, Mutex, Once, OnceLock, RwLock, Semaphore, WaitGroup};
use gosched::{
    Builder, blocking, go, goexit, goid, gomaxprocs, lock_os_thread, num_goroutine, scope, select, yield_now,
};

use crate::harness::panics::panics;
use crate::harness::{Test, run, tests};

tests! {
    before_the_first_run
    panic_names_the_caller
    about_a_goroutine
    inside_blocking
    a_thread_waits
    threads_and_goroutines
    join_on_a_foreign_thread
    foreign_thread_wakes_goroutines
}

/// Functions that are about the running goroutine, by their names.
const ABOUT_A_GOROUTINE: [(&str, fn()); 5] = [
    ("yield_now", yield_now),
    ("goexit", || goexit()),
    ("goid", || _ = goid()),
    ("lock_os_thread", || drop(lock_os_thread())),
    ("scope", || scope(|_| ())),
];

/// Ways to wait, by what a panic calls them where nothing can.
const WAITS: [(&str, fn()); 15] = [
    ("send", || {
        let (tx, _rx) = bounded(0);
        let _ = tx.send(());
    }),
    ("send", || {
        let (tx, _rx) = bounded(1);
        tx.send(()).unwrap();
        let _ = tx.send(());
    }),
    ("recv", || {
        let (_tx, rx) = bounded::<()>(0);
        let _ = rx.recv();
    }),
    ("recv", || _ = never::<()>().recv()),
    ("recv", || {
        let (_tx, rx) = bounded::<()>(1);
        rx.iter().for_each(drop);
    }),
    ("select", || {
        let (_tx, rx) = bounded::<()>(1);
        select! { recv(rx) -> _ => {} }
    }),
    ("select", || select! {}),
    ("select", || {
        let (tx, _rx) = bounded(0);
        let mut select = Select::new();
        select.send(&tx, ());
        select.select();
    }),
    ("lock", || {
        let mutex = Mutex::new(());
        let _held = mutex.lock();
        drop(mutex.lock());
    }),
    ("read", || {
        let lock = RwLock::new(());
        let _held = lock.write();
        drop(lock.read());
    }),
    ("write", || {
        let lock = RwLock::new(());
        let _held = lock.read();
        drop(lock.write());
    }),
    ("Condvar::wait", || drop(Condvar::new().wait(Mutex::new(()).lock()))),
    ("WaitGroup::wait", || {
        let group = WaitGroup::new();
        group.add(1);
        group.wait();
    }),
    ("Barrier::wait", || _ = Barrier::new(2).wait()),
    ("acquire", || drop(Semaphore::new(1).acquire_many(2))),
];

/// Checks what is about a goroutine, on a thread that is none's.
fn no_goroutine() {
    for (name, f) in ABOUT_A_GOROUTINE {
        let expected = format!(
            "gosched::{name} called on a thread that isn't a goroutine's: use it inside gosched::run"
        );
        assert_eq!(panics(f), expected);
    }
}

/// Checks that what would wait panics, and says why.
fn refused(why: &str) {
    for (what, wait) in WAITS {
        assert_eq!(panics(wait), format!("gosched: {what} would have to wait, {why}"));
    }
}

/// Checks what can be done on any thread, because it needn't wait. Where nothing can wait, what had to has left
/// nothing behind.
fn allowed(cant_wait: bool) {
    let (tx, rx) = bounded(2);
    tx.send(1).unwrap();
    tx.try_send(2).unwrap();
    assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)));
    assert_eq!((rx.len(), rx.recv(), rx.try_recv()), (2, Ok(1), Ok(2)));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    let sent = select! {
        recv(rx) -> _ => false,
        send(tx, 4) -> sent => sent.is_ok(),
    };
    assert!(sent);
    tx.close();
    assert_eq!(tx.send(5).unwrap_err().0, 5);
    assert_eq!((rx.recv(), rx.recv()), (Ok(4), Err(RecvError)));

    let mutex = Mutex::new(0);
    *mutex.lock() += 1;
    let held = mutex.lock();
    assert!(mutex.try_lock().is_none());
    if cant_wait {
        // The wait fails, and has unlocked the mutex.
        panics(|| drop(Condvar::new().wait(held)));
        assert_eq!(*mutex.try_lock().unwrap(), 1);
    }

    let lock = RwLock::new(0);
    *lock.write() += 1;
    let readers = (lock.read(), lock.read());
    assert!(lock.try_write().is_none());
    drop(readers);
    let writer = lock.write();
    if cant_wait {
        panics(|| drop(lock.read()));
    }
    drop(writer);
    assert_eq!(*lock.write(), 1);

    let group = WaitGroup::new();
    group.add(1);
    if cant_wait {
        panics(|| group.wait());
    }
    group.done();
    group.wait();

    let barrier = Barrier::new(1);
    assert!(barrier.wait().is_leader());

    let permits = Semaphore::new(1);
    let permit = permits.acquire();
    if cant_wait {
        panics(|| drop(permits.acquire()));
    }
    drop(permit);
    drop(permits.try_acquire().unwrap());
    assert_eq!(permits.available_permits(), 1);

    let once = Once::new();
    once.call_once(|| ());
    assert!(once.is_completed());
    assert_eq!(OnceLock::new().get_or_init(|| 6), &6);
}

fn before_the_first_run(test: Test) {
    let process = test.process(|| {
        let error = Builder::new().go(|| ()).unwrap_err();
        assert_eq!(error.to_string(), "the runtime isn't running: the first call of gosched::run starts it");
        assert_eq!(panics(|| go(|| ())), format!("gosched::go: can't make a goroutine: {error}"));
        assert_eq!((num_goroutine(), gomaxprocs()), (0, 0));
        no_goroutine();
        refused("and nobody could end that before the first gosched::run: use it inside, or afterwards");
        allowed(true);
        assert_eq!(run(|| go(|| 7).join().unwrap()), 7);
    });
    process.end().with("exit status: 0");
}

fn panic_names_the_caller(test: Test) {
    let ended = test.process(|| drop(go(|| ()))).end();
    ended.with("exit status: 101").says(&format!("panicked at {}:", file!()));
}

fn about_a_goroutine(test: Test) {
    let process = test.process(|| {
        run(|| {
            let thread = thread::spawn(|| {
                no_goroutine();
                allowed(false);
            });
            blocking(|| thread.join()).unwrap();
        });
        no_goroutine();
        allowed(false);
    });
    process.end().with("exit status: 0");
}

fn inside_blocking(test: Test) {
    let process = test.process(|| {
        run(|| {
            blocking(|| {
                refused("which nothing can inside gosched::blocking: do it outside");
                allowed(true);
                let made = go(|| 7);
                while !made.is_finished() {
                    thread::yield_now();
                }
                assert_eq!(made.join().unwrap(), 7);
            });
            yield_now();
        });
    });
    process.end().with("exit status: 0");
}

/// Calls `wait` on this thread, which is none of a goroutine's, and `end` on a goroutine that runs
/// when it waits.
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

/// Whatever a thread waits for, it waits until there is something.
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
            select.select();
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
            let threads: Vec<_> = (0..4).map(|_| thread::spawn(|| (0..20).for_each(|_| pass_on()))).collect();
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
    for i in 0..50 {
        tx.send(i).unwrap();
        assert_eq!(rx.recv(), Ok(i + 1));
    }
    drop(tx);
    goroutine.join().unwrap();
}

/// A lock, and a channel, between goroutines and threads: none is lost, whoever waits.
fn threads_and_goroutines(test: Test) {
    fn work(tx: &Sender<u32>) {
        for i in 0..500 {
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
            assert_eq!(rx.iter().sum::<u32>(), 6 * (0..500).sum::<u32>());
            goroutines.into_iter().for_each(|handle| handle.join().unwrap());
            threads.into_iter().for_each(|thread| blocking(|| thread.join()).unwrap());
            assert_eq!(*SHARED.mutex.lock(), 3000);
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

fn join_on_a_foreign_thread(test: Test) {
    let process = test.process(|| {
        let (tx, rx) = bounded(0);
        let (waiting, ended) = run(move || {
            let waiting = go(move || tx.send("went on").unwrap());
            let ended = go(|| "ended");
            while !ended.is_finished() {
                yield_now();
            }
            (waiting, ended)
        });
        assert_eq!(ended.join().unwrap(), "ended");
        assert!(!waiting.is_finished());
        let receiver = thread::spawn(move || rx.recv());
        waiting.join().unwrap();
        assert_eq!(receiver.join().unwrap(), Ok("went on"));
    });
    process.end().with("exit status: 0");
}

/// What goroutines wait for, and a thread sees to.
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

/// Has goroutines wait for all there is to wait for, and a thread wake them.
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
        // Without a buffer, so these find a goroutine that waits.
        eventually(|| tx.try_send("from a thread").is_ok());
        eventually(|| rx.try_recv() == Ok("to a thread"));
        eventually(|| to_select.try_send("selected").is_ok());
        // As a rule the others wait too by then.
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
