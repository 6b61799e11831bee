//! Other programs: their ends, their streams, and their failures.

mod commands;
mod contexts;
mod ends;

use std::io;
use std::process::Stdio;
use std::ptr;
use std::time::Duration;

use gosched::context::ContextError;
use gosched::process::{Child, ChildStdin, Command};

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[commands::TESTS, contexts::TESTS, ends::TESTS];

pub const SHORT: Duration = Duration::from_millis(2);

pub fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Returns a child that runs until its input ends, and that input.
pub fn cat() -> (Child, ChildStdin) {
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

#[track_caller]
pub fn ended<T>(result: io::Result<T>, by: ContextError) {
    let error = result.map(drop).unwrap_err();
    assert_eq!(ContextError::of(&error), Some(by), "{error}");
}

/// Returns what a wait for any child reports at once.
pub fn any_child() -> io::Result<libc::pid_t> {
    // SAFETY: the kernel writes no status.
    match unsafe { libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG) } {
        -1 => Err(io::Error::last_os_error()),
        id => Ok(id),
    }
}

/// Fails if there is a child that goes on, or one that hasn't been waited for.
#[track_caller]
pub fn no_child_is_left() {
    assert_eq!(any_child().unwrap_err().raw_os_error(), Some(libc::ECHILD));
}
