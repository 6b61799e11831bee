//! Changes of the scheduler that can be tried in the model, and in the model only.

use std::cell::Cell;

/// The mutex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lock {
    /// What ships.
    #[default]
    Shipped,
    /// One waiter at a time spins, the others sleep at once: roughly Go 1.27's.
    OneSpins,
    /// It goes from one to the next, a line's transfer each, and nobody sleeps: what a mutex could
    /// do at best.
    Queue,
}

/// What is different from what ships.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// The mutex.
    pub lock: Lock,
    /// A thief goes round so often, not four times.
    pub steal_tries: Option<u32>,
    /// The mutex has a swap in its unlock, and a sleeper makes no barrier in all threads.
    pub swap_unlock: bool,
    /// Each word of the scheduler's struct has a line of its own.
    pub padded: bool,
}

thread_local! {
    static VARIANT: Cell<Variant> = Cell::default();
}

pub(crate) fn variant() -> Variant {
    VARIANT.get()
}

pub(crate) fn set(variant: Variant) {
    VARIANT.set(variant);
}
