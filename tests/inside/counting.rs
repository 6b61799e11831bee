//! For a file with tests that count goroutines or threads.

use std::sync::{RwLock, RwLockReadGuard};

/// Held to read by each test, and to write by one that counts goroutines or threads.
static COUNTING: RwLock<()> = RwLock::new(());

/// Keeps those that count away, for a test whose goroutines outlive its `run`.
pub fn not_alone() -> RwLockReadGuard<'static, ()> {
    COUNTING.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

pub fn run<T: Send>(main: impl FnOnce() -> T + Send) -> T {
    let _shared = not_alone();
    super::run(main)
}

/// As [`run`], with no other test beside it.
pub fn run_alone<T: Send>(main: impl FnOnce() -> T + Send) -> T {
    let _alone = COUNTING.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    super::run(main)
}
