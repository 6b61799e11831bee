//! Aborts of goroutines, in each kind of wait.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::io::{ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::{Select, bounded, never};
use gosched::context::Context;
use gosched::net::UnixStream;
use gosched::sync::{Barrier, Condvar, Mutex, Notify, RwLock, Semaphore, WaitGroup};
use gosched::{
    AbortHandle, Builder, JoinHandle, JoinSet, block_on, go, goroutine_local, run, scope, select, shield,
    time, yield_now,
};

use crate::harness::goroutines::{go_until_it_waits, others_ended, wait_until};
use crate::harness::tests;

tests! {
    each_wait_ends
    waits_of_sockets_return_an_error
    the_next_wait_ends
    a_goroutine_that_has_not_begun
    a_result_that_is_there_stays
    a_shield_holds_it_back
    destructors_may_wait
    a_catch_does_not_end_it
    runs_inside_end_with_it
    a_scope_ends_with_its_goroutine
    scopes_in_scopes
    a_goroutine_made_in_a_scope_that_ends
    locks_stay_usable
    from_a_thread
    by_itself
    a_handle_of_a_goroutine_that_has_ended
    values_are_dropped
    a_set_in_a_set
    destructors_of_values_may_wait
    many_scopes_at_once
    each_moment_of_a_park
}

const HOUR: Duration = Duration::from_secs(3600);

goroutine_local! {
    static VALUE: Cell<u32> = Cell::new(0);
}

/// Calls `wait` on a goroutine, plain and in several kinds of calls, and aborts it.
#[track_caller]
fn ends(wait: impl Fn() + Send + Sync + Clone + 'static) {
    let calls: [fn(&dyn Fn()); 5] = [
        |wait| wait(),
        |wait| {
            VALUE.set(1);
            wait();
        },
        |wait| {
            let (ctx, _cancel) = Context::background().with_cancel();
            let _ = ctx.run(wait);
        },
        |wait| _ = time::timeout(HOUR, || time::timeout(HOUR, wait)),
        |wait| _ = catch_unwind(AssertUnwindSafe(wait)).map_err(|payload| resume_unwind(payload)),
    ];
    for call in calls {
        let wait = wait.clone();
        let waits = go_until_it_waits(move || call(&wait));
        waits.abort();
        assert!(waits.join().unwrap_err().is_aborted());
    }
}

/// Aborts a goroutine when it is dropped.
struct Aborts(AbortHandle);

impl Drop for Aborts {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn each_wait_ends() {
    run(|| {
        let (tx, rx) = bounded::<u32>(0);
        ends(move || _ = rx.recv());
        drop(tx);
        let (tx, _rx) = bounded::<u32>(0);
        ends(move || _ = tx.send(1));
        ends(|| _ = never::<u32>().recv());
        let (_tx, rx) = bounded::<u32>(0);
        let rx2 = rx.clone();
        ends(move || _ = rx2.recv_timeout(HOUR));
        let rx2 = rx.clone();
        ends(move || {
            select! {
                recv(rx2) -> _ => {}
                recv(never::<u32>()) -> _ => {}
            }
        });
        ends(|| {
            select! {
                recv(never::<u32>()) -> _ => {}
            }
        });
        let rx2 = rx.clone();
        ends(move || {
            let mut select = Select::new();
            select.recv(&rx2);
            let _ = select.select();
        });
        ends(|| time::sleep(HOUR));
        ends(|| block_on(pending()));
        ends(|| {
            let other = go(|| never::<()>().recv());
            let _aborts = Aborts(other.abort_handle());
            _ = other.join();
        });
        let mutex = Arc::new(Mutex::new(()));
        let held = mutex.clone();
        let held = held.lock();
        ends({
            let mutex = mutex.clone();
            move || drop(mutex.lock())
        });
        ends(move || _ = mutex.lock_timeout(HOUR).is_some());
        drop(held);
        let lock: &RwLock<()> = Box::leak(Box::default());
        let held = lock.write();
        ends(|| drop(lock.read()));
        ends(|| drop(lock.write()));
        drop(held);
        let held = lock.read();
        ends(|| drop(lock.write()));
        drop(held);
        assert!(lock.try_write().is_some(), "nobody has it");
        let condvar = Arc::new((Mutex::new(()), Condvar::new()));
        ends(move || drop(condvar.1.wait(condvar.0.lock())));
        let semaphore = Arc::new(Semaphore::new(0));
        ends(move || drop(semaphore.acquire()));
        let notify = Arc::new(Notify::new());
        ends(move || notify.notified());
        let group = Arc::new(WaitGroup::new());
        group.add(1);
        ends({
            let group = group.clone();
            move || group.wait()
        });
        ends({
            let group = group.clone();
            move || _ = group.wait_timeout(HOUR)
        });
        group.done();
        group.wait();
        let barrier = Arc::new(Barrier::new(2));
        ends(move || _ = barrier.wait());
        others_ended();
    });
}

fn waits_of_sockets_return_an_error() {
    run(|| {
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        let reads = go_until_it_waits(move || {
            let error = ours.read(&mut [0]).unwrap_err();
            let next = catch_unwind(|| time::sleep(HOUR));
            (error.kind(), next.is_err())
        });
        reads.abort();
        let (kind, unwound) = reads.join().unwrap();
        assert!(kind != ErrorKind::TimedOut && unwound, "{kind:?}");
    });
}

fn the_next_wait_ends() {
    run(|| {
        let stop = Arc::new(AtomicBool::new(false));
        let stops = stop.clone();
        let computes = go(move || {
            while !stops.load(Ordering::Relaxed) {
                yield_now();
            }
            time::sleep(HOUR);
        });
        yield_now();
        computes.abort();
        stop.store(true, Ordering::Relaxed);
        assert!(computes.join().unwrap_err().is_aborted());
    });
}

fn a_goroutine_that_has_not_begun() {
    run(|| {
        for _ in 0..100 {
            let waits = go(|| never::<()>().recv());
            waits.abort();
            assert!(waits.join().unwrap_err().is_aborted());
        }
    });
}

fn a_result_that_is_there_stays() {
    run(|| {
        let ends = go(|| 7);
        while !ends.is_finished() {
            yield_now();
        }
        ends.abort();
        assert_eq!(ends.join().unwrap(), 7);
    });
}

fn a_shield_holds_it_back() {
    run(|| {
        let (tx, rx) = bounded(0);
        let waits = go_until_it_waits(move || {
            let value = shield(|| rx.recv());
            let next = catch_unwind(|| time::sleep(HOUR)).is_err();
            (value, next)
        });
        waits.abort();
        waits.abort_handle().abort();
        tx.send(7).unwrap();
        assert_eq!(waits.join().unwrap(), (Ok(7), true));
    });
}

fn destructors_may_wait() {
    struct Waits<'a>(&'a AtomicU32, gosched::chan::Receiver<u32>);
    impl Drop for Waits<'_> {
        fn drop(&mut self) {
            time::sleep(Duration::from_nanos(1));
            self.0.store(self.1.recv().unwrap(), Ordering::Relaxed);
        }
    }

    static RECEIVED: AtomicU32 = AtomicU32::new(0);
    run(|| {
        let (tx, rx) = bounded(0);
        let waits = go_until_it_waits(move || {
            let _waits = Waits(&RECEIVED, rx);
            never::<()>().recv()
        });
        waits.abort();
        tx.send(7).unwrap();
        assert!(waits.join().unwrap_err().is_aborted());
        assert_eq!(RECEIVED.load(Ordering::Relaxed), 7);
    });
}

