//! Goroutines that compute for long: how they let others run, and how many may go on without a
//! processor.

use crate::runtime;

/// Lets others run if it is time for that: for loops that compute for long. It takes a few
/// instructions.
///
/// A loop without checks keeps nobody from running for long, either: after 10 ms it is
/// [detached](crate::proc::preemption) by a signal, and waits for its turn as another thread. With
/// checks it needs no thread of its own and no signal, and others wait for less.
///
/// On a thread that isn't a goroutine's it does nothing, and inside of
/// [`blocking`](crate::blocking) neither. It may go on on another thread, as at each point where a
/// goroutine waits.
///
/// ```
/// let numbers = vec![1_u64; 1000];
/// let mut sum = 0;
/// for number in numbers {
///     gosched::check();
///     sum += number * number;
/// }
/// assert_eq!(sum, 1000);
/// ```
#[inline(always)]
pub fn check() {
    runtime::stop_if_asked();
}

/// Sets how many goroutines that compute may wait for their turn at once, and returns the limit
/// until now: 2,000 at first.
///
/// A goroutine that computes for 10 ms in code where nobody can stop it is
/// [detached](crate::proc::preemption), and waits for its turn on a thread of its own. Where `max`
/// of them wait, any other keeps its processor for a second at a time instead; a line on stderr
/// says so, once. A goroutine whose thread sleeps is detached in any case: others may have what it
/// waits for. [`set_max_threads`](crate::proc::set_max_threads) bounds the threads for all
/// purposes, and ends the process.
///
/// ```
/// let before = gosched::set_max_detached(100);
/// assert_eq!(before, 2000);
/// ```
pub fn set_max_detached(max: usize) -> usize {
    runtime::set_max_detached(max)
}
