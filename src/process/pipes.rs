//! The pipes to a child and from it.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use crate::net::{Pollable, set_nonblocking};

/// The pipe to a child's standard input: [`std::process::ChildStdin`], on which only goroutines
/// wait. Dropping it closes the pipe, and the child reads the end. Go's `Cmd.StdinPipe` returns the
/// like.
///
/// A write to a child that has closed its end, or has ended, fails with
/// [`BrokenPipe`](io::ErrorKind::BrokenPipe). (SIGPIPE, which would end the process, is ignored in
/// a Rust program.)
pub type ChildStdin = Pollable<PipeWriter>;

/// The pipe from a child's standard output: [`std::process::ChildStdout`], on which only goroutines
/// wait. Go's `Cmd.StdoutPipe` returns the like.
///
/// It ends when the other end is closed, by the child and by each process that has inherited it
/// from the child.
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

/// The pipe from a child's standard error: the same as [`ChildStdout`]. Go's `Cmd.StderrPipe`
/// returns the like.
pub type ChildStderr = Pollable<PipeReader>;

/// Adds this end of a pipe to the poller. The child's end stays in blocking mode.
pub(super) fn polled<T: AsFd + From<OwnedFd>>(
    pipe: Option<impl Into<OwnedFd>>,
) -> io::Result<Option<Pollable<T>>> {
    pipe.map(|pipe| Pollable::new(T::from(pipe.into()))).transpose()
}

macro_rules! stdio {
    ($($pipe:ty),*) => {
        $(
            impl From<Pollable<$pipe>> for Stdio {
                /// The descriptor of [`into_inner`](Pollable::into_inner), in blocking mode,
                /// because programs don't expect `WouldBlock`. Its duplicates change as well: the
                /// mode belongs to this end of the pipe.
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
