//! Runs: each kind of wait ends with a context, in code that knows nothing of contexts.

use std::hash::{Hash, Hasher};
use std::io::{ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gosched::chan::{Receiver, Select, Sender, bounded, broadcast, never, oneshot, watch};
use gosched::context::{Context, ContextError};
use gosched::net::{TcpListener, UnixStream};
use gosched::sync::{
    Barrier, Condvar, Mutex, Notify, Once, Pool, RateLimiter, RwLock, Semaphore, SingleFlight, WaitGroup,
};
use gosched::time::{self, Elapsed};
use gosched::{block_on, go, goexit, run, scope, select, shield, try_scope, yield_now};

use crate::harness::goroutines::{go_until_it_waits, go_when_this_waits, wait_until};
use crate::harness::tests;

tests! {
    each_wait_unwinds
    each_operation_of_a_descriptor_fails
    what_was_waited_for_works_afterwards
    waits_with_a_limit_of_their_own_end_too
    waits_of_a_context_end_with_the_run_too
    a_value_counts_after_the_end
    what_has_ended_before_isnt_called
    destructors_wait
    a_shield_holds_it_back
    a_caught_end_comes_again
    the_innermost_that_has_ended_catches
    scopes_end_with_the_run
    a_pool_takes_nothing_back_from_a_run_that_is_over
    goroutines_of_a_scope_are_in_its_run
    a_join_of_what_was_aborted_unwinds
    a_closed_channel_doesnt_hide_the_end
    results_that_wait_when_they_are_dropped
    a_flight_lands
    a_scope_that_may_fail_ends_with_the_run
    panics_and_goexit_pass
    threads_have_runs
    a_writer_that_is_ended_lets_readers_in
    runs_in_destructors_of_thread_locals
}

const CANCELED: ContextError = ContextError::Canceled;
const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(1);

/// A wait that nothing ends, and its name.
type Wait = (&'static str, Box<dyn FnOnce() + Send>);

/// One wait of each kind.
fn waits() -> Vec<Wait> {
    let mut waits: Vec<Wait> = Vec::new();
    let mut add = |name, wait: Box<dyn FnOnce() + Send>| waits.push((name, wait));
    let (tx, rx) = bounded::<u32>(0);
    let (held_tx, held_rx) = (tx.clone(), rx.clone());
    add("recv", Box::new(move || drop((rx.recv(), held_tx))));
    add("send", Box::new(move || drop((tx.send(1), held_rx))));
    add("never", Box::new(|| never::<u32>().recv().map_or((), |_| ())));
    let (tx, rx) = bounded::<String>(0);
    add(
        "select",
        Box::new(move || {
            select! {
                recv(never::<u32>()) -> _ => {}
                send(tx, "value".to_owned()) -> _ => {}
            }
            drop(rx);
        }),
    );
    add("select without arms", Box::new(|| select! {}));
    let (tx, rx) = bounded::<String>(0);
    add(
        "Select",
        Box::new(move || {
            let nothing = never::<u32>();
            let mut set = Select::new();
            set.recv(&nothing);
            set.send(&tx, "value".to_owned());
            drop(set.select());
            drop(set);
            drop(rx);
        }),
    );
    let (tx, rx) = oneshot::channel::<u32>();
    add("oneshot", Box::new(move || drop((rx.recv(), tx))));
    let (tx, mut rx) = broadcast::channel::<u32>(1);
    add("broadcast", Box::new(move || drop((rx.recv(), tx))));
    let (tx, mut rx) = watch::channel(1);
    add("watch", Box::new(move || drop((rx.changed(), tx))));
    add(
        "Mutex",
        Box::new(|| {
            let mutex = Mutex::new(());
            let _held = mutex.lock();
            drop(mutex.lock());
        }),
    );
    add(
        "RwLock::read",
        Box::new(|| {
            let lock = RwLock::new(());
            let _held = lock.write();
            drop(lock.read());
        }),
    );
    add(
        "RwLock::write",
        Box::new(|| {
            let lock = RwLock::new(());
            let _held = lock.read();
            drop(lock.write());
        }),
    );
    add(
        "RwLock::write behind a writer",
        Box::new(|| {
            let lock = RwLock::new(());
            let _held = lock.write();
            drop(lock.write());
        }),
    );
    add(
        "Condvar",
        Box::new(|| {
            let mutex = Mutex::new(());
            drop(Condvar::new().wait(mutex.lock()));
        }),
    );
    add("Semaphore", Box::new(|| drop(Semaphore::new(0).acquire())));
    add("Notify", Box::new(|| Notify::new().notified()));
    add(
        "WaitGroup",
        Box::new(|| {
            let group = WaitGroup::new();
            group.add(1);
            group.wait();
        }),
    );
    add("Barrier", Box::new(|| assert!(Barrier::new(2).wait().is_leader())));
    add(
        "Once",
        Box::new(|| {
            let once = Once::new();
            once.call_once(|| once.call_once(|| {}));
        }),
    );
    add(
        "Pool",
        Box::new(|| {
            let pool: Pool<u32, &str> = Pool::new(1, || Ok(1));
            let _only = pool.get().unwrap();
            drop(pool.get());
        }),
    );
    add(
        "RateLimiter",
        Box::new(|| {
            let limiter = RateLimiter::every(LONG, 1);
            limiter.wait();
            limiter.wait();
        }),
    );
    add(
        "SingleFlight",
        Box::new(|| {
            let flights: SingleFlight<u32, u32> = SingleFlight::new();
            flights.run(1, || flights.run(1, || 2));
        }),
    );
    add("sleep", Box::new(|| time::sleep(LONG)));
    add("join", Box::new(|| drop(go(|| never::<()>().recv()).join())));
    add("block_on", Box::new(|| block_on(std::future::pending())));
    waits
}

/// Calls `f` in a run of its own, which is canceled when `f` waits.
fn canceled<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Result<T, ContextError> {
    let (ctx, cancel) = Context::background().with_cancel();
    let waits = go_until_it_waits(move || ctx.run(f));
    cancel.cancel();
    waits.join().unwrap()
}

fn each_wait_unwinds() {
    run(|| {
        for (name, wait) in waits() {
            assert_eq!(canceled(wait), Err(CANCELED), "{name}");
        }
        for (name, wait) in waits() {
            assert_eq!(time::timeout(SHORT, wait), Err(Elapsed), "{name}");
        }
    });
}

fn each_operation_of_a_descriptor_fails() {
    run(|| {
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        let error = canceled(move || ours.read(&mut [0]).unwrap_err()).unwrap();
        assert_eq!(ContextError::of(&error), Some(CANCELED));
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let accepts = listener.clone();
        let error = canceled(move || accepts.accept().unwrap_err()).unwrap();
        assert_eq!(ContextError::of(&error), Some(CANCELED));
        // On a slow machine the time may be over before the wait begins.
        let late = || time::timeout(SHORT, || listener.accept().unwrap_err()).ok();
        let error = std::iter::repeat_with(late).flatten().next().unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        // A loop that takes no notice of errors ends, too.
        let again = || loop {
            let _ = listener.accept();
        };
        assert_eq!(time::timeout(SHORT, again), Err::<(), _>(Elapsed));
    });
}

fn what_was_waited_for_works_afterwards() {
    run(|| {
        let (tx, rx) = bounded(0);
        let (sends, receives) = (tx.clone(), rx.clone());
        assert!(canceled(move || sends.send(1)).is_err());
        assert!(rx.try_recv().is_err(), "nobody sends any more");
        assert!(canceled(move || receives.recv()).is_err());
        assert!(tx.try_send(1).is_err(), "nobody receives any more");

        let mutex = Arc::new(Mutex::new(0));
        let held = mutex.lock();
        let locks = mutex.clone();
        assert!(canceled(move || *locks.lock() += 1).is_err());
        drop(held);
        assert_eq!(*mutex.lock(), 0);

        let lock = Arc::new(RwLock::new(0));
        let held = lock.write();
        let (reads, writes) = (lock.clone(), lock.clone());
        assert!(canceled(move || *reads.read()).is_err());
        assert!(canceled(move || *writes.write() += 1).is_err());
        drop(held);
        let held = lock.read();
        let writes = lock.clone();
        assert!(canceled(move || *writes.write() += 1).is_err());
        assert_eq!(*lock.read(), 0, "no writer waits any more");
        drop(held);
        *lock.try_write().expect("nobody has it") += 1;

        let slots = Arc::new(Semaphore::new(1));
        let acquires = slots.clone();
        assert!(canceled(move || acquires.acquire_many(2).forget()).is_err());
        assert!(slots.try_acquire().is_some());

        let barrier = Arc::new(Barrier::new(2));
        let arrives = barrier.clone();
        assert!(canceled(move || arrives.wait().is_leader()).is_err());
        let arrives = barrier.clone();
        let first = go_until_it_waits(move || arrives.wait().is_leader());
        assert!(!first.is_finished(), "the one that was ended has not arrived");
        assert!(barrier.wait().is_leader() && !first.join().unwrap());

        let limiter = Arc::new(RateLimiter::every(LONG, 1));
        limiter.wait();
        let waits = limiter.clone();
        assert!(canceled(move || waits.wait()).is_err());
        assert!(limiter.tokens() > -0.5, "the token was given back: {}", limiter.tokens());

        let notify = Arc::new(Notify::new());
        let waits = notify.clone();
        assert!(canceled(move || waits.notified()).is_err());
        notify.notify_one();
        notify.notified();

        let once = Once::new();
        assert!(time::timeout(SHORT, || once.call_once(|| time::sleep(LONG))).is_err());
        assert!(!once.is_completed());
        once.call_once(|| {});

        let group = Arc::new(WaitGroup::new());
        group.add(1);
        let waits = group.clone();
        assert!(canceled(move || waits.wait()).is_err());
        group.done();
        group.wait();
    });
}

fn waits_with_a_limit_of_their_own_end_too() {
    run(|| {
        assert!(canceled(|| never::<()>().recv_timeout(LONG)).is_err());
        assert!(canceled(|| Semaphore::new(0).acquire_timeout(LONG).map(|permit| permit.forget())).is_err());
        assert!(canceled(|| Notify::new().notified_timeout(LONG)).is_err());
        assert!(canceled(|| Condvar::new().wait_timeout(Mutex::new(()).lock(), LONG).1).is_err());
        assert!(canceled(|| go(|| never::<()>().recv()).join_timeout(LONG).is_err()).is_err());
        let mutex: &Mutex<()> = Box::leak(Box::default());
        let _held = mutex.lock();
        assert!(canceled(|| mutex.lock_timeout(LONG).is_some()).is_err());
        // Their own limits work, too.
        let (ctx, _cancel) = Context::background().with_cancel();
        let in_time = ctx.run(|| {
            assert!(never::<()>().recv_timeout(SHORT).is_err());
            assert!(Semaphore::new(0).acquire_timeout(SHORT).is_none());
            assert!(Notify::new().notified_timeout(SHORT).timed_out());
            assert!(mutex.lock_timeout(SHORT).is_none());
            time::sleep(SHORT);
        });
        assert_eq!(in_time, Ok(()));
    });
}

fn waits_of_a_context_end_with_the_run_too() {
    run(|| {
        let (other, cancel) = Context::background().with_cancel();
        let inner = other.clone();
        assert_eq!(canceled(move || inner.with(&never::<()>()).recv().is_err()), Err(CANCELED));
        let inner = other.clone();
        assert_eq!(canceled(move || inner.with(&Semaphore::new(0)).acquire().is_err()), Err(CANCELED));
        let inner = other.clone();
        assert_eq!(canceled(move || inner.sleep(LONG)), Err(CANCELED));
        let inner = other.clone();
        assert!(canceled(move || inner.join(go(|| never::<()>().recv())).is_err()).is_err());
        // And with their own context.
        let (outer, _cancel_outer) = Context::background().with_cancel();
        let waits =
            go_until_it_waits(move || outer.run(|| other.with(&Semaphore::new(0)).acquire().is_err()));
        cancel.cancel();
        assert_eq!(waits.join().unwrap(), Ok(true));
    });
}

fn a_value_counts_after_the_end() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let result = ctx.run(|| {
            cancel.cancel();
            7
        });
        assert_eq!(result, Ok(7));
    });
}

