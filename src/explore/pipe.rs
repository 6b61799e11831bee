//! [`Pipe`]: a connection in memory.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::explore::Link;
use crate::explore::connection::End;
use crate::time::now;

/// Makes a connection in memory, and returns its two ends. It replaces real sockets, which an
/// [exploration](super) and [`synctest`](crate::synctest) refuse. Go's `net.Pipe`, but buffered, as
/// a TCP connection is. [`Link::pipe`] makes a connection with latency and faults.
///
/// ```
/// use std::io::{Read, Write};
///
/// gosched::explore::explore(|| {
///     let (mut client, mut server) = gosched::explore::pipe();
///     gosched::go(move || {
///         let mut name = String::new();
///         server.read_to_string(&mut name).unwrap();
///         write!(server, "hello {name}").unwrap();
///     });
///     client.write_all(b"gopher").unwrap();
///     client.shutdown(std::net::Shutdown::Write).unwrap();
///     let mut greeting = String::new();
///     client.read_to_string(&mut greeting).unwrap();
///     assert_eq!(greeting, "hello gopher");
/// });
/// ```
pub fn pipe() -> (Pipe, Pipe) {
    Link::new().pipe()
}

/// One end of a connection in memory, made by [`pipe`] or [`Link::pipe`]. Go's `net.Conn`.
///
/// It behaves like a [`net::TcpStream`](crate::net::TcpStream): it has [`Read`] and [`Write`], also
/// for `&Pipe`. A read takes bytes that have arrived, and waits if there are none. A write waits
/// while the [capacity](Link::capacity) is used up. The strategy chooses how many of the possible
/// bytes are transferred, at least one. Outside of an exploration, and if the strategy doesn't
/// interfere, all are.
///
/// | | a read | a write |
/// | --- | --- | --- |
/// | the other end is dropped, or shuts down that half | what was written, then the end: 0 | [`BrokenPipe`](ErrorKind::BrokenPipe) |
/// | this end is [shut down](Self::shutdown) | the end: 0 | [`BrokenPipe`](ErrorKind::BrokenPipe) |
/// | the [timeout](Self::set_read_timeout) is over | [`TimedOut`](ErrorKind::TimedOut) | [`TimedOut`](ErrorKind::TimedOut) |
/// | the [link](Link::resets) has reset it | [`ConnectionReset`](ErrorKind::ConnectionReset) | [`ConnectionReset`](ErrorKind::ConnectionReset) |
///
/// The news that an end is dropped or shut down takes as long to arrive as bytes do. Until then a
/// write succeeds, as with TCP.
///
/// ```
/// use gosched::explore::{Explorer, pipe};
/// use std::io::{Read, Write};
///
/// let forgets_that_a_read_may_be_short = || {
///     let (mut here, mut there) = pipe();
///     here.write_all(b"header").unwrap();
///     let mut header = [0; 6];
///     there.read(&mut header).unwrap();
///     assert_eq!(&header, b"header");
/// };
/// assert!(Explorer::new().check(forgets_that_a_read_may_be_short).is_err());
/// ```
///
/// # Panics
/// Reads, writes, `shutdown` and drop panic if they must wait inside [`blocking`](crate::blocking),
/// or before the first [`run`](crate::run).
pub struct Pipe {
    end: Arc<End>,
    /// The timeouts of reads and of writes, for this handle only.
    timeouts: [Mutex<Option<Duration>>; 2],
}

const READS: usize = 0;
const WRITES: usize = 1;

// Nothing panics while the state is changed.
impl UnwindSafe for Pipe {}
impl RefUnwindSafe for Pipe {}

impl Pipe {
    /// A handle.
    pub(super) fn of(end: Arc<End>) -> Pipe {
        Pipe { end, timeouts: Default::default() }
    }

