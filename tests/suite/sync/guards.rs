//! Guards that keep their lock, guards of a part of a value, and a writer that becomes a reader.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gosched::sync::{
    MappedMutexGuard, MappedRwLockWriteGuard, Mutex, MutexGuard, OwnedMappedMutexGuard,
    OwnedMappedRwLockReadGuard, OwnedMappedRwLockWriteGuard, OwnedMutexGuard, OwnedRwLockReadGuard,
    OwnedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use gosched::{go, run, scope, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::unwind;
use crate::harness::tests;

tests! {
    owned_guards_go_anywhere
    the_last_owned_guard_drops_the_value
    owned_guards_are_tried_for
    mapped_guards_hold_the_lock
    owned_mapped_guards_hold_the_lock
    what_an_owned_filter_refuses_stays_locked
    an_owned_map_that_panics_unlocks
    what_a_filter_refuses_stays_locked
    a_map_that_panics_unlocks
    a_reader_of_a_static_is_one_of_less
    no_writer_comes_before_a_downgraded_one_ends
    readers_that_wait_come_in_at_a_downgrade
}

pub fn owned_guards_go_anywhere() {
    in_any_order(|| {
        let (mutex, lock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
        let all: Vec<_> = (0..times(20, 2))
            .flat_map(|_| {
                let (guard, lock) = (mutex.clone().lock_owned(), lock.clone());
                let add = move |mut guard: OwnedMutexGuard<u32>| {
                    yield_now();
                    *guard += 1;
                };
                [
                    go(move || add(guard)),
                    go(move || {
                        let mut guard = lock.write_owned();
                        yield_now();
                        *guard += 1;
                        let reader = OwnedRwLockWriteGuard::downgrade(guard);
                        assert!(*reader > 0);
                    }),
                ]
            })
            .collect();
        let n = all.len() / 2;
        all.into_iter().for_each(|one| one.join().unwrap());
        assert_eq!((*mutex.lock() as usize, *lock.read_owned()), (n, n));
    });
}

fn the_last_owned_guard_drops_the_value() {
    /// Says that it was dropped.
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let dropped = Arc::new(AtomicBool::new(false));
    let is_dropped = || dropped.swap(false, Ordering::Relaxed);
    let guard = Arc::new(Mutex::new(Dropped(dropped.clone()))).lock_owned();
    assert!(!is_dropped());
    drop(guard);
    assert!(is_dropped());
    let guard = Arc::new(RwLock::new(Dropped(dropped.clone()))).write_owned();
    let guard = OwnedRwLockWriteGuard::downgrade(guard);
    assert!(!is_dropped());
    drop(guard);
    assert!(is_dropped());
    let unsized_one: Arc<Mutex<dyn Send>> = Arc::new(Mutex::new(Dropped(dropped.clone())));
    drop(unsized_one.lock_owned());
    assert!(is_dropped());
}

fn owned_guards_are_tried_for() {
    run(|| {
        let short = Duration::from_millis(1);
        let mutex = Arc::new(Mutex::new(7));
        let held = mutex.clone().try_lock_owned().unwrap();
        assert!(mutex.clone().try_lock_owned().is_none());
        assert!(mutex.clone().lock_owned_timeout(short).is_none());
        assert_eq!(Arc::strong_count(&mutex), 2, "a failed one keeps nothing");
        drop(held);
        assert_eq!(*mutex.clone().lock_owned_timeout(short).unwrap(), 7);
        let lock = Arc::new(RwLock::new(7));
        let reader = lock.clone().try_read_owned().unwrap();
        assert!(lock.clone().try_write_owned().is_none());
        assert!(lock.clone().try_read_owned().is_some());
        drop(reader);
        let writer = lock.clone().try_write_owned().unwrap();
        assert!(lock.clone().try_read_owned().is_none());
        drop(writer);
        assert_eq!(Arc::strong_count(&lock), 1);
        assert_eq!(format!("{:?} {}", lock.clone().read_owned(), mutex.lock_owned()), "7 7");
    });
}

fn mapped_guards_hold_the_lock() {
    let mutex = Mutex::new((1, [2, 3]));
    let part = MappedMutexGuard::map(MutexGuard::map(mutex.lock(), |all| &mut all.1), |two| &mut two[..]);
    assert!(mutex.try_lock().is_none());
    assert_eq!(format!("{part:?}"), "[2, 3]");
    let mut last = MappedMutexGuard::filter_map(part, <[i32]>::last_mut).unwrap();
    *last += 1;
    assert!(mutex.try_lock().is_none());
    // It may go to another thread.
    std::thread::scope(|s| {
        s.spawn(move || *last += 1);
    });
    assert_eq!(*mutex.try_lock().unwrap(), (1, [2, 5]));

    let lock = RwLock::new((1, [2, 3]));
    let reader = RwLockReadGuard::map(RwLockReadGuard::map(lock.read(), |all| &all.1), |two| &two[0]);
    assert!(lock.try_write().is_none() && lock.try_read().is_some());
    assert_eq!(*reader, 2);
    drop(reader);
    let writer = RwLockWriteGuard::map(lock.write(), |all| &mut all.1);
    let mut first = MappedRwLockWriteGuard::map(writer, |two| &mut two[0]);
    *first += 1;
    assert!(lock.try_read().is_none());
    assert_eq!(first.to_string(), "3");
    drop(first);
    assert_eq!(*lock.try_write().unwrap(), (1, [3, 3]));
}

fn owned_mapped_guards_hold_the_lock() {
    run(|| {
        let mutex = Arc::new(Mutex::new((1, [2, 3])));
        let part = OwnedMutexGuard::map(mutex.clone().lock_owned(), |all| &mut all.1);
        let part = OwnedMappedMutexGuard::map(part, |two| &mut two[..]);
        assert!(mutex.try_lock().is_none());
        assert_eq!(format!("{part:?}"), "[2, 3]");
        let mut last = OwnedMappedMutexGuard::filter_map(part, <[i32]>::last_mut).unwrap();
        go(move || *last += 1).join().unwrap();
        assert_eq!(*mutex.try_lock().unwrap(), (1, [2, 4]));

        let lock = Arc::new(RwLock::new((1, [2, 3])));
        let reader = OwnedRwLockReadGuard::map(lock.clone().read_owned(), |all| &all.1);
        let reader = OwnedMappedRwLockReadGuard::map(reader, |two| &two[0]);
        assert!(lock.try_write().is_none() && lock.try_read().is_some());
        assert_eq!(go(move || reader.to_string()).join().unwrap(), "2");
        let writer = OwnedRwLockWriteGuard::map(lock.clone().write_owned(), |all| &mut all.1);
        let mut first = OwnedMappedRwLockWriteGuard::map(writer, |two| &mut two[0]);
        assert!(lock.try_read().is_none());
        go(move || *first += 1).join().unwrap();
        assert_eq!(*lock.try_write().unwrap(), (1, [3, 3]));

        // The last guard drops the value, after it has unlocked.
        let value = Arc::new(());
        let part =
            OwnedMutexGuard::map(Arc::new(Mutex::new((1, value.clone()))).lock_owned(), |all| &mut all.0);
        assert_eq!((*part, Arc::strong_count(&value)), (1, 2));
        drop(part);
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

fn what_an_owned_filter_refuses_stays_locked() {
    let mutex = Arc::new(Mutex::new(vec![1]));
    let guard = mutex.clone().lock_owned();
    let guard = OwnedMutexGuard::filter_map(guard, |all| all.get_mut(1)).unwrap_err();
    let guard = OwnedMutexGuard::filter_map(guard, |all| Some(all)).unwrap();
    let guard = OwnedMappedMutexGuard::filter_map(guard, |all| all.get_mut(1)).unwrap_err();
    assert!(mutex.try_lock().is_none());
    drop(guard);
    assert!(mutex.try_lock().is_some());

    let lock = Arc::new(RwLock::new(vec![1]));
    let guard = lock.clone().read_owned();
    let guard = OwnedRwLockReadGuard::filter_map(guard, |all| all.get(1)).unwrap_err();
    let guard = OwnedRwLockReadGuard::filter_map(guard, |all| Some(all)).unwrap();
    let guard = OwnedMappedRwLockReadGuard::filter_map(guard, |all| all.get(1)).unwrap_err();
    assert!(lock.try_write().is_none());
    drop(guard);
    let guard = lock.clone().write_owned();
    let guard = OwnedRwLockWriteGuard::filter_map(guard, |all| all.get_mut(1)).unwrap_err();
    let guard = OwnedRwLockWriteGuard::filter_map(guard, |all| Some(all)).unwrap();
    let guard = OwnedMappedRwLockWriteGuard::filter_map(guard, |all| all.get_mut(1)).unwrap_err();
    assert!(lock.try_read().is_none());
    drop(guard);
    assert!(lock.try_write().is_some());
}

fn an_owned_map_that_panics_unlocks() {
    let (mutex, lock) = (Arc::new(Mutex::new(1)), Arc::new(RwLock::new(1)));
    let panics = |f: &dyn Fn()| {
        assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
        assert!(mutex.try_lock().is_some() && lock.try_write().is_some());
    };
    let never = || -> ! { std::panic::resume_unwind(Box::new(())) };
    let part = || mutex.clone().lock_owned();
    panics(&|| drop(OwnedMutexGuard::map(part(), |_| -> &mut u32 { never() })));
    let part = || OwnedMutexGuard::map(mutex.clone().lock_owned(), |all| all);
    panics(&|| drop(OwnedMappedMutexGuard::map(part(), |_| -> &mut u32 { never() })));
    let part = || OwnedRwLockReadGuard::map(lock.clone().read_owned(), |all| all);
    panics(&|| drop(OwnedMappedRwLockReadGuard::map(part(), |_| -> &u32 { never() })));
    let part = || OwnedRwLockWriteGuard::map(lock.clone().write_owned(), |all| all);
    panics(&|| drop(OwnedMappedRwLockWriteGuard::map(part(), |_| -> &mut u32 { never() })));
}

fn what_a_filter_refuses_stays_locked() {
    let mutex = Mutex::new(vec![1]);
    let guard = MutexGuard::filter_map(mutex.lock(), |all| all.get_mut(1)).unwrap_err();
    assert!(mutex.try_lock().is_none());
    let guard = MutexGuard::map(guard, |all| all);
    let guard = MappedMutexGuard::filter_map(guard, |all| all.get_mut(1)).unwrap_err();
    assert!(mutex.try_lock().is_none());
    drop(guard);
    assert!(mutex.try_lock().is_some());

    let lock = RwLock::new(vec![1]);
    let guard = RwLockReadGuard::filter_map(lock.read(), |all| all.get(1)).unwrap_err();
    assert!(lock.try_write().is_none());
    drop(guard);
    let guard = RwLockWriteGuard::filter_map(lock.write(), |all| all.get_mut(1)).unwrap_err();
    let guard = RwLockWriteGuard::map(guard, |all| all);
    let guard = MappedRwLockWriteGuard::filter_map(guard, |all| all.get_mut(1)).unwrap_err();
    assert!(lock.try_read().is_none());
    drop(guard);
    assert!(lock.try_write().is_some());
}

fn a_map_that_panics_unlocks() {
    let (mutex, lock) = (Mutex::new(1), RwLock::new(1));
    let panics = |f: &dyn Fn()| {
        assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
        assert!(mutex.try_lock().is_some() && lock.try_write().is_some());
    };
    let never = || -> ! { std::panic::resume_unwind(Box::new(())) };
    panics(&|| drop(MutexGuard::map(mutex.lock(), |_| -> &mut u32 { never() })));
    panics(&|| drop(RwLockReadGuard::map(lock.read(), |_| -> &u32 { never() })));
    panics(&|| drop(RwLockWriteGuard::map(lock.write(), |_| -> &mut u32 { never() })));
    let part = || MutexGuard::map(mutex.lock(), |all| all);
    panics(&|| drop(MappedMutexGuard::map(part(), |_| -> &mut u32 { never() })));
    let part = || RwLockWriteGuard::map(lock.write(), |all| all);
    panics(&|| drop(MappedRwLockWriteGuard::map(part(), |_| -> &mut u32 { never() })));
    // And one that is held in a panic.
    unwind(|| MutexGuard::map(mutex.lock(), |all| all));
    unwind(|| RwLockWriteGuard::map(lock.write(), |all| all));
    assert!(mutex.try_lock().is_some() && lock.try_write().is_some());
}

fn a_reader_of_a_static_is_one_of_less() {
    fn longer<'a>(a: RwLockReadGuard<'a, &'a str>, b: &'a str) -> &'a str {
        if a.len() > b.len() { *a } else { b }
    }
    let words: RwLock<(&'static str, u32)> = RwLock::new(("static", 1));
    let local = String::from("local");
    let word: RwLockReadGuard<'_, &'static str> = RwLockReadGuard::map(words.read(), |words| &words.0);
    assert_eq!(longer(word, &local), "static");
}

pub fn no_writer_comes_before_a_downgraded_one_ends() {
    in_any_order(|| {
        let lock = RwLock::new(0);
        scope(|s| {
            for _ in 0..times(20, 3) {
                s.go(|| {
                    let mut writer = lock.write();
                    *writer += 1;
                    let written = *writer;
                    let reader = RwLockWriteGuard::downgrade(writer);
                    yield_now();
                    assert_eq!(*reader, written);
                    assert!(lock.try_write().is_none());
                });
            }
        });
        assert_eq!(*lock.try_write().unwrap() as usize, times(20, 3));
    });
}

pub fn readers_that_wait_come_in_at_a_downgrade() {
    in_any_order(|| {
        let lock = Arc::new(RwLock::new(0));
        let mut writer = lock.write();
        let reads = {
            let lock = lock.clone();
            go_until_it_waits(move || *lock.read())
        };
        let writes = {
            let lock = lock.clone();
            go_until_it_waits(move || *lock.write() += 1)
        };
        *writer += 1;
        let reader = RwLockWriteGuard::downgrade(writer);
        assert_eq!(reads.join().unwrap(), 1, "with this reader");
        assert!(!writes.is_finished());
        drop(reader);
        writes.join().unwrap();
        assert_eq!(*lock.read(), 2);
    });
}
