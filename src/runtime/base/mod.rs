//! What every room may ask: Linux, the settings, stderr, random numbers, who runs here, and how to
//! die.
//!
//! Nothing here takes a lock of the runtime's, so all of it can be used with any of them held.
//! `print` needs no memory either, and works in a signal handler. The settings are read once, when
//! the runtime starts.
//!
//! - `this` is the one way to ask who runs here. `getm` throws where there is no M; `whoami` and
//!   `on_goroutine` say whether the caller could park: not on g0, not in a system call, not on a
//!   thread that isn't ours.
//! - A broken invariant isn't a Rust panic, because unwinding doesn't restore the invariant.
//!   `throw` is for the runtime's own errors, `fatal` for the program's. Both go to g0 and call the
//!   *reporter*. `start/boot.rs` registers the reporter before there is an M; until then they print
//!   the message and exit with status 2.
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
//! | `testing.rs` | what the unit tests share |

pub(super) mod debug;
pub(super) mod fatal;
pub(super) mod guarded;
pub(super) mod histogram;
pub(super) mod os;
pub(crate) mod print;
pub(super) mod rand;
#[cfg(test)]
pub(super) mod testing;
pub(super) mod this;
#[cfg(feature = "std")]
pub(super) mod vdso;
