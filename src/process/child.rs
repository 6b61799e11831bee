//! [`Child`], the pipes to it and from it, and the descriptor that reports its end.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read};
use std::mem::forget;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::panic::Location;
use std::process::{self, ExitStatus, Output, Stdio};
use std::ptr;

use crate::context::Context;
use crate::goroutine::{Builder, blocking};
use crate::net::{Limit, Pollable, set_nonblocking};
use crate::runtime::{Inherited, Mode, must_wait};

/// A program that was started: [`std::process::Child`], with waits that park the goroutine and not
/// its thread. [`Command::spawn`](crate::process::Command::spawn) makes it. Go's `os.Process`, and
/// `exec.Cmd` once it has started.
///
/// As with std's, **dropping it doesn't end the child**. When the child has ended, the kernel keeps
/// a zombie of it until this process ends or waits for it. A program that doesn't need the status
/// waits for the child on a goroutine:
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
    /// The pipe to its standard input, if that was [piped](std::process::Stdio::piped) and isn't
    /// taken.
    pub stdin: Option<ChildStdin>,
    /// The pipe from its standard output, likewise.
    pub stdout: Option<ChildStdout>,
    /// The pipe from its standard error, likewise.
    pub stderr: Option<ChildStderr>,
    /// Reports the child's end. None after that, and if there couldn't be one. It is opened at the
    /// start, and not at the first wait: later the number may be another process's, if this program
    /// ignores SIGCHLD.
    pidfd: Option<Pollable<OwnedFd>>,
    inner: process::Child,
}

impl Child {
    /// Takes over a child. If its pipes can't be waited for, it is killed, because no caller would
    /// know of it.
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

    /// Kills the child, and waits for its end. For a child that only the caller knows of. If the
    /// child belongs to another user by now, it can't be killed, so this doesn't wait for it.
    pub(crate) fn end(&mut self) {
        if self.kill().is_ok() {
            let _ = blocking(|| self.inner.wait());
        }
    }

    /// Calls `f`, and [ends](Self::end) the child if that fails or unwinds.
    pub(crate) fn end_unless<T>(&mut self, f: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        struct Ends<'a>(&'a mut Child);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        let ends = Ends(self);
        let result = f(&mut *ends.0);
        if result.is_ok() {
            forget(ends);
        }
        result
    }

    /// The number of its process. Once the child was [waited](Self::wait) for, another process may
    /// have that number.
    pub fn id(&self) -> u32 {
        self.inner.id()
    }

    /// Kills the child, by SIGKILL. Its status has that
    /// [signal](std::os::unix::process::ExitStatusExt::signal) then. The child still has to be
    /// waited for. If it was waited for before, this does nothing. Go's `Process.Kill`, in
    /// `os/exec.go`.
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
    /// Those of the kernel, for instance that the child belongs to another user by now.
    pub fn kill(&mut self) -> io::Result<()> {
        match &self.pidfd {
            Some(pidfd) => kill(pidfd.as_fd()).or_else(|_| self.inner.kill()),
            None => self.inner.kill(),
        }
    }

    /// Closes the pipe to the child's standard input, waits until the child has ended, and returns
    /// its status. If the child was waited for before, it returns the same status at once. Go's
    /// `Process.Wait`, in `os/exec.go`.
    ///
    /// No thread waits, unless there is [no pidfd](crate::process).
    /// `ctx.with_mut(&mut child).wait()` ends with a [context](crate::context::WithMut); the child
    /// goes on then.
    ///
    /// # Errors
    /// Those of the kernel. It is `ECHILD` ("No child processes") if the status is gone when the
    /// child has ended: this program ignores SIGCHLD, or other code in it has waited for all
    /// children.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.wait_limited(Limit::default())
    }

    /// [`wait`](Self::wait) with a limit, if the wait [can be limited](Self::tells_of_its_end).
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

    /// Whether the poller reports the child's end, so that a wait for it can have a limit.
    pub(crate) fn tells_of_its_end(&self) -> bool {
        self.pidfd.is_some()
    }

    /// Returns the child's status if it has ended, and `None` if it goes on. It doesn't wait, and
    /// leaves the pipe to the child's standard input open.
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

    /// Closes the pipe to the child's standard input, reads both outputs to their ends, if there
    /// are pipes from them, and waits until the child has ended. The outputs are read at the same
    /// time, the second one by a goroutine. Go's `Cmd.Output`, in `os/exec/exec.go`.
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
    /// As [`wait`](Self::wait), as reading, and if there is no memory for the goroutine. After an
    /// error the child goes on, as when it is dropped.
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking), and before the first [`run`](crate::run).
    #[track_caller]
    pub fn wait_with_output(mut self) -> io::Result<Output> {
        drop(must_wait("Child::wait_with_output"));
        self.output(&Context::background())
    }

    /// [`wait_with_output`](Self::wait_with_output) that ends with the context, for a caller that
    /// can wait.
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

/// All bytes that come from a pipe, if there is one.
fn read_all(ctx: &Context, pipe: Option<ChildStdout>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    if let Some(pipe) = pipe {
        ctx.with(&pipe).read_to_end(&mut all)?;
    }
    Ok(all)
}

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
fn polled<T: AsFd + From<OwnedFd>>(pipe: Option<impl Into<OwnedFd>>) -> io::Result<Option<Pollable<T>>> {
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

/// Opens a descriptor of a child that hasn't been waited for. It becomes readable at the child's
/// end. None if there can't be one: before Linux 5.3, in a sandbox that doesn't know the system
/// call, or if there are too many descriptors. Go's `pidfdFind`, in `os/pidfd_linux.go` since 1.23.
fn pidfd(id: u32) -> Option<Pollable<OwnedFd>> {
    let (id, no_flags) = (id as libc::pid_t, 0);
    // SAFETY: no memory is passed.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, id, no_flags) };
    if fd < 0 {
        return None;
    }
    // SAFETY: the descriptor is new, and nobody else's.
    Pollable::new(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }).ok()
}

/// Kills the process of a [`pidfd`], and never another process that has its number by now. If it
/// has been waited for, this does nothing.
///
/// # Errors
/// The kernel's. A sandbox may allow the system call of [`pidfd`], and not this one.
fn kill(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    let (no_info, no_flags) = (ptr::null::<libc::siginfo_t>(), 0);
    // SAFETY: the descriptor is open, and no memory is passed.
    let result = unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), libc::SIGKILL, no_info, no_flags)
    };
    match io::Error::last_os_error() {
        error if result < 0 && error.raw_os_error() != Some(libc::ESRCH) => Err(error),
        _ => Ok(()),
    }
}
