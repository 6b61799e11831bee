//! Stand-in: nobody is asked to stop. Due timers and data are looked for within a time slice.

pub(crate) mod ask {
    pub(crate) const FORCE_PREEMPT_NS: i64 = 10_000_000;
}
