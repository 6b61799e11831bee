//! Threads of std and of C that are goroutines, and the locks of C, whose waits park. Go has no
//! such thing.
//!
//! To the code that it runs, a goroutine with thread-locals of its own is a thread, and std's waits
//! park it (`stdpark`). So the program's `pthread_create` may make a goroutine. With the feature
//! `threads` the program defines the functions of `<pthread.h>` that look at a thread or wait
//! (`symbols/`), and the references of std, of other crates and of C libraries bind to these
//! definitions.
//!
//! - **Off until the program says so**
//!   ([`make_threads_goroutines`](crate::make_threads_goroutines)): until then, and in a child of
//!   `fork`, each of these functions looks at one byte and calls the C library's function
//!   (`base/real.rs`).
//! - **All functions of a kind are ours, or none**, because a wake in the C library finds only
//!   threads, and a wake here finds goroutines and threads.
//! - **The runtime calls none of these functions.** Its threads are made by the C library, and it
//!   waits by the kernel.
//! - Only where the C library is glibc, and not in a static program or under a sanitizer, which has
//!   these functions itself: the cfg `pthreads`, set by `build.rs`.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `live.rs` | whether threads are goroutines in this process |
//! | `create.rs` | a thread is made and runs |
//! | `cancel.rs` | a thread is ended by another |
//! | `record.rs` | what is known of a thread, and whose a thread's value is |
//! | `join.rs` | joining and detaching |
//! | `exit.rs` | a thread ends itself |
//! | `attributes.rs` | the attributes of a thread: stack, name |
//! | `masks.rs` | signal masks, signal stacks |
//! | `scheduling.rs` | processors and priorities: the goroutine is locked to a thread |
//! | `signals.rs` | signals that are sent to a thread |
//! | `sigwait.rs` | waits for signals |
//! | `locks/` | C's locks |
//! | `symbols/` | the functions of the C library that are defined here |

#[cfg(pthreads)]
mod attributes;
#[cfg(pthreads)]
mod cancel;
#[cfg(pthreads)]
mod create;
#[cfg(pthreads)]
mod exit;
#[cfg(pthreads)]
mod join;
pub(in crate::runtime) mod live;
#[cfg(pthreads)]
mod locks;
#[cfg(pthreads)]
mod masks;
#[cfg(pthreads)]
mod record;
#[cfg(pthreads)]
mod scheduling;
#[cfg(pthreads)]
mod signals;
#[cfg(pthreads)]
mod sigwait;
#[cfg(pthreads)]
mod symbols;