fn what_has_ended_before_isnt_called() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        cancel.cancel();
        assert_eq!(ctx.run(|| unreachable!()), Err::<(), _>(CANCELED));
        assert_eq!(time::timeout(Duration::ZERO, || unreachable!()), Err::<(), _>(Elapsed));
        assert_eq!(Context::background().run(|| time::sleep(SHORT)), Ok(()));
    });
}

/// Calls the function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

fn destructors_wait() {
    run(|| {
        let slept = Arc::new(AtomicBool::new(false));
        let sets = slept.clone();
        let result = canceled(move || {
            let _sleeps = OnDrop(|| {
                time::sleep(SHORT);
                assert_eq!(go(|| 7).join().unwrap(), 7);
                sets.store(true, Ordering::Relaxed);
            });
            never::<()>().recv()
        });
        assert!(result.is_err() && slept.load(Ordering::Relaxed));
    });
}

fn a_shield_holds_it_back() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let mut steps = 0;
        let result = ctx.run(|| {
            cancel.cancel();
            shield(|| {
                time::sleep(SHORT);
                steps += 1;
                // A run inside has its own end.
                assert!(time::timeout(SHORT, || never::<()>().recv()).is_err());
                steps += 1;
            });
            time::sleep(LONG);
            steps += 1;
        });
        assert_eq!((result, steps), (Err(CANCELED), 2));
    });
}

