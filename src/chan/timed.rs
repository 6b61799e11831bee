//! Channels and time: channels that a timer sends to, and operations with a time limit.

pub use std::sync::mpsc::RecvTimeoutError;

use std::cell::Cell;
use std::error::Error;
use std::ffi::c_void;
use std::fmt;
use std::mem::{self, MaybeUninit};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use crate::chan::handles::Elem;
use crate::chan::select_macro::{Outcome, Place, RawArm};
use crate::chan::{Receiver, RecvArm, Sender, arms};
use crate::runtime::{
    Block, Feeds, Hchan, Received, Sent, Type, cancel_chan, end_with_run, make_timer_chan, must_run, nanos,
    set_chan, until, when,
};

/// Why a [`send_timeout`](Sender::send_timeout) failed; the value is in it.
///
/// ```
/// use std::time::Duration;
/// use gosched::chan::{SendTimeoutError, bounded};
///
/// let (tx, rx) = bounded(1);
/// tx.send(1).unwrap();
/// assert_eq!(tx.send_timeout(2, Duration::ZERO), Err(SendTimeoutError::Timeout(2)));
/// drop(rx);
/// assert_eq!(tx.send_timeout(3, Duration::ZERO), Err(SendTimeoutError::Disconnected(3)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// There was no room until the time was over.
    Timeout(T),
    /// The channel is closed.
    Disconnected(T),
}

impl<T> SendTimeoutError<T> {
    /// The value that wasn't sent.
    ///
    /// ```
    /// let error = gosched::chan::SendTimeoutError::Timeout(7);
    /// assert_eq!(error.into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            SendTimeoutError::Timeout(value) | SendTimeoutError::Disconnected(value) => value,
        }
    }

    /// Whether the time was over.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (tx, _rx) = gosched::chan::bounded(0);
    /// let error = tx.send_timeout(7, Duration::ZERO).unwrap_err();
    /// assert!(error.is_timeout() && !error.is_disconnected());
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, SendTimeoutError::Timeout(_))
    }

    /// Whether the channel is closed.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let (tx, rx) = gosched::chan::bounded(0);
    /// drop(rx);
    /// assert!(tx.send_timeout(7, Duration::ZERO).unwrap_err().is_disconnected());
    /// ```
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

/// Returns a channel that gets a `()` when `timeout` is over. It is the arm of a select that ends
/// the select's wait.
#[doc(hidden)]
#[track_caller]
pub fn deadline(timeout: Duration) -> Receiver<()> {
    deadline_of("select", timeout)
}

/// [`deadline`] for the operation that `what` names.
#[track_caller]
fn deadline_of(what: &str, timeout: Duration) -> Receiver<()> {
    Receiver::made_by_timer(what, const { &Elem::<()>::TYPE }, when(nanos(timeout)), 0, Feeds::Wait)
}

/// Does an operation on `elem` unless `over` has a value sooner.
///
/// # Safety
/// `elem` is a value to send, or a place for one that is received, as the channel carries it; the
/// channel isn't freed meanwhile.
unsafe fn before(over: &Receiver<()>, c: Option<NonNull<Hchan>>, elem: *mut c_void, sends: bool) -> Outcome {
    let outcome = Cell::new(Outcome::Passed);
    // SAFETY: the caller says what `elem` is, and that the channel isn't freed meanwhile.
    let arm = unsafe { RawArm::at(c, elem, sends, &outcome) };
    let mut time = Place::empty();
    let mut late = RecvArm::new(Some(over), true, &mut time);
    arms([arm, late.raw()], true);
    outcome.get()
}

impl<T> Receiver<T> {
    #[track_caller]
    fn made_by_timer(what: &str, elem: &'static Type, when: i64, period: i64, feeds: Feeds) -> Self {
        let made = {
            let _guest = must_run(what);
            make_timer_chan(elem, when, period, feeds)
        };
        match made {
            Some(c) => Receiver { c: Some(c), values: std::marker::PhantomData },
            None => panic!("gosched: no memory for a timer's channel"),
        }
    }

