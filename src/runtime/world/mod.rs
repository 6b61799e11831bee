//! Operations on all P's at once: stopping and starting the world, calling a function on every P,
//! changing the number of P's. Also suspending one goroutine. Parts of Go's `proc.go` and
//! `preempt.go`.
//!
//! - A goroutine that stops the world, or runs a function on every P, holds the semaphore
//!   `worldsema`; other such goroutines wait. It holds no lock of the runtime's, and doesn't park
//!   until it has started the world again.
//! - Meanwhile it is `GWAITING`, on g0, so that its own stack can be scanned. Otherwise a scanner
//!   would wait for it to stop, and it for the scanner.
//! - `procresize` runs with the world stopped and `sched.lock` held. Only `procresize` makes P's
//!   and replaces their table.
//! - A suspended goroutine has the scan bit set until `resumeG`. Two goroutines that suspended each
//!   other would wait forever, so a suspender isn't `GRUNNING`.
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
