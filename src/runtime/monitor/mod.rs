//! The thread without a P: it sees to it that nobody holds one for ever, and that unused memory goes back.
//! Go's `sysmon`, and its scavenger.
//!
//! Its M is the runtime's own (`m.ext.system`): it has no P, runs no goroutine, and doesn't count for
//! deadlock. It holds `sysmonlock` while it looks at P's; who holds that keeps it out. Nothing here may wait
//! for a goroutine, or work for more than some milliseconds: meanwhile nobody's time slice ends.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `sysmon.rs` | `sysmon`, `retake` |
//! | `hogs.rs` | which goroutines keep a P that others want |
//! | `dead_stack.rs` | handing back what a goroutine that waits has of its stack below its frames |
//! | `scavenge.rs` | handing back what nobody has needed: Go's `mgcscavenge.go`, for other memory |

mod dead_stack;
mod hogs;
pub(super) mod scavenge;
pub(super) mod sysmon;
