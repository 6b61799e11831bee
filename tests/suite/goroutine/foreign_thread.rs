//! What a thread that isn't a goroutine's can do. Before the runtime has started, an operation that
//! would wait panics and says what to do; everything else works. The same holds inside `blocking`.

use std::thread;

use gosched::chan::{RecvError, Select, TryRecvError, TrySendError, bounded, never};
use gosched::sync::{Barrier, Condvar, Mutex, Once, OnceLock, RwLock, Semaphore, WaitGroup};
use gosched::{
    Builder, blocking, go, goexit, goid, gomaxprocs, lock_os_thread, num_goroutine, run, scope, select,
    try_goid, yield_now,
};

use crate::harness::panics::panics;
use crate::harness::{Test, tests};

tests! {
    before_the_first_run
    panic_names_the_caller
    about_a_goroutine
    inside_blocking
    join_on_a_foreign_thread
}

/// Functions about the running goroutine, by name.
const ABOUT_A_GOROUTINE: [(&str, fn()); 5] = [
    ("yield_now", yield_now),
    ("goexit", || goexit()),
    ("goid", || _ = goid()),
    ("lock_os_thread", || drop(lock_os_thread())),
    ("scope", || scope(|_| ())),
];

/// Ways to wait, by the name that their panic uses where nothing can wait.
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
        drop(select.select());
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

/// Checks the functions about a goroutine, on a thread that runs none.
fn no_goroutine() {
    assert_eq!(try_goid(), None);
    for (name, f) in ABOUT_A_GOROUTINE {
        let expected = format!(
            "gosched::{name} called on a thread that isn't a goroutine's: use it inside gosched::run"
        );
        assert_eq!(panics(f), expected);
    }
}

/// Checks that operations that would wait panic, and say why.
fn refused(why: &str) {
    for (what, wait) in WAITS {
        assert_eq!(panics(wait), format!("gosched: {what} would have to wait, {why}"));
    }
}

/// Checks the operations that any thread can do, because they needn't wait. Where nothing can wait,
/// a failed wait has left nothing behind.
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
