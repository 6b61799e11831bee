//! Changes of the scheduler to try in the model only.

use std::cell::Cell;

/// The mutex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lock {
    /// The mutex that ships.
    #[default]
    Shipped,
    /// One waiter at a time spins, and the others sleep at once: roughly Go 1.27's.
    OneSpins,
    /// The mutex goes from one waiter to the next, at the cost of a line's transfer, and nobody
    /// sleeps: the best possible mutex.
    Queue,
}

/// The differences from the shipped scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// The mutex.
    pub lock: Lock,
    /// The rounds that a thief makes, instead of four.
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
