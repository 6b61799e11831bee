//! [`Command`].

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{self, CommandArgs, CommandEnvs, ExitStatus, Output, Stdio};

use crate::context::Context;
use crate::goroutine::blocking;
use crate::process::Child;
use crate::runtime::must_wait;

/// A program to be started: [`std::process::Command`], with its functions. Go's `exec.Cmd`.
///
/// ```
/// use gosched::process::Command;
///
/// gosched::run(|| {
///     let output = Command::new("sh").args(["-c", "echo $GREETING"]).env("GREETING", "hello").output()?;
///     assert_eq!(output.stdout, b"hello\n");
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// Other settings of std's, such as [its user](std::os::unix::process::CommandExt::uid), are set on
/// std's command first:
///
/// ```
/// use std::os::unix::process::CommandExt;
/// use gosched::process::Command;
///
/// let mut command = std::process::Command::new("make");
/// command.process_group(0);
/// let command = Command::from(command);
/// ```
pub struct Command {
    inner: process::Command,
    /// Which of the three streams the program has set: [`output`](Self::output) leaves those as
    /// they are.
    stdin_set: bool,
    stdout_set: bool,
    stderr_set: bool,
}

impl Command {
    /// Names a program, by a path or by a name without a slash, which is looked up in `PATH`. It
    /// has no arguments, and inherits this process's environment, folder and streams. Go's
    /// `exec.Command`, in `os/exec/exec.go`.
    pub fn new<S: AsRef<OsStr>>(program: S) -> Self {
        process::Command::new(program).into()
    }

    /// Adds an argument, which no shell interprets. [`std::process::Command::arg`].
    pub fn arg<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Self {
        self.inner.arg(arg);
        self
    }

