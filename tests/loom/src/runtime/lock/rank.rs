//! Stand-in for the ranks of locks, which loom doesn't need, and for the lock beneath them: one of
//! loom's, made at its first use.

use std::cell::RefCell;
use std::mem::{ManuallyDrop, transmute};

use loom::sync::MutexGuard;

use crate::runtime::base::this::Held;
use crate::runtime::data::runtime2::{M, Mutex};
use crate::runtime::made::Made;

thread_local! {
    static LOCKS: Made<Mutex, ()> = const { Made::new() };
}

loom::thread_local! {
    /// The locks that this thread holds. If the model fails, they aren't released.
    static HELD: RefCell<Vec<(*const Mutex, Guard)>> = RefCell::default();
}

type Guard = ManuallyDrop<MutexGuard<'static, ()>>;

pub(crate) fn begin_run() {
    LOCKS.with(Made::begin_run);
}

fn hold(l: &Mutex, guard: MutexGuard<'_, ()>) {
    assert!(!is_held(l));
    // SAFETY: the lock stays until the run ends.
    let guard = unsafe { transmute::<MutexGuard<'_, ()>, MutexGuard<'static, ()>>(guard) };
    HELD.with(|held| held.borrow_mut().push((l, Guard::new(guard))));
}

fn is_held(l: &Mutex) -> bool {
    HELD.with(|held| held.borrow().iter().any(|(at, _)| std::ptr::eq(*at, l)))
}

pub(crate) struct LockRank;

impl LockRank {
    pub(crate) const FUTEX: LockRank = LockRank;
    pub(crate) const HCHAN_LEAF: LockRank = LockRank;
    pub(crate) const STD_DESC: LockRank = LockRank;
    pub(crate) const TIMERS: LockRank = LockRank;
    pub(crate) const TIMER_SEND: LockRank = LockRank;
}

impl Mutex {
    pub(crate) const fn new() -> Self {
        // SAFETY: all fields are zero at first.
        unsafe { std::mem::zeroed() }
    }
}

pub(crate) fn lock_init(_: &Mutex, _: LockRank) {}

pub(crate) fn get_lock_rank(_: &Mutex) -> LockRank {
    LockRank
}

pub(crate) fn lock_with_rank(_: Option<&M>, l: &Mutex, _: LockRank) {
    hold(l, LOCKS.with(|locks| locks.of(l)).0.lock().unwrap());
}

pub(crate) fn try_lock_with_rank(_: Option<&M>, l: &Mutex) -> bool {
    let lock = LOCKS.with(|locks| locks.of(l));
    let guard = lock.0.try_lock();
    guard.is_ok_and(|guard| {
        hold(l, guard);
        true
    })
}

pub(crate) fn unlock_with_rank(_: Option<&M>, l: &Mutex) -> Option<Held> {
    let guard = HELD.with(|held| {
        let mut held = held.borrow_mut();
        let i = held.iter().position(|(at, _)| std::ptr::eq(*at, l));
        held.swap_remove(i.expect("the lock is held")).1
    });
    drop(ManuallyDrop::into_inner(guard));
    None
}

pub(crate) fn assert_world_stopped() {}

pub(crate) fn world_stopped() {}

pub(crate) fn world_started() {}

pub(crate) fn assert_lock_held(l: &Mutex) {
    assert!(is_held(l));
}
