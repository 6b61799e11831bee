//! A read-write lock: what glibc's functions do is one step each. No waiter is forgotten.

use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

use libc::pthread_rwlock_t;
use loom::cell::UnsafeCell;
use loom::thread;

use crate::runtime::data::atomic::{AtomicI32, AtomicU32, Ordering};
use crate::runtime::stdpark::words::check;
use crate::runtime::threads::locks::Limit;
use crate::runtime::threads::locks::rwlock::{How, PREFERS_WRITERS, RwLock, lock, unlock};
use crate::runtime::time::modify::{LATER, time_comes_for_good};

impl RwLock {
    fn of_kind(kind: i32) -> Self {
        RwLock {
            readers: AtomicU32::new(0),
            state: [(); 3].map(|()| AtomicU32::new(0)),
            writers: AtomicU32::new(0),
            unused: AtomicU32::new(0),
            writer: AtomicI32::new(0),
            shared: 0,
            more: [0; 4],
            kind,
        }
    }
}

/// A bit of the first word: there are no readers, and a writer has the lock, or had it last.
const WRITE_PHASE: u32 = 1;
/// Another one: a writer has it.
const WRITE_LOCKED: u32 = 2;
const READER: u32 = 8;

fn change(lock: *mut pthread_rwlock_t, order: Ordering, to: impl Fn(u32) -> Option<u32>) -> c_int {
    // SAFETY: a lock of a model's.
    let word = unsafe { &(&*lock.cast::<RwLock>()).readers };
    word.fetch_update(order, Ordering::Relaxed, to).map_or(libc::EBUSY, |_| 0)
}

pub(crate) unsafe fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int {
    change(lock, Ordering::Acquire, |state| {
        (state & WRITE_LOCKED == 0).then_some((state & !WRITE_PHASE) + READER)
    })
}

pub(crate) unsafe fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int {
    change(lock, Ordering::Acquire, |state| (state <= WRITE_PHASE).then_some(WRITE_PHASE | WRITE_LOCKED))
}

pub(crate) unsafe fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    change(lock, Ordering::Release, |state| {
        Some(if state & WRITE_LOCKED != 0 { WRITE_PHASE } else { state - READER })
    })
}

/// A lock, and what it protects.
struct Shared(RwLock, UnsafeCell<u32>);

// SAFETY: loom checks this.
unsafe impl Sync for Shared {}
// SAFETY: the same.
unsafe impl Send for Shared {}

impl Shared {
    fn lock(&self) -> *mut pthread_rwlock_t {
        ptr::from_ref(&self.0).cast_mut().cast()
    }
}

/// Locks, uses what is protected, and unlocks. Returns whether the time ended the wait.
fn work(shared: &Shared, how: How, limited: bool) -> bool {
    // SAFETY: a lock of this model's.
    match unsafe { lock(shared.lock(), how, Limit(limited)) } {
        libc::ETIMEDOUT if limited => return true,
        result => assert_eq!(result, 0),
    }
    match how {
        // SAFETY: loom checks that no other writes.
        How::Read => shared.1.with(|value| unsafe { *value }),
        // SAFETY: loom checks that this has it alone.
        How::Write => shared.1.with_mut(|value| unsafe { (*value, *value += 1).0 }),
    };
    // SAFETY: this thread has the lock.
    unsafe { unlock(shared.lock()) };
    false
}

fn check_all(bound: Option<usize>, kind: i32, hows: &'static [(How, bool)]) {
    check(bound, move || {
        let shared = Arc::new(Shared(RwLock::of_kind(kind), UnsafeCell::new(0)));
        let (first, others) = hows.split_first().unwrap();
        let others: Vec<_> = others
            .iter()
            .map(|&(how, limited)| {
                let shared = shared.clone();
                thread::spawn(move || work(&shared, how, limited))
            })
            .collect();
        work(&shared, first.0, first.1);
        time_comes_for_good();
        others.into_iter().for_each(|other| _ = other.join().unwrap());
        // Nobody has it any more.
        work(&shared, How::Write, false);
    });
}

#[test]
fn two_writers() {
    check_all(Some(3), 0, &[(How::Write, false), (How::Write, false)]);
}

#[test]
fn a_writer_and_a_reader() {
    for kind in [0, PREFERS_WRITERS] {
        check_all(Some(3), kind, &[(How::Write, false), (How::Read, false)]);
    }
}

#[test]
fn a_writer_and_two_readers() {
    for kind in [0, PREFERS_WRITERS] {
        check_all(Some(2), kind, &[(How::Write, false), (How::Read, false), (How::Read, false)]);
    }
}

#[test]
fn two_writers_and_a_reader() {
    for kind in [0, PREFERS_WRITERS] {
        check_all(Some(2), kind, &[(How::Read, false), (How::Write, false), (How::Write, false)]);
    }
}

/// A reader waits for a writer that gives up.
#[test]
fn a_writer_that_gives_up() {
    check_all(Some(2), PREFERS_WRITERS, &[(How::Read, false), (How::Write, true), (How::Read, false)]);
}
