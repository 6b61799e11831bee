//! Counts how often stacks have been moved.

use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::proc::{Hooks, set_hooks};

static MOVES: AtomicUsize = AtomicUsize::new(0);

/// Starts to count the moves of all goroutines' stacks. Called before the first `run`.
pub fn count_moves() {
    let count = |_: &_, _: &_| _ = MOVES.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the runtime hasn't started.
    unsafe { set_hooks(Hooks { copystack: Some(count), ..Hooks::default() }) };
}

/// Returns the number of moves so far.
pub fn moves() -> usize {
    MOVES.load(Ordering::Relaxed)
}
