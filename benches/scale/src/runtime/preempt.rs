//! Stand-in: nobody is asked to stop; but what is due within a time slice is asked.

pub(crate) mod ask {
    pub(crate) const FORCE_PREEMPT_NS: i64 = 10_000_000;
}
