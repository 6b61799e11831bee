//! The program's thread calls what a program passes to an operation, even if that thread is a
//! goroutine while it waits.

use std::fmt;
use std::io::{self, Read, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::net::Pollable;
use gosched::signal::{self, Signal};
use gosched::sync::{Condvar, Mutex, Once};
use gosched::{OsThreadLock, goid, lock_os_thread, run, time, yield_now};

use super::callers::{LONG, NEED_TO_PARK, on_the_thread};
use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    closures_run_on_their_thread
    closures_run_on_their_goroutine
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

/// Makes operations call `check`, in each way that they can call a function of the program's, also
/// after they have waited.
fn have_it_called(check: impl Fn() + Sync) {
    // The reader asks for data first, and only then are they written.
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
    for timeout in [None, Some(LONG)] {
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
    // No lock escapes from a wait.
    let (rx, tx) = pipe().unwrap();
    let rx = Pollable::new(rx).unwrap();
    thread::spawn(move || (&tx).write_all(b"x"));
    let message = panics(|| rx.read_with(|_| Ok::<OsThreadLock, io::Error>(lock_os_thread())));
    assert!(message.contains("called on a thread that isn't a goroutine's"), "{message}");
}

fn closures_run_on_their_goroutine() {
    run(|| {
        let id = goid();
        // std's scope ends by waking the thread on which it began.
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
