//! The data of profiles: waits of goroutines for each other, and stacks of threads that compute. Go
//! has it in `mprof.go` and `cpuprof.go`; the face `pprof` writes the profiles.
//!
//! Without the feature `pprof` nothing is gathered, and the checks of the rates are compiled away.
//! With the feature, a wait reads a rate when the goroutine parks, and a thread reads another rate
//! when it begins and when it ends.
//!
//! - A sampled wait is recorded once it is over. For the profile `block` the goroutine that has
//!   waited records it; for the profile `mutex`, the goroutine that made others wait. Recording
//!   allocates, so it is done on g0 and without a lock of the runtime's.
//! - Each M's thread has a timer that signals it after each period of processor time. The handler
//!   only copies the stack, because unwinders can't run in handlers. A thread of the profiler walks
//!   the copy.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `profiler_hooks.rs` | the hooks that call the profiler, once it was started |
//! | `contention.rs` | `Wait`, `released`, `mutex_event`: the code that reads the rates |
//! | `buckets.rs` | `blockevent`, `mutexevent`, `saveblockevent`: stacks, and the waits there |
//! | `thread_timer.rs` | `set_rate`: the timers of threads |
//! | `samples.rs` | `sigprof`: stacks, copied by handlers; `Copies`: the frames of such a copy |

#[cfg(feature = "pprof")]
pub(super) mod buckets;
pub(super) mod contention;
pub(super) mod profiler_hooks;
#[cfg(feature = "pprof")]
pub(super) mod samples;
#[cfg(feature = "pprof")]
pub(super) mod thread_timer;
