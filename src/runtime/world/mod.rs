//! Operations on all P's at once: stopping and starting the world, calling a function on every P,
//! changing the number of P's. Also suspending one goroutine. Parts of Go's `proc.go` and
//! `preempt.go`.
//!
//! - A goroutine that stops the world, or runs a function on every P, holds the semaphore
//!   `worldsema`; other such goroutines wait. It holds no lock of the runtime's, and doesn't park
//!   until it has started the world again.
//! - Meanwhile the goroutine is `GWAITING`, on g0, so that its own stack can be scanned. Otherwise
//!   a scanner and the goroutine would wait for each other.
//! - `procresize` runs with the world stopped and `sched.lock` held. Only `procresize` makes P's
//!   and replaces their table.
//! - A suspended goroutine has the scan bit set until `resumeG`. A suspender isn't `GRUNNING`,
//!   because two goroutines that suspended each other would wait forever.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `stw.rs` | `stopTheWorld`, `startTheWorld` |
//! | `gomaxprocs.rs` | `set_gomaxprocs`, `set_default_gomaxprocs`, `sysmonUpdateGOMAXPROCS`: the wanted number of P's |
//! | `cgroup.rs` | `defaultGOMAXPROCS`, `adjustCgroupGOMAXPROCS`, `OpenCPU`, `ReadCPULimit` |
//! | `for_each_p.rs` | `forEachP`, `forEachPInternal` |
//! | `procresize.rs` | `procresize`, `p.init`, `p.destroy` |
//! | `suspend.rs` | `suspendG`, `resumeG` |

mod cgroup;
pub(super) mod for_each_p;
pub(super) mod gomaxprocs;
pub(super) mod procresize;
pub(super) mod stw;
pub(super) mod suspend;
