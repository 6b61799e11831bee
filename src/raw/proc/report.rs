//! The raw face's ends of the process.

use crate::runtime;

/// Ends the process for a broken invariant: the message, a backtrace and every goroutine go to
/// stderr, and the status is 2. Go's `throw`, in `panic.go`.
pub fn throw(message: &str) -> ! {
    runtime::throw(message)
}

/// Ends the process for an error of the program, as [`throw`] does, without a backtrace of the
/// runtime. Go's `fatal`, in `panic.go`.
pub fn fatal(message: &str) -> ! {
    runtime::fatal(message)
}

/// Ends the process because the running goroutine has panicked, in a language that is ported onto
/// this, and hasn't recovered. `text`, which begins with "panic: " as a rule, goes to stderr
/// unchanged, then the goroutine with its stack. The status is 2. Go's `fatalpanic`, in `panic.go`.
pub fn fatalpanic(text: &str) -> ! {
    runtime::fatalpanic_of_port(text)
}
