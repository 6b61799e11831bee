//! std's locks, channels, sleeps and yields, on many goroutines.

use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use std::thread;
use std::time::Duration;

use gosched::explore::{Explorer, FailureKind};
use gosched::{JoinHandle, go, park_std_waits, run};

use super::{hold_no_threads, live_with_one_p_and_several, parks, run_live};
use crate::harness::goroutines::wait_until;
use crate::harness::polled::HOUR;
use crate::harness::{Test, tests};

tests! {
    many_wait_for_what_one_sends
    many_wait_for_each_other
    a_lock_that_is_held_across_waits
    readers_and_writers
    one_that_is_parked
    what_is_made_once
    a_local_that_waits_as_it_ends
    who_spins_lets_others_run
    a_thread_wakes_a_goroutine
    a_goroutine_wakes_a_thread
    a_deadlock_is_told_of
    an_exploration_finds_a_deadlock
    an_exploration_needs_no_time
    an_exploration_finds_what_comes_too_early
}

/// The number of goroutines that wait.
const MANY: u64 = 2_000;

/// Fails unless `main` ends well and no wait holds a thread, with one P and with several. (No
/// goroutine loses its P there. So a goroutine that doesn't park keeps its P, too.)
fn without_threads(test: Test, main: impl Fn() + Send + Sync) {
    for procs in ["1", "4"] {
        let process = test.process(|| {
            run_live(|| {
                main();
                hold_no_threads(MANY as usize);
            });
        });
        process.env("GOMAXPROCS", procs).env("GODEBUG", "detach=0").end().with("exit status: 0");
    }
}

fn all_end(handles: Vec<JoinHandle<()>>) {
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

fn many_wait_for_what_one_sends(test: Test) {
    without_threads(test, || {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..MANY).map(|_| mpsc::channel()).unzip();
        let receives = |rx: mpsc::Receiver<u64>| go(move || rx.recv().unwrap());
        let handles: Vec<_> = receivers.into_iter().map(receives).collect();
        wait_until(|| parks() >= MANY);
        (0..).zip(&senders).for_each(|(i, tx)| tx.send(i).unwrap());
        let sum: u64 = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
        assert_eq!(sum, MANY * (MANY - 1) / 2);
    });
}

fn many_wait_for_each_other(test: Test) {
    without_threads(test, || {
        let all = Arc::new((Barrier::new(MANY as usize), Mutex::new(0), Condvar::new()));
        let meet = || {
            let all = all.clone();
            go(move || {
                let (barrier, count, changed) = &*all;
                barrier.wait();
                let mut count = count.lock().unwrap();
                *count += 1;
                changed.notify_all();
                drop(changed.wait_while(count, |count| *count < MANY).unwrap());
            })
        };
        all_end((0..MANY).map(|_| meet()).collect());
        assert!(parks() > 0);
    });
}

fn a_lock_that_is_held_across_waits(test: Test) {
    without_threads(test, || {
        let count = Arc::new(Mutex::new(0));
        let add = || {
            let count = count.clone();
            go(move || {
                let mut count = count.lock().unwrap();
                let before = *count;
                thread::sleep(Duration::from_micros(1));
                thread::yield_now();
                *count = before + 1;
            })
        };
        all_end((0..MANY).map(|_| add()).collect());
        assert_eq!(*count.lock().unwrap(), MANY);
        assert!(parks() > 0);
    });
}

fn readers_and_writers(test: Test) {
    without_threads(test, || {
        let pair = Arc::new(RwLock::new((0, 0)));
        let write = || {
            let pair = pair.clone();
            go(move || {
                let mut pair = pair.write().unwrap();
                pair.0 += 1;
                thread::yield_now();
                pair.1 += 1;
            })
        };
        let read = || {
            let pair = pair.clone();
            go(move || {
                let pair = pair.read().unwrap();
                thread::yield_now();
                assert_eq!(pair.0, pair.1);
            })
        };
        all_end((0..MANY).map(|i| if i % 4 == 0 { write() } else { read() }).collect());
        assert_eq!(pair.read().unwrap().0, MANY / 4);
    });
}

fn one_that_is_parked(test: Test) {
    live_with_one_p_and_several(test, || {
        let ready = Arc::new(AtomicBool::new(false));
        let waits = |ready: Arc<AtomicBool>| {
            while !ready.load(Ordering::Relaxed) {
                thread::park();
            }
        };
        let (tx, rx) = mpsc::channel();
        let flag = ready.clone();
        let handle = go(move || {
            tx.send(thread::current()).unwrap();
            waits(flag);
        });
        let parked = rx.recv().unwrap();
        ready.store(true, Ordering::Relaxed);
        parked.unpark();
        handle.join().unwrap();
        // This time limit has passed already.
        thread::park_timeout(Duration::from_micros(1));
    });
}

