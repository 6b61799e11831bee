//! Locks: which goroutine gets in, in what order, and what a panic leaves behind.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use gosched::context::Context;
use gosched::sync::{Barrier, Mutex, RwLock};
use gosched::time::{sleep, timeout};
use gosched::{run, scope, yield_now};

use crate::harness::explored::{explores, in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::unwind;
use crate::harness::rng::{Rng, number};
use crate::harness::{Test, tests};

tests! {
    a_mutex_lets_one_in
    two_threads_contend_for_a_mutex
    try_lock_fails_while_it_is_locked
    a_wait_for_a_mutex_ends_in_time
    a_wait_on_a_thread_ends_in_time
    some_give_up_with_one_p
    some_give_up_with_two_ps
    some_give_up_with_eight_ps
    who_waits_for_a_mutex_gets_it_from_one_who_always_has_it
    a_guard_may_be_dropped_on_any_thread
    readers_are_many_and_writers_alone
    trying_a_rwlock
    a_writer_that_waits_goes_before_readers_that_come_then
    readers_that_wait_go_before_the_next_writer
    readers_and_writers_give_up_with_one_p
    readers_and_writers_give_up_with_two_ps
    readers_and_writers_give_up_with_eight_ps
}

pub fn a_mutex_lets_one_in() {
    in_any_order(|| {
        let (count, crowd, turns) = (Mutex::new(0), times(50, 3), times(200, 3));
        scope(|s| {
            for i in 0..crowd {
                let count = &count;
                s.go(move || {
                    for j in 0..turns {
                        let mut count = if j % 5 == 0 {
                            loop {
                                match count.try_lock() {
                                    Some(count) => break count,
                                    None => yield_now(),
                                }
                            }
                        } else {
                            count.lock()
                        };
                        let seen = *count;
                        if (i + j) % 7 == 0 {
                            yield_now();
                        }
                        *count = seen + 1;
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), crowd * turns);
    });
}

fn two_threads_contend_for_a_mutex() {
    run(|| {
        let count = Mutex::new(0u64);
        scope(|s| {
            for _ in 0..2 {
                s.go(|| (0..200_000).for_each(|_| *count.lock() += 1));
            }
        });
        assert_eq!(*count.lock(), 400_000);
    });
}

pub fn a_wait_for_a_mutex_ends_in_time() {
    in_any_order(|| {
        let mutex: &Mutex<u32> = Box::leak(Box::default());
        let held = mutex.lock();
        assert!(mutex.lock_timeout(Duration::ZERO).is_none());
        let given_up: Vec<_> = (1..=times(5, 2) as u64)
            .map(|i| go_until_it_waits(move || mutex.lock_timeout(Duration::from_millis(i)).is_none()))
            .collect();
        let patient = go_until_it_waits(|| *mutex.lock_timeout(Duration::from_secs(3600)).unwrap() += 1);
        given_up.into_iter().for_each(|handle| assert!(handle.join().unwrap()));
        assert!(!patient.is_finished());
        drop(held);
        patient.join().unwrap();
        assert_eq!(*mutex.lock_timeout(Duration::ZERO).unwrap(), 1);
    });
}

fn a_wait_on_a_thread_ends_in_time() {
    run(|| {
        let mutex = Mutex::new(0);
        let held = mutex.lock();
        thread::scope(|threads| {
            let late = threads.spawn(|| mutex.lock_timeout(Duration::from_millis(2)).is_none());
            assert!(late.join().unwrap());
            let waits = threads.spawn(|| *mutex.lock_timeout(Duration::from_secs(3600)).unwrap() += 1);
            drop(held);
            waits.join().unwrap();
        });
        assert_eq!(mutex.into_inner(), 1);
    });
}

/// The entries of one tree in the table of semaphores.
#[derive(Default)]
#[repr(C)]
struct InOneTree {
    count: Mutex<u64>,
    rest: (u64, [[u64; 31]; 8]),
}

/// Some goroutines hold the mutexes for long, some want them for a short time only, and some under
/// a context that ends. No two hold a mutex at once, none is forgotten, and in the end all mutexes
/// are free.
pub fn some_give_up() {
    in_any_order(|| {
        let (mut rng, crowd) = (Rng::seeded(), times(24, 4));
        let turns = times(number("STRESS_TIMES").unwrap_or(300) as usize, 3);
        let mutexes: [InOneTree; 5] = Default::default();
        let used = times(5, 2);
        let (locked, given_up) = (AtomicU64::new(0), AtomicU64::new(0));
        let one = |mutex: &Mutex<u64>, rng: &mut Rng| {
            let limit = Duration::from_micros(rng.below(300) as u64);
            let (ctx, cancel) = Context::background().with_timeout(limit);
            let guard = match rng.below(5) {
                0 => Some(mutex.lock()),
                1 | 2 => mutex.lock_timeout(limit),
                _ => ctx.with(mutex).lock().ok(),
            };
            drop(cancel);
            let Some(mut count) = guard else {
                given_up.fetch_add(1, Ordering::Relaxed);
                return;
            };
            let before = *count;
            match rng.below(times(40, 4)) {
                // This is so long that others starve.
                0 => sleep(Duration::from_millis(2)),
                1..10 => yield_now(),
                _ => (0..rng.below(1_000)).for_each(|_| spin_loop()),
            }
            *count = before + 1;
            locked.fetch_add(1, Ordering::Relaxed);
        };
        scope(|s| {
            for _ in 0..crowd {
                let (mut rng, one, mutexes) = (rng.fork(), &one, &mutexes);
                s.go(move || (0..turns).for_each(|_| one(&mutexes[rng.below(used)].count, &mut rng)));
            }
        });
        let counts = mutexes.map(|mutex| *mutex.count.try_lock().expect("nobody has it"));
        let (locked, given_up) = (locked.into_inner(), given_up.into_inner());
        assert_eq!(counts.iter().sum::<u64>(), locked);
        assert_eq!(locked + given_up, (crowd * turns) as u64);
        if !explores() {
            eprintln!("{counts:?} times, and {given_up} gave up");
        }
    });
}

fn some_give_up_with(test: Test, procs: usize) {
    assert_eq!(size_of::<InOneTree>() % (251 * 8), 0);
    ends_with(test, procs, some_give_up);
}

fn ends_with(test: Test, procs: usize, body: fn()) {
    let process = test.process(body);
    let ended = process.env("GOMAXPROCS", &procs.to_string()).end();
    ended.with("exit status: 0");
    eprint!("with {procs} P's: {}", ended.stderr);
}

fn some_give_up_with_one_p(test: Test) {
    some_give_up_with(test, 1);
}

fn some_give_up_with_two_ps(test: Test) {
    some_give_up_with(test, 2);
}

fn some_give_up_with_eight_ps(test: Test) {
    some_give_up_with(test, 8);
}

fn try_lock_fails_while_it_is_locked() {
    let mut mutex = Mutex::from("free");
    assert_eq!(format!("{mutex:?}"), r#"Mutex { data: "free", .. }"#);
    let guard = mutex.lock();
    assert!(mutex.try_lock().is_none());
    assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked>, .. }");
    assert_eq!(format!("{guard} {guard:?}"), r#"free "free""#);
    drop(guard);
    *mutex.try_lock().unwrap() = "changed";
    assert_eq!(*mutex.get_mut(), "changed");
    unwind(|| mutex.lock());
    assert_eq!(*mutex.lock(), "changed", "a panic unlocks, and poisons nothing");
    let unsized_: &Mutex<[i32]> = &Mutex::new([1, 2]);
    unsized_.lock()[1] = 3;
    assert_eq!(*unsized_.lock(), [1, 3]);
}

pub fn who_waits_for_a_mutex_gets_it_from_one_who_always_has_it() {
    in_any_order(|| {
        let (mutex, got_it): &(Mutex<()>, AtomicBool) = Box::leak(Box::default());
        let held = mutex.lock();
        let waiting = go_until_it_waits(|| {
            let _guard = mutex.lock();
            got_it.store(true, Ordering::Relaxed);
        });
        drop(held);
        // From here on the mutex is free only between two turns of this loop. In starving mode the
        // waiter gets it there.
        for _ in 0..50_000 {
            let guard = mutex.lock();
            if got_it.load(Ordering::Relaxed) {
                break;
            }
            // The waiter wakes and finds the mutex locked, for longer than a millisecond.
            sleep(Duration::from_millis(2));
            drop(guard);
        }
        assert!(got_it.load(Ordering::Relaxed));
        waiting.join().unwrap();
        assert!(mutex.try_lock().is_some(), "the mode is normal again");
    });
}

fn a_guard_may_be_dropped_on_any_thread() {
    static MUTEX: Mutex<u32> = Mutex::new(0);
    run(|| {
        let guard = MUTEX.lock();
        let waiting = go_until_it_waits(|| *MUTEX.lock());
        thread::spawn(move || {
            let mut guard = guard;
            *guard = 5;
        });
        assert_eq!(waiting.join().unwrap(), 5);
    });
}

pub fn readers_are_many_and_writers_alone() {
    in_any_order(|| {
        let (crowd, turns) = (times(20, 4), times(100, 2));
        let lock = RwLock::new((0, 0));
        let all_in = Barrier::new(crowd);
        scope(|s| {
            for _ in 0..crowd {
                s.go(|| {
                    let _reading = lock.read();
                    all_in.wait();
                });
            }
        });
        scope(|s| {
            for i in 0..crowd {
                let lock = &lock;
                s.go(move || {
                    for _ in 0..turns {
                        if i % 4 == 0 {
                            let mut pair = lock.write();
                            pair.0 += 1;
                            yield_now();
                            pair.1 += 1;
                        } else {
                            let pair = lock.read();
                            let seen = pair.0;
                            yield_now();
                            assert_eq!((seen, seen), *pair);
                        }
                    }
                });
            }
        });
        let written = crowd / 4 * turns;
        assert_eq!(lock.into_inner(), (written, written));
    });
}

fn trying_a_rwlock() {
    let mut lock = RwLock::new(1);
    let reading = lock.read();
    assert_eq!(*reading + *lock.try_read().unwrap(), 2);
    assert!(lock.try_write().is_none());
    drop(reading);
    let mut writing = lock.try_write().unwrap();
    *writing += 1;
    assert!(lock.try_read().is_none() && lock.try_write().is_none());
    assert_eq!(format!("{lock:?}"), "RwLock { data: <locked>, .. }");
    drop(writing);
    assert_eq!(format!("{lock:?}"), "RwLock { data: 2, .. }");
    unwind(|| lock.write());
    unwind(|| lock.read());
    *lock.get_mut() += 1;
    assert_eq!(*lock.write(), 3);
    assert_eq!(lock.into_inner(), 3);
}

pub fn a_writer_that_waits_goes_before_readers_that_come_then() {
    in_any_order(|| {
        let lock: &RwLock<Vec<&str>> = Box::leak(Box::default());
        let reading = lock.read();
        let writer = go_until_it_waits(|| lock.write().push("writer"));
        assert!(lock.try_read().is_none());
        let reader = go_until_it_waits(|| lock.read().len());
        drop(reading);
        assert_eq!(reader.join().unwrap(), 1);
        writer.join().unwrap();
    });
}

pub fn readers_that_wait_go_before_the_next_writer() {
    in_any_order(|| {
        let lock: &RwLock<Vec<&str>> = Box::leak(Box::default());
        let writing = lock.write();
        let next = go_until_it_waits(|| lock.write().push("next"));
        let readers = [(); 5].map(|()| go_until_it_waits(|| lock.read().len()));
        drop(writing);
        assert_eq!(readers.map(|reader| reader.join().unwrap()), [0; 5]);
        next.join().unwrap();
    });
}

/// Readers and writers want the lock, some for a short time only. No writer has it beside another
/// goroutine, none is forgotten, and in the end it is free.
pub fn some_readers_and_writers_give_up() {
    in_any_order(|| {
        let (mut rng, crowd) = (Rng::seeded(), times(24, 4));
        let turns = times(number("STRESS_TIMES").unwrap_or(300) as usize, 3);
        let lock = RwLock::new((0, 0));
        let (written, given_up) = (AtomicU64::new(0), AtomicU64::new(0));
        let one = |rng: &mut Rng| {
            let limit = Duration::from_micros(rng.below(300) as u64);
            let works = |rng: &mut Rng| match rng.below(times(40, 4)) {
                0 => sleep(Duration::from_micros(300)),
                1..10 => yield_now(),
                _ => (0..rng.below(1_000)).for_each(|_| spin_loop()),
            };
            let (ends, writes) = (rng.below(3) > 0, rng.below(3) == 0);
            let locked = if writes {
                let guard = if ends { timeout(limit, || lock.write()).ok() } else { Some(lock.write()) };
                guard.map(|mut pair| {
                    pair.0 += 1;
                    works(rng);
                    pair.1 += 1;
                    written.fetch_add(1, Ordering::Relaxed);
                })
            } else {
                let guard = if ends { timeout(limit, || lock.read()).ok() } else { Some(lock.read()) };
                guard.map(|pair| {
                    let seen = pair.0;
                    works(rng);
                    assert_eq!((seen, seen), *pair);
                })
            };
            given_up.fetch_add(u64::from(locked.is_none()), Ordering::Relaxed);
        };
        scope(|s| {
            for _ in 0..crowd {
                let (mut rng, one) = (rng.fork(), &one);
                s.go(move || (0..turns).for_each(|_| one(&mut rng)));
            }
        });
        let (written, given_up) = (written.into_inner(), given_up.into_inner());
        assert_eq!(*lock.try_write().expect("nobody has it"), (written, written));
        if !explores() {
            eprintln!("{written} times written, and {given_up} gave up");
        }
    });
}

fn readers_and_writers_give_up_with_one_p(test: Test) {
    ends_with(test, 1, some_readers_and_writers_give_up);
}

fn readers_and_writers_give_up_with_two_ps(test: Test) {
    ends_with(test, 2, some_readers_and_writers_give_up);
}

fn readers_and_writers_give_up_with_eight_ps(test: Test) {
    ends_with(test, 8, some_readers_and_writers_give_up);
}
