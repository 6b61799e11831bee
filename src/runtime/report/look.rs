//! Looking at one goroutine of a program that goes on: it is suspended meanwhile, if it can be.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::base::debug::patience;
use crate::runtime::base::os::nanotime;
use crate::runtime::data::runtime2::{G, GRUNNING, GSCAN, GSCANRUNNING};
use crate::runtime::g::callers::{Pcs, callers_of_still, gcallers, left_at};
use crate::runtime::g::status::{casfrom_gscanstatus, castogscanstatus, readgstatus};
use crate::runtime::signal::snapshot;
use crate::runtime::world::suspend::{resume_g, suspend_g_until};

/// How long to wait for a goroutine that runs to stop, in nanoseconds.
const PATIENCE: i64 = 10 * 1000 * 1000;

/// A goroutine that doesn't end meanwhile.
pub(super) struct Looked {
    /// Its state, without the scan bit.
    pub(super) status: u32,
    /// Whether it stands still, so that nothing of its own changes.
    #[cfg_attr(not(feature = "pprof"), expect(dead_code))]
    pub(super) still: bool,
}

/// Has `note` look at `gp`, and finds its frames, if they can be had; none if it hasn't begun or
/// has ended. `me` is the caller's goroutine. On g0, or on a thread that isn't ours.
pub(super) fn look<T>(
    gp: &'static G,
    me: Option<&G>,
    mut note: impl FnMut(&Looked) -> T,
) -> Option<(Option<Pcs>, T)> {
    if me.is_some_and(|me| ptr::eq(me, gp)) {
        let noted = note(&Looked { status: GRUNNING, still: true });
        // SAFETY: `gp` is the caller's, whose thread is on g0 here, so its stack stays as it left
        // it.
        return Some((Some(unsafe { gcallers(gp, &left_at(gp)) }), noted));
    }
    let state = loop {
        // It stands still, and to ask it to stop would let it go on. Or it has lost its P because
        // it came to no check.
        if (snapshot::is_kept(gp) || has_run_long_without_p(gp))
            && let Some(found) = look_at_running(gp, &mut note)
        {
            return Some(found);
        }
        match suspend_g_until(gp, nanotime() + patience(PATIENCE)) {
            Some(state) => break state,
            None => {
                if let Some(found) = look_at_running(gp, &mut note) {
                    return Some(found);
                }
            }
        }
    };
    if state.dead {
        return None;
    }
    let status = if state.stopped { GRUNNING } else { readgstatus(gp) & !GSCAN };
    let noted = note(&Looked { status, still: true });
    // SAFETY: it is suspended until resume_g.
    let found = unsafe { (Some(callers_of_still(gp)), noted) };
    resume_g(state);
    Some(found)
}

/// Whether `gp` lost its P before so long that it was asked to stop meanwhile for as long as
/// [`look`] would ask it.
fn has_run_long_without_p(gp: &G) -> bool {
    let since = gp.m.get().map_or(0, |mp| mp.ext.detached_since.load(Ordering::Relaxed));
    since != 0 && nanotime() - since > patience(PATIENCE)
}

/// [`look`] at a goroutine that runs and doesn't stop; none if it has stopped meanwhile.
fn look_at_running<T>(gp: &'static G, note: &mut impl FnMut(&Looked) -> T) -> Option<(Option<Pcs>, T)> {
    // With the scan bit set, it neither ends nor leaves its M.
    if !castogscanstatus(gp, GRUNNING, GSCANRUNNING) {
        return None;
    }
    let noted = note(&Looked { status: GRUNNING, still: false });
    let found = (snapshot::running(gp), noted);
    casfrom_gscanstatus(gp, GSCANRUNNING, GRUNNING);
    Some(found)
}
