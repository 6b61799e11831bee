//! Explorations: the scheduler runs a program again and again, each time in another order. It is
//! the scheduler that ships, not a model of it.
//!
//! A run of an exploration has one P, whose flag for the end of the time slice, `p.preempt`, stays
//! set. So `findRunnable` takes the branch for that case in each round, and there asks
//! [`next`](run::next) which goroutine goes on. `next` takes all goroutines off the queues, and
//! lets a [`Strategy`](run::Strategy) choose one. In addition, each operation of a channel, of a
//! lock and the like is a *point* (`sched/exploration.rs`). At a point the strategy may let another
//! goroutine go on before the operation is done. Code between two points is atomic, as far as other
//! goroutines can observe it through this crate.
//!
//! - Goroutines of the exploration have numbers (`g/explored.rs`), and so do the goroutines that
//!   they make. Other goroutines that come to the same P are outsiders: they run as soon as
//!   possible, and the strategy doesn't choose them. If an outsider wakes a goroutine of the
//!   exploration, the run fails, because no schedule could repeat that.
//! - The choices depend only on the strategy and on the actions of the goroutines. So the same
//!   choices give the same run.
//! - Time stands still while a goroutine can run. When none can, time jumps to the next timer
//!   (`clock.rs`). A timer that is due can be chosen like a goroutine.
//! - A run ends when no goroutine can run and no timer is left, or when it fails. Goroutines that
//!   are left then never run again: their number becomes `LOST`, and their stacks leak.
//!
//! All of this state is accessed only by the M that has the exploration's P, where that M can't
//! lose the P: on g0, or between `acquirem` and `releasem`.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `run.rs` | `Run`: the state of a run, and its steps; `Strategy`, `Choice`, `End`; `next`, `stays`: the choice |
//! | `clock.rs` | `now`, `advance`: the run's time, and its timers |
//! | `random.rs` | `Rng`: random numbers of strategies, and of the run |

pub(super) mod clock;
pub(super) mod random;
pub(super) mod run;
