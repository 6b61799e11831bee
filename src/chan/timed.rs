//! Channels and time: channels that a timer feeds, and waits that end when their time is over.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

pub use std::sync::mpsc::RecvTimeoutError;
use std::sync::mpsc::{TryRecvError, TrySendError};

use crate::chan::hchan::Type;
use crate::chan::select::{RecvArm, SendArm, arms};
use crate::chan::{Elem, Receiver, Sender};
use crate::time::channel::{cancel_chan, make_timer_chan, set_chan, when};
use crate::time::{nanos, until};
use crate::wait::must_wait;

/// Why a [`send_timeout`](Sender::send_timeout) failed; the value is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// It would have had to wait any longer.
    Timeout(T),
    /// The channel is closed.
    Disconnected(T),
}

impl<T> SendTimeoutError<T> {
    /// The value that wasn't sent.
    pub fn into_inner(self) -> T {
        match self {
            SendTimeoutError::Timeout(value) | SendTimeoutError::Disconnected(value) => value,
        }
    }

    /// Whether it took too long.
    pub fn is_timeout(&self) -> bool {
        matches!(self, SendTimeoutError::Timeout(_))
    }

    /// Whether the channel is closed.
    pub fn is_disconnected(&self) -> bool {
        matches!(self, SendTimeoutError::Disconnected(_))
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if self.is_timeout() { "Timeout(..)" } else { "Disconnected(..)" })
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if self.is_timeout() {
            "timed out waiting on send operation"
        } else {
            "sending on a closed channel"
        })
    }
}

impl<T> Error for SendTimeoutError<T> {}

/// A channel that gets something of no size when `timeout` is over: what limits a wait.
#[doc(hidden)]
#[track_caller]
pub fn deadline(timeout: Duration) -> Receiver<()> {
    let _guest = must_wait("select");
    Receiver::made_by_timer(const { &Elem::<()>::TYPE }, when(nanos(timeout)), 0)
}

impl<T> Receiver<T> {
    #[track_caller]
    fn made_by_timer(elem: &'static Type, when: i64, period: i64) -> Self {
        match make_timer_chan(elem, when, period) {
            Some(c) => Receiver { c: Some(c), values: std::marker::PhantomData },
            None => panic!("gosched: no memory for a timer's channel"),
        }
    }

    /// Receives a value; waits until there is one, or `timeout` is over. Fails if the channel is empty
    /// and closed, or if it took too long, and then has received nothing.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match self.try_recv() {
            Ok(value) => Ok(value),
            Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) if timeout.is_zero() => Err(RecvTimeoutError::Timeout),
            Err(TryRecvError::Empty) => {
                let _guest = must_wait("recv_timeout");
                let over = deadline(timeout);
                let (mut recv, mut late) = (RecvArm::new(self), RecvArm::new(&over));
                arms([recv.raw(), late.raw()], true);
                match recv.chosen() {
                    Some(received) => received.map_err(|_| RecvTimeoutError::Disconnected),
                    None => Err(RecvTimeoutError::Timeout),
                }
            }
        }
    }

    /// [`recv_timeout`](Self::recv_timeout) until `deadline` has come.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        self.recv_timeout(until(deadline))
    }
}

impl Receiver<Instant> {
    /// What gets the time at `when`, and then each `period`, if that isn't 0. On a goroutine.
    #[track_caller]
    pub(crate) fn of_timer(when: i64, period: i64) -> Self {
        Receiver::made_by_timer(const { &Elem::<Instant>::TYPE }, when, period)
    }

    /// Stops the timer of such a channel, and empties it; says whether anything was to come, or there.
    pub(crate) fn stop_timer(&self) -> bool {
        // SAFETY: a timer's channel, and it stays as long as a handle.
        self.c.is_some_and(|c| unsafe { cancel_chan(c) })
    }

    /// Sets the timer of such a channel, and empties it; likewise. On a goroutine.
    pub(crate) fn reset_timer(&self, when: i64, period: i64) -> bool {
        // SAFETY: as in stop_timer.
        self.c.is_some_and(|c| unsafe { set_chan(c, when, period) })
    }

    /// Stops the timer of such a channel for good: who receives from it is told.
    pub(crate) fn end_timer(&self) {
        self.stop_timer();
        if let Some(c) = self.c {
            // SAFETY: the channel stays as long as a handle.
            unsafe { crate::chan::make::closechan(c) };
        }
    }
}

impl<T> Sender<T> {
    /// Sends a value; waits until it can, or `timeout` is over. Fails if the channel is closed, or if
    /// it took too long, and then has sent nothing.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn send_timeout(&self, value: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        match self.try_send(value) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(value)) => Err(SendTimeoutError::Disconnected(value)),
            Err(TrySendError::Full(value)) if timeout.is_zero() => Err(SendTimeoutError::Timeout(value)),
            Err(TrySendError::Full(value)) => {
                let _guest = must_wait("send_timeout");
                let over = deadline(timeout);
                let (mut send, mut late) = (SendArm::new(self, value), RecvArm::new(&over));
                arms([send.raw(), late.raw()], true);
                send.sent().map_err(|(closed, value)| {
                    if closed {
                        SendTimeoutError::Disconnected(value)
                    } else {
                        SendTimeoutError::Timeout(value)
                    }
                })
            }
        }
    }

    /// [`send_timeout`](Self::send_timeout) until `deadline` has come.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn send_deadline(&self, value: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        self.send_timeout(value, until(deadline))
    }
}