    /// Returns another handle for the same end, without timeouts. The end is dropped with the last
    /// handle.
    ///
    /// ```
    /// use std::io::{Read, Write};
    ///
    /// let (mut here, mut there) = gosched::explore::pipe();
    /// let mut second = here.try_clone().unwrap();
    /// here.write_all(b"1").unwrap();
    /// drop(here);
    /// second.write_all(b"2").unwrap();
    /// drop(second);
    /// let mut all = String::new();
    /// there.read_to_string(&mut all).unwrap();
    /// assert_eq!(all, "12");
    /// ```
    ///
    /// # Errors
    /// None. It returns a `Result` because the method of sockets does.
    pub fn try_clone(&self) -> io::Result<Pipe> {
        Ok(Pipe::of(Arc::clone(&self.end)))
    }

    /// Shuts down reading, writing, or both, for all handles of this end. Goroutines that wait in
    /// such an operation are woken. After [`Shutdown::Write`] the other end reads the bytes that
    /// were written, and then the end. After [`Shutdown::Read`] unread bytes are lost, and the
    /// other end can't write. Go's `CloseWrite`, `CloseRead` and `Close`.
    ///
    /// ```
    /// use std::io::{ErrorKind, Read, Write};
    /// use std::net::Shutdown;
    ///
    /// let (mut here, mut there) = gosched::explore::pipe();
    /// here.shutdown(Shutdown::Write).unwrap();
    /// assert_eq!(here.write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
    /// assert_eq!(there.read(&mut [0]).unwrap(), 0);
    /// there.write_all(b"the other way").unwrap();
    /// ```
    ///
    /// # Errors
    /// [`NotConnected`](ErrorKind::NotConnected) if the connection was reset.
    #[track_caller]
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.end.shutdown(how)
    }

    /// Sets how long each read of this handle that begins from now on may take before it fails with
    /// [`TimedOut`](ErrorKind::TimedOut). `None` means no limit. Go's `SetReadDeadline`, set anew
    /// for each read.
    ///
    /// ```
    /// use std::io::{ErrorKind, Read};
    /// use std::time::Duration;
    ///
    /// gosched::explore::explore(|| {
    ///     let (mut here, _there) = gosched::explore::pipe();
    ///     here.set_read_timeout(Some(Duration::from_secs(3600))).unwrap(); // takes no time
    ///     assert_eq!(here.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
    /// });
    /// ```
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput) if the timeout is 0.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_timeout(READS, timeout)
    }

    /// Like [`set_read_timeout`](Self::set_read_timeout), for writes.
    ///
    /// ```
    /// use std::io::{ErrorKind, Write};
    /// use std::time::Duration;
    ///
    /// gosched::explore::explore(|| {
    ///     let (mut here, _reads_nothing) = gosched::explore::pipe();
    ///     here.set_write_timeout(Some(Duration::from_secs(3600))).unwrap();
    ///     assert_eq!(here.write_all(&[0; 100_000]).unwrap_err().kind(), ErrorKind::TimedOut);
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`set_read_timeout`](Self::set_read_timeout).
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.set_timeout(WRITES, timeout)
    }

    fn set_timeout(&self, of: usize, timeout: Option<Duration>) -> io::Result<()> {
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a timeout can't be 0"));
        }
        *self.timeouts[of].lock().unwrap_or_else(PoisonError::into_inner) = timeout;
        Ok(())
    }

    /// The time by which an operation that begins now must end.
    fn ends(&self, of: usize) -> Option<Instant> {
        let timeout = *self.timeouts[of].lock().unwrap_or_else(PoisonError::into_inner);
        now().checked_add(timeout?)
    }
}

impl Read for &Pipe {
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.end.read(buf, self.ends(READS))
    }
}

impl Write for &Pipe {
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.end.write(buf, self.ends(WRITES))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Pipe {
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.end.read(buf, self.ends(READS))
    }
}

impl Write for Pipe {
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.end.write(buf, self.ends(WRITES))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Pipe { .. }")
    }
}
