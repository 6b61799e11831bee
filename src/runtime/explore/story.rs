//! The steps of a run, recorded for reports.

use std::sync::atomic::Ordering;

use crate::runtime::data::runtime2::{G, GDEAD, GWAITING, WaitReason};
use crate::runtime::explore::clock::reading;
use crate::runtime::explore::state::{Run, run};
use crate::runtime::g::callers::callers;
use crate::runtime::g::explored::is_explored;
use crate::runtime::g::status::readgstatus;

/// An action or a change of state of a goroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// It does this operation next.
    Does(&'static str),
    /// It waits.
    Waits(WaitReason),
    /// It has ended.
    Ends,
    /// A timer has fired. This step belongs to no goroutine.
    Fires,
}

/// A step of a run.
pub(crate) struct Step {
    /// The goroutine's number.
    pub(in crate::runtime) number: u32,
    pub(in crate::runtime) what: What,
    /// The run's time, in nanoseconds.
    pub(in crate::runtime) at: i64,
    /// The goroutine's stack: addresses in its calls, the innermost first.
    pub(in crate::runtime) pcs: Vec<usize>,
}

impl Run {
    pub(super) fn tell(&mut self, number: u32, what: What, pcs: &[usize]) {
        if let Some(story) = &mut self.story {
            story.push(Step { number, what, at: reading(), pcs: pcs.to_vec() });
        }
    }

    /// Records a step if the goroutine that ran last waits or has ended.
    pub(super) fn tell_of_last(&mut self) {
        let Some(last) = self.last.take().filter(|_| self.story.is_some()) else { return };
        let number = last.ext.number.load(Ordering::Relaxed);
        match readgstatus(last) {
            GWAITING if is_explored(last) => self.tell(number, What::Waits(last.waitreason.get()), &[]),
            GDEAD => self.tell(number, What::Ends, &[]),
            _ => {}
        }
    }
}

/// Whether steps are recorded. The caller keeps the exploration's P.
pub(in crate::runtime) fn tells() -> bool {
    // SAFETY: as said.
    unsafe { run() }.story.is_some()
}

/// Records the next operation of `gp`, which runs and keeps the exploration's P.
#[cold]
#[inline(never)]
pub(in crate::runtime) fn tell_of(gp: &G, what: &'static str) {
    // SAFETY: as said; nothing else uses the run meanwhile.
    let run = unsafe { run() };
    run.tell(gp.ext.number.load(Ordering::Relaxed), What::Does(what), callers().as_slice());
}
