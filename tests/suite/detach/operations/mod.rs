//! Public operations, each with its preparation and its checks. A signal may come between
//! [`begin`](super::stepper::begin) and [`end`](super::stepper::end).

pub mod chans;
pub mod contexts;
pub mod futures;
pub mod goroutines;
pub mod io;
pub mod locks;
pub mod raw;
pub mod timers;
pub mod world;

/// An operation's name, and a closure that performs it once. The closure fails if the result isn't
/// right.
pub type Operation = (&'static str, Box<dyn FnMut()>);

/// Lists operations.
macro_rules! operations {
    ($($name:literal => $once:expr;)*) => {
        vec![$(($name, Box::new($once) as Box<dyn FnMut()>)),*]
    };
}

use operations;
