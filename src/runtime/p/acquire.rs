//! Which M has which P: Go's `acquirep`, `wirep` and `releasep`.

use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::runtime2::{M, P, PIDLE, PRUNNING};
use crate::runtime::embed::hooks::hooks;
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::explored::exploring;

/// Gives `pp` to `mp`, this thread's M. Go's `acquirep`.
pub(in crate::runtime) fn acquirep(mp: &'static M, pp: &'static P) {
    wirep(mp, pp);
    trace(|| Event::ProcStart(pp));
    if let Some(acquirep) = hooks().acquirep {
        acquirep(pp);
    }
}

/// A time slice begins on `pp`, the caller's, though no goroutine begins to run.
pub(in crate::runtime) fn begin_slice(pp: &P) {
    pp.preempt.store(exploring(), Ordering::Relaxed);
    pp.schedtick.store(pp.schedtick.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Links `pp` and `mp`. Go's `wirep`.
pub(in crate::runtime) fn wirep(mp: &'static M, pp: &'static P) {
    if !mp.p.is_null() {
        throw("wirep: already in go");
    }
    if !pp.m.is_null() || pp.status.load(Ordering::Relaxed) != PIDLE {
        eprintln!("wirep: p->m={:?} p->status={}", pp.m, pp.status.load(Ordering::Relaxed));
        throw("wirep: invalid p state");
    }
    mp.p.set(Some(pp));
    pp.ext.oldm.set(Some(mp));
    // Release pairs with preemptone: a thread that finds the M here finds the M's thread, too.
    pp.m.store(Some(mp), Ordering::Release);
    pp.status.store(PRUNNING, Ordering::Relaxed);
}

/// Takes the P from `mp`, this thread's M. Go's `releasep`.
pub(in crate::runtime) fn releasep(mp: &'static M) -> &'static P {
    let Some(pp) = mp.p() else { throw("releasep: invalid arg") };
    if !pp.m.get().is_some_and(|m| std::ptr::eq(m, mp)) || pp.status.load(Ordering::Relaxed) != PRUNNING {
        eprintln!("releasep: m={mp:p} p->m={:?} p->status={}", pp.m, pp.status.load(Ordering::Relaxed));
        throw("releasep: invalid p state");
    }
    trace(|| Event::ProcStop(pp));
    mp.p.set(None);
    pp.m.set(None);
    pp.status.store(PIDLE, Ordering::Relaxed);
    pp
}
