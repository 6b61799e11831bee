//! Waits of std's own code, and of C code, that park the goroutine. Go has no such thing: its
//! library is its own.
//!
//! std's waits end in a few functions of the C library. With the feature `std` the program defines
//! these functions itself (`symbols/`), so that the references of std, of other crates and of C
//! libraries bind to these definitions. On a goroutine that may park here they park the goroutine.
//! Everywhere else they call the kernel, as the C library's functions do. A build with a sanitizer
//! leaves most of them to the sanitizer, and std's waits don't park there.
//!
//! - **Off until the program says so** ([`park_std_waits`](crate::park_std_waits)): a feature is
//!   the same for all crates of a program, so a dependency that has it on must not change how the
//!   program waits. Until then each of these functions is a system call and one look at a byte.
//! - **The gate** (`gate.rs`) says whether a goroutine may park. A goroutine that may not keeps its
//!   thread, and loses its P if the wait takes long (`sched/detach.rs`).
//! - **A wake finds goroutines wherever it comes from**: a foreign thread, g0, a goroutine in
//!   `blocking`. Only a signal handler, and code that holds a lock of the runtime's, leave the wake
//!   to sysmon (`futex_table.rs`).
//! - **The runtime calls none of these functions.** It calls the kernel (`arch/syscall.rs`): a wake
//!   takes the lock of a bucket, and the release of a lock is a wake.
//! - A goroutine that parks here may be in any code of the program's, also in its allocator. So the
//!   runtime, where it calls such code, keeps no M across the call, or holds the M.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `gate.rs` | whether waits park: in this process, and for the caller; `sigaction` and `signal` |
//! | `symbols/` | the functions of the C library that are defined here |
//! | `futex.rs` | the operations of `futex`, and of the calls that came after it |
//! | `futex_table.rs` | the goroutines that wait, by their words: wait, wake, requeue; wakes by sysmon |
//! | `queued.rs` | waits for a wake at an address, whatever is there |
//! | `time.rs` | sleeps and yields; the time and random numbers of an exploration |
//! | `descriptors.rs` | the table of descriptors: waits, events, closes |
//! | `entry.rs` | one descriptor's list of waits; a goroutine's wait, and how it ends |
//! | `known.rs` | sockets whose waits ask nothing, and arm nothing; descriptors whose mode is known |
//! | `watch.rs` | a wait at a known socket begins anew after a while |
//! | `operation.rs` | a call on a descriptor, tried until the descriptor is ready; what the kernel says about a description |
//! | `socket.rs` | receive, send, accept, connect |
//! | `file.rs` | read and write; the buffers of vectored calls |
//! | `polling.rs` | poll, select, and waits for epoll instances |
//! | `child.rs` | waits for children |

mod child;
pub(super) mod descriptors;
mod entry;
mod file;
pub(super) mod futex;
pub(super) mod futex_table;
pub(super) mod gate;
mod known;
pub(in crate::runtime) mod operation;
mod polling;
#[cfg(pthreads)]
pub(super) mod queued;
mod socket;
pub(in crate::runtime) mod symbols;
pub(in crate::runtime) mod time;
mod watch;

/// The table of futexes has 2 to this power buckets. `loom` checks tables with fewer places.
const BUCKET_BITS: u32 = 14;

/// How many wakes can be left to sysmon at a time.
const PLACES: usize = 64;
