//! Services for every room: Linux, the settings, stderr, random numbers, the running G and M, and
//! ending the process.
//!
//! Nothing here takes a lock of the runtime's, so all of it can be used with any such lock held.
//! `print` also needs no memory, and works in a signal handler. The settings are read once, when
//! the runtime starts.
//!
//! - `this` is the only way to look up the running G and M. `getm` throws if there is no M.
//!   `whoami` and `on_goroutine` tell whether the caller could park: it can't on g0, in a system
//!   call, or on a thread that isn't ours.
//! - A broken invariant isn't a Rust panic, because unwinding doesn't restore the invariant.
//!   `throw` is for the runtime's own errors, `fatal` for the program's. Both switch to g0 and call
//!   the *reporter*. `start.rs` registers the reporter before there is an M. Until then,
//!   `throw` and `fatal` print the message and exit with status 2.
//! - An unlock relies on `membarrier` where the kernel has it: `os` asks once, before the runtime's
//!   first thread.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `os.rs` | `futexsleep`, `futexwakeup`, `newosproc`, `getproccount`, `osyield`, `signalM`; barriers |
//! | `debug.rs` | `parsedebugvars`, `gotraceback`, `setTraceback`: what the environment says |
//! | `print.rs` | stderr without memory or locks: Go's `print.go` |
//! | `fatal.rs` | `throw`, `fatal`, the overflow of a stack, the reporter, `crash`, `exit` |
//! | `guarded.rs` | `guarded`: what a report does that may fault or wait forever |
//! | `this.rs` | `acquirem`, `releasem`; `getm`, `this_p`, `goroutine`, `whoami`, `with_room`, `started` |
//! | `rand.rs` | `mrandinit`, `cheaprand`, `cheaprandn` |
//! | `histogram.rs` | `timeHistogram.record`, `timeHistogramMetricsBuckets` |
//! | `vdso.rs` | `vdsoParseSymbols`: the kernel's clock, in user space |
//! | `real.rs` | the C library's own functions of threads |
//! | `testing.rs` | what the unit tests share |

pub(super) mod debug;
pub(super) mod fatal;
pub(super) mod guarded;
pub(super) mod histogram;
pub(super) mod os;
pub(crate) mod print;
pub(super) mod rand;
pub(super) mod real;
#[cfg(test)]
pub(super) mod testing;
pub(super) mod this;
#[cfg(feature = "std")]
pub(super) mod vdso;
