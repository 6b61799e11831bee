//! Stand-in: a stack's guard, which is nowhere.

pub(crate) mod sizes {
    use crate::runtime::data::runtime2::G;

    pub(crate) fn running_guard(_: &G) -> usize {
        0
    }
}
