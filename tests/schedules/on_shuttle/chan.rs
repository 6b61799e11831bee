//! Channels that behave as Go's.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::panicking;
use std::time::Duration;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use shuttle_engine::runtime::thread::switch;

use crate::select::{Waits, recv, select_arms, send};
use crate::time::deadline;

/// Has the value that a waiting goroutine sends, or the value that it has received.
pub type Place<T> = Arc<Mutex<Option<T>>>;

/// A goroutine that waits in a select.
pub struct Waiter<T> {
    pub waits: Waits,
    pub place: Place<T>,
}

pub struct State<T> {
    buffer: VecDeque<T>,
    capacity: usize,
    closed: bool,
    pub senders: VecDeque<Waiter<T>>,
    pub receivers: VecDeque<Waiter<T>>,
    handles: [usize; 2],
}

/// The lock is there for the compiler only: between two scheduling points no other thread runs.
pub struct Channel<T>(Mutex<State<T>>);

pub struct Sender<T>(pub(crate) Arc<Channel<T>>);
pub struct Receiver<T>(pub(crate) Arc<Channel<T>>);

pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (senders, receivers) = (VecDeque::new(), VecDeque::new());
    let state =
        State { buffer: VecDeque::new(), capacity, closed: false, senders, receivers, handles: [1, 1] };
    let channel = Arc::new(Channel(Mutex::new(state)));
    (Sender(channel.clone()), Receiver(channel))
}

/// Takes waiters off the queue until one still waits, wakes that one, and returns it.
fn wake<T>(waiters: &mut VecDeque<Waiter<T>>) -> Option<Waiter<T>> {
    while let Some(waiter) = waiters.pop_front() {
        if waiter.waits.wake() {
            return Some(waiter);
        }
    }
    None
}

impl<T> State<T> {
    pub fn try_recv(&mut self) -> Option<Result<T, RecvError>> {
        let first = self.buffer.pop_front();
        if first.is_none() && self.closed {
            return Some(Err(RecvError));
        }
        let room = first.is_some() || self.capacity == 0;
        let sent = if room {
            wake(&mut self.senders).and_then(|sender| sender.place.lock().unwrap().take())
        } else {
            None
        };
        match first {
            Some(first) => {
                self.buffer.extend(sent);
                Some(Ok(first))
            }
            None => sent.map(Ok),
        }
    }

    /// Sends the value, if that needn't wait. Otherwise returns the value.
    pub fn try_send(&mut self, value: T) -> Result<(), TrySendError<T>> {
        if self.closed {
            return Err(TrySendError::Disconnected(value));
        }
        if let Some(receiver) = wake(&mut self.receivers) {
            *receiver.place.lock().unwrap() = Some(value);
        } else if self.buffer.len() < self.capacity {
            self.buffer.push_back(value);
        } else {
            return Err(TrySendError::Full(value));
        }
        Ok(())
    }

    fn close(&mut self) {
        self.closed = true;
        while wake(&mut self.receivers).is_some() || wake(&mut self.senders).is_some() {}
    }
}

impl<T> Channel<T> {
    pub fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap()
    }

    fn drop_handle(&self, side: usize) {
        // The run has failed, so no waiter has to be woken.
        if panicking() {
            return;
        }
        let mut state = self.state();
        state.handles[side] -= 1;
        if state.handles[side] == 0 {
            state.close();
        }
    }
}

impl<T> Sender<T> {
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let mut arm = send(self, value);
        select_arms(&mut [&mut arm]);
        arm.done()
    }

    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        switch();
        self.0.state().try_send(value)
    }

    pub fn close(&self) {
        switch();
        self.0.state().close();
    }
}

impl<T> Receiver<T> {
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut arm = recv(self);
        select_arms(&mut [&mut arm]);
        arm.done()
    }

    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let over = deadline(timeout);
        let (mut value, mut late) = (recv(self), recv(&over));
        if select_arms(&mut [&mut value, &mut late]) == 0 {
            value.done().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            Err(RecvTimeoutError::Timeout)
        }
    }

    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        switch();
        match self.0.state().try_recv() {
            Some(received) => received.map_err(|_| TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.state().buffer.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.recv().ok())
    }

    pub fn try_iter(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.try_recv().ok())
    }
}

pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.state().handles[0] += 1;
        Sender(self.0.clone())
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.0.state().handles[1] += 1;
        Receiver(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.drop_handle(0);
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.drop_handle(1);
    }
}
