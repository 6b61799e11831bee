//! Connections in memory: [`Pipe`], the state that its two ends share (the bytes that are under
//! way), and [`Link`], a network between connections, with its faults.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::ops::{Range, RangeInclusive};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{self, Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::explore::choose;
use crate::sync::{Condvar, Mutex, MutexGuard};
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
/// interfere, all of them are transferred.
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
    timeouts: [sync::Mutex<Option<Duration>>; 2],
}

const READS: usize = 0;
const WRITES: usize = 1;

// Nothing panics while the state is changed.
impl UnwindSafe for Pipe {}
impl RefUnwindSafe for Pipe {}

impl Pipe {
    /// A handle.
    fn of(end: Arc<End>) -> Pipe {
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
        *self.timeouts[of].lock().unwrap_or_else(sync::PoisonError::into_inner) = timeout;
        Ok(())
    }

    /// The time by which an operation that begins now must end.
    fn ends(&self, of: usize) -> Option<Instant> {
        let timeout = *self.timeouts[of].lock().unwrap_or_else(sync::PoisonError::into_inner);
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

/// The state that the handles of one end share. It is dropped with the last handle, and then shuts
/// the end down.
struct End {
    connection: Arc<Connection>,
    /// 0 or 1. A direction goes by the number of the end that writes.
    number: usize,
}

struct Connection {
    capacity: usize,
    network: Arc<sync::Mutex<Network>>,
    state: Mutex<State>,
    /// Notified when a wire has changed.
    changed: [Condvar; 2],
}

#[derive(Default)]
struct State {
    reset: bool,
    wires: [Wire; 2],
}

/// One direction.
#[derive(Default)]
struct Wire {
    /// The bytes that were written and not yet read.
    bytes: VecDeque<u8>,
    /// How many of them have arrived.
    arrived: usize,
    /// The other bytes: when they arrive if there is no partition, and how many each time.
    under_way: VecDeque<(Instant, usize)>,
    /// Set when the writer has ended: the time when the reader learns that, if there is no
    /// partition.
    ended: Option<Instant>,
    /// Set when the reader has ended: the time when the writer learns that, if there is no
    /// partition.
    unread: Option<Instant>,
}

/// Both ends of a new connection.
fn connect(capacity: usize, network: &Arc<sync::Mutex<Network>>) -> (Arc<End>, Arc<End>) {
    let network = Arc::clone(network);
    let connection = Connection { capacity, network, state: Mutex::default(), changed: Default::default() };
    let connection = Arc::new(connection);
    let end = |number| Arc::new(End { connection: Arc::clone(&connection), number });
    (end(0), end(1))
}

impl End {
    /// Reads, until `ends` at the latest.
    #[track_caller]
    fn read(&self, buf: &mut [u8], ends: Option<Instant>) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let (connection, from) = (&*self.connection, 1 - self.number);
        let mut state = connection.begin()?;
        loop {
            let now = now();
            let wire = state.wire(from)?;
            if wire.unread.is_some() {
                return Ok(0);
            }
            let next = wire.arrive(now, |at| lock(&connection.network).arrives(from, at));
            if wire.arrived > 0 {
                let n = some_of(buf.len().min(wire.arrived));
                wire.arrived -= n;
                buf.iter_mut().zip(wire.bytes.drain(..n)).for_each(|(to, byte)| *to = byte);
                drop(state);
                connection.changed[from].notify_all();
                return Ok(n);
            }
            if next.is_some_and(|end| end <= now) {
                return Ok(0);
            }
            state = connection.wait(state, from, next, ends)?;
        }
    }

    /// Writes, until `ends` at the latest.
    #[track_caller]
    fn write(&self, buf: &[u8], ends: Option<Instant>) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let (connection, from) = (&*self.connection, self.number);
        let mut state = connection.begin()?;
        loop {
            let now = now();
            let wire = state.wire(from)?;
            let told = wire.unread.map(|at| lock(&connection.network).arrives(1 - from, at));
            if wire.ended.is_some() || told.is_some_and(|told| told <= now) {
                return Err(ErrorKind::BrokenPipe.into());
            }
            let room = connection.capacity - wire.bytes.len();
            if room > 0 {
                let n = some_of(buf.len().min(room));
                let at = wire.in_order(lock(&connection.network).send(from, now));
                wire.under_way.push_back((at, n));
                wire.bytes.extend(&buf[..n]);
                drop(state);
                connection.changed[from].notify_all();
                return Ok(n);
            }
            state = connection.wait(state, from, told, ends)?;
        }
    }