fn what_is_made_once(test: Test) {
    live_with_one_p_and_several(test, || {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        static ONCE: OnceLock<usize> = OnceLock::new();
        let make = || {
            thread::sleep(Duration::from_micros(1));
            MADE.fetch_add(1, Ordering::Relaxed)
        };
        all_end((0..100).map(|_| go(move || assert_eq!(*ONCE.get_or_init(make), 0))).collect());
        assert_eq!(MADE.load(Ordering::Relaxed), 1);
    });
}

fn a_local_that_waits_as_it_ends(test: Test) {
    live_with_one_p_and_several(test, || {
        static ENDED: Mutex<u64> = Mutex::new(0);

        struct Waits;
        impl Drop for Waits {
            fn drop(&mut self) {
                let mut ended = ENDED.lock().unwrap();
                thread::sleep(Duration::from_micros(1));
                *ended += 1;
            }
        }

        thread_local! {
            static WAITS: Waits = const { Waits };
        }
        all_end((0..100).map(|_| go(|| WAITS.with(|_| ()))).collect());
        assert_eq!(*ENDED.lock().unwrap(), 100);
    });
}

fn who_spins_lets_others_run(test: Test) {
    // No signal takes this goroutine's P, and others run only if it yields.
    let process = test.process(|| {
        run_live(|| {
            static FLAG: AtomicBool = AtomicBool::new(false);
            drop(go(|| FLAG.store(true, Ordering::Relaxed)));
            while !FLAG.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            drop(go(|| FLAG.store(false, Ordering::Relaxed)));
            while FLAG.load(Ordering::Relaxed) {
                // SAFETY: takes no pointer. (std makes no call for a sleep of nothing.)
                unsafe { libc::usleep(0) };
            }
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "asyncpreemptoff=1").end().with("exit status: 0");
}

fn a_thread_wakes_a_goroutine(test: Test) {
    live_with_one_p_and_several(test, || {
        let (tx, rx) = mpsc::channel();
        let thread = thread::spawn(move || {
            wait_until_parked(1);
            tx.send(1).unwrap();
        });
        assert_eq!(rx.recv(), Ok(1));
        drop(gosched::blocking(|| thread.join()));
    });
}

/// Returns when `n` goroutines have parked. Called on a thread.
fn wait_until_parked(n: u64) {
    while parks() < n {
        thread::yield_now();
    }
}

fn a_goroutine_wakes_a_thread(test: Test) {
    live_with_one_p_and_several(test, || {
        let (tx, rx) = mpsc::channel();
        let (there, arrives) = mpsc::channel();
        let thread = thread::spawn(move || {
            there.send(()).unwrap();
            rx.recv()
        });
        arrives.recv().unwrap();
        tx.send(1).unwrap();
        assert_eq!(gosched::blocking(|| thread.join()).unwrap(), Ok(1));
    });
}

fn a_deadlock_is_told_of(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    let process = test.process(|| {
        park_std_waits().unwrap();
        run(|| {
            let lock = Mutex::new(());
            let _held = lock.lock().unwrap();
            let _twice = lock.lock();
            exit(1);
        });
    });
    let ended = process.env("GOMAXPROCS", "2").end();
    ended.with("exit status: 2").says("all goroutines are asleep - deadlock!");
    ended.says("goroutine 1 [futex (std)]:");
}

fn an_exploration_finds_a_deadlock() {
    park_std_waits().unwrap();
    let found = Explorer::new().check(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = locks.clone();
        let handle = go(move || {
            let _second = other.1.lock().unwrap();
            thread::yield_now();
            let _first = other.0.lock().unwrap();
        });
        let first = locks.0.lock().unwrap();
        thread::yield_now();
        drop(locks.1.lock().unwrap());
        drop(first);
        handle.join().unwrap();
    });
    assert_eq!(found.unwrap_err().kind(), FailureKind::Deadlock);
}

fn an_exploration_needs_no_time() {
    park_std_waits().unwrap();
    let checked = Explorer::new().iterations(20).check(|| {
        let (tx, rx) = mpsc::channel();
        let handle = go(move || {
            thread::sleep(HOUR);
            tx.send(1).unwrap();
        });
        assert_eq!(rx.recv(), Ok(1));
        let (lock, never) = (Mutex::new(()), Condvar::new());
        assert!(never.wait_timeout(lock.lock().unwrap(), HOUR).unwrap().1.timed_out());
        handle.join().unwrap();
    });
    checked.unwrap();
}

/// A wake comes before the wait, which doesn't check for it.
fn an_exploration_finds_what_comes_too_early() {
    park_std_waits().unwrap();
    let found = Explorer::new().check(|| {
        let wakes = Arc::new((Mutex::new(()), Condvar::new()));
        let other = wakes.clone();
        let handle = go(move || other.1.notify_one());
        thread::yield_now();
        drop(wakes.1.wait(wakes.0.lock().unwrap()).unwrap());
        handle.join().unwrap();
    });
    assert_eq!(found.unwrap_err().kind(), FailureKind::Deadlock);
}
