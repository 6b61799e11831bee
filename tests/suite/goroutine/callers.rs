//! Where functions may be called. Inside `blocking` and on g0, a function that needs the goroutine,
//! or that waits, panics and says that it can't be called there.

use std::cell::RefCell;
use std::io::{self, Read, Write, pipe};
use std::num::NonZeroUsize;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gosched::chan::{bounded, oneshot, watch};
use gosched::context::Context;
use gosched::iter::{Yielder, pull};
use gosched::net::{Pollable, TcpListener, UdpSocket};
use gosched::process::Command;
use gosched::signal::{self, Signal};
use gosched::sync::{Notify, Pool, RateLimiter, Semaphore, WaitGroup};
use gosched::{
    OsThreadLock, Traceback, blocking, dump_goroutines, go, goexit, goid, gomaxprocs, labels, lock_os_thread,
    metrics, num_goroutine, proc, run, scope, set_default_gomaxprocs, set_gomaxprocs, set_traceback, time,
    try_goid, yield_now,
};

use crate::harness::panics::{panics, text};
use crate::harness::{Test, tests};

tests! {
    where_nothing_parks
    where_nothing_waits
    what_needs_no_p_works_inside_blocking
    values_are_yielded_outside_of_blocking
    goexit_leaves_blocking
    what_asks_and_tells_works_anywhere
    a_lock_may_outlive_its_goroutine
}

/// Longer than a test takes.
pub(super) const LONG: Duration = Duration::from_secs(3600);

/// Functions that need a goroutine that could park, by their names.
pub(super) const NEED_TO_PARK: [(&str, fn()); 4] = [
    ("yield_now", yield_now),
    ("lock_os_thread", || drop(lock_os_thread())),
    ("scope", || scope(|_| ())),
    ("iter::Pull::next", || _ = pull(|_: &Yielder<()>| ()).next()),
];

/// Functions that need a goroutine, even one inside `blocking`.
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