    /// Adds arguments. [`std::process::Command::args`].
    pub fn args<I, S>(&mut self, args: I) -> &mut Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.inner.args(args);
        self
    }

    /// Sets a variable of its environment. [`std::process::Command::env`]; Go's `Cmd.Env`.
    pub fn env<K, V>(&mut self, key: K, val: V) -> &mut Self
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.inner.env(key, val);
        self
    }

    /// Sets variables of its environment. [`std::process::Command::envs`].
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Self
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.inner.envs(vars);
        self
    }

    /// Removes a variable from its environment, also one that it would inherit.
    /// [`std::process::Command::env_remove`].
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Self {
        self.inner.env_remove(key);
        self
    }

    /// Removes all variables from its environment: those that were set, and those that it would
    /// inherit. [`std::process::Command::env_clear`].
    pub fn env_clear(&mut self) -> &mut Self {
        self.inner.env_clear();
        self
    }

    /// Sets the folder that it starts in. [`std::process::Command::current_dir`]; Go's `Cmd.Dir`.
    pub fn current_dir<P: AsRef<Path>>(&mut self, dir: P) -> &mut Self {
        self.inner.current_dir(dir);
        self
    }

    /// Sets its standard input. The default is this process's, or an empty one in
    /// [`output`](Self::output). [`std::process::Command::stdin`]; Go's `Cmd.Stdin`.
    pub fn stdin<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Self {
        self.inner.stdin(cfg);
        self.stdin_set = true;
        self
    }

    /// Sets its standard output. The default is this process's, or a pipe in
    /// [`output`](Self::output). [`std::process::Command::stdout`]; Go's `Cmd.Stdout`.
    pub fn stdout<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Self {
        self.inner.stdout(cfg);
        self.stdout_set = true;
        self
    }

    /// Sets its standard error, as [`stdout`](Self::stdout) does.
    /// [`std::process::Command::stderr`]; Go's `Cmd.Stderr`.
    pub fn stderr<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Self {
        self.inner.stderr(cfg);
        self.stderr_set = true;
        self
    }

    /// Starts it. The thread waits, in [`blocking`](crate::blocking), until the kernel has loaded
    /// the program. Go's `Cmd.Start`.
    ///
    /// # Errors
    /// As [`std::process::Command::spawn`]: for instance [`NotFound`](io::ErrorKind::NotFound) if
    /// there is no such program. Also if the poller can't take its pipes, for lack of memory; then
    /// the child is killed.
    pub fn spawn(&mut self) -> io::Result<Child> {
        blocking(|| self.inner.spawn()).and_then(Child::new)
    }

    /// Starts it, and waits until it has ended. Go's `Cmd.Run`.
    /// `ctx.with_mut(&mut command).status()` kills it if a [context](crate::context::WithMut) ends
    /// before.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn) and [`Child::wait`]; then it is killed. A failure of the program
    /// is a status, and no error.
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking), and before the first [`run`](crate::run). Then the
    /// program isn't started.
    #[track_caller]
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        drop(must_wait("Command::status"));
        let mut child = self.spawn()?;
        child.end_unless(Child::wait)
    }

    /// Starts it, waits until it has ended, and returns its output. Output streams that weren't set
    /// are pipes, and an input that wasn't set is empty. Go's `Cmd.Output`.
    /// `ctx.with_mut(&mut command).output()` kills it if a [context](crate::context::WithMut) ends
    /// before.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn) and [`Child::wait_with_output`]; then it is killed. A failure of
    /// the program is a status, and no error.
    ///
    /// # Panics
    /// As [`status`](Self::status).
    #[track_caller]
    pub fn output(&mut self) -> io::Result<Output> {
        drop(must_wait("Command::output"));
        let mut child = self.spawn_for_output()?;
        child.end_unless(|child| child.output(&Context::background()))
    }

    /// The program. [`std::process::Command::get_program`].
    pub fn get_program(&self) -> &OsStr {
        self.inner.get_program()
    }

    /// The arguments, without the program's name. [`std::process::Command::get_args`].
    ///
    /// ```
    /// use gosched::process::Command;
    ///
    /// let mut command = Command::new("ls");
    /// command.args(["-l", "/"]);
    /// assert_eq!(command.get_program(), "ls");
    /// assert!(command.get_args().eq(["-l", "/"]));
    /// ```
    pub fn get_args(&self) -> CommandArgs<'_> {
        self.inner.get_args()
    }

    /// The variables that were set, or removed: these have no value.
    /// [`std::process::Command::get_envs`].
    pub fn get_envs(&self) -> CommandEnvs<'_> {
        self.inner.get_envs()
    }

    /// The folder that was set. [`std::process::Command::get_current_dir`].
    pub fn get_current_dir(&self) -> Option<&Path> {
        self.inner.get_current_dir()
    }

    /// std's command of the same program, to look at. The names of these three are tokio's.
    ///
    /// ```
    /// use gosched::process::Command;
    ///
    /// let mut command = Command::new("ls");
    /// command.arg("-l");
    /// assert_eq!(command.as_std().get_args().count(), 1);
    /// ```
    pub fn as_std(&self) -> &process::Command {
        &self.inner
    }

    /// std's command, to set what this one has no function for. As with
    /// [`From`](#impl-From<Command>-for-Command), [`output`](Self::output) overrides streams that
    /// are set on it.
    ///
    /// ```
    /// use std::os::unix::process::CommandExt;
    /// use gosched::process::Command;
    ///
    /// gosched::run(|| {
    ///     let mut command = Command::new("sh");
    ///     command.args(["-c", "echo $0"]);
    ///     command.as_std_mut().arg0("sh");
    ///     assert!(command.output().unwrap().status.success());
    /// });
    /// ```
    pub fn as_std_mut(&mut self) -> &mut process::Command {
        &mut self.inner
    }

    /// Turns it into std's command.
    ///
    /// ```
    /// use gosched::process::Command;
    ///
    /// let command: std::process::Command = Command::new("ls").into_std();
    /// assert_eq!(command.get_program(), "ls");
    /// ```
    pub fn into_std(self) -> process::Command {
        self.inner
    }

    /// [`spawn`](Self::spawn) with the defaults of [`output`](Self::output) for streams that
    /// weren't set.
    pub(crate) fn spawn_for_output(&mut self) -> io::Result<Child> {
        self.set_others(Stdio::null, Stdio::piped);
        let child = self.spawn();
        // The defaults of `spawn`.
        self.set_others(Stdio::inherit, Stdio::inherit);
        child
    }

    /// Sets the streams that the program hasn't set.
    fn set_others(&mut self, input: fn() -> Stdio, output: fn() -> Stdio) {
        if !self.stdin_set {
            self.inner.stdin(input());
        }
        if !self.stdout_set {
            self.inner.stdout(output());
        }
        if !self.stderr_set {
            self.inner.stderr(output());
        }
    }
}

impl From<process::Command> for Command {
    /// Makes the command of the same program. [`output`](Command::output) overrides streams that
    /// were set on std's command, because it can't see them: set them here.
    fn from(inner: process::Command) -> Self {
        Command { inner, stdin_set: false, stdout_set: false, stderr_set: false }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
