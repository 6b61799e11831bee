//! The tables of cases in C.

use std::ffi::{CStr, c_char};
use std::sync::Once;

use crate::call::Driver;

/// What the C files are compiled with: `-O0`, `-O2`, `-O2 -fno-omit-frame-pointer`.
pub const LEVELS: [&str; 3] = ["o0", "o2", "o2fp"];

/// A case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The name of its function in C.
    pub name: &'static str,
    pub(crate) driver: Driver,
}

/// `struct Case` of `c/call.h`.
#[repr(C)]
struct Entry {
    name: *const c_char,
    driver: Option<Driver>,
}

/// The tables of one level.
struct Tables {
    plain: *const Entry,
    arrays: *const Entry,
    avx: *const Entry,
    unchecked: *const Entry,
}

#[cfg(split_stack)]
macro_rules! tables {
    ($level:expr, $($name:literal: $plain:ident $arrays:ident $avx:ident $unchecked:ident)*) => {{
        unsafe extern "C" {
            $(
                static $plain: Entry;
                static $arrays: Entry;
                static $avx: Entry;
                static $unchecked: Entry;
            )*
        }
        match $level {
            $(
                $name => Tables {
                    plain: &raw const $plain,
                    arrays: &raw const $arrays,
                    avx: &raw const $avx,
                    unchecked: &raw const $unchecked,
                },
            )*
            other => panic!("nothing is compiled with {other}"),
        }
    }};
}

#[cfg(split_stack)]
fn tables(level: &str) -> Tables {
    tables! { level,
        "o0": split_stack_cases_o0 split_stack_arrays_o0 split_stack_avx_o0 split_stack_unchecked_o0
        "o2": split_stack_cases_o2 split_stack_arrays_o2 split_stack_avx_o2 split_stack_unchecked_o2
        "o2fp": split_stack_cases_o2fp split_stack_arrays_o2fp split_stack_avx_o2fp split_stack_unchecked_o2fp
    }
}

#[cfg(not(split_stack))]
fn tables(level: &str) -> Tables {
    panic!("nothing is compiled with {level}");
}

/// The entries of a table.
///
/// # Safety
/// It is one.
unsafe fn read(mut entry: *const Entry) -> Vec<Case> {
    let mut cases = Vec::new();
    // SAFETY: the caller's; a table ends with an entry without a driver.
    unsafe {
        while let Some(driver) = (*entry).driver {
            let name = CStr::from_ptr((*entry).name).to_str().expect("a C function's name");
            cases.push(Case { name, driver });
            entry = entry.add(1);
        }
    }
    cases
}

/// The cases that can run on this processor.
pub fn cases(level: &str) -> Vec<Case> {
    static SKIPPED: Once = Once::new();
    let tables = tables(level);
    // SAFETY: tables.
    let mut cases = unsafe { [read(tables.plain), read(tables.arrays)].concat() };
    if is_x86_feature_detected!("avx") {
        // SAFETY: a table.
        cases.extend(unsafe { read(tables.avx) });
    } else {
        SKIPPED.call_once(|| eprintln!("skipped: this processor has no AVX"));
    }
    cases
}

/// The cases in which code with checks calls code without.
pub fn unchecked_cases(level: &str) -> Vec<Case> {
    // SAFETY: a table.
    unsafe { read(tables(level).unchecked) }
}
