//! Tests of libraries that don't expect signals. They must not fail on goroutines whose threads get
//! signals all the time.
//!
//! A signal ends some system calls with EINTR, even if its handler is installed with `SA_RESTART`:
//! sleeps, polls, and reads and writes of sockets with a timeout. The caller has to repeat such a
//! call. A test does so only where the library's documentation asks for it, and then says so.
//!
//! A goroutine that has lost its P gets no more signals until it has a P again. So each goroutine
//! yields between its calls of the library.

mod curl;
mod http;
mod settings;
mod sqlite;
mod std_commands;
mod std_files;
mod std_sockets;
mod std_waits;
mod ureq_calls;
mod zlib;

/// Lists the tests of a module. Each runs on a goroutine, in a process of its own for each of the
/// settings.
macro_rules! tests {
    ($($name:ident)*) => {
        mod tests {
            $(#[test]
            fn $name() {
                crate::settings::each(concat!(module_path!(), "::", stringify!($name)), super::$name);
            })*
        }
    };
}
use tests;
