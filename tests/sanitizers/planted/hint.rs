//! The order of events in a program in which nothing may order them.

use std::sync::atomic::{AtomicBool, Ordering};

use gosched::yield_now;

/// A flag that says that something is done, and orders nothing. A goroutine that sees it set may
/// not rely on anything that was done before.
pub struct Hint(AtomicBool);

impl Hint {
    pub const fn new() -> Self {
        Hint(AtomicBool::new(false))
    }

    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn wait(&self) {
        while !self.is_set() {
            yield_now();
        }
    }
}
