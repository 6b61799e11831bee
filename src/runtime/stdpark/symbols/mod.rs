//! The functions of the C library that the program has in their place. Each does what the C
//! library's does, with errno, but that it parks a goroutine that would block its thread, if that
//! may park.
//!
//! - A function that isn't called on a goroutine, or while nothing parks, is a few instructions and
//!   the system call. What a goroutine does is a function of its own, elsewhere in the room, so
//!   that no registers are saved for it.
//! - A parked call doesn't end with `EINTR`.
//! - The C library's functions are points at which `pthread_cancel` ends a thread, and these
//!   aren't.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `system_calls.rs` | `syscall` |
//! | `time.rs` | `nanosleep`, `sched_yield`, `clock_gettime` and the like; `getrandom` |
//! | `signals.rs` | `sigaction`; the other ways to install a handler |
//! | `sockets.rs` | `recv`, `send`, `accept`, `connect` and the like; `getaddrinfo` |
//! | `files.rs` | `read`, `write`, `fsync`, `sendfile`, `flock` and the like |
//! | `polls.rs` | `poll`, `select`, `epoll_wait` and the like |
//! | `descriptors.rs` | `socket`, `close`, `dup`, `setsockopt`, `ioctl`, `fcntl` and the like |
//! | `children.rs` | `waitpid`, `wait4`, `waitid`, `vfork` |
//! | `fortified.rs` | `__read_chk` and the like |

mod children;
mod descriptors;
mod files;
mod fortified;
mod polls;
mod signals;
mod sockets;
mod system_calls;
mod time;
