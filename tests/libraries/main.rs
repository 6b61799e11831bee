//! Libraries that don't expect a signal: nothing fails on goroutines whose threads get signals all
//! the time.
//!
//! A signal ends some system calls with EINTR, even where handlers are installed with `SA_RESTART`:
//! sleeps, polls, and reads and writes with a timeout. Their caller has to begin again. A test does
//! so only where the library's documentation asks for it, and then says so.
//!
//! A goroutine that has lost its P gets no more signals until it has one again. So each goroutine
//! comes to a point where it gets one, between what it does.

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

/// Lists the tests of a module: each is run on a goroutine of a process of its own, with each of
/// the settings.
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
