//! Who calls: inside `blocking` and on g0, what is about a goroutine says that it can't be called there. And
//! what a program passes to an operation is called by its thread, also if that is a goroutine while it waits.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Read, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::iter::{Yielder, pull};
use gosched::net::Pollable;
use gosched::signal::{self, Signal};
use gosched::sync::{Condvar, Mutex, Once};
use gosched::{
    OsThreadLock, Traceback, blocking, dump_goroutines, go, goexit, goid, gomaxprocs, labels, lock_os_thread,
    metrics, num_goroutine, proc, scope, set_traceback, time, yield_now,
};

use crate::harness::panics::{panics, text};
use crate::harness::{Test, run, tests};

tests! {
    where_nothing_parks
    what_needs_no_p_works_inside_blocking
    values_are_yielded_outside_of_blocking
    goexit_leaves_blocking
    what_asks_and_tells_works_anywhere
    closures_run_on_their_thread
    closures_run_on_their_goroutine
    a_lock_may_outlive_its_goroutine
}

/// What is about a goroutine that could park, by its name.
const NEED_TO_PARK: [(&str, fn()); 4] = [
    ("yield_now", yield_now),
    ("lock_os_thread", || drop(lock_os_thread())),
    ("scope", || scope(|_| ())),
    ("iter::Pull::next", || _ = pull(|_: &Yielder<()>| ()).next()),
];

/// What is about a goroutine, which may be inside `blocking`.
const NEED_A_GOROUTINE: [(&str, fn()); 4] = [
    ("goid", || _ = goid()),
    ("goexit", || goexit()),
    ("labels::set_labels", || _ = labels::set_labels(labels::Labels::new())),
    ("labels::set_labels", || labels::with_labels([("key", "value")], || ())),
];

fn refused(needs: &[(&str, fn())], place: &str) {
    for (name, f) in needs {
        assert_eq!(panics(f), format!("gosched::{name} can't be called inside {place}: call it outside"));
    }
}

/// Checks that this thread isn't a goroutine.
fn on_the_thread() {
    for (name, f) in NEED_TO_PARK.iter().chain(&NEED_A_GOROUTINE) {
        let expected = format!(
            "gosched::{name} called on a thread that isn't a goroutine's: use it inside gosched::run"
        );
        assert_eq!(panics(f), expected);
    }
}

fn where_nothing_parks(test: Test) {
    let process = test.process(|| {
        run(|| {
            blocking(|| refused(&NEED_TO_PARK, "gosched::blocking"));
            let on_g0 = || {
                refused(&NEED_TO_PARK, "gosched::proc::systemstack");
                refused(&NEED_A_GOROUTINE, "gosched::proc::systemstack");
            };
            // SAFETY: nothing in there parks.
            unsafe { proc::systemstack(on_g0) };
            yield_now();
        });
        on_the_thread();
    });
    process.end().with("exit status: 0");
}

fn what_needs_no_p_works_inside_blocking() {
    run(|| {
        let id = goid();
        blocking(|| {
            assert_eq!(goid(), id);
            let inside = labels::with_labels([("key", "value")], labels::labels);
            assert_eq!(inside.get("key"), Some("value"));
        });
        let lock = lock_os_thread();
        blocking(|| drop(lock));
        yield_now();
    });
}

fn values_are_yielded_outside_of_blocking() {
    const EXPECTED: &str =
        "gosched::iter::Yielder::yield_ can't be called inside gosched::blocking: call it outside";
    run(|| {
        let mut values = pull(|out| {
            out.yield_(1);
            assert_eq!(panics(|| blocking(|| out.yield_(2))), EXPECTED);
            out.yield_(3);
            blocking(|| out.yield_(4));
        });
        assert_eq!((values.next(), values.next()), (Some(1), Some(3)));
        assert_eq!(panics(|| values.next()), EXPECTED);
        assert_eq!(values.next(), None);
        // One that is stopped unwinds, there too.
        let mut values = pull(|out| {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| out.yield_(1)));
            blocking(|| out.yield_(2));
            unreachable!("it was stopped");
        });
        assert_eq!(values.next(), Some(1));
        drop(values);
    });
}

fn goexit_leaves_blocking() {
    run(|| {
        for _ in 0..100 {
            let ends = go(|| blocking(|| goexit()));
            assert!(ends.join().unwrap_err().is_goexit());
            let panics = go(|| blocking(|| panic!("inside")));
            assert_eq!(text(&*panics.join().unwrap_err().into_panic()), "inside");
        }
    });
}

/// Questions and settings, for which it doesn't matter who calls.
fn ask_and_tell() {
    assert!(gomaxprocs() > 0);
    assert!(metrics::all().iter().map(metrics::Description::read).count() > 0);
    proc::schedtrace(true);
    set_traceback(Traceback::All);
    _ = (proc::getm(), proc::sched(), proc::nanotime(), proc::mcount(), proc::preemptall());
    assert_eq!(proc::set_max_stack(proc::set_max_stack(1 << 20)), 1 << 20);
    assert_eq!(proc::set_max_threads(proc::set_max_threads(500)), 500);
    proc::for_each_g_race(|gp| assert!(!gp.is_null()));
    proc::free_os_memory();
    let channel = bounded::<()>(1);
    drop((go(|| ()), channel, labels::labels(), num_goroutine()));
}

fn what_asks_and_tells_works_anywhere() {
    run(|| {
        ask_and_tell();
        dump_goroutines(&mut io::sink()).unwrap();
        blocking(|| {
            ask_and_tell();
            dump_goroutines(&mut io::sink()).unwrap();
        });
        // SAFETY: nothing in there parks.
        unsafe { proc::systemstack(ask_and_tell) };
    });
    ask_and_tell();
    dump_goroutines(&mut io::sink()).unwrap();
}

