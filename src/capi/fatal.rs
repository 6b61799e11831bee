//! What a port says when the process ends, and of its own code in reports.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

use crate::capi::Address;
use crate::capi::caller::null;
use crate::runtime::{self, fatal, fatalpanic_of_port, set_symbolizer, systemstack, throw};

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

/// The text that C passed to `function` as `argument`. Called where the stack has room to read it.
///
/// # Safety
/// `text` is null, or a C string that stays.
unsafe fn text<'a>(function: &str, argument: &str, text: *const c_char) -> Cow<'a, str> {
    if text.is_null() {
        null(function, argument)
    }
    // SAFETY: a C string, as the caller says.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_throw_impl(message: *const c_char) -> ! {
    // SAFETY: a C string, or null.
    systemstack(|| throw(&unsafe { text("gosched_throw", "message", message) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_fatal_impl(message: *const c_char) -> ! {
    // SAFETY: a C string, or null.
    systemstack(|| fatal(&unsafe { text("gosched_fatal", "message", message) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_fatalpanic_impl(panic: *const c_char) -> ! {
    // SAFETY: a C string, or null.
    systemstack(|| fatalpanic_of_port(&unsafe { text("gosched_fatalpanic", "text", panic) }))
}

type Symbolize = unsafe extern "C" fn(usize, *mut CodePlace, usize) -> usize;

static SYMBOLIZE: OnceLock<Symbolize> = OnceLock::new();

#[unsafe(no_mangle)]
extern "C" fn gosched_set_symbolizer_impl(symbolize: Option<Symbolize>) -> c_int {
    let Some(symbolize) = symbolize else { return libc::EINVAL };
    systemstack(|| {
        if SYMBOLIZE.set(symbolize).is_err() || set_symbolizer(ask_symbolizer).is_err() {
            return libc::EBUSY;
        }
        0
    })
}

/// How many functions an address can have when functions are inlined into others.
const MOST: usize = 16;

/// Passes on what the program's symbolizer says.
fn ask_symbolizer(pc: usize, found: &mut dyn FnMut(runtime::CodePlace<'_>)) {
    const UNKNOWN: CodePlace =
        CodePlace { function: std::ptr::null(), file: std::ptr::null(), line: 0, own: false };
    let Some(symbolize) = SYMBOLIZE.get() else { return };
    let mut places = [UNKNOWN; MOST];
    // SAFETY: `places` has room for `MOST` entries, and the symbolizer doesn't unwind.
    let n = unsafe { symbolize(pc, places.as_mut_ptr(), MOST) };
    for place in &places[..n.min(MOST)] {
        // SAFETY: null, or C strings, which stay.
        let (function, file) = unsafe { (name(place.function), name(place.file)) };
        let line = u32::try_from(place.line).unwrap_or(0);
        found(runtime::CodePlace { function: &function, file: &file, line, own: place.own });
    }
}

/// The text of a name; empty for null.
///
/// # Safety
/// `name` is null, or a C string that stays.
unsafe fn name<'a>(name: *const c_char) -> Cow<'a, str> {
    // SAFETY: a C string, as the caller says.
    if name.is_null() { Cow::Borrowed("") } else { unsafe { CStr::from_ptr(name) }.to_string_lossy() }
}
