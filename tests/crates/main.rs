//! Crates that live on thread-locals: a goroutine with thread-locals of its own gets from each what
//! a thread gets, wherever it goes on.
//!
//! What a crate is used for is a function of a number, the same on threads and on goroutines, which
//! lets others run between any two calls of the crate. All of it is safe code, but that a goroutine
//! is made that shares thread-locals.

#![deny(unsafe_code)]

mod cells;
mod data;
mod events;
mod follow;
mod pools;
mod random;
mod settings;
mod spans;

/// Uses a crate; `pause` lets others run, and may go on on another thread. The result is a function
/// of `n`.
type Work = fn(n: u64, pause: &dyn Fn()) -> String;

/// Lists the functions of a module that use a crate: each is a test, in a process of its own for
/// each setting.
macro_rules! works {
    ($($name:ident)*) => {
        mod tests {
            $(#[test]
            fn $name() {
                crate::settings::each(concat!(module_path!(), "::", stringify!($name)), super::$name);
            })*
        }
    };
}
use works;
