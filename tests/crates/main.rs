//! Tests of crates that depend on thread-locals. On a goroutine with thread-locals of its own, a
//! crate must behave as on a thread, even if the goroutine goes on on another thread.
//!
//! A test is a function that uses a crate, and whose result depends on a number only. It lets
//! others run between calls of the crate. It is called on threads and on goroutines, and the
//! results must be the same. All tests are safe code, except that one makes a goroutine that shares
//! thread-locals.

#![deny(unsafe_code)]

mod cells;
mod data;
mod events;
mod follow;
mod pools;
mod random;
mod settings;
mod spans;

/// A function that uses a crate. It calls `pause` to let others run; a goroutine may go on on
/// another thread after that. The result depends on `n` only.
type Work = fn(n: u64, pause: &dyn Fn()) -> String;

/// Lists the [`Work`] functions of a module. Each becomes a test, which runs in a process of its
/// own for each setting.
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
