//! The tests of what runs, by rooms of the crate.

mod asm;
mod auto_traits;
mod chan;
mod context;
mod detach;
mod explore;
mod fs;
mod goroutine;
mod harness;
mod io;
mod locals;
mod net;
mod painted;
mod pprof;
mod process;
mod raw;
mod report;
mod sched;
mod signal;
mod stack;
mod sync;
mod testing;
mod time;
mod tokio;
mod trace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let rooms = [
        // First: one of them waits for half a minute.
        stack::TESTS,
        &[auto_traits::TESTS],
        chan::TESTS,
        context::TESTS,
        detach::TESTS,
        explore::TESTS,
        explore::own::TESTS,
        fs::TESTS,
        goroutine::TESTS,
        &[io::TESTS],
        locals::TESTS,
        net::TESTS,
        pprof::TESTS,
        process::TESTS,
        raw::TESTS,
        report::TESTS,
        sched::TESTS,
        signal::TESTS,
        sync::TESTS,
        &[testing::TESTS],
        time::TESTS,
        &[tokio::TESTS],
        trace::TESTS,
    ];
    harness::main(&rooms.concat().concat())
}
