//! What calls the profiler: a program that makes no profile has no more than this of it. Unset, a hook costs a load
//! and a branch, where a thread begins or ends, and where a goroutine has waited.

use std::sync::OnceLock;
use std::sync::atomic::{Ordering, fence};

use crate::runtime::arch::Sigctxt;
use crate::runtime::data::runtime2::{G, M, sched};
use crate::runtime::prof::contention::Contention;

/// Has a wait of so many nanoseconds told of, if it is drawn. There once a rate was set.
pub(super) static TELL: OnceLock<fn(Contention, i64)> = OnceLock::new();

/// Who samples threads.
pub(in crate::runtime) struct Sampler {
    /// The thread of the M, this one, has begun; others know its id.
    pub(in crate::runtime) begins: fn(&M),
    /// The thread of the M, this one, ends, and isn't the M's any more for others.
    pub(in crate::runtime) ends: fn(&M),
    /// A SIGPROF has come: says whether it is for nobody else. In the handler.
    pub(in crate::runtime) signaled: fn(Option<&M>, Option<&G>, &libc::siginfo_t, &Sigctxt<'_>) -> bool,
}

/// There once a profile was begun.
static SAMPLER: OnceLock<Sampler> = OnceLock::new();

/// The sampler, if one was ever set.
#[inline(always)]
pub(in crate::runtime) fn sampler() -> Option<&'static Sampler> {
    if cfg!(feature = "pprof") { SAMPLER.get() } else { None }
}

/// Sets the sampler, for good.
#[cfg(feature = "pprof")]
pub(in crate::runtime) fn set_sampler(sampler: fn() -> Sampler) {
    SAMPLER.get_or_init(sampler);
}

/// The thread of `mp`, this one, has begun, and others know its id. Part of Go's `execute`.
#[inline(always)]
pub(in crate::runtime) fn thread_begins(mp: &M) {
    if cfg!(feature = "pprof") && is_sampled() {
        sampler().inspect(|sampler| (sampler.begins)(mp));
    }
}

/// The thread of `mp`, this one, ends, and isn't the M's any more for others.
#[inline(always)]
pub(in crate::runtime) fn thread_ends(mp: &M) {
    if cfg!(feature = "pprof") && is_sampled() {
        sampler().inspect(|sampler| (sampler.ends)(mp));
    }
}

/// Whether threads have timers, as one asks that has just changed its `procid`.
fn is_sampled() -> bool {
    // Pairs with the fence in set_rate: this thread sees the rate, or that one the id. Whoever has set the rate has set
    // the sampler before.
    fence(Ordering::SeqCst);
    sched().profilehz.load(Ordering::Acquire) != 0
}
