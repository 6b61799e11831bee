//! Explorations: programs that are run again and again, each time in another order, with the scheduler that ships.
//!
//! A run of an exploration has one P, whose time slice is always over: so `findRunnable` comes to its cold branch
//! in each round, and asks [`next`](next::next) who goes on. That takes all that is on the queues, and lets a
//! [`Strategy`](state::Strategy) choose. Besides, each operation of a channel, a lock and so on is a *point*
//! (`sched/point.rs`): there the strategy may have another goroutine go on before the operation is done. What a
//! goroutine does between two points is done at once, as far as others see it by means of this crate.
//!
//! - Goroutines of the exploration have numbers (`g/explored.rs`), and so do those that they make. Others, which
//!   find themselves on the same P, are outsiders: they run as soon as they can, and nobody asks the strategy.
//!   One that wakes a goroutine of the exploration makes the run fail, as no schedule would have that again.
//! - What is chosen depends on nothing but the strategy, and what the goroutines do. So the same choices are the
//!   same run.
//! - Time stands still while a goroutine can run. When none can, it jumps to the next timer (`clock.rs`). What is
//!   due then can be chosen like a goroutine.
//! - A run ends when nobody can run, and no timer is left. If goroutines are left then, or it has failed, they
//!   never run again: their number is `LOST`. That leaks their stacks.
//!
//! All of it is touched by whoever has the exploration's P, and keeps it: on g0, or between `acquirem` and
//! `releasem`.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `state.rs` | `Run`: what is known of the run; `Strategy`, `Choice`, `End` |
//! | `next.rs` | `next`, `stays`: who goes on |
//! | `clock.rs` | `now`, `advance`: the run's time, and its timers |
//! | `random.rs` | `Rng`: random numbers of strategies, and of the run |
//! | `story.rs` | `Step`: what has happened, for reports |

pub(super) mod clock;
pub(super) mod next;
pub(super) mod random;
pub(super) mod state;
pub(super) mod story;
