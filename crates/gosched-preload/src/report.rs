//! The report at exit.

use gosched::metrics::{self, Value};

/// Writes the report to stderr when the program exits.
pub(crate) fn at_exit() {
    // SAFETY: the function may be called at exit: it prints.
    unsafe { libc::atexit(report) };
}

extern "C" fn report() {
    let number = |name| match metrics::read(name) {
        Some(Value::Uint64(number)) => number,
        _ => 0,
    };
    // SAFETY: takes no pointer.
    let process = unsafe { libc::getpid() };
    eprintln!(
        "gosched-preload: process {process}: {} parks in locks and sleeps, {} parks at descriptors, {} threads of the kernel",
        number("/gosched/std/futex:waits"),
        number("/gosched/std/descriptors:waits"),
        gosched::proc::mcount(),
    );
}