fn a_caught_end_comes_again() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let mut caught = 0;
        let result = ctx.run(|| {
            cancel.cancel();
            for _ in 0..3 {
                if catch_unwind(|| time::sleep(LONG)).is_err() {
                    caught += 1;
                }
            }
            never::<()>().recv()
        });
        assert!(result.is_err());
        assert_eq!(caught, 3);
        // After the run its payload means nothing.
        let kept = catch_unwind(|| {
            let (ctx, cancel) = Context::background().with_cancel();
            let mut kept = None;
            ctx.run(|| {
                cancel.cancel();
                kept = catch_unwind(|| time::sleep(LONG)).err();
            })
            .unwrap();
            kept.unwrap()
        });
        let raised = go(move || resume_unwind(kept.unwrap()));
        let error = raised.join().map(|_: ()| ()).unwrap_err();
        assert!(error.is_aborted() && !error.is_panic());
        time::sleep(SHORT);
    });
}

fn the_innermost_that_has_ended_catches() {
    run(|| {
        for ends in 0..3 {
            let contexts: Vec<_> = (0..3).map(|_| Context::background().with_cancel()).collect();
            let level = |i: usize| contexts[i].0.clone();
            let results = level(0).run(|| {
                let middle = level(1).run(|| {
                    let inner = level(2).run(|| {
                        contexts[ends].1.cancel();
                        never::<()>().recv().unwrap();
                    });
                    assert_eq!((ends, inner), (2, Err(CANCELED)));
                });
                assert_eq!((ends, middle), if ends == 2 { (2, Ok(())) } else { (1, Err(CANCELED)) });
            });
            assert_eq!(results, if ends == 0 { Err(CANCELED) } else { Ok(()) });
        }
        // A child of the outer one's context, which ends with it, and one that ends before.
        let (outer, cancel) = Context::background().with_cancel();
        let result = outer.run(|| {
            let (child, cancel_child) = outer.with_cancel();
            let inner = child.run(|| {
                cancel_child.cancel();
                never::<()>().recv().unwrap();
            });
            assert_eq!(inner, Err(CANCELED));
            let (child, _cancel_child) = outer.with_cancel();
            let inner = child.run(|| {
                cancel.cancel();
                never::<()>().recv().unwrap();
            });
            assert_eq!(inner, Err(CANCELED));
            time::sleep(LONG);
        });
        assert_eq!(result, Err(CANCELED));
        // A time limit doesn't say that it is over if an outer one is.
        let result = time::timeout(SHORT, || {
            let inner = time::timeout(LONG, || never::<()>().recv());
            unreachable!("{inner:?}");
        });
        assert_eq!(result, Err::<(), _>(Elapsed));
    });
}