    #[track_caller]
    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let Connection { network, state, changed, .. } = &*self.connection;
        let mut state = state.lock();
        let wire = state.wire(self.number).map_err(|_| ErrorKind::NotConnected)?;
        // The news of both goes to the other end, as bytes do.
        let at = wire.in_order(lock(network).send(self.number, now()));
        if how != Shutdown::Read {
            wire.ended.get_or_insert(at);
        }
        if how != Shutdown::Write {
            state.wires[1 - self.number].unread.get_or_insert(at);
        }
        drop(state);
        changed.iter().for_each(Condvar::notify_all);
        Ok(())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // It fails if the connection was reset: then there is nothing to tell.
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// Chooses how many of `n` possible bytes are transferred.
fn some_of(n: usize) -> usize {
    n - choose(n)
}

impl State {
    fn wire(&mut self, from: usize) -> io::Result<&mut Wire> {
        if self.reset { Err(ErrorKind::ConnectionReset.into()) } else { Ok(&mut self.wires[from]) }
    }
}

impl Wire {
    /// Notes the bytes that have arrived, and returns when more bytes, or the end, arrive.
    /// `arrives` turns the time of an arrival without partitions into the real one.
    fn arrive(&mut self, now: Instant, arrives: impl Fn(Instant) -> Instant) -> Option<Instant> {
        while let Some(&(at, n)) = self.under_way.front() {
            let at = arrives(at);
            if at > now {
                return Some(at);
            }
            self.under_way.pop_front();
            self.arrived += n;
        }
        self.ended.map(arrives)
    }

    /// Returns when bytes arrive that would arrive at `at`: not before the bytes that are under
    /// way.
    fn in_order(&self, at: Instant) -> Instant {
        self.under_way.back().map_or(at, |&(last, _)| last.max(at))
    }
}

impl Connection {
    /// Locks the state for an operation, with which the network may reset the connection.
    #[track_caller]
    fn begin(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state.lock();
        if !state.reset && lock(&self.network).resets() {
            *state = State { reset: true, ..State::default() };
            drop(state);
            self.changed.iter().for_each(Condvar::notify_all);
            return Err(ErrorKind::ConnectionReset.into());
        }
        Ok(state)
    }

    /// Waits until a wire has changed, or until `next`. Fails if the operation's time is over.
    #[track_caller]
    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        from: usize,
        next: Option<Instant>,
        ends: Option<Instant>,
    ) -> io::Result<MutexGuard<'a, State>> {
        let (changed, now) = (&self.changed[from], now());
        if ends.is_some_and(|ends| ends <= now) {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(match next.into_iter().chain(ends).min() {
            Some(at) => changed.wait_timeout(state, at.saturating_duration_since(now)).0,
            None => changed.wait(state),
        })
    }
}

/// The number of times to choose from in a range.
const STEPS: u32 = 5;

/// A network between two places, over which connections are made: [`pipe`](super::pipe()) with
/// faults that a program should tolerate. The strategy chooses which faults come, and when, within
/// the limits set here. Without a strategy's interference, and outside of an exploration, there are
/// no faults, and each latency is the shortest.
///
/// A limit is for all connections of a link together. So make the link in the closure that is
/// explored, anew in each schedule. Goroutines share the link by reference, or in an `Arc`.
///
/// ```
/// use gosched::explore::{Explorer, Link, Pipe};
/// use std::io::{self, ErrorKind, Read, Write};
/// use std::time::Duration;
///
/// /// Asks a server of which 4 bytes are the answer.
/// fn ask(mut server: Pipe) -> io::Result<[u8; 4]> {
///     let mut answer = [0; 4];
///     server.set_read_timeout(Some(Duration::from_secs(1)))?;
///     server.write_all(b"?")?;
///     server.read_exact(&mut answer)?;
///     Ok(answer)
/// }
///
/// let retries = |tries: u32| move || {
///     let link = Link::new().latency(Duration::from_millis(1)..=Duration::from_millis(50)).resets(2);
///     let asked = (0..tries).find_map(|_| {
///         let (client, mut server) = link.pipe();
///         gosched::go(move || server.read_exact(&mut [0]).and_then(|_| server.write_all(b"yes!")));
///         ask(client).ok()
///     });
///     assert_eq!(asked.as_ref(), Some(b"yes!"));
/// };
/// Explorer::new().run(retries(3));
/// assert!(Explorer::new().check(retries(2)).is_err(), "both are reset");
/// ```
#[derive(Debug)]
#[must_use = "a link does nothing until `pipe` is called"]
pub struct Link {
    capacity: usize,
    network: Arc<sync::Mutex<Network>>,
}

impl Link {
    /// Returns a link without faults and without latency: its connections behave as
    /// [`pipe`](super::pipe())'s.
    ///
    /// ```
    /// use std::io::{Read, Write};
    ///
    /// let (mut here, mut there) = gosched::explore::Link::new().pipe();
    /// here.write_all(b"!").unwrap();
    /// assert_eq!(there.read(&mut [0; 9]).unwrap(), 1);
    /// ```
    pub fn new() -> Self {
        Link { capacity: 64 << 10, network: Arc::default() }
    }

