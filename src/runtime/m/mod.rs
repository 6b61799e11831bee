//! Threads: made, started with a P, put to sleep, counted. A part of Go's `proc.go`.
//!
//! Every M is a pthread that the runtime made, m0 too. The thread that called `run` waits for its
//! main goroutine and is no M. (If it were m0, it could be deep in another goroutine when main ends
//! elsewhere.) An M is never freed: when its thread has ended, the M goes to `sched.freem`, and
//! another thread gets it.
//!
//! - `sched.lock` protects the list of idle M's and all counts. Only an M's own thread writes what
//!   the M is doing, except for `nextp`, `spinning` and `park` of an M that sleeps, which its waker
//!   writes.
//! - An M that sleeps is woken with a P: `startm` leaves the P in `nextp` and wakes the note
//!   `park`. An M that wakes without a P is a `throw`.
//! - A number is reserved (`mReserveID`) before a thread is made, so that the M counts as running
//!   while the lock is dropped. Otherwise `checkdead` could find work and no M to do it.
//! - A thread inherits much from its maker. So a thread that a goroutine is locked to, or that
//!   isn't ours, makes no threads: the template thread does.
//! - If a thread can't be made, that is no throw as long as another thread runs. The P goes back to
//!   the idle list, its work to the global queue, and sysmon tries again.
//! - Code that makes or wakes a thread runs on g0, on a stack with room, or on a thread that isn't
//!   ours.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `thread.rs` | `newm`, `allocm`, `mcommoninit`, `newm1`; an M is used again; M's that run no goroutines; `startTemplateThread`, `templateThread`; `mcount`, `checkmcount`, `mReserveID`, `setMaxThreads`, `allm`; `no_thread`, `start_wanted_thread`: a thread that can't be made |
//! | `startm.rs` | `startm`, `stopm`, `mPark`; the idle list: `mput`, `mget`, `mgetSpecific` |
//! | `spinning.rs` | `m.becomeSpinning`, `mspinning`: which M's are counted as spinning |
//! | `turn.rs` | `wait_for_turn`: an M waits for a P, and keeps its goroutine, unless the scheduler stands still |
//! | `checkdead.rs` | `checkdead`, `incidlelocked`, `counted` |
//! | `lockosthread.rs` | `LockOSThread`, `UnlockOSThread`; a goroutine that parks while it panics |
//! | `sigmask.rs` | the signal masks of goroutines that are threads |
//! | `left_signals.rs` | signals that are left to a goroutine |
//! | `signaled.rs` | waits that such a signal ends |
//! | `sigstack.rs` | `mpreinit`, `minitSignals`, `sigblock`, `sigsave`: signal stacks and masks |

pub(super) mod checkdead;
#[cfg(pthreads)]
pub(super) mod left_signals;
pub(super) mod lockosthread;
#[cfg(pthreads)]
pub(super) mod sigmask;
pub(super) mod signaled;
pub(super) mod sigstack;
pub(super) mod spinning;
pub(super) mod startm;
pub(super) mod thread;
pub(super) mod turn;
