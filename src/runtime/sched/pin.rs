//! Keeping a goroutine on its P: Go's `procPin`.

use std::mem;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{getm, releasem};
use crate::runtime::sched::detach::hold_with_p;

/// Keeps the caller on its P; returns the P's number. Go's `procPin`.
pub(crate) fn proc_pin() -> i32 {
    let (_, _, held) = hold_with_p();
    let Some(pp) = held.p() else { throw("procPin: no p") };
    mem::forget(held);
    pp.id.get()
}

/// Undoes [`proc_pin`]. Go's `procUnpin`.
pub(crate) fn proc_unpin() {
    releasem(Some(getm()));
}
