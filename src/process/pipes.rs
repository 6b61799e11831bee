//! The pipes to a child and from it.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use crate::net::{Pollable, set_nonblocking};

/// The pipe to a child's standard input: [`std::process::ChildStdin`], on which only goroutines
/// wait. Dropping it closes the pipe, and the child reads the end. What Go's `Cmd.StdinPipe`
/// returns.
///
/// A write to a child that has closed its end, or has ended, fails with
/// [`BrokenPipe`](io::ErrorKind::BrokenPipe). (SIGPIPE, which would end the process, is ignored in
/// a Rust program.)
pub type ChildStdin = Pollable<PipeWriter>;

/// The pipe from a child's standard output: [`std::process::ChildStdout`], on which only goroutines
/// wait. What Go's `Cmd.StdoutPipe` returns.
///
/// It comes to an end when the child, and each process that has inherited the other end from it,
/// has closed that.
///
/// As std's, it can be the input of another child, which gets it in blocking mode:
///
/// ```
/// use std::process::Stdio;
/// use gosched::process::Command;
///
/// gosched::run(|| {
///     let mut echo = Command::new("echo").arg("gopher").stdout(Stdio::piped()).spawn()?;
///     let rev = Command::new("rev").stdin(echo.stdout.take().unwrap()).output()?;
///     assert_eq!(rev.stdout, b"rehpog\n");
///     assert!(echo.wait()?.success());
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
pub type ChildStdout = Pollable<PipeReader>;

/// The pipe from a child's standard error: the same as [`ChildStdout`]. What Go's `Cmd.StderrPipe`
/// returns.
pub type ChildStderr = Pollable<PipeReader>;

/// This end of a pipe, in the poller. Its mode is its own: the child's end stays in blocking mode.
pub(super) fn polled<T: AsFd + From<OwnedFd>>(
    pipe: Option<impl Into<OwnedFd>>,
) -> io::Result<Option<Pollable<T>>> {
    pipe.map(|pipe| Pollable::new(T::from(pipe.into()))).transpose()
}

macro_rules! stdio {
    ($($pipe:ty),*) => {
        $(
            impl From<Pollable<$pipe>> for Stdio {
                /// The descriptor of [`into_inner`](Pollable::into_inner), in blocking mode:
                /// programs don't expect to be told that they would have to wait. So is any
                /// duplicate of it: the mode is the pipe's end's.
                fn from(ours: Pollable<$pipe>) -> Self {
                    let pipe = ours.into_inner();
                    set_nonblocking(pipe.as_fd(), false).expect("a pipe can be in either mode");
                    pipe.into()
                }
            }
        )*
    };
}

stdio!(PipeReader, PipeWriter);
