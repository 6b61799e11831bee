//! Stand-in for the table of P's: the P's exist from the start.

use std::cell::Cell;

use crate::runtime::data::runtime2::P;
use crate::runtime::p::procs_made::{PMask, RandomOrder};

pub(crate) struct Procs {
    pub(crate) allp: Box<[&'static P]>,
    pub(crate) idlep_mask: PMask,
    pub(crate) timerp_mask: PMask,
    pub(crate) steal_order: RandomOrder,
}

// SAFETY: P's may be shared.
unsafe impl Sync for Procs {}

loom::lazy_static! {
    static ref PROCS: Procs = Procs {
        allp: (0..gomaxprocs()).map(P::new).collect(),
        idlep_mask: PMask::new(gomaxprocs()),
        timerp_mask: PMask::new(gomaxprocs()),
        steal_order: RandomOrder::new(),
    };
}

thread_local! {
    /// The number of P's: a model's setting.
    static GOMAXPROCS: Cell<i32> = const { Cell::new(3) };
}

pub(crate) fn set_gomaxprocs(n: i32) {
    GOMAXPROCS.set(n);
}

pub(crate) fn procs() -> &'static Procs {
    &PROCS
}

pub(crate) fn gomaxprocs() -> i32 {
    GOMAXPROCS.get()
}
