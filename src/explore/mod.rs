//! Tests a concurrent program in one schedule after another, with the scheduler that ships. A race
//! or a deadlock that shows once in 10,000 runs is found in a moment, and can be repeated at will.
//!
//! [`explore()`] runs a closure again and again as a main goroutine. The program is unchanged: it
//! needs no other imports. In each run, the [`Strategy`] chooses which goroutine goes on at the
//! points of choice:
//!
//! - `go`, and the end of a goroutine; [`yield_now`](crate::yield_now);
//! - each operation of [`chan`](crate::chan), and which case of a `select!` is done;
//! - each operation of [`sync`](crate::sync), including the result of a `try_` operation;
//! - each wait, and which goroutine goes on after it; timers that are due at the same time.
//!
//! A schedule fails by a panic that leaves a goroutine, by a deadlock, by goroutines that are left
//! behind when the closure has returned, or by taking too long. A failing schedule is made as small
//! as possible. Then the test panics with the schedule's story and a line to paste: with
//! `GOSCHED_REPLAY=`*token* in the environment, the schedule is run once more, also in a debugger.
//! A token is for one exploration; other explorations ignore it, and say so.
//!
//! ```
//! use gosched::explore::{Explorer, FailureKind};
//! use gosched::sync::Mutex;
//! use std::sync::Arc;
//!
//! let add_twice = || {
//!     let sum = Arc::new(Mutex::new(0));
//!     let add = {
//!         let sum = sum.clone();
//!         move || {
//!             let read = *sum.lock(); // and here another may add
//!             *sum.lock() = read + 1;
//!         }
//!     };
//!     let other = gosched::go(add.clone());
//!     add();
//!     other.join().unwrap();
//!     assert_eq!(*sum.lock(), 2);
//! };
//! let failure = Explorer::new().check(add_twice).unwrap_err();
//! assert_eq!(failure.kind(), FailureKind::Panic);
//! println!("{failure}");
//! ```
//!
//! # Time
//!
//! The time of the closure's goroutines stands still while one of them can run. When none can, it
//! jumps to the next timer. So an hour takes no time, and the end of the clock, such as
//! [`Duration::MAX`](std::time::Duration::MAX) from now, never comes. [`time`](crate::time),
//! timeouts and deadlines use this time; a program reads it by [`time::now`](crate::time::now).
//! [`std::time::Instant::now`] stays real, unless [std's waits park](crate::explore#std).
//!
//! # std
//!
//! If the program has called `park_std_waits` (with the feature `std`), std's locks and channels
//! are points of choice where they wait, and std's sleeps and timeouts use the run's time.
//! [`Instant::now`](std::time::Instant::now) and [`SystemTime::now`](std::time::SystemTime::now)
//! return it. Random numbers of the system (`getrandom`), and so the order of a `HashMap`, are the
//! same in each run.
//!
//! # Networks
//!
//! [`pipe()`] is a connection in memory, in place of a real socket: its reads and writes are points
//! of choice, and so is the number of bytes that each of them transfers. A [`Link`] makes
//! connections with latency, resets and partitions, as the strategy chooses them, to test a program
//! with the faults that it should tolerate.
//!
//! # Limits
//!
//! - What happens between two points is one step. Atomics of std aren't points. `loom` explores
//!   memory orderings, and ThreadSanitizer finds data races.
//! - The same choices must give the same run. So the closure makes all its state. It depends on no
//!   address, and on no random numbers or times except the run's.
//! - A schedule has one processor. An operation that blocks the thread blocks all goroutines.
//!   [`blocking`](crate::blocking) calls its closure at once. Sockets panic, and so does
//!   [`signal`](crate::signal); [`pipe()`] replaces sockets. [Traces](crate::trace) begin and end
//!   outside of explorations. A schedule fails if a thread, or a goroutine that isn't the
//!   closure's, wakes one of the closure's.
//! - A panic fails the schedule even if its goroutine is joined. Catch an expected panic in the
//!   goroutine.
//! - A schedule that has failed leaves its goroutines behind: their stacks are lost, and the values
//!   on them aren't dropped.
//!
//! One exploration runs at a time in a process. Others wait for it, for example those of tests in
//! parallel threads.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `explorer.rs` | `Explorer`: runs a closure in one schedule after another |
//! | `strategy.rs` | how schedules are found |
//! | `schedule.rs` | `Schedule`: the choices, and their text; `Token`; a search for fewer switches that still fail |
//! | `failure.rs` | the report of a failure |
//! | `network.rs` | `Pipe`: a connection in memory, in place of sockets; `Link`: latency and faults of connections |

mod explorer;
mod failure;
mod network;
mod schedule;
mod strategy;

pub use explorer::Explorer;
pub(crate) use explorer::in_order;
pub use failure::{Failure, FailureKind};
pub use network::{Link, Pipe, pipe};
pub use strategy::Strategy;

use crate::runtime::{explored_number, value_for_program};

/// Returns a number below `n`, which the strategy chooses. It is for events of the program whose
/// outcome isn't known, such as a message that may be lost. Outside of an exploration, and in a
/// schedule without interference, it is 0.
///
/// ```
/// use gosched::explore::{Explorer, choose};
///
/// let lucky = || assert_ne!(choose(6), 5, "a six");
/// assert!(Explorer::new().check(lucky).is_err());
/// ```
///
/// # Panics
/// If `n` is 0.
pub fn choose(n: usize) -> usize {
    assert!(n > 0, "gosched: explore::choose of none");
    if explored_number().is_some() { value_for_program(n) } else { 0 }
}

/// Runs `f` in 1,000 schedules: [`Explorer::run`] of an [`Explorer::new`].
///
/// ```
/// use gosched::chan::bounded;
///
/// gosched::explore::explore(|| {
///     let (tx, rx) = bounded(1);
///     for i in 0..3 {
///         let tx = tx.clone();
///         gosched::go(move || tx.send(i).unwrap());
///     }
///     drop(tx);
///     assert_eq!(rx.iter().sum::<u32>(), 3);
/// });
/// ```
///
/// # Panics
/// As [`Explorer::run`] does.
#[track_caller]
pub fn explore<F>(f: F)
where
    F: Fn() + Send + Sync + 'static,
{
    Explorer::new().run(f);
}
