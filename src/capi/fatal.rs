//! Functions by which a port reports errors. The stubs of `asm/*/entry.S` jump to them. Each
//! `unsafe` block relies on what the function of the same name in `header/` requires of its caller.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

use crate::capi;
use crate::capi::caller::null;
use crate::runtime::{CodePlace, fatal, fatalpanic_of_port, set_symbolizer, systemstack, throw};

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

type Symbolize = unsafe extern "C" fn(usize, *mut capi::CodePlace, usize) -> usize;

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
fn ask_symbolizer(pc: usize, found: &mut dyn FnMut(CodePlace<'_>)) {
    const UNKNOWN: capi::CodePlace =
        capi::CodePlace { function: std::ptr::null(), file: std::ptr::null(), line: 0, own: false };
    let Some(symbolize) = SYMBOLIZE.get() else { return };
    let mut places = [UNKNOWN; MOST];
    // SAFETY: `places` has room for `MOST` entries, and the symbolizer doesn't unwind.
    let n = unsafe { symbolize(pc, places.as_mut_ptr(), MOST) };
    for place in &places[..n.min(MOST)] {
        // SAFETY: null, or C strings, which stay.
        let (function, file) = unsafe { (name(place.function), name(place.file)) };
        let line = u32::try_from(place.line).unwrap_or(0);
        found(CodePlace { function: &function, file: &file, line, own: place.own });
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