/// Checks that this thread runs no goroutine.
pub(super) fn on_the_thread() {
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

fn where_nothing_waits(test: Test) {
    let ended = test.process(waits_where_nothing_can).end();
    ended.with("exit status: 0").says(&format!("panicked at {}:", file!()));
    assert!(!ended.stderr.contains("panicked at src/"), "a place that isn't the caller's:\n{}", ended.stderr);
}

fn waits_where_nothing_can() {
    run(|| {
        let timer = time::Timer::new(LONG);
        let called = time::Timer::after_func(LONG, || ());
        let ticker = time::Ticker::new(LONG);
        let (_tx, never) = bounded::<()>(0);
        let (empty, _tx) = pipe().unwrap();
        let empty = Pollable::new(empty).unwrap();
        let (_rx, write) = pipe().unwrap();
        let write = Pollable::new(write).unwrap();
        while write.get_ref().write(&[0; 4096]).is_ok() {}
        let signals = signal::notify([Signal::USR1]).unwrap();
        let two = NonZeroUsize::new(2).unwrap();
        let (full, _kept) = bounded(0);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (ctx, _cancel) = Context::background().with_cancel();
        let (none, group, slow) = (Semaphore::new(0), WaitGroup::new(), RateLimiter::every(LONG, 1));
        assert!(slow.allow());
        let pool: Pool<u32> = Pool::new(1, || Ok(7));
        let _in_use = pool.get();
        let (answer, _rx) = oneshot::channel::<u32>();
        let (_tx, level) = watch::channel(1);
        let level = RefCell::new(level);
        group.add(1);
        // The child runs until its input ends.
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let child = RefCell::new(child);
        let command = || Command::new("there is no such program");
        let waits: [(&str, &dyn Fn()); 60] = [
            ("time::sleep", &|| time::sleep(LONG)),
            ("time::sleep_until", &|| time::sleep_until(Instant::now() + LONG)),
            ("time::after", &|| drop(time::after(LONG))),
            ("time::tick", &|| drop(time::tick(LONG))),
            ("time::Timer::new", &|| drop(time::Timer::new(LONG))),
            ("time::Timer::after_func", &|| drop(time::Timer::after_func(LONG, || ()))),
            ("time::Timer::reset", &|| _ = timer.reset(LONG)),
            ("time::Timer::reset", &|| _ = called.reset(LONG)),
            ("time::Ticker::new", &|| drop(time::Ticker::new(LONG))),
            ("time::Ticker::reset", &|| ticker.reset(LONG)),
            ("recv_timeout", &|| _ = never.recv_timeout(LONG)),
            ("recv_timeout", &|| _ = never.recv_deadline(Instant::now() + LONG)),
            ("recv", &|| _ = never.iter().next()),
            ("recv", &|| for _ in &never {}),
            ("recv", &|| for _ in never.clone() {}),
            ("send_timeout", &|| _ = full.send_timeout(1, LONG)),
            ("send_timeout", &|| _ = full.send_deadline(1, Instant::now() + LONG)),
            ("a read", &|| empty.readable().unwrap()),
            ("a read", &|| _ = (&empty).read(&mut [0]).unwrap()),
            ("a write", &|| write.writable().unwrap()),
            ("a write", &|| _ = (&write).write(&[0]).unwrap()),
            ("an accept", &|| _ = listener.accept().unwrap()),
            ("an accept", &|| _ = listener.incoming().next().unwrap().unwrap()),
            ("a read", &|| _ = datagrams.recv_from(&mut [0]).unwrap()),
            ("recv", &|| _ = level.borrow_mut().changed()),
            ("oneshot::Sender::closed", &|| answer.closed()),
            ("oneshot::Sender::closed", &|| _ = ctx.with(&answer).closed()),
            ("watch::Receiver::wait_for", &|| _ = level.borrow_mut().wait_for(|&n| n > 1).is_ok()),
            ("watch::Receiver::wait_for", &|| {
                _ = level.borrow_mut().wait_for_timeout(LONG, |&n| n > 1).is_ok()
            }),
            ("watch::Receiver::wait_for", &|| {
                _ = ctx.with_mut(&mut *level.borrow_mut()).wait_for(|&n| n > 1).is_ok()
            }),
            ("recv", &|| _ = ctx.with(&never).recv()),
            ("send", &|| _ = ctx.with(&full).send(1)),
            ("acquire", &|| drop(ctx.with(&none).acquire().unwrap())),
            ("WaitGroup::wait", &|| ctx.with(&group).wait().unwrap()),
            ("Notify::notified", &|| Notify::new().notified()),
            ("Notify::notified_timeout", &|| _ = Notify::new().notified_timeout(LONG)),
            ("Notify::notified", &|| ctx.with(&Notify::new()).notified().unwrap()),
            ("acquire", &|| drop(pool.get())),
            ("acquire", &|| drop(ctx.with(&pool).get())),
            ("RateLimiter::wait", &|| slow.wait()),
            ("RateLimiter::wait", &|| slow.wait_n(1).unwrap()),
            ("RateLimiter::wait", &|| ctx.with(&slow).wait().unwrap()),
            ("context::Context::sleep", &|| ctx.sleep(LONG).unwrap()),
            ("time::Timer::after_func", &|| _ = ctx.with_timeout(LONG)),
            ("a read", &|| _ = ctx.with(&empty).read(&mut [0]).unwrap()),
            ("a write", &|| _ = ctx.with(&write).write(&[0]).unwrap()),
            ("an accept", &|| _ = ctx.with(&listener).accept().unwrap()),
            ("Child::wait", &|| _ = child.borrow_mut().wait().unwrap()),
            ("Child::wait", &|| _ = ctx.with_mut(&mut *child.borrow_mut()).wait().unwrap()),
            ("Command::status", &|| _ = command().status().unwrap()),
            ("Command::status", &|| _ = ctx.with_mut(&mut command()).status().unwrap()),
            ("Command::output", &|| _ = command().output().unwrap()),
            ("Command::output", &|| _ = ctx.with_mut(&mut command()).output().unwrap()),
            ("set_read_deadline", &|| empty.set_read_deadline(None)),
            ("set_write_deadline", &|| empty.set_write_deadline(None)),
            ("set_gomaxprocs", &|| _ = set_gomaxprocs(two)),
            ("set_default_gomaxprocs", &|| set_default_gomaxprocs()),
            ("signal::notify", &|| drop(signal::notify([Signal::USR2]).unwrap())),
            ("signal::ignore", &|| signal::ignore([Signal::USR2]).unwrap()),
            ("signal::Signals::stop", &|| signals.stop()),
        ];
        let refused = |place| {
            for (what, wait) in waits {
                let expected = format!(
                    "gosched: {what} would have to wait, which nothing can inside {place}: do it outside"
                );
                assert_eq!(panics(wait), expected);
            }
        };
        blocking(|| refused("gosched::blocking"));
        // SAFETY: nothing in there parks.
        unsafe { proc::systemstack(|| refused("gosched::proc::systemstack")) };
        let (tx, rx) = bounded::<()>(0);
        let waits = go(move || rx.recv());
        let join = || waits.join();
        assert_eq!(
            panics(|| blocking(join)),
            "gosched: join would have to wait, which nothing can inside gosched::blocking: do it outside"
        );
        drop(tx);
        yield_now();
        drop(input);
        assert_eq!(
            panics(|| blocking(|| child.into_inner().wait_with_output())),
            "gosched: Child::wait_with_output would have to wait, which nothing can inside gosched::blocking: \
             do it outside"
        );
    });
}

fn what_needs_no_p_works_inside_blocking() {
    run(|| {
        let id = goid();
        blocking(|| {
            assert_eq!((goid(), try_goid()), (id, Some(id)));
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
        // A generator that is stopped unwinds there, too.
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

/// Getters and setters, which any caller may use.
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
        // SAFETY: as above.
        assert_eq!(unsafe { proc::systemstack(try_goid) }, None);
    });
    ask_and_tell();
    assert_eq!(try_goid(), None);
    dump_goroutines(&mut io::sink()).unwrap();
}

fn a_lock_may_outlive_its_goroutine() {
    thread_local! {
        static KEPT: RefCell<Option<OsThreadLock>> = const { RefCell::new(None) };
    }
    static DROPPED: AtomicBool = AtomicBool::new(false);
    /// Notes, when it is dropped, that thread-locals used after it have been dropped.
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
            // The goroutine doesn't leave the thread any more, so it uses the thread's own
            // thread-locals.
            NOTE.with(|_| ());
            KEPT.set(Some(lock_os_thread()));
        });
        locked.join().unwrap();
        // The thread ends, and drops the values that it has kept.
        while !DROPPED.load(Ordering::Relaxed) {
            time::sleep(Duration::from_millis(1));
        }
        assert_eq!(go(|| 7).join().unwrap(), 7);
    });
}