    /// Sets how many unread bytes each direction of a connection holds; the default is 64 KiB. A
    /// write waits while there are `bytes` unread bytes.
    ///
    /// ```
    /// use gosched::explore::{Explorer, FailureKind, Link};
    /// use std::io::{Read, Write};
    ///
    /// // Each writes before it reads, and that works as long as it fits.
    /// let exchange = |capacity| move || {
    ///     let (here, there) = Link::new().capacity(capacity).pipe();
    ///     let swap = |mut end: gosched::explore::Pipe| {
    ///         end.write_all(b"hello").unwrap();
    ///         end.read_exact(&mut [0; 5]).unwrap();
    ///     };
    ///     let other = gosched::go(move || swap(there));
    ///     swap(here);
    ///     other.join().unwrap();
    /// };
    /// assert!(Explorer::new().check(exchange(5)).is_ok());
    /// assert_eq!(Explorer::new().check(exchange(4)).unwrap_err().kind(), FailureKind::Deadlock);
    /// ```
    ///
    /// # Panics
    /// If it is 0.
    pub fn capacity(self, bytes: usize) -> Self {
        assert!(bytes > 0, "gosched: explore::Link::capacity of 0: nothing could be written");
        Link { capacity: bytes, ..self }
    }

    /// Sets how long written bytes take to arrive. For each write the strategy chooses an end of
    /// the range, or one of three times between the ends. Bytes never overtake those that were
    /// written before them.
    ///
    /// ```
    /// use gosched::explore::Link;
    /// use std::io::{Read, Write};
    /// use std::time::Duration;
    ///
    /// gosched::explore::explore(|| {
    ///     let (fast, slow) = (Duration::from_millis(1), Duration::from_millis(50));
    ///     let (mut here, mut there) = Link::new().latency(fast..=slow).pipe();
    ///     let start = gosched::time::now();
    ///     here.write_all(b"!").unwrap();
    ///     there.read_exact(&mut [0]).unwrap();
    ///     let took = gosched::time::now() - start;
    ///     assert!(fast <= took && took <= slow);
    /// });
    /// ```
    ///
    /// # Panics
    /// If the range is empty.
    pub fn latency(self, latency: RangeInclusive<Duration>) -> Self {
        assert!(!latency.is_empty(), "gosched: explore::Link::latency of an empty range: {latency:?}");
        lock(&self.network).latency = latency;
        self
    }

    /// Sets how many connections the network may reset. A reset may come with any read or write.
    /// The bytes that are under way are lost, and from then on both ends get
    /// [`ConnectionReset`](std::io::ErrorKind::ConnectionReset).
    ///
    /// ```
    /// use gosched::explore::{Explorer, Link};
    /// use std::io::{Read, Write};
    ///
    /// let trusts = || {
    ///     let (mut here, mut there) = Link::new().resets(1).pipe();
    ///     here.write_all(b"!").unwrap();
    ///     there.read_exact(&mut [0]).unwrap();
    /// };
    /// assert!(Explorer::new().check(trusts).unwrap_err().to_string().contains("ConnectionReset"));
    /// ```
    pub fn resets(self, at_most: usize) -> Self {
        lock(&self.network).resets.left = at_most;
        self
    }

    /// Sets how often the network may be partitioned, and for how long; the strategy chooses a
    /// duration as it does a [`latency`](Self::latency). A partition is for one direction, on all
    /// of the link's connections, and begins with a write. Nothing arrives in that direction until
    /// the partition ends: no bytes, and no news that an end is gone. All of it arrives when the
    /// partition is over.
    ///
    /// ```
    /// use gosched::explore::{Explorer, Link};
    /// use std::io::{Read, Write};
    /// use std::time::Duration;
    ///
    /// // The other end is alive, but that isn't seen.
    /// let heartbeat = || {
    ///     let minute = Duration::from_secs(60);
    ///     let (mut here, mut there) = Link::new().partitions(1, minute..=minute).pipe();
    ///     gosched::go(move || there.write(b"alive"));
    ///     here.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    ///     here.read(&mut [0; 5]).expect("a heartbeat");
    /// };
    /// assert!(Explorer::new().check(heartbeat).unwrap_err().to_string().contains("TimedOut"));
    /// ```
    ///
    /// # Panics
    /// If the range is empty.
    pub fn partitions(self, at_most: usize, duration: RangeInclusive<Duration>) -> Self {
        assert!(!duration.is_empty(), "gosched: explore::Link::partitions of an empty range: {duration:?}");
        let mut network = lock(&self.network);
        network.partitions.left = at_most;
        network.duration = duration;
        drop(network);
        self
    }

