//! Goroutines that compute for long: how they let others run, and how many may go on without a processor.

use crate::runtime;

/// Lets others run if it is time for that: for loops that compute for long. It takes a few instructions.
///
/// A loop without checks keeps nobody from running for long, either: after 10 ms it is
/// [detached](crate::proc::preemption) by a signal, and waits for its turn as another thread. With checks it
/// needs no thread of its own and no signal, and others wait for less.
///
/// On a thread that isn't a goroutine's it does nothing, and inside of [`blocking`](crate::blocking) neither. It
/// may go on on another thread, as at each point where a goroutine waits.
///
/// ```
/// # let numbers = vec![1_u64; 1000];
/// let mut sum = 0;
/// for number in numbers {
///     gosched::check();
///     sum += number * number;
/// }
/// # assert_eq!(sum, 1000);
/// ```
#[inline(always)]
pub fn check() {
    runtime::stop_if_asked();
}

/// Sets how many goroutines may be [detached](crate::proc::preemption) at once, and returns how many could be
/// until now: 2,000 at first. Each takes a thread.
///
/// Where as many are, one that keeps its processor from others, in code where nobody can stop it, keeps it
/// until it waits; a line on stderr says so, once. [`set_max_threads`](crate::proc::set_max_threads) bounds the
/// threads for all purposes, and is to be larger: it ends the process.
///
/// ```
/// let before = gosched::set_max_detached(100);
/// assert_eq!(before, 2000);
/// ```
pub fn set_max_detached(max: usize) -> usize {
    runtime::set_max_detached(max)
}
