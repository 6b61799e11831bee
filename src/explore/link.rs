//! [`Link`]: a network between connections, with its faults.

use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::explore::pipe::connect;
use crate::explore::{Pipe, choose};

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
    network: Arc<Mutex<Network>>,
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
pub(super) struct Network {
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

pub(super) fn lock(network: &Mutex<Network>) -> MutexGuard<'_, Network> {
    network.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Network {
    /// Whether this operation resets the connection.
    pub(super) fn resets(&mut self) -> bool {
        self.resets.comes()
    }

    /// Returns when bytes arrive that the end `from` sends `now`, if there is no partition. A
    /// partition may begin with them.
    pub(super) fn send(&mut self, from: usize, now: Instant) -> Instant {
        let partitioned = &mut self.partitioned[from];
        let is_whole = partitioned.last().is_none_or(|last| last.end <= now);
        if is_whole && self.partitions.comes() {
            partitioned.push(now..later(now, choose_of(&self.duration)));
        }
        later(now, choose_of(&self.latency))
    }

    /// Returns when bytes of the end `from` arrive. Without a partition they would arrive `at` that
    /// time.
    pub(super) fn arrives(&self, from: usize, at: Instant) -> Instant {
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
