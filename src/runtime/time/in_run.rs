//! Waits of the safe face, which end with the run that the waiting goroutine is in, and when the
//! goroutine is aborted.

use crate::runtime::arch::getg;
use crate::runtime::g::extent::current_run;
use crate::runtime::sched::abort::until_aborted;
use crate::runtime::time::fire::{Limit, with_limit};

/// [`with_limit`], but the end of the run is a limit, too, and an abort of the goroutine, and there
/// may be no other.
///
/// # Safety
/// As there. All of them may call `give_up`, one after the other or at the same time.
pub(crate) unsafe fn with_limit_in_run<R, G, W>(
    limit: Option<Limit<'_>>,
    give_up: &G,
    sleep: impl FnOnce() -> R,
) -> R
where
    G: Fn() -> Option<W>,
    W: FnOnce(),
{
    let sleep = || match current_run() {
        // SAFETY: the caller keeps to the contract of with_limit, which ended_by shares.
        Some(run) => unsafe { run.waits().ended_by(give_up, sleep) },
        None => sleep(),
    };
    let sleep = || match getg() {
        // SAFETY: as above.
        Some(gp) => unsafe { until_aborted(gp, give_up, sleep) },
        None => sleep(),
    };
    match limit {
        // SAFETY: as the caller says.
        Some(limit) => unsafe { with_limit(limit, give_up, sleep) },
        None => sleep(),
    }
}
