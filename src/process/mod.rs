//! Other programs, whose end and whose pipes goroutines wait for, and no threads with them. Go's
//! `os/exec`.
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
//! types. The pipes are [`Pollable`](crate::net::Pollable)s, with its deadlines, and can be waited
//! for under a context; what waits for the end of a child can be, too:
//!
//! | to | in Go | here |
//! | --- | --- | --- |
//! | get what it writes | `exec.Command(..).Output()` | [`Command::output`] |
//! | kill it if that takes too long | `exec.CommandContext(ctx, ..).Output()` | `ctx.with_mut(&mut command).output()` |
//! | wait no longer, and decide then | | `ctx.with_mut(&mut child).wait()` |
//! | write to it, and read from it | `StdinPipe`, `StdoutPipe` | [`Child::stdin`], [`Child::stdout`] |
//!
//! To start a program takes until the kernel has loaded it, for which a thread waits in
//! [`blocking`](crate::blocking). Its end is told by a pidfd, in the poller (Linux 5.3). Where the
//! kernel gives out none (an older one, a sandbox, no descriptor left), [`Child::wait`] takes a
//! thread as well.

// | file | what it holds |
// | --- | --- |
// | `command.rs` | `Command` |
// | `child.rs` | `Child`: its end, and what it writes |
// | `pidfd.rs` | what tells of the end |
// | `pipes.rs` | `ChildStdin` and its like |

mod child;
mod command;
mod pidfd;
mod pipes;

pub use child::Child;
pub use command::Command;
pub use pipes::{ChildStderr, ChildStdin, ChildStdout};
