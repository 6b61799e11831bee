//! [`WithMut`]: waits under a context that change what they wait for. Processes have such waits.

use std::fmt;
use std::io;
use std::process::{ExitStatus, Output};
use std::time::Duration;

use crate::context::Context;
use crate::process::{Child, Command};
use crate::runtime::must_wait;

/// The first pause between two looks at a child whose end the poller doesn't report.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest such pause; each is twice as long as the one before.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A [`With`](crate::context::With) for values that a wait changes: [`Context::with_mut`] makes it.
///
/// | on | what |
/// | --- | --- |
/// | [`Child`] | `wait` |
/// | [`Command`] | `status`, `output` |
/// | [`broadcast::Receiver`](crate::chan::broadcast::Receiver) | `recv` |
/// | [`watch::Receiver`](crate::chan::watch::Receiver) | `changed`, `wait_for` |
///
/// ```
/// use std::time::Duration;
/// use gosched::context::Context;
/// use gosched::process::Command;
///
/// gosched::run(|| {
///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_secs(60));
///     let mut child = Command::new("true").spawn()?;
///     assert!(ctx.with_mut(&mut child).wait()?.success());
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
pub struct WithMut<'a, T: ?Sized> {
    pub(super) ctx: &'a Context,
    pub(super) on: &'a mut T,
}

impl<'a, T: ?Sized> WithMut<'a, T> {
    pub(super) fn new(ctx: &'a Context, on: &'a mut T) -> Self {
        WithMut { ctx, on }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for WithMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithMut").field("on", &self.on).field("ctx", &self.ctx).finish()
    }
}

impl WithMut<'_, Child> {
    /// [`Child::wait`] that ends with the context. The child goes on then: it may be killed, or
    /// waited for again.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::{Context, ContextError};
    /// use gosched::process::Command;
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(5));
    ///     let mut child = Command::new("sleep").arg("3600").spawn()?;
    ///     let error = ctx.with_mut(&mut child).wait().unwrap_err();
    ///     assert_eq!(ContextError::of(&error), Some(ContextError::DeadlineExceeded));
    ///     child.kill()?;
    ///     assert!(!child.wait()?.success());
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As there; and, with an error that [`ContextError::of`](crate::context::ContextError::of)
    /// finds, if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let limit = self.ctx.begin()?;
        if self.on.tells_of_its_end() || self.ctx.scope().is_none() {
            return self.ctx.end(self.on.wait_limited(limit));
        }
        drop(self.on.stdin.take());
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(status) = self.on.try_wait()? {
                return Ok(status);
            }
            self.ctx.sleep(pause)?;
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    }
}

/// If the context ends before, the child is killed, and waited for. (Processes that the child has
/// started go on, and their output isn't waited for.) Go's `exec.CommandContext`, in
/// `os/exec/exec.go`.
///
/// ```
/// use std::time::Duration;
/// use gosched::context::{Context, ContextError};
/// use gosched::process::Command;
///
/// gosched::run(|| {
///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(5));
///     let error = ctx.with_mut(Command::new("sleep").arg("3600")).output().unwrap_err();
///     assert_eq!(ContextError::of(&error), Some(ContextError::DeadlineExceeded));
/// });
/// ```
impl WithMut<'_, Command> {
    /// [`Command::status`], unless the context ends before.
    ///
    /// ```
    /// use gosched::context::Context;
    /// use gosched::process::Command;
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     cancel.cancel();
    ///     assert!(ctx.with_mut(&mut Command::new("true")).status().is_err(), "it isn't even started");
    /// });
    /// ```
    ///
    /// # Errors
    /// As there; and, with an error that [`ContextError::of`](crate::context::ContextError::of)
    /// finds, if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        self.ctx.check()?;
        drop(must_wait("Command::status"));
        let mut child = self.on.spawn()?;
        child.end_unless(|child| self.ctx.with_mut(child).wait())
    }

    /// [`Command::output`], unless the context ends before. Then the output so far is lost.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::Context;
    /// use gosched::process::Command;
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_secs(60));
    ///     let output = ctx.with_mut(Command::new("echo").arg("hello")).output()?;
    ///     assert_eq!(output.stdout, b"hello\n");
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As there; and, with an error that [`ContextError::of`](crate::context::ContextError::of)
    /// finds, if the context has ended.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn output(&mut self) -> io::Result<Output> {
        self.ctx.check()?;
        drop(must_wait("Command::output"));
        let mut child = self.on.spawn_for_output()?;
        child.end_unless(|child| child.output(self.ctx))
    }
}
