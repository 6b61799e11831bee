//! The tests of what runs, by rooms of the crate.

mod asm;
mod auto_traits;
mod chan;
mod context;
mod detach;
mod goroutine;
mod harness;
mod io;
mod locals;
mod net;
mod painted;
mod raw;
mod report;
mod sched;
mod signal;
mod stack;
mod sync;
mod time;

use std::process::ExitCode;

fn main() -> ExitCode {
    let rooms = [
        // First: one of them waits for half a minute.
        stack::TESTS,
        &[auto_traits::TESTS],
        chan::TESTS,
        context::TESTS,
        detach::TESTS,
        goroutine::TESTS,
        &[io::TESTS],
        locals::TESTS,
        net::TESTS,
        raw::TESTS,
        report::TESTS,
        sched::TESTS,
        signal::TESTS,
        sync::TESTS,
        time::TESTS,
    ];
    harness::main(&rooms.concat().concat())
}
