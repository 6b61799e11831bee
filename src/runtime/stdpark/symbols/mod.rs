//! Functions that replace those of the C library in the program. Each does what the C library's
//! function does, and sets errno, but parks a goroutine that would block its thread, if the
//! goroutine may park.
//!
//! - A call that doesn't come from a goroutine, or comes before waits park, costs a few
//!   instructions and the system call. The part for goroutines is a separate function, elsewhere in
//!   the room, so other callers don't save registers for it.
//! - A parked call doesn't end with `EINTR`.
//! - The C library's functions are points at which `pthread_cancel` ends a thread. The functions
//!   here aren't. With the feature `threads`, `threads/symbols/points.rs` defines some of them in
//!   the program, and calls the functions here.
//! - A sanitizer defines functions of these names, too, and learns from their calls. For example,
//!   if ThreadSanitizer sees no `close`, it reports a race when a descriptor's number is reused.
//!   So a build with a sanitizer has only `time.rs`, which explorations need, and `signals.rs`.
//!   ThreadSanitizer's own `sigaction` would hold a signal back while its thread sleeps in a call
//!   of the runtime's.
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

#[cfg(not(any(asan, tsan)))]
pub(in crate::runtime) mod children;
#[cfg(not(any(asan, tsan)))]
mod descriptors;
#[cfg(not(any(asan, tsan)))]
pub(in crate::runtime) mod files;
#[cfg(not(any(asan, tsan)))]
pub(in crate::runtime) mod fortified;
#[cfg(not(any(asan, tsan)))]
pub(in crate::runtime) mod polls;
mod signals;
#[cfg(not(any(asan, tsan)))]
pub(in crate::runtime) mod sockets;
#[cfg(not(any(asan, tsan)))]
mod system_calls;
pub(in crate::runtime) mod time;