fn scopes_end_with_the_run() {
    run(|| {
        let ended = AtomicUsize::new(0);
        let waits = || {
            let _counts = OnDrop(|| {
                ended.fetch_add(1, Ordering::Relaxed);
            });
            never::<()>().recv().is_ok()
        };
        // Returns how many were ended when `f` was canceled in its middle.
        let counted = |f: &(dyn Fn() + Sync)| {
            let (ctx, cancel) = Context::background().with_cancel();
            let began = AtomicBool::new(false);
            scope(|s| {
                let runs = s.go(|| {
                    ctx.run(|| {
                        began.store(true, Ordering::Relaxed);
                        f();
                    })
                });
                while !began.load(Ordering::Relaxed) {
                    yield_now();
                }
                cancel.cancel();
                assert_eq!(runs.join().unwrap(), Err(CANCELED));
            });
            ended.swap(0, Ordering::Relaxed)
        };
        // The scope itself waits for its goroutines.
        assert_eq!(counted(&|| scope(|s| (0..10).for_each(|_| drop(s.go(waits))))), 10);
        // The body waits.
        let body_waits = || {
            scope(|s| {
                s.go(waits);
                waits();
            });
        };
        assert_eq!(counted(&body_waits), 2);
        // Scopes in scopes, and a shield.
        let nested = || {
            scope(|s| {
                s.go(|| scope(|s| drop(s.go(waits))));
                s.go(|| shield(|| time::sleep(2 * SHORT)));
            });
        };
        assert_eq!(counted(&nested), 1);
        // A goroutine of its own goes on.
        let (tx, rx) = bounded::<u32>(0);
        let (ctx, cancel) = Context::background().with_cancel();
        let result = ctx.run(move || {
            let other = go(move || rx.recv());
            cancel.cancel();
            shield(|| tx.send(7).unwrap());
            other
        });
        assert_eq!(result.unwrap().join().unwrap(), Ok(7));
    });
}

