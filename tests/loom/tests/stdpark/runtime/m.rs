//! Stand-in: loom finds a deadlock.

pub(crate) mod checkdead {
    pub(crate) fn incidlelocked(_: i32) {}
}
