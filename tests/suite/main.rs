//! The tests of what runs, by rooms of the crate.

#![cfg_attr(not(feature = "rooms"), allow(dead_code, reason = "the other rooms use the rest of the harness"))]

// Rooms that depend on the architecture: assembly, stacks, thread-locals, signals, and the
// scheduler over them. An emulator runs only these (`--no-default-features`), because they take
// only a third of the time to compile.
mod asm;
mod detach;
mod harness;
mod locals;
mod painted;
mod raw;
mod sched;
mod signal;
mod stack;
#[cfg(feature = "std")]
mod stdpark;
#[cfg(feature = "threads")]
mod threads;

#[cfg(feature = "rooms")]
mod auto_traits;
#[cfg(feature = "rooms")]
mod chan;
#[cfg(feature = "rooms")]
mod context;
#[cfg(feature = "rooms")]
mod explore;
#[cfg(feature = "rooms")]
mod fs;
#[cfg(feature = "rooms")]
mod goroutine;
#[cfg(feature = "rooms")]
mod inspect;
#[cfg(feature = "rooms")]
mod io;
#[cfg(feature = "rooms")]
mod net;
#[cfg(feature = "rooms")]
mod pprof;
#[cfg(feature = "rooms")]
mod process;
#[cfg(feature = "rooms")]
mod report;
#[cfg(feature = "rooms")]
mod sync;
#[cfg(feature = "rooms")]
mod testing;
#[cfg(feature = "rooms")]
mod time;
#[cfg(feature = "rooms")]
mod tokio;
#[cfg(feature = "rooms")]
mod trace;

use std::process::ExitCode;

use harness::Test;

fn main() -> ExitCode {
    let architecture =
        [stack::TESTS, detach::TESTS, locals::TESTS, raw::TESTS, sched::TESTS, signal::TESTS].concat();
    harness::main(&[architecture, of_std().to_vec(), of_threads().to_vec(), others()].concat().concat())
}

#[cfg(feature = "std")]
fn of_std() -> &'static [&'static [Test]] {
    stdpark::TESTS
}

#[cfg(not(feature = "std"))]
fn of_std() -> &'static [&'static [Test]] {
    &[]
}

#[cfg(feature = "threads")]
fn of_threads() -> &'static [&'static [Test]] {
    threads::TESTS
}

#[cfg(not(feature = "threads"))]
fn of_threads() -> &'static [&'static [Test]] {
    &[]
}

#[cfg(feature = "rooms")]
fn others() -> Vec<&'static [Test]> {
    let rooms = [
        &[auto_traits::TESTS],
        chan::TESTS,
        context::TESTS,
        explore::TESTS,
        explore::own::TESTS,
        fs::TESTS,
        goroutine::TESTS,
        inspect::TESTS,
        &[io::TESTS],
        net::TESTS,
        pprof::TESTS,
        process::TESTS,
        report::TESTS,
        sync::TESTS,
        &[testing::TESTS],
        time::TESTS,
        &[tokio::TESTS],
        trace::TESTS,
    ];
    rooms.concat()
}

#[cfg(not(feature = "rooms"))]
fn others() -> Vec<&'static [Test]> {
    Vec::new()
}