fn a_pool_takes_nothing_back_from_a_run_that_is_over() {
    run(|| {
        let made = Arc::new(AtomicUsize::new(0));
        let counts = made.clone();
        let pool: Pool<usize, ()> = Pool::new(1, move || Ok(counts.fetch_add(1, Ordering::Relaxed)));
        let (ctx, cancel) = Context::background().with_cancel();
        ctx.run(|| drop(pool.get())).unwrap();
        assert_eq!(pool.idle(), 1);
        // As after a read that was ended.
        let left = ctx.run(|| {
            let object = pool.get().unwrap();
            cancel.cancel();
            *object
        });
        assert_eq!((left, pool.idle()), (Ok(0), 0));
        assert_eq!(*pool.get().unwrap(), 1);
    });
}

fn goroutines_of_a_scope_are_in_its_run() {
    run(|| {
        let (outer, cancel_outer) = Context::background().with_cancel();
        let (inner, cancel_inner) = Context::background().with_cancel();
        // Made in another run, which is over before the scope is.
        let result = outer.run(|| {
            scope(|s| {
                inner.run(|| drop(s.go(|| never::<()>().recv()))).unwrap();
                cancel_outer.cancel();
            });
        });
        assert_eq!(result, Err(CANCELED));
        let (tx, rx) = bounded::<u32>(0);
        let received = scope(|s| {
            let receives = inner.run(|| s.go(|| rx.recv())).unwrap();
            cancel_inner.cancel();
            tx.send(7).unwrap();
            receives.join().unwrap()
        });
        assert_eq!(received, Ok(7));
    });
}

fn a_join_of_what_was_aborted_unwinds() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let result = ctx.run(|| {
            scope(|s| {
                let waits = s.go(|| never::<()>().recv().unwrap());
                cancel.cancel();
                wait_until(|| waits.is_finished());
                waits.join().unwrap();
            });
        });
        assert_eq!(result, Err(CANCELED));
    });
}

fn a_closed_channel_doesnt_hide_the_end() {
    run(|| {
        let over = |f: &dyn Fn()| {
            let (ctx, cancel) = Context::background().with_cancel();
            let result = ctx.run(|| {
                cancel.cancel();
                f();
            });
            assert_eq!(result, Err(CANCELED));
        };
        let closed = never_sent();
        over(&|| closed.recv().unwrap());
        over(&|| closed.recv_timeout(LONG).unwrap());
        over(&|| assert_eq!(closed.iter().count(), 1, "this isn't all"));
        over(&|| select! { recv(closed) -> value => value.unwrap() });
        over(&|| {
            let mut set = Select::new();
            set.recv(&closed);
            drop(set.select());
        });
        let (tx, rx) = bounded(1);
        drop(rx);
        over(&|| tx.send(1).unwrap());
        // A value that is there counts.
        let (tx, rx) = bounded(1);
        tx.send(7).unwrap();
        let (ctx, cancel) = Context::background().with_cancel();
        let result = ctx.run(|| {
            cancel.cancel();
            rx.recv()
        });
        assert_eq!(result, Ok(Ok(7)));
    });
}

/// A closed channel.
fn never_sent() -> Receiver<()> {
    bounded(0).1
}

