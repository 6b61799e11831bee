//! The monitor, a thread without a P. It ensures that no M holds a P forever, and hands unused
//! memory back. Go's `sysmon`, and its scavenger.
//!
//! Its M is the runtime's own (`m.ext.system`): it has no P, runs no goroutine, and doesn't count
//! for deadlock. It holds `sysmonlock` while it looks at P's; another thread that holds
//! `sysmonlock` keeps it out. Code here must not wait for a goroutine or work for more than a few
//! milliseconds, because no time slice ends meanwhile.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `sysmon.rs` | `sysmon`, `retake` |
//! | `hogs.rs` | finding goroutines that keep a P that others want |
//! | `dead_stack.rs` | handing back a waiting goroutine's stack below its frames |
//! | `scavenge.rs` | handing back unneeded memory: Go's `mgcscavenge.go`, for other memory |

mod dead_stack;
mod hogs;
pub(super) mod scavenge;
pub(super) mod sysmon;
