//! Locks: the shipped mutex's protocol, and for the rest a lock that loom knows.

#[path = "../../../src/lock/key.rs"]
pub(crate) mod key;

use std::cell::RefCell;

use loom::sync::{Mutex as LoomMutex, MutexGuard};

/// The scheduler's lock. There is one.
pub(crate) struct Mutex;

loom::lazy_static! {
    static ref THE_LOCK: LoomMutex<()> = LoomMutex::new(());
}

loom::thread_local! {
    static HELD: RefCell<Option<MutexGuard<'static, ()>>> = RefCell::new(None);
}

pub(crate) fn lock(_: &Mutex) {
    let guard = THE_LOCK.lock().unwrap();
    HELD.with(|held| assert!(held.borrow_mut().replace(guard).is_none()));
}

pub(crate) fn unlock(_: &Mutex) {
    let guard = HELD.with(|held| held.borrow_mut().take());
    drop(guard.expect("the lock is held"));
}

pub(crate) fn assert_lock_held(_: &Mutex) {
    HELD.with(|held| assert!(held.borrow().is_some()));
}
