//! Keeping a goroutine on its P: Go's `procPin`.

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{acquirem, getm, releasem};

/// Keeps the caller on its P; returns the P's number. Go's `procPin`.
pub(crate) fn proc_pin() -> i32 {
    match acquirem().and_then(|mp| mp.p.get()) {
        Some(pp) => pp.id.get(),
        None => throw("procPin: no p"),
    }
}

/// Undoes [`proc_pin`]. Go's `procUnpin`.
pub(crate) fn proc_unpin() {
    releasem(Some(getm()));
}
