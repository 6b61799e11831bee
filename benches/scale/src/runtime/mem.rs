//! Stand-in: stacks have no guard.

pub(crate) mod sizes {
    use crate::runtime::data::runtime2::G;

    pub(crate) fn running_guard(_: &G) -> usize {
        0
    }
}