/// Calls a closure when it is formatted.
struct OnFormat<F: Fn()>(F);

impl<F: Fn()> fmt::Display for OnFormat<F> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)();
        Ok(())
    }
}

/// Calls a closure when it is read.
struct OnRead<T, F>(T, F);

impl<T: AsFd, F> AsFd for OnRead<T, F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl<T: Read, F: Fn()> Read for OnRead<T, F> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let result = self.0.read(buf);
        (self.1)();
        result
    }
}

/// Has `check` called in each way that there is to have an operation call something, also after it has waited.
fn have_it_called(check: impl Fn() + Sync) {
    // What is read is written once it was missed.
    let calls = AtomicUsize::new(0);
    let called = || {
        calls.fetch_add(1, Ordering::Relaxed);
        check();
    };
    let after_a_call = |wake: &dyn Fn()| {
        while calls.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        wake();
    };
    let waited = || assert!(calls.swap(0, Ordering::Relaxed) > 1, "it has waited");
    for timeout in [None, Some(Duration::from_secs(3600))] {
        let (rx, tx) = pipe().unwrap();
        let rx = Pollable::new(rx).unwrap();
        rx.set_read_timeout(timeout).unwrap();
        thread::scope(|s| {
            s.spawn(|| after_a_call(&|| (&tx).write_all(b"x").unwrap()));
            let read = rx.read_with(|mut rx| {
                let result = rx.read(&mut [0]);
                called();
                result
            });
            assert_eq!(read.unwrap(), 1);
        });
        waited();

        let (rx, tx) = pipe().unwrap();
        let mut rx = Pollable::new(OnRead(rx, called)).unwrap();
        rx.set_read_timeout(timeout).unwrap();
        thread::scope(|s| {
            s.spawn(|| after_a_call(&|| (&tx).write_all(b"x").unwrap()));
            assert_eq!(rx.read(&mut [0]).unwrap(), 1);
        });
        waited();

        let (rx, tx) = pipe().unwrap();
        let tx = Pollable::new(tx).unwrap();
        tx.set_write_timeout(timeout).unwrap();
        while tx.get_ref().write(&[0; 4096]).is_ok() {}
        thread::scope(|s| {
            s.spawn(|| after_a_call(&|| _ = (&rx).read(&mut [0; 1 << 16]).unwrap()));
            let written = tx.write_with(|mut tx| {
                let result = tx.write(b"x");
                called();
                result
            });
            assert_eq!(written.unwrap(), 1);
        });
        waited();
    }

    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            after_a_call(&|| {
                *ready.lock() = true;
                changed.notify_one();
            });
        });
        drop(changed.wait_while(ready.lock(), |ready| {
            called();
            !*ready
        }));
    });
    waited();

    let (once, begun) = (Once::new(), AtomicBool::new(false));
    let fails = || {
        begun.store(true, Ordering::Relaxed);
        after_a_call(&|| panic!("another's turn"));
    };
    thread::scope(|s| {
        let fails = s.spawn(|| panics(|| once.call_once(fails)));
        while !begun.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        calls.fetch_add(1, Ordering::Relaxed);
        once.call_once(&check);
        assert_eq!(fails.join().unwrap(), "another's turn");
    });

    write!(gosched::io::stderr(), "{}", OnFormat(&check)).unwrap();
    let signals = [Signal::USR1, Signal::USR2].into_iter().inspect(|_| check());
    drop(signal::notify(signals).unwrap());
}

fn closures_run_on_their_thread() {
    run(|| ());
    have_it_called(on_the_thread);
    // No lock gets out of a wait.
    let (rx, tx) = pipe().unwrap();
    let rx = Pollable::new(rx).unwrap();
    thread::spawn(move || (&tx).write_all(b"x"));
    let message = panics(|| rx.read_with(|_| Ok::<OsThreadLock, io::Error>(lock_os_thread())));
    assert!(message.contains("called on a thread that isn't a goroutine's"), "{message}");
}

fn closures_run_on_their_goroutine() {
    run(|| {
        let id = goid();
        // std's scope is ended by waking the thread that it began on.
        let _lock = lock_os_thread();
        have_it_called(move || {
            assert_eq!(goid(), id);
            drop(lock_os_thread());
            yield_now();
        });
        let (tx, rx) = bounded(1);
        let timer = time::Timer::after_func(Duration::from_nanos(1), move || {
            NEED_TO_PARK.iter().for_each(|(_, f)| f());
            _ = tx.try_send(goid());
        });
        assert_ne!(rx.recv().unwrap(), id);
        drop(timer);
    });
}

fn a_lock_may_outlive_its_goroutine() {
    thread_local! {
        static KEPT: RefCell<Option<OsThreadLock>> = const { RefCell::new(None) };
    }
    static DROPPED: AtomicBool = AtomicBool::new(false);
    /// Says that the thread-locals that were used after it are dropped.
    struct Note;
    impl Drop for Note {
        fn drop(&mut self) {
            DROPPED.store(true, Ordering::Relaxed);
        }
    }
    thread_local! {
        static NOTE: Note = const { Note };
    }
    run(|| {
        let locked = go(|| {
            // The goroutine doesn't leave the thread any more, so these are the thread's.
            NOTE.with(|_| ());
            KEPT.set(Some(lock_os_thread()));
        });
        locked.join().unwrap();
        // Its thread ends, and drops what it has kept.
        while !DROPPED.load(Ordering::Relaxed) {
            time::sleep(Duration::from_millis(1));
        }
        assert_eq!(go(|| 7).join().unwrap(), 7);
    });
}
