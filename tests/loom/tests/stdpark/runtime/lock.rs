//! Notes, and a stand-in for the runtime's locks.

#[path = "../../../../../src/runtime/lock/note.rs"]
pub(crate) mod note;

use std::mem::transmute;

use loom::sync::MutexGuard;

use crate::runtime::data::runtime2::Mutex;

pub(crate) fn lock(l: &Mutex) {
    let guard = l.held.lock().unwrap();
    // SAFETY: unlock drops the guard, while the lock still exists.
    let guard = unsafe { transmute::<MutexGuard<'_, ()>, MutexGuard<'static, ()>>(guard) };
    assert!(l.guard.replace(Some(guard)).is_none());
}

pub(crate) fn unlock(l: &Mutex) {
    drop(l.guard.take().expect("the lock is held"));
}

pub(crate) fn assert_lock_held(_: &Mutex) {}

pub(crate) mod mutex {
    use crate::runtime::data::runtime2::Mutex;
    use crate::runtime::lock::lock;
    use crate::runtime::lock::rank::LockRank;

    pub(crate) fn lock_ranked(l: &Mutex, _: LockRank) {
        lock(l);
    }
}

/// Ranks, which loom doesn't need, because it finds deadlocks.
pub(crate) mod rank {
    pub(crate) struct LockRank;

    impl LockRank {
        pub(crate) const FUTEX: LockRank = LockRank;
        pub(crate) const STD_DESC: LockRank = LockRank;
    }
}
