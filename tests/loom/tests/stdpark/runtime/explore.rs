//! Stand-in: no time has come before a model says so.

pub(crate) mod clock {
    pub(crate) fn now() -> i64 {
        0
    }
}
