//! Stand-in for waking M's: a count of those that were.

pub(crate) mod startm {
    use crate::runtime::data::atomic::{AtomicU32, Ordering};
    use crate::runtime::data::runtime2::{M, P};

    loom::lazy_static! {
        static ref STARTED: AtomicU32 = AtomicU32::new(0);
    }

    pub(crate) fn startm(pp: Option<&'static P>, spinning: bool, _lockheld: bool) {
        assert!(pp.is_some() && spinning);
        STARTED.fetch_add(1, Ordering::SeqCst);
    }

    /// No model wakes an M that has stopped; it ends.
    pub(crate) fn stopm(_: &M) {}

    /// How many M's were woken.
    pub(crate) fn started() -> u32 {
        STARTED.load(Ordering::SeqCst)
    }
}
