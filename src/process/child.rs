//! [`Child`].

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::Location;
use std::process::{self, ExitStatus, Output};

use crate::context::Context;
use crate::goroutine::{Builder, blocking};
use crate::net::{Limit, Pollable};
use crate::process::pidfd::{kill, pidfd};
use crate::process::pipes::polled;
use crate::process::{ChildStderr, ChildStdin, ChildStdout};
use crate::runtime::{Inherited, Mode, must_wait};

/// A program that was started: [`std::process::Child`], for whose end only goroutines wait.
/// [`Command::spawn`](crate::process::Command::spawn) makes it. Go's `os.Process`, and `exec.Cmd` once it has started.
///
/// As with std's, **dropping it ends nothing**: the child goes on, and when it has ended the kernel keeps what is left of it, a
/// zombie, until this process ends. Who has no use for its status waits for it on a goroutine:
///
/// ```
/// use gosched::process::Command;
///
/// gosched::run(|| {
///     let mut child = Command::new("true").spawn()?;
///     gosched::go(move || child.wait());
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct Child {
    /// The pipe to its standard input, if that was [piped](std::process::Stdio::piped) and isn't taken.
    pub stdin: Option<ChildStdin>,
    /// The pipe from its standard output, likewise.
    pub stdout: Option<ChildStdout>,
    /// The pipe from its standard error, likewise.
    pub stderr: Option<ChildStderr>,
    /// Tells of its end. None after that, and if there couldn't be one. From the start, and not from the first wait: what has
    /// the number later may be another process, if this program ignores SIGCHLD.
    pidfd: Option<Pollable<OwnedFd>>,
    inner: process::Child,
}

impl Child {
    /// Takes over a child. If its pipes can't be waited for, it is killed: nobody would know of it.
    pub(super) fn new(inner: process::Child) -> io::Result<Self> {
        let pidfd = pidfd(inner.id());
        let mut child = Child { stdin: None, stdout: None, stderr: None, pidfd, inner };
        child.take_pipes().inspect_err(|_| child.end())?;
        Ok(child)
    }

    fn take_pipes(&mut self) -> io::Result<()> {
        self.stdin = polled(self.inner.stdin.take())?;
        self.stdout = polled(self.inner.stdout.take())?;
        self.stderr = polled(self.inner.stderr.take())?;
        Ok(())
    }

    /// Kills it, and waits for that: for who alone knows of it. If it has become another user's, it goes on: who can't kill
    /// it mustn't wait for it.
    pub(crate) fn end(&mut self) {
        if self.kill().is_ok() {
            let _ = blocking(|| self.inner.wait());
        }
    }

    /// The number of its process. Once it was [waited](Self::wait) for, another process may have that.
    pub fn id(&self) -> u32 {
        self.inner.id()
    }

    /// Kills it, by SIGKILL; then its status has that [signal](std::os::unix::process::ExitStatusExt::signal). It is still to
    /// be waited for. If it was, this does nothing. Go's `Process.Kill`, in `os/exec.go`.
    ///
    /// ```
    /// use std::os::unix::process::ExitStatusExt;
    /// use gosched::process::Command;
    ///
    /// gosched::run(|| {
    ///     let mut child = Command::new("sleep").arg("3600").spawn()?;
    ///     child.kill()?;
    ///     assert_eq!(child.wait()?.signal(), Some(9));
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's: for instance that it has become another user's.
    pub fn kill(&mut self) -> io::Result<()> {
        match &self.pidfd {
            Some(pidfd) => kill(pidfd.as_fd()).or_else(|_| self.inner.kill()),
            None => self.inner.kill(),
        }
    }

    /// Closes the pipe to its standard input, waits until it has ended, and returns its status: the same one, at once, if it
    /// was waited for before. Go's `Process.Wait`, in `os/exec.go`.
    ///
    /// No thread waits, unless there is [no pidfd](crate::process). `ctx.with_mut(&mut child).wait()` ends with a
    /// [context](crate::context::WithMut); the child goes on then.
    ///
    /// # Errors
    /// The kernel's. It is `ECHILD` ("No child processes") if the status is gone when the child has ended: because this program
    /// ignores SIGCHLD, or because something else in it has waited for all children.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.wait_limited(Limit::default())
    }

    /// [`wait`](Self::wait) with a limit, if it [can be limited](Self::tells_of_its_end).
    #[track_caller]
    pub(crate) fn wait_limited(&mut self, limit: Limit<'_>) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let inner = &mut self.inner;
        let status = match &self.pidfd {
            Some(pidfd) => pidfd.io_limited(Mode::Read, "Child::wait", limit, |_| {
                inner.try_wait()?.ok_or_else(|| ErrorKind::WouldBlock.into())
            }),
            None => blocking(|| inner.wait()),
        }?;
        self.pidfd = None;
        Ok(status)
    }

    /// Whether the poller is told of its end, so that a wait for that can have a limit.
    pub(crate) fn tells_of_its_end(&self) -> bool {
        self.pidfd.is_some()
    }

    /// Its status, if it has ended; none if it goes on. It doesn't wait, and leaves the pipe to its standard input open.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.inner.try_wait()?;
        if status.is_some() {
            self.pidfd = None;
        }
        Ok(status)
    }

    /// Closes the pipe to its standard input, reads both outputs to their ends, as far as there are pipes from them, and waits
    /// until it has ended. The outputs are read at the same time, the second one by a goroutine. Go's `Cmd.Output`, in
    /// `os/exec/exec.go`.
    ///
    /// ```
    /// use std::process::Stdio;
    /// use gosched::process::Command;
    ///
    /// gosched::run(|| {
    ///     let child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
    ///     let output = child.wait_with_output()?;
    ///     assert!(output.status.success());
    ///     assert_eq!(output.stdout, b"hello\n");
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`wait`](Self::wait), and as reading; and if there is no memory for the goroutine. As when it is dropped, the
    /// child goes on.
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking), and before the first [`run`](crate::run).
    #[track_caller]
    pub fn wait_with_output(mut self) -> io::Result<Output> {
        drop(must_wait("Child::wait_with_output"));
        self.output(&Context::background())
    }

    /// [`wait_with_output`](Self::wait_with_output) that ends with the context, where it can wait.
    #[track_caller]
    pub(crate) fn output(&mut self, ctx: &Context) -> io::Result<Output> {
        drop(self.stdin.take());
        let stderr = match self.stderr.take() {
            Some(stderr) => {
                let ctx = ctx.clone();
                let mut read = Some(move || read_all(&ctx, Some(stderr)));
                let reader = Builder::new().name("stderr of a child");
                Some(reader.make(Location::caller(), &mut read, Inherited::NONE)?)
            }
            None => None,
        };
        let stdout = read_all(ctx, self.stdout.take())?;
        let stderr = match stderr {
            Some(reader) => reader.join().expect("reading doesn't panic")?,
            None => Vec::new(),
        };
        let status = ctx.with_mut(self).wait()?;
        Ok(Output { status, stdout, stderr })
    }
}

/// All that comes from a pipe, if there is one.
fn read_all(ctx: &Context, pipe: Option<ChildStdout>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    if let Some(pipe) = pipe {
        ctx.with(&pipe).read_to_end(&mut all)?;
    }
    Ok(all)
}
