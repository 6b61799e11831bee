//! Finds the lists of cases, which are in C, in the program.

use std::ffi::{CStr, c_char};
use std::sync::Once;

use crate::call::Driver;

/// The flavours by gcc that are tested most: `-O0`, `-O2`, `-O2 -fno-omit-frame-pointer`. The
/// others are `o1` and `o3`, and each level with a kind of `-fcf-protection` behind it (`o2-full`).
/// The flavours by clang have `clang-` before these names.
pub const LEVELS: [&str; 3] = ["o0", "o2", "o2fp"];

/// A case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The name of its function in C.
    pub name: &'static str,
    /// The flavour in which it was compiled.
    pub flavour: &'static str,
    pub(crate) driver: Driver,
}

/// `struct Case` of `c/call.h`.
#[repr(C)]
struct Entry {
    name: *const c_char,
    driver: Option<Driver>,
}

/// `struct Table` of `c/call.h`.
#[repr(C)]
struct Table {
    flavour: *const c_char,
    kind: *const c_char,
    cases: *const Entry,
}

/// The tables, which are all in one section of the program.
#[cfg(split_stack)]
fn tables() -> &'static [&'static Table] {
    unsafe extern "C" {
        #[link_name = "__start_split_stack_tables"]
        static START: &'static Table;
        #[link_name = "__stop_split_stack_tables"]
        static STOP: &'static Table;
    }
    // SAFETY: the linker defines both: the start and the end of the section, which has nothing but
    // pointers.
    unsafe {
        let (start, stop) = (&raw const START, &raw const STOP);
        std::slice::from_raw_parts(start, stop.offset_from_unsigned(start))
    }
}

/// Without split-stack code there are no tables.
#[cfg(not(split_stack))]
fn tables() -> &'static [&'static Table] {
    &[]
}

/// Converts a string of a table.
///
/// # Safety
/// `text` is a string of a [`Table`], or of an [`Entry`] that isn't the last.
unsafe fn text(text: *const c_char) -> &'static str {
    // SAFETY: the caller passes a string in C, which is never freed.
    unsafe { CStr::from_ptr(text) }.to_str().expect("a name in C")
}

/// Returns the names of all flavours, in order.
pub fn flavours() -> Vec<&'static str> {
    // SAFETY: `flavour` is a table's string.
    let mut flavours: Vec<_> = tables().iter().map(|table| unsafe { text(table.flavour) }).collect();
    flavours.sort_unstable();
    flavours.dedup();
    flavours
}

/// Returns the cases of one kind and flavour.
fn read(kind: &str, flavour: &'static str) -> Vec<Case> {
    let mut cases = Vec::new();
    for table in tables() {
        // SAFETY: the strings are a table's, and its list of cases ends with an entry without a
        // driver.
        unsafe {
            if text(table.kind) == kind && text(table.flavour) == flavour {
                let mut entry = table.cases;
                while let Some(driver) = (*entry).driver {
                    cases.push(Case { name: text((*entry).name), flavour, driver });
                    entry = entry.add(1);
                }
            }
        }
    }
    assert!(!cases.is_empty(), "nothing is compiled as {flavour}");
    cases
}

/// Returns the cases that can run on this processor.
pub fn cases(flavour: &'static str) -> Vec<Case> {
    static SKIPPED: Once = Once::new();
    let mut cases = read("checked", flavour);
    if is_x86_feature_detected!("avx") {
        cases.extend(read("avx", flavour));
    } else {
        SKIPPED.call_once(|| eprintln!("skipped: this processor has no AVX"));
    }
    cases
}

/// Returns the cases in which code with checks calls code without.
pub fn unchecked_cases(flavour: &'static str) -> Vec<Case> {
    read("unchecked", flavour)
}
