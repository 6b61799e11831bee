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

/// A connection in memory, its two ends: in place of real sockets, which an [exploration](super) and
/// [`synctest`](crate::synctest) refuse. Go's `net.Pipe`, but buffered, as a TCP connection is. One that has latency
/// and faults is made by [`Link::pipe`].
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

/// One end of a connection in memory, which [`pipe`] makes, or [`Link::pipe`]. Go's `net.Conn`.
///
/// It behaves as a [`net::TcpStream`](crate::net::TcpStream): [`Read`] and [`Write`], for `&Pipe` too. A read takes what
/// has arrived, and waits if that is nothing; a write waits while the [capacity](Link::capacity) is used up. How much
/// of what is possible is done, one byte at least, the strategy chooses: outside of an exploration, and if nobody
/// interferes, it is all.
///
/// | | a read | a write |
/// | --- | --- | --- |
/// | the other end is dropped, or shuts down that half | what was written, then the end: 0 | [`BrokenPipe`](ErrorKind::BrokenPipe) |
/// | this end is [shut down](Self::shutdown) | the end: 0 | [`BrokenPipe`](ErrorKind::BrokenPipe) |
/// | the [timeout](Self::set_read_timeout) is over | [`TimedOut`](ErrorKind::TimedOut) | [`TimedOut`](ErrorKind::TimedOut) |
/// | the [link](Link::resets) has reset it | [`ConnectionReset`](ErrorKind::ConnectionReset) | [`ConnectionReset`](ErrorKind::ConnectionReset) |
///
/// The news that an end is dropped or shut down takes as long to arrive as bytes would. Until then a write succeeds,
/// as with TCP.
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
/// Reads, writes, `shutdown` and drop do if they must wait inside [`blocking`](crate::blocking), or before the first
/// [`run`](crate::run).
pub struct Pipe {
    end: Arc<End>,
    /// Of reads, and of writes: this handle's.
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

    /// Another handle for the same end, with no timeouts of its own yet. The end is dropped with the last one.
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
    /// None: it returns a `Result` as sockets do, which ask the kernel.
    pub fn try_clone(&self) -> io::Result<Pipe> {
        Ok(Pipe::of(Arc::clone(&self.end)))
    }

    /// Shuts down reading, writing, or both, for all handles of this end; who waits in that is woken. After
    /// [`Shutdown::Write`] the other end reads what was written, and then the end. After [`Shutdown::Read`] what wasn't
    /// read is lost, and the other end can't write. Go's `CloseWrite`, `CloseRead` and `Close`.
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

    /// Sets how long a read of this handle that begins from now on may take, before it fails with
    /// [`TimedOut`](ErrorKind::TimedOut); `None` is no limit. It is Go's `SetReadDeadline`, anew for each read.
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

    /// [`set_read_timeout`](Self::set_read_timeout) for writes.
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

    /// When an operation that begins now has to have ended.
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
