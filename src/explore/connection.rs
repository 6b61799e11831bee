//! What the two ends of a [`Pipe`](super::Pipe) have in common: the bytes that are under way.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::sync;
use std::sync::Arc;
use std::time::Instant;

use crate::explore::choose;
use crate::explore::link::{Network, lock};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::time::now;

/// What the handles of one end share. Dropped with the last of them, it is shut down.
pub(super) struct End {
    connection: Arc<Connection>,
    /// 0 or 1. A direction goes by the number of the end that writes.
    number: usize,
}

struct Connection {
    capacity: usize,
    network: Arc<sync::Mutex<Network>>,
    state: Mutex<State>,
    /// That a wire has changed.
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
    /// What was written, and isn't read.
    bytes: VecDeque<u8>,
    /// How many of them have arrived.
    arrived: usize,
    /// When the others arrive, and how many each time, if there is no partition.
    under_way: VecDeque<(Instant, usize)>,
    /// Nothing more is written: when the reader is told, if there is no partition.
    ended: Option<Instant>,
    /// Nothing more is read: when the writer is told, if there is no partition.
    unread: Option<Instant>,
}

/// Both ends of a new connection.
pub(super) fn connect(capacity: usize, network: &Arc<sync::Mutex<Network>>) -> (Arc<End>, Arc<End>) {
    let network = Arc::clone(network);
    let connection = Connection { capacity, network, state: Mutex::default(), changed: Default::default() };
    let connection = Arc::new(connection);
    let end = |number| Arc::new(End { connection: Arc::clone(&connection), number });
    (end(0), end(1))
}

impl End {
    /// Reads, until `ends` at the latest.
    #[track_caller]
    pub(super) fn read(&self, buf: &mut [u8], ends: Option<Instant>) -> io::Result<usize> {
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
    pub(super) fn write(&self, buf: &[u8], ends: Option<Instant>) -> io::Result<usize> {
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
    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
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

/// How many are done of `n` that can be.
fn some_of(n: usize) -> usize {
    n - choose(n)
}

impl State {
    fn wire(&mut self, from: usize) -> io::Result<&mut Wire> {
        if self.reset { Err(ErrorKind::ConnectionReset.into()) } else { Ok(&mut self.wires[from]) }
    }
}

impl Wire {
    /// Notes what has arrived, and returns when more does, or the end. `arrives` says when
    /// something does that would at a time.
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

    /// When something arrives that would at `at`: not before what is under way.
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

    /// Waits until a wire has changed, or until `next`; fails if the operation has to have ended.
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
