//! How spinning M's are counted; and a stand-in for waking M's: a count of those that were.

#[path = "../../../../src/runtime/m/spinning.rs"]
pub(crate) mod spinning;

pub(crate) mod startm {
    use crate::runtime::data::atomic::{AtomicU32, Ordering};
    use crate::runtime::data::runtime2::{M, P};
    use crate::runtime::m::spinning::Spinning;

    loom::lazy_static! {
        static ref STARTED: AtomicU32 = AtomicU32::new(0);
    }

    pub(crate) fn startm(pp: Option<&'static P>, spinning: Option<Spinning>, _lockheld: bool) {
        assert!(pp.is_some() && spinning.is_some());
        STARTED.fetch_add(1, Ordering::SeqCst);
    }

    /// No model wakes an M that has stopped; it ends.
    pub(crate) fn stopm(_: &M) {}

    /// How many M's were woken.
    pub(crate) fn started() -> u32 {
        STARTED.load(Ordering::SeqCst)
    }
}
