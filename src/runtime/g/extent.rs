//! Extents. What holds during a call of the program's code, at any depth, and in the goroutines of
//! its scopes: the run that it is in, and the values that are bound. The [`Values`] of a goroutine,
//! or of a thread, hold the innermost extent.
//!
//! A run is a call whose waits end with a context
//! ([`Context::run`](crate::context::Context::run)).
//!
//! - A wait of the safe face begins with [`end_with_run`], and its limit comes from
//!   `with_limit_in_run`. When the run is over, the wait gives up, and its caller unwinds to the
//!   run with [`unwind_to_run`]. An operation of a descriptor returns an error instead.
//! - Waits of the raw face and of C take no notice of a run, because their callers can't unwind.
//! - A goroutine that was aborted is as if its whole function were in a run that is over. How its
//!   present wait ends is in `sched/abort.rs`.
//! - A goroutine that unwinds is in no run, and isn't aborted: its destructors may wait as long as
//!   they need.

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::panicking;

use crate::runtime::arch::getg;
use crate::runtime::data::runtime2::G;
use crate::runtime::g::aborted::{Shield, has_no_values, is_aborted};
use crate::runtime::g::values::with_values;
use crate::runtime::lock::cancel::Cancellation;

/// The end of a run, with its cancellation. The face knows the rest of it.
pub(crate) trait EndsWaits: Any + Send + Sync {
    /// Ends the waits of the run.
    fn waits(&self) -> &Cancellation;

    /// Whether the run is over. True before any of its waits has ended.
    fn is_over(&self) -> bool;
}

/// A run, shared with the goroutines of its scopes.
pub(crate) type Run = Arc<dyn EndsWaits>;

/// Values that are bound, which the face knows.
pub(crate) type Bound = Arc<dyn Any + Send + Sync>;

/// The payload with which a wait unwinds to the run that has ended it.
pub(crate) struct Ended;

/// What holds during a call.
#[derive(Clone)]
pub(crate) struct Extent {
    pub(crate) run: Option<Run>,
    pub(crate) bound: Option<Bound>,
}

impl Extent {
    /// Outside of all such calls.
    pub(super) const NOTHING: Self = Extent { run: None, bound: None };

    /// The extent of the running goroutine, or of this thread. A goroutine that unwinds is in no
    /// run.
    #[inline(always)]
    pub(crate) fn current() -> Self {
        if is_nothing() { Extent::NOTHING } else { Extent::of_values() }
    }

    #[cold]
    #[inline(never)]
    fn of_values() -> Self {
        let Some(extent) = with_values(|values| values.extent.borrow().clone()) else {
            return Extent::NOTHING;
        };
        Extent { run: extent.run.filter(|_| !panicking()), ..extent }
    }

    /// Whether nothing holds.
    pub(crate) fn is_nothing(&self) -> bool {
        self.run.is_none() && self.bound.is_none()
    }

    /// Lets this hold until the result is dropped. Does nothing where the values of the goroutine
    /// or the thread have ended.
    pub(crate) fn enter(self) -> Entered {
        Entered(with_values(|values| values.extent.replace(self)))
    }
}

/// The extent in which [`Extent::enter`] was called. A drop returns to it.
pub(crate) struct Entered(Option<Extent>);

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            let left = with_values(|values| values.extent.replace(before));
            drop(left);
        }
    }
}

/// Whether it is certain that nothing holds here.
#[inline(always)]
fn is_nothing() -> bool {
    getg().is_some_and(has_no_values)
}

/// Returns the run with which the waits of the running goroutine, or of this thread, end.
#[inline(always)]
pub(crate) fn current_run() -> Option<Run> {
    if is_nothing() { None } else { run_of_values() }
}

#[cold]
#[inline(never)]
fn run_of_values() -> Option<Run> {
    Extent::of_values().run
}

/// Whether the waits of the running goroutine, or of this thread, end with a run.
#[inline(always)]
pub(crate) fn in_run() -> bool {
    !is_nothing() && run_of_values().is_some()
}

/// Enters `run`, or leaves all runs, until the result is dropped.
pub(crate) fn enter_run(run: Option<Run>) -> Entered {
    Extent { run, ..Extent::current() }.enter()
}

/// Calls `f`, whose waits end with no run, and with no abort.
pub(crate) fn outside_of_run<R>(f: impl FnOnce() -> R) -> R {
    let _shield = getg().map(Shield::new);
    let _entered = in_run().then(|| enter_run(None));
    f()
}

/// Whether a wait of the running goroutine, or of this thread, may end before what it waits for has
/// come: with a run, or by an abort.
#[inline(always)]
pub(crate) fn ends_early() -> bool {
    getg().is_some_and(can_be_aborted) || in_run()
}

/// Whether an abort ends the waits of `gp`, which runs here.
#[inline(always)]
pub(in crate::runtime) fn can_be_aborted(gp: &G) -> bool {
    gp.ext.shields.get() == 0 && !panicking()
}

/// Unwinds to the innermost run if that is over, or through all of them if the goroutine was
/// aborted. Each wait begins with this.
#[inline(always)]
pub(crate) fn end_with_run() {
    if !is_nothing() && run_is_over() {
        unwind_to_run();
    }
}

/// Whether the innermost run is over, or the goroutine was aborted.
#[cold]
#[inline(never)]
pub(crate) fn run_is_over() -> bool {
    is_aborted_here() || current_run().is_some_and(|run| run.is_over())
}

/// Whether the running goroutine was aborted, and may end here.
pub(crate) fn is_aborted_here() -> bool {
    getg().is_some_and(|gp| is_aborted(gp) && can_be_aborted(gp))
}

/// Unwinds to the innermost run that is over, or to the end of a goroutine that was aborted,
/// without a message.
#[cold]
pub(crate) fn unwind_to_run() -> ! {
    resume_unwind(Box::new(Ended))
}
