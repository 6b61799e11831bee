//! Concurrent programs are tested in one schedule after the other, with the scheduler that ships: a race or a
//! deadlock that shows once in 10,000 runs is found in a moment, and again whenever it is asked for.
//!
//! [`explore()`] runs a closure again and again as a main goroutine. The program is as it is: nothing is to be
//! imported from elsewhere. Each time other goroutines go on at its points, as a [`Strategy`] says, which are:
//!
//! - `go`, and the end of a goroutine; [`yield_now`](crate::yield_now);
//! - each operation of [`chan`](crate::chan), and which case of a `select!` is done;
//! - each operation of [`sync`](crate::sync), what a `try_` sees among them;
//! - each wait, and who goes on after it; timers that are due at once.
//!
//! A schedule fails by a panic that leaves a goroutine, by a deadlock, by goroutines that are left behind when the
//! closure has returned, and if it takes too long. Then it is made as small as it can be, and the test panics with
//! the story of it, and a line to paste: with `GOSCHED_REPLAY=`*token* in the environment it is run once more, in a
//! debugger too. The token is for that one exploration; others run as without it, and say so.
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
//! The time of the closure's goroutines stands still while one of them can run. When none can, it jumps to the next
//! timer: an hour takes no time, and the end of the clock, such as [`Duration::MAX`](std::time::Duration::MAX) from now,
//! never comes. It is that of [`time`](crate::time), of timeouts and deadlines; a program reads it by
//! [`time::now`](crate::time::now). [`std::time::Instant::now`] stays real, unless
//! [std's waits park](crate::explore#std).
//!
//! # std
//!
//! Where the program has called `park_std_waits` (with the feature `std`), std's locks and channels
//! are points of choice where they wait, and std's sleeps and timeouts take the run's time.
//! [`Instant::now`](std::time::Instant::now) and [`SystemTime::now`](std::time::SystemTime::now)
//! tell it. Random numbers of the system (`getrandom`), and so the order of a `HashMap`, are the
//! same in each run.
//!
//! # Networks
//!
//! [`pipe()`] is a connection in memory, in place of a real socket: its reads and writes are points, and how many bytes
//! they take is a choice. A [`Link`] makes connections with latency, that are reset, and that are partitioned for a
//! while: a program is tested with the faults that it is to bear, as the strategy chooses them.
//!
//! # Limits
//!
//! - What happens between two points is done at once. Atomics of std aren't points: orders of memory are explored by
//!   `loom`, and data races found by ThreadSanitizer.
//! - The same choices must be the same run: the closure makes all its state, and depends on no
//!   address, and on no random number or time but those that are the run's.
//! - A schedule has one processor. What blocks a thread blocks all: [`blocking`](crate::blocking) calls its
//!   closure at once. Sockets panic, with [`pipe()`] in their place, and so does
//!   [`signal`](crate::signal). [Traces](crate::trace) begin and end outside. A thread, or another
//!   goroutine, that wakes one of the closure's makes the schedule fail.
//! - A panic fails even if its goroutine is joined. What is expected is to be caught in the goroutine.
//! - A schedule that has failed leaves its goroutines behind: their stacks are lost, and what is on them isn't
//!   dropped.
//!
//! One exploration runs at a time in a process; others wait for it, as do tests in parallel threads.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `explorer.rs` | `Explorer`: runs a closure in one schedule after the other |
//! | `strategy.rs`, `pct.rs`, `exhaustive.rs` | how schedules are found |
//! | `schedule.rs` | `Schedule`: what was chosen, and its text |
//! | `token.rs` | `Token`: a schedule, and which exploration it is of |
//! | `shrink.rs` | fewer switches that still fail |
//! | `failure.rs`, `panics.rs` | what is told of a failure |
//! | `pipe.rs` | `Pipe`: a connection in memory, in place of sockets |
//! | `link.rs` | `Link`: what a network does to connections |
//! | `connection.rs` | the bytes that are under way from one end to the other |

mod connection;
mod exhaustive;
mod explorer;
mod failure;
mod link;
mod panics;
mod pct;
mod pipe;
mod schedule;
mod shrink;
mod strategy;
mod token;

pub use explorer::Explorer;
pub(crate) use explorer::in_order;
pub use failure::{Failure, FailureKind};
pub use link::Link;
pub use pipe::{Pipe, pipe};
pub use strategy::Strategy;

use crate::runtime::{explored_number, value_for_program};

/// A number below `n`, which the strategy chooses: for a program's own events whose outcome isn't known, such as a
/// message that may be lost. Outside of an exploration it is 0, and so is what a schedule has if nobody interferes.
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
