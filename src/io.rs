//! Standard input, output and error: an operation that waits holds up a thread, and no P. Go's
//! `os.Stdin`, `os.Stdout` and `os.Stderr`.
//!
//! ```no_run
//! use std::io::Write;
//! use gosched::io::{stdin, stdout};
//!
//! gosched::run(|| {
//!     for line in stdin().lines() {
//!         writeln!(stdout(), "{} bytes", line?.len())?;
//!     }
//!     Ok::<(), std::io::Error>(())
//! })
//! .unwrap();
//! ```
//!
//! The handles here wrap std's handles, and share std's buffers: the outputs of `println!` and of
//! [`stdout`] come out in order. But `println!` into a full pipe holds up a P until the P is
//! [taken](crate::proc::preemption), and so does a read from [`std::io::stdin`] while there is
//! nothing to read.
//!
//! The descriptors stay in blocking mode, as in Go, because other processes have them, too:
//! otherwise a shell would find its terminal changed. So each operation is done in
//! [`blocking`](crate::blocking), and takes a thread for as long as it waits. Goroutines that use
//! the same descriptor take turns, and are parked until their turn. No lock can be kept from one
//! operation to the next, but each operation is atomic: the output of one `writeln!` isn't mixed
//! with others'. On a thread that isn't a goroutine's, and inside [`blocking`](crate::blocking),
//! there are no turns, and only std's lock. An operation isn't a point of an
//! [exploration](crate::explore), just as `println!` isn't.
//!
//! Nothing here is a [`BufRead`], because another reader could take the bytes that a `BufRead`
//! shows. There are [`Stdin::read_until`] and [`Stdin::lines`]; a program with one reader can put
//! [`stdin`] into a [`BufReader`](io::BufReader). [`as_fd`](AsFd::as_fd) has
//! [`IsTerminal`](io::IsTerminal).
//!
//! Errors are std's, too. If the output of [`stdout`] has no reader any more, the error is
//! [`BrokenPipe`](io::ErrorKind::BrokenPipe), where Go ends the process by SIGPIPE. If another
//! process has put the descriptor into non-blocking mode, the error may be
//! [`WouldBlock`](io::ErrorKind::WouldBlock).
//!
//! If no other process has the pipe or socket, a [`Pollable`](crate::net::Pollable) of it waits
//! without a thread:
//!
//! ```no_run
//! use std::fs::File;
//! use std::io::Read;
//! use std::os::fd::AsFd;
//! use gosched::{io, net::Pollable};
//!
//! gosched::run(|| {
//!     let pipe = File::from(io::stdin().as_fd().try_clone_to_owned()?);
//!     let mut all = Vec::new();
//!     Pollable::new(pipe)?.read_to_end(&mut all)
//! })
//! .unwrap();
//! ```

use std::fmt;
use std::io::{self, BufRead, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use crate::goroutine::ignoring_eintr;
use crate::runtime::{explored_number, on_goroutine};
use crate::sync::Mutex;

/// The turns of the three descriptors. Without turns, each goroutine that waits would take a
/// thread.
static READING: Mutex<()> = Mutex::new(());
static WRITING: Mutex<()> = Mutex::new(());
static REPORTING: Mutex<()> = Mutex::new(());

/// Calls `f`, an operation, with the lock of `turn`.
///
/// `f` takes std's lock, whose owner is the thread, and releases it before it returns. So `f` must
/// not park.
fn whole<R>(turn: &Mutex<()>, f: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    // A caller that can't park waits only for std's lock. So does a goroutine of an exploration: a
    // turn's lock and unlock would be points, where a run may end, and the goroutines that a run
    // leaves behind keep their locks for good.
    let _turn = (on_goroutine() && explored_number().is_none()).then(|| turn.lock());
    ignoring_eintr(f)
}

/// Standard input: [`std::io::Stdin`] that holds up no P. Made by [`stdin`].
///
/// ```no_run
/// use std::io::Read;
///
/// gosched::run(|| {
///     let mut all = String::new();
///     gosched::io::stdin().read_to_string(&mut all)?;
///     println!("{} bytes", all.len());
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct Stdin(io::Stdin);

/// A handle for standard input. Go's `os.Stdin`, in `os/file.go`.
pub fn stdin() -> Stdin {
    Stdin(io::stdin())
}

impl Stdin {
    /// Reads a line, and appends it to `buf` with its end; returns the number of bytes, which is 0
    /// at the end of the input.
    ///
    /// ```no_run
    /// gosched::run(|| {
    ///     let mut name = String::new();
    ///     if gosched::io::stdin().read_line(&mut name)? != 0 {
    ///         println!("hello, {}", name.trim_end());
    ///     }
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// [`InvalidData`](io::ErrorKind::InvalidData) if the line isn't UTF-8; otherwise the kernel's.
    pub fn read_line(&self, buf: &mut String) -> io::Result<usize> {
        whole(&READING, || self.0.read_line(buf))
    }

    /// Reads up to the next `byte`, or to the end of the input, and appends what it has read to
    /// `buf`, the `byte` included; returns the number of bytes.
    ///
    /// ```no_run
    /// gosched::run(|| {
    ///     let mut record = Vec::new(); // as `find -print0` writes them
    ///     while gosched::io::stdin().read_until(0, &mut record)? != 0 {
    ///         println!("{}", String::from_utf8_lossy(&record));
    ///         record.clear();
    ///     }
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's.
    pub fn read_until(&self, byte: u8, buf: &mut Vec<u8>) -> io::Result<usize> {
        whole(&READING, || self.0.lock().read_until(byte, buf))
    }

    /// An iterator of lines without their ends, each read by a [`read_line`](Self::read_line), with
    /// its errors.
    pub fn lines(self) -> Lines {
        Lines(self)
    }
}

/// The lines of standard input. Made by [`Stdin::lines`].
///
/// ```no_run
/// gosched::run(|| {
///     let longest = gosched::io::stdin().lines().map_while(Result::ok).max_by_key(String::len);
///     println!("{longest:?}");
/// });
/// ```
#[derive(Debug)]
pub struct Lines(Stdin);

impl Iterator for Lines {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        whole(&READING, || self.0.0.lock().lines().next().transpose()).transpose()
    }
}

