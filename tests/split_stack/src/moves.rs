//! How often a stack has been moved.

use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::proc::{Hooks, set_hooks};

static MOVES: AtomicUsize = AtomicUsize::new(0);

/// Has moves counted, of all goroutines; before the first `run`.
pub fn count_moves() {
    let count = |_: &_, _: &_| _ = MOVES.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the runtime hasn't started.
    unsafe { set_hooks(Hooks { copystack: Some(count), ..Hooks::default() }) };
}

/// How many there were.
pub fn moves() -> usize {
    MOVES.load(Ordering::Relaxed)
}
