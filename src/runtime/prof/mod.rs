//! What profiles are made of: waits for each other, and where threads are while they compute. Go's `mprof.go`
//! and `cpuprof.go`, as far as they gather; what is written, and how, is the face's, `pprof`.
//!
//! Without the feature `pprof` nothing is gathered, and what asks whether to gather is compiled away. With it,
//! a wait asks for a rate, where it parks anyway, and a thread for another, where it begins and ends.
//!
//! - A wait that counts is told of once it is over, by who has waited (`block`), or by who made others wait
//!   (`mutex`): on g0, without a lock of the runtime's, as it allocates.
//! - Each M's thread has a timer that signals it after so much time on a processor. The handler copies the
//!   stack, and a thread of the profiler walks the copy: no unwinder is made for handlers.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `hooks.rs` | what calls the profiler, if there ever was one |
//! | `contention.rs` | `Wait`, `released`, `mutex_event`: what asks for the rates |
//! | `buckets.rs` | `blockevent`, `mutexevent`, `saveblockevent`: stacks, and how long was waited there |
//! | `timer.rs` | `set_rate`: the timers of threads |
//! | `samples.rs` | `sigprof`: stacks, copied by handlers |
//! | `walk.rs` | the frames of such a copy |

#[cfg(feature = "pprof")]
pub(super) mod buckets;
pub(super) mod contention;
pub(super) mod hooks;
#[cfg(feature = "pprof")]
pub(super) mod samples;
#[cfg(feature = "pprof")]
pub(super) mod timer;
#[cfg(feature = "pprof")]
pub(super) mod walk;
