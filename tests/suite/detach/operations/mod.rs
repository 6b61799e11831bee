//! Public operations, each with what comes before it and what is looked at afterwards. Between
//! [`begin`](super::stepper::begin) and [`end`](super::stepper::end) is what a signal may come
//! into.

pub mod chans;
pub mod contexts;
pub mod futures;
pub mod goroutines;
pub mod io;
pub mod locks;
pub mod raw;
pub mod timers;
pub mod world;

/// Its name, and what does it once. It fails if the result isn't right.
pub type Operation = (&'static str, Box<dyn FnMut()>);

/// Lists operations.
macro_rules! operations {
    ($($name:literal => $once:expr;)*) => {
        vec![$(($name, Box::new($once) as Box<dyn FnMut()>)),*]
    };
}

use operations;
