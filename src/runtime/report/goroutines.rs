//! What every goroutine does, as data: Go's `goroutineProfileWithLabels`, in `mprof.go`.

use std::sync::Arc;

use crate::runtime::g::allgs::{atomic_all_g, atomic_all_g_index};
use crate::runtime::g::callers::Pcs;
use crate::runtime::g::proflabel::{LabelMap, get_prof_label};
use crate::runtime::report::look::look;
use crate::runtime::report::traceback::what_it_does;

/// What a goroutine does.
pub(crate) struct Doing {
    /// Its frames; none if they can't be had.
    pub(crate) pcs: Pcs,
    /// What it waits for, or its state.
    pub(crate) what: &'static str,
    /// None, too, where it runs and doesn't stop.
    pub(crate) labels: Option<Arc<LabelMap>>,
}

/// Has `f` get what each goroutine does, but the runtime's own. The world isn't stopped: each
/// goroutine is, for as long as it is looked at. On a thread that isn't ours.
pub(crate) fn each_goroutine(mut f: impl FnMut(Doing)) {
    for gp in (0..atomic_all_g()).filter_map(atomic_all_g_index) {
        let looked = look(gp, None, |looked| {
            let labels = if looked.still { get_prof_label(gp) } else { None };
            (!gp.ext.system.get()).then(|| (what_it_does(gp, looked.status), labels))
        });
        if let Some((pcs, Some((what, labels)))) = looked {
            f(Doing { pcs: pcs.unwrap_or(Pcs::NONE), what, labels });
        }
    }
}
