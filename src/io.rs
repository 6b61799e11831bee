//! Standard input, output and error: who waits for them holds up a thread, and no P. Go's `os.Stdin`,
//! `os.Stdout` and `os.Stderr`.
//!
//! ```no_run
//! use std::io::Write;
//! use gosched::io::{stdin, stdout};
//!
//! # // SAFETY: no thread-local is kept across a point that can park.
//! # unsafe {
//! gosched::run(|| {
//!     for line in stdin().lines() {
//!         writeln!(stdout(), "{} bytes", line?.len())?;
//!     }
//!     Ok::<(), std::io::Error>(())
//! })
//! # }.unwrap();
//! ```
//!
//! These are std's, with std's names and std's buffers: what `println!` has written and what [`stdout`] writes
//! come out in order. But `println!` into a pipe that is full holds up a P, and so does a read from
//! [`std::io::stdin`] while there is nothing to read.
//!
//! The descriptors are left in blocking mode, as in Go, because other processes have them too: a shell would
//! find its terminal changed. So each operation is a system call as [`blocking`](crate::blocking) makes it, and takes a thread
//! for as long as it waits. Goroutines that want the same take turns, and are parked until it is theirs. There
//! is no lock to be kept from one operation to the next, but each is whole: what one `writeln!` writes isn't
//! mixed with what others do. On a thread that isn't a goroutine's, and inside [`blocking`](crate::blocking), they are std's
//! alone.
//!
//! So nothing here is a [`BufRead`]: what it shows, others could take meanwhile. [`Stdin::read_until`] and
//! [`Stdin::lines`] are there, and to have it all for oneself, a [`BufReader`](io::BufReader) of [`stdin`].
//! Whether it is a terminal, [`IsTerminal`](io::IsTerminal) says of its [`as_fd`](AsFd::as_fd).
//!
//! Errors are std's, too. If nobody reads what [`stdout`] writes, that is
//! [`BrokenPipe`](io::ErrorKind::BrokenPipe), where Go ends the process by SIGPIPE. If another process has put the
//! descriptor into non-blocking mode, it may be [`WouldBlock`](io::ErrorKind::WouldBlock).
//!
//! Of a pipe or a socket that this process has for itself, a [`Pollable`](crate::net::Pollable) can be made, for
//! which no thread waits:
//!
//! ```no_run
//! use std::fs::File;
//! use std::io::Read;
//! use std::os::fd::AsFd;
//! use gosched::{io, net::Pollable};
//!
//! # // SAFETY: no thread-local is kept across a point that can park.
//! # unsafe {
//! gosched::run(|| {
//!     let pipe = File::from(io::stdin().as_fd().try_clone_to_owned()?);
//!     let mut all = Vec::new();
//!     Pollable::new(pipe)?.read_to_end(&mut all)
//! })
//! # }.unwrap();
//! ```

use std::fmt;
use std::io::{self, BufRead, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use crate::blocking::ignoring_eintr;
use crate::proc::park::on_goroutine;
use crate::sync::Mutex;

/// Which goroutine's turn it is, for each of the three. Without that, each that waits would take a thread.
static READING: Mutex<()> = Mutex::new(());
static WRITING: Mutex<()> = Mutex::new(());
static REPORTING: Mutex<()> = Mutex::new(());

/// Calls `f`, which is a whole operation, when it is its turn.
///
/// std's lock is taken and released inside of `f`, where nothing parks.
fn whole<R>(turn: &Mutex<()>, f: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    // Who can't park has only std's lock to wait for.
    let _turn = on_goroutine().then(|| turn.lock());
    ignoring_eintr(f)
}

/// Standard input: [`std::io::Stdin`], for which no P waits. [`stdin`] returns it.
#[derive(Debug)]
pub struct Stdin(io::Stdin);

/// Standard input. Go's `os.Stdin`, in `os/file.go`.
pub fn stdin() -> Stdin {
    Stdin(io::stdin())
}

impl Stdin {
    /// Reads a line, and appends it to `buf`, with the end of the line; returns how many bytes that were: 0 at
    /// the end of the input.
    ///
    /// # Errors
    /// [`InvalidData`](io::ErrorKind::InvalidData) if it isn't UTF-8; otherwise the kernel's.
    pub fn read_line(&self, buf: &mut String) -> io::Result<usize> {
        whole(&READING, || self.0.read_line(buf))
    }

    /// Reads up to and with the next `byte`, or to the end of the input, and appends it to `buf`; returns how many
    /// bytes that were.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read_until(&self, byte: u8, buf: &mut Vec<u8>) -> io::Result<usize> {
        whole(&READING, || self.0.lock().read_until(byte, buf))
    }

    /// The lines, one after the other, without the ends of lines: each is a [`read_line`](Self::read_line), and
    /// has its errors.
    pub fn lines(self) -> Lines {
        Lines(self)
    }
}

/// The lines of standard input, from [`Stdin::lines`].
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
                    whole(&READING, || (&self.0).read(buf))
                }

                fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                    whole(&READING, || (&self.0).read_vectored(bufs))
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

/// Standard output: [`std::io::Stdout`], for which no P waits. [`stdout`] returns it.
#[derive(Debug)]
pub struct Stdout(io::Stdout);

/// Standard output. Go's `os.Stdout`, in `os/file.go`; but it is std's, and keeps what is written until a line
/// ends.
pub fn stdout() -> Stdout {
    Stdout(io::stdout())
}

/// Standard error: [`std::io::Stderr`], for which no P waits. [`stderr`] returns it.
#[derive(Debug)]
pub struct Stderr(io::Stderr);

/// Standard error. Go's `os.Stderr`, in `os/file.go`.
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

                /// Formats first: who is asked for its text may park.
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