fn a_catch_does_not_end_it() {
    run(|| {
        let waits = go_until_it_waits(|| {
            for _ in 0..3 {
                assert!(catch_unwind(|| never::<()>().recv()).is_err());
            }
            never::<()>().recv()
        });
        waits.abort();
        assert!(waits.join().unwrap_err().is_aborted());
    });
}

fn runs_inside_end_with_it() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let ended = Arc::new(AtomicBool::new(false));
        let result = ended.clone();
        let waits = go_until_it_waits(move || {
            let _ = ctx.run(|| never::<()>().recv());
            result.store(true, Ordering::Relaxed);
        });
        waits.abort();
        assert!(waits.join().unwrap_err().is_aborted());
        assert!(!ended.load(Ordering::Relaxed), "the context hasn't ended");
        drop(cancel);
    });
}

fn a_scope_ends_with_its_goroutine() {
    run(|| {
        // In the wait of the scope, and in its body.
        for joins in [false, true] {
            let (tx, rx) = bounded::<()>(0);
            let waits = go_until_it_waits(move || {
                scope(|s| {
                    for _ in 0..10 {
                        s.go(|| rx.recv());
                    }
                    s.go(|| s.go(|| rx.recv()));
                    if joins {
                        rx.recv().unwrap();
                    }
                });
                unreachable!("the scope unwinds");
            });
            waits.abort();
            assert!(waits.join().unwrap_err().is_aborted());
            drop(tx);
        }
        others_ended();
    });
}

fn scopes_in_scopes() {
    fn nest(depth: u32) {
        scope(|s| {
            s.go(|| never::<()>().recv());
            if depth > 0 {
                s.go(move || nest(depth - 1));
            }
        });
    }

    run(|| {
        let waits = go_until_it_waits(|| nest(10));
        waits.abort();
        assert!(waits.join().unwrap_err().is_aborted());
        others_ended();
    });
}

fn a_goroutine_made_in_a_scope_that_ends() {
    run(|| {
        let (tx, rx) = bounded::<()>(0);
        let waits = go_until_it_waits(move || {
            scope(|s| {
                s.go(|| {
                    shield(|| rx.recv()).unwrap();
                    s.go(|| never::<()>().recv());
                });
            });
        });
        waits.abort();
        // The scope's goroutine goes on only now, and makes another.
        tx.send(()).unwrap();
        assert!(waits.join().unwrap_err().is_aborted());
        others_ended();
    });
}

