//! What the environment says. The library reads it once, before `main`.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// 0: the library does nothing.
const ON: &str = "GOSCHED_PRELOAD";
/// The names of programs whose threads stay threads, with commas between.
const LEAVE: &str = "GOSCHED_PRELOAD_LEAVE";
/// 0: programs that this program starts don't get the library.
const CHILDREN: &str = "GOSCHED_PRELOAD_CHILDREN";
/// 1: a report goes to stderr at exit.
const REPORT: &str = "GOSCHED_PRELOAD_REPORT";
/// The bytes of a thread's stack, if its maker doesn't say.
pub(crate) const STACK_SIZE: &str = "GOSCHED_PRELOAD_STACK_SIZE";

/// The list of libraries that the dynamic linker loads first.
const LIST: &str = "LD_PRELOAD";
/// The name of the file of this library.
const LIBRARY: &[u8] = b"libgosched_preload.so";

pub(crate) struct Settings {
    pub(crate) off: bool,
    leave: Vec<String>,
    pub(crate) children: bool,
    pub(crate) report: bool,
    pub(crate) stack_size: Option<usize>,
}

impl Settings {
    pub(crate) fn read() -> Settings {
        let is = |name: &str, value: &str| env::var_os(name).is_some_and(|found| found == value);
        let leave = env::var(LEAVE).unwrap_or_default();
        Settings {
            off: is(ON, "0"),
            leave: leave.split(',').map(str::to_owned).collect(),
            children: !is(CHILDREN, "0"),
            report: is(REPORT, "1"),
            stack_size: env::var(STACK_SIZE).ok().and_then(|text| text.parse().ok()),
        }
    }

    /// Whether a program that has these names keeps its threads.
    pub(crate) fn leaves_any(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.leave.contains(name))
    }
}

/// Takes this library off the list that programs inherit which this program starts.
pub(crate) fn leave_children() {
    let Some(list) = env::var_os(LIST) else { return };
    let is_separator = |byte: &u8| matches!(byte, b':' | b' ');
    let others: Vec<&[u8]> =
        list.as_bytes().split(is_separator).filter(|path| !path.ends_with(LIBRARY)).collect();
    // SAFETY: the program's `main` hasn't begun. A thread of a constructor's that uses the
    // environment now is in the same danger from `main` itself.
    unsafe {
        if others.iter().all(|path| path.is_empty()) {
            env::remove_var(LIST);
        } else {
            env::set_var(LIST, OsString::from_vec(others.join(&b':')));
        }
    }
}
