//! The limits of counts: beyond a limit there is a panic that changes nothing, even if counted
//! guards were forgotten.

use std::mem::forget;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicI32, Ordering};

use gosched::sync::{RwLock, Semaphore, WaitGroup};
use gosched::{run, scope};

use crate::harness::explored::in_any_order;
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    permits_have_an_end
    permits_that_are_taken_count
    a_wait_groups_count_has_an_end
    a_wait_groups_count_has_a_beginning
    readers_have_an_end
}

pub fn permits_have_an_end() {
    in_any_order(|| {
        let semaphore = Semaphore::new(1);
        for n in [usize::MAX, usize::MAX - 1, usize::MAX] {
            let enough = n == usize::MAX - 1;
            if enough {
                semaphore.add_permits(n);
            } else {
                assert!(panics(|| semaphore.add_permits(n)).contains("usize::MAX permits at the most"));
            }
        }
        assert_eq!(semaphore.available_permits(), usize::MAX);
        // Nothing is locked, and others get their permits.
        let all = semaphore.acquire_many(usize::MAX);
        scope(|s| {
            let waiter = s.go(|| semaphore.acquire().forget());
            drop(all);
            waiter.join().unwrap();
        });
        assert_eq!(semaphore.available_permits(), usize::MAX - 1);
        semaphore.add_permits(1);
        assert!(panics(|| semaphore.add_permits(1)).contains("at the most"));
    });
}

fn permits_that_are_taken_count() {
    run(|| {
        let semaphore = Semaphore::new(10);
        let held = semaphore.acquire_many(10);
        assert!(panics(|| semaphore.add_permits(usize::MAX - 9)).contains("at the most"));
        semaphore.add_permits(usize::MAX - 10);
        assert_eq!(semaphore.available_permits(), usize::MAX - 10);
        drop(held);
        assert_eq!(semaphore.available_permits(), usize::MAX);
    });
}

fn a_wait_groups_count_has_an_end() {
    run(|| {
        let group = WaitGroup::new();
        for n in [1 << 31, u32::MAX] {
            assert!(panics(|| group.add(n)).contains("2,147,483,647 at the most"));
        }
        group.wait();
        group.add(1);
        assert!(panics(|| group.add(u32::MAX)).contains("at the most"));
        group.add(i32::MAX as u32 - 1);
        assert!(panics(|| group.add(1)).contains("at the most"));
        assert!(format!("{group:?}").contains("count: 2147483647"), "{group:?}");
    });
}

fn a_wait_groups_count_has_a_beginning() {
    static GROUP: WaitGroup = WaitGroup::new();
    run(|| {
        assert!(panics(|| GROUP.done()).contains("negative WaitGroup count"));
        GROUP.wait();
        GROUP.add(1);
        let waiter = go_until_it_waits(|| GROUP.wait());
        GROUP.done();
        waiter.join().unwrap();
        assert!(panics(|| GROUP.done()).contains("negative WaitGroup count"));
        GROUP.wait();
    });
}

/// Returns the count of readers: the word that one more reader increments.
fn reader_count(lock: &RwLock<()>) -> &AtomicI32 {
    let len = size_of_val(lock) / size_of::<AtomicI32>();
    // SAFETY: a lock of nothing consists of atomics of 32 bits.
    let words: &[AtomicI32] = unsafe { slice::from_raw_parts(ptr::from_ref(lock).cast(), len) };
    let before: Vec<_> = words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
    let _guard = lock.read();
    let changed = words.iter().zip(before).find(|(word, before)| word.load(Ordering::Relaxed) == before + 1);
    changed.expect("a count of readers").0
}

fn readers_have_an_end() {
    const MOST: i32 = 1 << 29;
    run(|| {
        let lock = RwLock::new(());
        let count = reader_count(&lock);
        // As if that many guards were forgotten.
        count.store(MOST - 1, Ordering::Relaxed);
        forget(lock.read());
        for _ in 0..3 {
            assert!(panics(|| lock.read()).contains("too many readers"));
            assert!(lock.try_read().is_none() && lock.try_write().is_none());
            assert_eq!(count.load(Ordering::Relaxed), MOST);
        }
        count.store(1, Ordering::Relaxed);
        drop(lock.read());
        count.store(0, Ordering::Relaxed);
        drop(lock.write());
        drop(lock.read());
    });
}