    /// Makes a connection over this network, and returns its two ends. The connection exists at
    /// once. A partition stops all bytes from first ends to second ends, or all in the other
    /// direction.
    ///
    /// ```
    /// use gosched::chan::bounded;
    /// use gosched::explore::{Link, Pipe};
    /// use std::io::copy;
    ///
    /// gosched::explore::explore(|| {
    ///     let (link, (dial, accept)) = (Link::new(), bounded::<Pipe>(8));
    ///     gosched::go(move || {
    ///         for end in accept {
    ///             gosched::go(move || copy(&mut &end, &mut &end)); // an echo
    ///         }
    ///     });
    ///     let (client, server) = link.pipe();
    ///     dial.send(server).unwrap();
    ///     drop(client); // the echo ends
    /// });
    /// ```
    pub fn pipe(&self) -> (Pipe, Pipe) {
        let (first, second) = connect(self.capacity, &self.network);
        (Pipe::of(first), Pipe::of(second))
    }
}

impl Default for Link {
    fn default() -> Self {
        Link::new()
    }
}

/// The state that the connections of a link share. It is locked only between two points of choice,
/// so no goroutine waits for it in an exploration.
#[derive(Debug)]
struct Network {
    latency: RangeInclusive<Duration>,
    resets: Fault,
    partitions: Fault,
    /// The duration of a partition.
    duration: RangeInclusive<Duration>,
    /// The time ranges of partitions, by the number of the end that writes, in order.
    partitioned: [Vec<Range<Instant>>; 2],
}

impl Default for Network {
    fn default() -> Self {
        let no_time = Duration::ZERO..=Duration::ZERO;
        Network {
            latency: no_time.clone(),
            resets: Fault::default(),
            partitions: Fault::default(),
            duration: no_time,
            partitioned: Default::default(),
        }
    }
}

fn lock(network: &sync::Mutex<Network>) -> sync::MutexGuard<'_, Network> {
    network.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Network {
    /// Whether this operation resets the connection.
    fn resets(&mut self) -> bool {
        self.resets.comes()
    }

    /// Returns when bytes arrive that the end `from` sends `now`, if there is no partition. A
    /// partition may begin with them.
    fn send(&mut self, from: usize, now: Instant) -> Instant {
        let partitioned = &mut self.partitioned[from];
        let is_whole = partitioned.last().is_none_or(|last| last.end <= now);
        if is_whole && self.partitions.comes() {
            partitioned.push(now..later(now, choose_of(&self.duration)));
        }
        later(now, choose_of(&self.latency))
    }

    /// Returns when bytes of the end `from` arrive. Without a partition they would arrive `at` that
    /// time.
    fn arrives(&self, from: usize, at: Instant) -> Instant {
        let partitioned = self.partitioned[from].iter();
        partitioned.fold(at, |at, partition| if partition.contains(&at) { partition.end } else { at })
    }
}

/// A time of the range, the shortest if the strategy doesn't interfere.
fn choose_of(range: &RangeInclusive<Duration>) -> Duration {
    let (shortest, longest) = (*range.start(), *range.end());
    let steps = if shortest == longest { 1 } else { STEPS };
    match choose(steps as usize) as u32 {
        // Taken as it is, because the division below rounds, and multiplying first could overflow.
        step if step == STEPS - 1 => longest,
        step => shortest + (longest - shortest) / (STEPS - 1) * step,
    }
}

/// `d` after `now`; if no `Instant` is that late, an instant that no clock reaches.
fn later(now: Instant, d: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(1_000 * 366 * 24 * 3_600);
    now.checked_add(d).unwrap_or_else(|| now + FAR)
}

/// Faults of one kind: how many may still come, and when the next one does.
///
/// Rounds of 1, 2, 4 and so on operations follow each other. When a round begins, it is chosen
/// whether a fault comes in the round, and with which operation. If there were a choice for each
/// operation, hardly any schedule would reach the tenth operation without a fault.
#[derive(Debug, Default)]
struct Fault {
    left: usize,
    /// How many rounds have begun since the last fault.
    rounds: u32,
    /// How many operations of the round are left.
    operations: usize,
    /// The value of `operations` with which the fault comes.
    comes_at: Option<usize>,
}

impl Fault {
    /// Whether a fault comes with this operation.
    fn comes(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        if self.operations == 0 {
            self.operations = 1 << self.rounds;
            self.rounds += 1;
            self.comes_at = (choose(2) == 1).then(|| self.operations - choose(self.operations));
        }
        let comes = self.comes_at == Some(self.operations);
        self.operations -= 1;
        if comes {
            *self = Fault { left: self.left - 1, ..Fault::default() };
        }
        comes
    }
}
