//! All P's at once: stopping and starting the world, a function on every P, how many there are; and
//! suspending one goroutine. Parts of Go's `proc.go` and `preempt.go`.
//!
//! - Whoever stops the world, or runs a function on every P, holds the semaphore `worldsema`: one at a time,
//!   the others wait. It is a goroutine, which holds no lock of the runtime's, and doesn't park until it has
//!   started the world again.
//! - Meanwhile it is `GWAITING`, on g0, so that its own stack can be scanned: a scanner would wait for it to
//!   stop, and it for the scanner.
//! - `procresize` runs with the world stopped and `sched.lock` held. It alone makes P's and replaces their
//!   table.
//! - A suspended goroutine has the scan bit set until `resumeG`. Two that suspended each other would wait
//!   forever: so the suspender isn't `GRUNNING`.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `stw.rs` | `stopTheWorld`, `startTheWorld` |
//! | `gomaxprocs.rs` | `set_gomaxprocs`, `set_default_gomaxprocs`, `sysmonUpdateGOMAXPROCS`: how many P's there are to be |
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
