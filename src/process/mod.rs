//! Runs other programs. A goroutine that waits for a program's end or for its pipes holds no
//! thread. Go's `os/exec`.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::process::Stdio;
//! use gosched::process::Command;
//!
//! gosched::run(|| {
//!     let mut sort = Command::new("sort").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
//!     let (mut stdin, mut stdout) = (sort.stdin.take().unwrap(), sort.stdout.take().unwrap());
//!     gosched::go(move || stdin.write_all(b"b\nc\na\n"));
//!     let mut sorted = String::new();
//!     stdout.read_to_string(&mut sorted)?;
//!     assert_eq!(sorted, "a\nb\nc\n");
//!     assert!(sort.wait()?.success());
//!     Ok::<(), std::io::Error>(())
//! })
//! .unwrap();
//! ```
//!
//! The names are those of [`std::process`], and so are the errors; [`Stdio`](std::process::Stdio),
//! [`ExitStatus`](std::process::ExitStatus) and [`Output`](std::process::Output) are std's own
//! types. The pipes are [`Pollable`](crate::net::Pollable)s, with deadlines. Waits for pipes and
//! for the end of a child can be under a context:
//!
//! | to | in Go | here |
//! | --- | --- | --- |
//! | get what it writes | `exec.Command(..).Output()` | [`Command::output`] |
//! | kill it if that takes too long | `exec.CommandContext(ctx, ..).Output()` | `ctx.with_mut(&mut command).output()` |
//! | stop waiting, and decide what to do | | `ctx.with_mut(&mut child).wait()` |
//! | write to it, and read from it | `StdinPipe`, `StdoutPipe` | [`Child::stdin`], [`Child::stdout`] |
//!
//! When a program is started, a thread waits in [`blocking`](crate::blocking) until the kernel has
//! loaded it. A pidfd reports its end to the poller (Linux 5.3). If there can be no pidfd (an older
//! kernel, a sandbox, no descriptor left), [`Child::wait`] takes a thread as well.

// | file | what it holds |
// | --- | --- |
// | `command.rs` | `Command` |
// | `child.rs` | `Child`: its end and its output; `ChildStdin` and its like; the descriptor that reports the end |

mod child;
mod command;

pub use child::{Child, ChildStderr, ChildStdin, ChildStdout};
pub use command::Command;
