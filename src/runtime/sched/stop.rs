//! An M stops for a stopped world: Go's `gcstopm`.

use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::data::runtime2::{M, sched};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::startm::stopm;
use crate::runtime::p::owner::releasep;
use crate::runtime::p::stop::stopped_for_another;

/// Stops this M because the world is to be stopped; returns with a P when it runs again. Go's
/// `gcstopm`.
pub(super) fn gcstopm(mp: &'static M) {
    if !sched().gcwaiting.load(Ordering::SeqCst) {
        throw("gcstopm: not waiting for gc");
    }
    if !mp.preemptoff.get().is_null() {
        throw("gcstopm: a goroutine parks while the world is stopped, by itself");
    }
    if mp.spinning.get() {
        mp.stop_spinning();
    }
    let pp = releasep(mp);
    lock(&sched().lock);
    stopped_for_another(pp);
    unlock(&sched().lock);
    stopm(mp);
}