macro_rules! input {
    ($($type:ty),*) => {
        $(
            impl Read for $type {
                fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                    // std's read would wait until there is something to read.
                    whole(&READING, || if buf.is_empty() { Ok(0) } else { (&self.0).read(buf) })
                }

                fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                    let nothing = bufs.iter().all(|buf| buf.is_empty());
                    whole(&READING, || if nothing { Ok(0) } else { (&self.0).read_vectored(bufs) })
                }

                fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
                    whole(&READING, || (&self.0).read_to_end(buf))
                }

                fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
                    whole(&READING, || (&self.0).read_to_string(buf))
                }

                fn read_exact(&mut self, buf: &mut [u8]) -> io::Result<()> {
                    whole(&READING, || (&self.0).read_exact(buf))
                }
            }
        )*
    };
}

input!(Stdin, &Stdin);

/// Standard output: [`std::io::Stdout`] that holds up no P. Made by [`stdout`].
///
/// ```
/// use std::io::Write;
///
/// gosched::run(|| {
///     let mut out = gosched::io::stdout();
///     out.write_all(b"no end of a line, ")?;
///     out.write_all(b"so it waits for this: ")?;
///     out.flush()
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct Stdout(io::Stdout);

/// A handle for standard output. Go's `os.Stdout`, in `os/file.go`; but std's buffer keeps the
/// output until the end of a line.
///
/// ```
/// use std::io::Write;
/// use gosched::io::stdout;
///
/// gosched::run(|| {
///     gosched::scope(|s| {
///         for i in 0..3 {
///             s.go(move || writeln!(stdout(), "line {i}")); // each is written as a whole
///         }
///     });
/// });
/// ```
pub fn stdout() -> Stdout {
    Stdout(io::stdout())
}

/// Standard error: [`std::io::Stderr`] that holds up no P. Made by [`stderr`].
#[derive(Debug)]
pub struct Stderr(io::Stderr);

/// A handle for standard error. Go's `os.Stderr`, in `os/file.go`.
///
/// ```
/// use std::io::Write;
///
/// gosched::run(|| writeln!(gosched::io::stderr(), "something is wrong")).unwrap();
/// ```
pub fn stderr() -> Stderr {
    Stderr(io::stderr())
}

macro_rules! output {
    ($($type:ty, $turn:ident;)*) => {
        $(
            impl Write for $type {
                fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
                    whole(&$turn, || (&self.0).write(buf))
                }

                fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                    whole(&$turn, || (&self.0).write_vectored(bufs))
                }

                fn write_all(&mut self, buf: &[u8]) -> io::Result<()> {
                    whole(&$turn, || (&self.0).write_all(buf))
                }

                /// Formats first, outside of the turn: a `Display` may park.
                fn write_fmt(&mut self, args: fmt::Arguments<'_>) -> io::Result<()> {
                    self.write_all(fmt::format(args).as_bytes())
                }

                fn flush(&mut self) -> io::Result<()> {
                    whole(&$turn, || (&self.0).flush())
                }
            }
        )*
    };
}

output! {
    Stdout, WRITING;
    &Stdout, WRITING;
    Stderr, REPORTING;
    &Stderr, REPORTING;
}

macro_rules! descriptors {
    ($($type:ty),*) => {
        $(
            impl AsRawFd for $type {
                fn as_raw_fd(&self) -> RawFd {
                    self.0.as_raw_fd()
                }
            }

            impl AsFd for $type {
                fn as_fd(&self) -> BorrowedFd<'_> {
                    self.0.as_fd()
                }
            }
        )*
    };
}

descriptors!(Stdin, Stdout, Stderr);
