//! Stand-in for the ranks of locks, which loom doesn't need, and for the lock beneath them: one of
//! loom's.

use std::cell::RefCell;

use loom::sync::{Mutex as LoomMutex, MutexGuard};

use crate::runtime::base::this::Held;
use crate::runtime::data::runtime2::{M, Mutex};

loom::lazy_static! {
    static ref LOCKS: [LoomMutex<()>; Mutex::N] = std::array::from_fn(|_| LoomMutex::new(()));
}

loom::thread_local! {
    static HELD: RefCell<[Option<MutexGuard<'static, ()>>; Mutex::N]> = RefCell::default();
}

pub(crate) struct LockRank;

impl LockRank {
    pub(crate) const TIMER_SEND: LockRank = LockRank;
}

pub(crate) fn lock_init(_: &Mutex, _: LockRank) {}

pub(crate) fn get_lock_rank(_: &Mutex) -> LockRank {
    LockRank
}

pub(crate) fn lock_with_rank(_: Option<&M>, l: &Mutex, _: LockRank) {
    let guard = LOCKS[l.0].lock().unwrap();
    HELD.with(|held| assert!(held.borrow_mut()[l.0].replace(guard).is_none()));
}

pub(crate) fn try_lock_with_rank(_: Option<&M>, l: &Mutex) -> bool {
    let guard = LOCKS[l.0].try_lock().ok();
    guard.is_some_and(|guard| HELD.with(|held| held.borrow_mut()[l.0].replace(guard).is_none()))
}

pub(crate) fn unlock_with_rank(_: Option<&M>, l: &Mutex) -> Option<Held> {
    let guard = HELD.with(|held| held.borrow_mut()[l.0].take());
    drop(guard.expect("the lock is held"));
    None
}

pub(crate) fn assert_world_stopped() {}

pub(crate) fn world_stopped() {}

pub(crate) fn world_started() {}

pub(crate) fn assert_lock_held(l: &Mutex) {
    HELD.with(|held| assert!(held.borrow()[l.0].is_some()));
}