fn results_that_wait_when_they_are_dropped() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let slept = ctx.run(|| {
            cancel.cancel();
            let slept = Arc::new(AtomicBool::new(false));
            let sets = slept.clone();
            let sleeps = move || {
                time::sleep(SHORT);
                sets.store(true, Ordering::Relaxed);
            };
            let handle = go(move || OnDrop(sleeps));
            wait_until(|| handle.is_finished());
            drop(handle);
            slept.load(Ordering::Relaxed)
        });
        assert_eq!(slept, Ok(true));
    });
}

/// A key; the hash of number 2 waits.
#[derive(Clone, PartialEq, Eq)]
struct Key(u32, Gate);

#[derive(Clone)]
struct Gate(Receiver<()>);

impl PartialEq for Gate {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Gate {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
        if self.0 == 2 {
            let _ = self.1.0.recv();
        }
    }
}

fn a_flight_lands() {
    run(|| {
        let flights: Arc<SingleFlight<Key, u32>> = Arc::default();
        let (tx, rx) = bounded::<()>(0);
        let key = |number| Key(number, Gate(rx.clone()));
        let (ctx, cancel) = Context::background().with_cancel();
        let result = ctx.run(|| {
            flights.run(key(1), || {
                // Has the lock of the flights, which this one needs at its end.
                let (others, two) = (flights.clone(), key(2));
                drop(go_until_it_waits(move || others.run(two, || 2)));
                drop(go_when_this_waits(move || drop(tx)));
                cancel.cancel();
                1
            })
        });
        assert_eq!(result, Ok(1));
        assert_eq!(flights.run(key(1), || 3), 3);
    });
}

fn a_scope_that_may_fail_ends_with_the_run() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let result = ctx.run(|| {
            try_scope(|_| {
                cancel.cancel();
                never::<()>().recv()
            })
        });
        assert_eq!(result, Err(CANCELED));
    });
}

fn panics_and_goexit_pass() {
    run(|| {
        let (ctx, _cancel) = Context::background().with_cancel();
        let caught = catch_unwind(AssertUnwindSafe(|| ctx.run(|| panic_any(7))));
        assert_eq!(caught.map(|_: Result<(), _>| ()).unwrap_err().downcast_ref(), Some(&7));
        let inner = ctx.clone();
        let exits = go(move || inner.run(|| goexit()).map(|_: ()| ()));
        assert!(exits.join().unwrap_err().is_goexit());
        // Nothing is left of the run.
        let (tx, rx): (Sender<u32>, _) = bounded(0);
        let receives = go_until_it_waits(move || rx.recv());
        tx.send(1).unwrap();
        assert_eq!(receives.join().unwrap(), Ok(1));
    });
}

fn threads_have_runs() {
    run(|| {
        let (tx, rx) = bounded(0);
        std::thread::spawn(move || {
            for (name, wait) in waits() {
                let unwinds = time::timeout(SHORT, wait);
                tx.send((name, unwinds)).unwrap();
            }
        });
        let mut n = 0;
        for (name, unwinds) in rx {
            assert_eq!(unwinds, Err(Elapsed), "{name}");
            n += 1;
        }
        assert_eq!(n, waits().len());
    });
}

fn a_writer_that_is_ended_lets_readers_in() {
    run(|| {
        let lock = Arc::new(RwLock::new(0));
        let (ctx, cancel) = Context::background().with_cancel();
        let held = lock.read();
        let writes = lock.clone();
        let writer = go_until_it_waits(move || ctx.run(|| *writes.write() += 1));
        let readers = [(); 3].map(|()| {
            let reads = lock.clone();
            go_until_it_waits(move || *reads.read())
        });
        let writes = lock.clone();
        let next = go_until_it_waits(move || *writes.write() += 1);
        cancel.cancel();
        assert_eq!(writer.join().unwrap(), Err(CANCELED));
        // This reader is still there, so the others don't wait for a writer.
        assert_eq!(readers.map(|reader| reader.join().unwrap()), [0; 3]);
        drop(held);
        next.join().unwrap();
        assert_eq!(*lock.try_read().expect("no writer has it"), 1);
    });
}

fn runs_in_destructors_of_thread_locals() {
    thread_local! {
        static LAST: OnDrop<fn()> = const { OnDrop(|| assert_eq!(time::timeout(LONG, || 7), Ok(7))) };
    }
    run(|| go(|| LAST.with(|_| ())).join().unwrap());
}