    /// Receives a value; waits for it until `timeout` is over.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::{RecvTimeoutError, bounded};
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded(1);
    ///     assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
    ///     tx.send(7).unwrap();
    ///     assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Ok(7));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the channel is empty and closed, or if there was no value in time. Nothing was received
    /// then.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let mut place = MaybeUninit::<T>::uninit();
        let at = place.as_mut_ptr();
        // SAFETY: a place for a value.
        let mut received = unsafe { self.recv_at(at, Block::No) };
        if received == Received::Empty && !timeout.is_zero() {
            let over = deadline_of("recv_timeout", timeout);
            // SAFETY: `at` is a place for a value.
            received = unsafe { self.recv_at_unless(at, &over) };
        }
        match received {
            // SAFETY: Done says that there is a value, which is moved out.
            Received::Done => Ok(unsafe { at.read() }),
            Received::Closed => {
                end_with_run(); // As in recv.
                Err(RecvTimeoutError::Disconnected)
            }
            Received::Empty => Err(RecvTimeoutError::Timeout),
        }
    }

    /// Receives into `place`, unless `over` has a value or is closed sooner: then the result is
    /// `Empty`. On a goroutine.
    ///
    /// # Safety
    /// `place` is a place for a value; if the result is `Done`, it holds one.
    pub(crate) unsafe fn recv_at_unless(&self, place: *mut T, over: &Receiver<()>) -> Received {
        // SAFETY: as the caller says; self keeps the channel.
        unsafe {
            Elem::recv(place, |elem| match before(over, self.c, elem, false) {
                Outcome::Done => Received::Done,
                Outcome::Closed => Received::Closed,
                Outcome::Passed | Outcome::Off => Received::Empty,
            })
        }
    }

    /// [`recv_timeout`](Self::recv_timeout) with a point in time.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded(1);
    ///     tx.send(7).unwrap();
    ///     let deadline = Instant::now() + Duration::from_millis(1); // for all of them
    ///     while let Ok(value) = rx.recv_deadline(deadline) {
    ///         println!("{value}");
    ///     }
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`recv_timeout`](Self::recv_timeout).
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        self.recv_timeout(until(deadline))
    }
}

impl Receiver<Instant> {
    /// Makes a channel that gets the time at `when`, and then each `period` if `period` isn't 0, in
    /// nanoseconds. `what` is the operation that a panic names.
    #[track_caller]
    pub(crate) fn of_timer(what: &str, when: i64, period: i64) -> Self {
        Receiver::made_by_timer(what, const { &Elem::<Instant>::TYPE }, when, period, Feeds::Receives)
    }

    /// Stops the channel's timer, and empties the channel. Returns true if the timer was set, or
    /// the channel had a value.
    pub(crate) fn stop_timer(&self) -> bool {
        // SAFETY: Timer and Ticker call this, for channels that of_timer made; self keeps the
        // channel.
        self.c.is_some_and(|c| unsafe { cancel_chan(c) })
    }

    /// As [`stop_timer`](Self::stop_timer), and sets the timer anew, as
    /// [`of_timer`](Self::of_timer) does.
    pub(crate) fn reset_timer(&self, when: i64, period: i64) -> bool {
        // SAFETY: as in stop_timer.
        self.c.is_some_and(|c| unsafe { set_chan(c, when, period) })
    }

    /// Stops the channel's timer for good, and closes the channel.
    pub(crate) fn end_timer(&self) {
        self.stop_timer();
        if let Some(c) = self.c {
            // SAFETY: this handle keeps the channel.
            unsafe { crate::runtime::closechan(c) };
        }
    }
}

impl<T> Sender<T> {
    /// Sends a value; waits for room until `timeout` is over.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded(1);
    ///     assert_eq!(tx.send_timeout(7, Duration::from_millis(1)), Ok(()));
    ///     let error = tx.send_timeout(8, Duration::from_millis(1)).unwrap_err();
    ///     assert_eq!(error.into_inner(), 8);
    ///     assert_eq!(rx.recv(), Ok(7));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the channel is closed, or if there was no room in time. The value is in the error.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn send_timeout(&self, mut value: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        let at = &raw mut value;
        // SAFETY: there is a value, which is forgotten below if it was sent.
        let mut sent = unsafe { self.send_at(at, Block::No) };
        if sent == Sent::Full && !timeout.is_zero() {
            let over = deadline_of("send_timeout", timeout);
            // SAFETY: there is a value, which is forgotten below if it was sent.
            sent = unsafe { self.send_at_unless(at, &over) };
        }
        match sent {
            Sent::Done => {
                mem::forget(value);
                Ok(())
            }
            Sent::Closed => {
                end_with_run(); // As in send.
                Err(SendTimeoutError::Disconnected(value))
            }
            Sent::Full => Err(SendTimeoutError::Timeout(value)),
        }
    }

    /// Sends the value at `place`, unless `over` has a value or is closed sooner: then the result
    /// is `Full`. On a goroutine.
    ///
    /// # Safety
    /// There is a value; if the result is `Done`, it is gone.
    pub(crate) unsafe fn send_at_unless(&self, place: *mut T, over: &Receiver<()>) -> Sent {
        // SAFETY: as the caller says; self keeps the channel.
        unsafe {
            Elem::send(place, |elem| match before(over, Some(self.c), elem.cast_mut(), true) {
                Outcome::Done => Sent::Done,
                Outcome::Closed => Sent::Closed,
                Outcome::Passed | Outcome::Off => Sent::Full,
            })
        }
    }

    /// [`send_timeout`](Self::send_timeout) with a point in time.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, _rx) = bounded(1);
    ///     let deadline = Instant::now() + Duration::from_millis(1); // for both
    ///     assert_eq!(tx.send_deadline(7, deadline), Ok(()));
    ///     assert!(tx.send_deadline(8, deadline).unwrap_err().is_timeout());
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`send_timeout`](Self::send_timeout).
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn send_deadline(&self, value: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        self.send_timeout(value, until(deadline))
    }
}
