//! Locks: the shipped mutex's protocol, and for the rest a lock that loom knows.

#[path = "../../../src/lock/key.rs"]
pub(crate) mod key;

pub(crate) use crate::standin::{note, rank};

use std::cell::RefCell;

use loom::sync::{Mutex as LoomMutex, MutexGuard};

/// One of the locks that there are, by its number: 0 is the scheduler's, then come those of the P's, and
/// one that no model takes.
pub(crate) struct Mutex(pub(crate) usize);

loom::lazy_static! {
    static ref LOCKS: [LoomMutex<()>; 5] = std::array::from_fn(|_| LoomMutex::new(()));
}

loom::thread_local! {
    static HELD: RefCell<[Option<MutexGuard<'static, ()>>; 5]> = RefCell::default();
}

pub(crate) fn lock(l: &Mutex) {
    let guard = LOCKS[l.0].lock().unwrap();
    HELD.with(|held| assert!(held.borrow_mut()[l.0].replace(guard).is_none()));
}

pub(crate) fn unlock(l: &Mutex) {
    let guard = HELD.with(|held| held.borrow_mut()[l.0].take());
    drop(guard.expect("the lock is held"));
}

pub(crate) fn assert_lock_held(l: &Mutex) {
    HELD.with(|held| assert!(held.borrow()[l.0].is_some()));
}