fn locks_stay_usable() {
    run(|| {
        let mutex = Arc::new(Mutex::new(0));
        let held = mutex.lock();
        let waiters: Vec<_> = (0..10)
            .map(|_| {
                let mutex = mutex.clone();
                go_until_it_waits(move || *mutex.lock() += 1)
            })
            .collect();
        waiters.iter().step_by(2).for_each(JoinHandle::abort);
        wait_until(|| waiters.iter().filter(|waits| waits.is_finished()).count() == 5);
        drop(held);
        let done = waiters.into_iter().map(JoinHandle::join).filter(Result::is_ok).count();
        assert_eq!((done, *mutex.lock()), (5, 5));
    });
}

fn from_a_thread() {
    run(|| {
        for _ in 0..20 {
            let waits = go(|| time::sleep(HOUR));
            let abort = waits.abort_handle();
            thread::spawn(move || abort.abort()).join().unwrap();
            assert!(waits.join().unwrap_err().is_aborted());
        }
    });
}

fn by_itself() {
    run(|| {
        let (tx, rx) = bounded::<AbortHandle>(1);
        let aborts = go(move || {
            rx.recv().unwrap().abort();
            never::<()>().recv()
        });
        tx.send(aborts.abort_handle()).unwrap();
        assert!(aborts.join().unwrap_err().is_aborted());
    });
}

fn a_handle_of_a_goroutine_that_has_ended() {
    run(|| {
        let ended = go(|| ());
        let abort = ended.abort_handle();
        ended.join().unwrap();
        assert!(abort.is_finished());
        others_ended();
        // Among these is one with the same G.
        let (tx, rx) = bounded::<u32>(0);
        let others: Vec<_> = (0..100)
            .map(|_| {
                let rx = rx.clone();
                go_until_it_waits(move || rx.recv().unwrap())
            })
            .collect();
        abort.abort();
        assert!(abort.is_finished());
        (0..100).for_each(|i| tx.send(i).unwrap());
        let sum: u32 = others.into_iter().map(|other| other.join().unwrap()).sum();
        assert_eq!(sum, 4950);
    });
}

fn values_are_dropped() {
    let kept = Arc::new(());
    run(|| {
        let value = kept.clone();
        let waits = Builder::new()
            .name("waits")
            .go(move || {
                let _value = value;
                never::<()>().recv()
            })
            .unwrap();
        waits.abort();
        assert!(waits.join().is_err());
    });
    assert_eq!(Arc::strong_count(&kept), 1);
}

fn a_set_in_a_set() {
    run(|| {
        let mut outer = JoinSet::new();
        let (tx, rx) = bounded::<()>(0);
        outer.go(move || {
            let mut inner = JoinSet::new();
            for _ in 0..5 {
                let rx = rx.clone();
                inner.go(move || rx.recv());
            }
            inner.join_next();
        });
        outer.shutdown();
        wait_until(|| tx.is_closed());
        others_ended();
    });
}

fn destructors_of_values_may_wait() {
    struct Count(Arc<Mutex<u32>>);
    impl Drop for Count {
        fn drop(&mut self) {
            *self.0.lock() -= 1;
        }
    }

    goroutine_local! {
        static COUNTED: RefCell<Option<Count>> = RefCell::new(None);
    }

    run(|| {
        let count = Arc::new(Mutex::new(1));
        let counted = Count(count.clone());
        let waits = go_until_it_waits(move || {
            COUNTED.with(|place| *place.borrow_mut() = Some(counted));
            never::<()>().recv()
        });
        let held = count.lock();
        waits.abort();
        yield_now();
        drop(held);
        assert!(waits.join().unwrap_err().is_aborted());
        assert_eq!(*count.lock(), 0);
    });
}

fn many_scopes_at_once() {
    run(|| {
        let mut set = JoinSet::new();
        for _ in 0..1_000 {
            set.go(|| {
                scope(|s| {
                    s.go(|| never::<()>().recv());
                });
            });
        }
        set.shutdown();
        others_ended();
    });
}

/// Threads abort goroutines that are about to wait, or wait already.
fn each_moment_of_a_park() {
    run(|| {
        let kinds: [fn(); 5] = [
            || {
                let ((_tx, rx), (_tx2, rx2)) = (bounded::<()>(0), bounded::<()>(0));
                select! {
                    recv(rx) -> _ => {}
                    recv(rx2) -> _ => {}
                }
            },
            || {
                let (tx, _rx) = bounded::<()>(0);
                let _ = tx.send(());
            },
            || _ = never::<()>().recv(),
            || time::sleep(HOUR),
            || _ = go(|| time::sleep(Duration::from_micros(10))).join(),
        ];
        for wait in kinds {
            let (tx, rx) = bounded::<AbortHandle>(1);
            let aborter = thread::spawn(move || rx.iter().for_each(|abort| abort.abort()));
            for _ in 0..500 {
                let waits = go(move || {
                    wait();
                    time::sleep(HOUR);
                });
                tx.send(waits.abort_handle()).unwrap();
                assert!(waits.join().unwrap_err().is_aborted());
            }
            drop(tx);
            aborter.join().unwrap();
        }
    });
}
