//! What a port says when the process ends, and of its own code in reports.

use std::ffi::{c_char, c_int};

use crate::capi::Address;

/// A function at an address, as a port knows it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CodePlace {
    /// Its name, in UTF-8; NULL if it isn't known.
    pub function: *const c_char,
    /// The source file; NULL if it isn't known.
    pub file: *const c_char,
    /// The line in it, from 1 on; 0 if it isn't known.
    pub line: c_int,
    /// Whether it is the port's own, which reports leave out as they do the scheduler's, unless
    /// `GOTRACEBACK=system` asks for all.
    pub own: bool,
}

unsafe extern "C" {
    /// Ends the process for a broken invariant of the port's: the message, a backtrace and every
    /// goroutine go to stderr, and the status is 2. Go's `throw`, in `panic.go`.
    ///
    /// # Safety
    /// `message` is a C string, which may be on the caller's stack.
    pub fn gosched_throw(message: *const c_char) -> !;

    /// Ends the process for an error of the program, as `gosched_throw`, without a backtrace of the
    /// scheduler. Go's `fatal`, in `panic.go`.
    ///
    /// # Safety
    /// As `gosched_throw`.
    pub fn gosched_fatal(message: *const c_char) -> !;

    /// Ends the process because the running goroutine has panicked and nobody recovers: `text`,
    /// which begins with "panic: " as a rule, goes to stderr as it is, then the goroutine with its
    /// stack, and the status is 2. Go's `fatalpanic`, in `panic.go`.
    ///
    /// # Safety
    /// As `gosched_throw`.
    pub fn gosched_fatalpanic(text: *const c_char) -> !;

    /// Says who knows names of code: `symbolize` is asked for each address that a report shows, a
    /// trace or a profile. It stores up to `n` functions at `places`, the innermost first where
    /// calls were inlined, and returns how many; 0 to have the program's own symbols looked up, as
    /// for every address without this. `pc` is in an instruction, for a caller in that of the call.
    /// The strings stay. Go's `funcline`, in `symtab.go`.
    ///
    /// Returns 0, or `EBUSY`: there is one already; or `EINVAL`: it is NULL.
    ///
    /// # Safety
    /// `symbolize` takes no lock that a goroutine may hold and doesn't allocate, as the process may
    /// be at its end. It is called on the scheduler's stack, on several threads at once, and
    /// doesn't unwind.
    pub fn gosched_set_symbolizer(
        symbolize: Option<unsafe extern "C" fn(pc: Address, places: *mut CodePlace, n: usize) -> usize>,
    ) -> c_int;
}
