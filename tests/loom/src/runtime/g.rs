//! Stand-in: states of G's, which no model looks at.

pub(crate) mod status {
    use crate::runtime::data::runtime2::G;

    pub(crate) fn casgstatus(_: &G, _old: u32, _new: u32) {}
}
