//! A channel whose receivers each get every value. The names and meanings are those of tokio's
//! `broadcast`.
//!
//! A send never waits. The channel keeps the last values, as many as its capacity. A receiver that
//! is slower than the senders misses values, and its next receive says how many:
//! [`RecvError::Lagged`]. Then it goes on with the oldest value that is kept. Go has no such type:
//! programs have a list of channels.
//!
//! ```
//! use gosched::chan::broadcast;
//! use gosched::go;
//!
//! gosched::run(|| {
//!     let (tx, mut rx) = broadcast::channel(16);
//!     let mut other = tx.subscribe();
//!     let first = go(move || (rx.recv(), rx.recv(), rx.recv()));
//!     let second = go(move || other.recv());
//!     assert_eq!(tx.send("hello"), Ok(2));
//!     tx.send("world").ok();
//!     drop(tx);
//!     let closed = Err(broadcast::RecvError::Closed);
//!     assert_eq!(first.join().unwrap(), (Ok("hello"), Ok("world"), closed));
//!     assert_eq!(second.join().unwrap(), Ok("hello"));
//! });
//! ```
//!
//! A receiver gets a clone of the value, and the last one of them the value itself. The clones are
//! made without a lock, at the same time if receivers run at the same time. So handles can go to
//! other threads only if the values are [`Sync`]; a value that isn't is wrapped in a mutex.
//!
//! ```compile_fail,E0277
//! let (tx, mut rx) = gosched::chan::broadcast::channel(1);
//! tx.send(std::cell::Cell::new(7)).unwrap();
//! gosched::go(move || rx.recv());
//! ```
//!
//! # With `select!`, limits of time, contexts and `async` code
//!
//! [`Receiver::c`] is a channel that is closed when a receive has a result. So it can be waited for
//! in a [`select!`](crate::select), beside other channels. There are
//! [`recv_timeout`](Receiver::recv_timeout), [`recv_async`](Receiver::recv_async), and
//! [`ctx.with_mut(&mut rx).recv()`](crate::context::WithMut).

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::chan::waiters::{Waiters, channel_of};
use crate::chan::{self, RecvTimeoutError as Over, SendError};
use crate::context::ContextError;
use crate::runtime::point;
use crate::sync::short_mutex::{ShortMutex, ShortMutexGuard};

/// Makes a channel that keeps the last `capacity` values. (tokio keeps as many as the next power of
/// two.)
///
/// ```
/// use gosched::chan::broadcast::{self, RecvError};
///
/// let (tx, mut rx) = broadcast::channel(2);
/// for n in 1..=5 {
///     tx.send(n).unwrap();
/// }
/// assert_eq!(rx.recv(), Err(RecvError::Lagged(3)));
/// assert_eq!((rx.recv(), rx.recv()), (Ok(4), Ok(5)));
/// ```
///
/// # Panics
/// If the capacity is 0, or there is no memory for it.
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let tx = Sender::new(capacity);
    let rx = tx.subscribe();
    (tx, rx)
}

/// The values. Positions count the values from the channel's beginning.
struct State<T> {
    /// The slot of a position is its remainder.
    slots: Box<[Slot<T>]>,
    /// The position of the next value.
    next: u64,
    senders: usize,
    receivers: usize,
    /// Wait for the next value, or the end of the last sender.
    waiters: Waiters,
    /// Wait for the end of the last receiver.
    gone: Waiters,
}

/// A place for a value. As long as receivers haven't seen it, it is kept there, and no longer.
struct Slot<T> {
    value: Option<Arc<T>>,
    /// How many receivers haven't seen it.
    unseen: usize,
}

impl<T> State<T> {
    /// The position of the oldest value that may be kept.
    fn oldest(&self) -> u64 {
        self.next.saturating_sub(self.slots.len() as u64)
    }

    /// The position of the oldest value that a receiver hasn't seen, or else of the next value.
    fn oldest_unseen(&mut self) -> u64 {
        let (mut unseen, mut end) = (self.oldest(), self.next);
        // A receiver that hasn't seen a value hasn't seen those behind it either.
        while unseen < end {
            let middle = unseen.midpoint(end);
            if self.slot(middle).unseen == 0 { unseen = middle + 1 } else { end = middle }
        }
        unseen
    }

    /// The slot of a value. It is one that may be kept, or the next.
    fn slot(&mut self, position: u64) -> &mut Slot<T> {
        let len = self.slots.len() as u64;
        &mut self.slots[(position % len) as usize]
    }

    /// Counts that a receiver has seen a value. Returns the value if it was the last receiver.
    fn see(&mut self, position: u64) -> Option<Arc<T>> {
        let slot = self.slot(position);
        slot.unseen -= 1;
        if slot.unseen == 0 { slot.value.take() } else { None }
    }

    /// Receives for a receiver at a position, which moves on. Returns none if the next value isn't
    /// there yet.
    fn receive(&mut self, position: &mut u64) -> Option<Result<Arc<T>, RecvError>> {
        if *position == self.next {
            return (self.senders == 0).then_some(Err(RecvError::Closed));
        }
        let missed = self.oldest().saturating_sub(*position);
        if missed > 0 {
            *position += missed;
            return Some(Err(RecvError::Lagged(missed)));
        }
        let value = self.slot(*position).value.clone();
        // Not the last reference: `value` is one.
        drop(self.see(*position));
        *position += 1;
        value.map(Ok)
    }
}

/// The channel. Locked for moments, in which no code of the program's runs.
struct Shared<T>(ShortMutex<State<T>>);

impl<T> Shared<T> {
    fn state(&self) -> ShortMutexGuard<'_, State<T>> {
        self.0.lock()
    }
}

/// The sending side. When the last one is dropped, the channel is closed: receivers get the values
/// that are kept, and then an error.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// The receiving side, which gets all values that are sent after it was made.
/// [`Sender::subscribe`] and [`resubscribe`](Self::resubscribe) make more of them.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The position of the value that it receives next.
    position: u64,
}

impl<T> Sender<T> {
    /// Makes a sender without a receiver: [`subscribe`](Self::subscribe) makes some.
    ///
    /// ```
    /// use gosched::chan::broadcast;
    ///
    /// let events = broadcast::Sender::new(16);
    /// assert!(events.send("nobody hears it").is_err());
    /// let mut rx = events.subscribe();
    /// events.send("hello").unwrap();
    /// assert_eq!(rx.recv(), Ok("hello"));
    /// ```
    ///
    /// # Panics
    /// As [`channel`].
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "gosched: a broadcast channel keeps at least one value");
        let mut slots = Vec::new();
        if slots.try_reserve_exact(capacity).is_err() {
            panic!("gosched: no memory for a broadcast channel of {capacity} values");
        }
        slots.resize_with(capacity, || Slot { value: None, unseen: 0 });
        let slots = slots.into_boxed_slice();
        let state = State {
            slots,
            next: 0,
            senders: 1,
            receivers: 0,
            waiters: Waiters::default(),
            gone: Waiters::default(),
        };
        Sender { shared: Arc::new(Shared(ShortMutex::new(state))) }
    }

    /// Sends a value to all receivers that there are, and returns how many that are. It never
    /// waits. If the channel keeps as many values as it can, the oldest one is dropped.
    ///
    /// A receiver that is counted may be dropped before it receives, or miss the value.
    ///
    /// ```
    /// use gosched::chan::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel(16);
    /// assert_eq!(tx.send(1), Ok(1));
    /// drop(rx);
    /// assert_eq!(tx.send(2).unwrap_err().0, 2);
    /// ```
    ///
    /// # Errors
    /// If there is no receiver; the value is in the error. A later send may succeed.
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        point("send");
        let value = Arc::new(value);
        let (receivers, waiters, oldest) = {
            let mut state = self.shared.state();
            let receivers = state.receivers;
            if receivers == 0 {
                drop(state);
                let value = Arc::into_inner(value).expect("it wasn't shared yet");
                return Err(SendError(value));
            }
            let position = state.next;
            state.next += 1;
            let slot = state.slot(position);
            slot.unseen = receivers;
            let oldest = slot.value.replace(value);
            (receivers, state.waiters.take(), oldest)
        };
        // Receivers come first: the drop of a value may panic, or wait.
        drop(waiters);
        drop(oldest);
        Ok(receivers)
    }

    /// Makes a receiver, which gets the values that are sent from now on.
    ///
    /// ```
    /// use gosched::chan::broadcast::{self, TryRecvError};
    ///
    /// let (tx, _rx) = broadcast::channel(16);
    /// tx.send("before").unwrap();
    /// let mut late = tx.subscribe();
    /// assert_eq!(late.try_recv(), Err(TryRecvError::Empty));
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        subscribe(&self.shared)
    }

    /// How many receivers there are.
    ///
    /// ```
    /// let (tx, rx) = gosched::chan::broadcast::channel::<u32>(16);
    /// let other = tx.subscribe();
    /// assert_eq!(tx.receiver_count(), 2);
    /// drop((rx, other));
    /// assert_eq!(tx.receiver_count(), 0);
    /// ```
    pub fn receiver_count(&self) -> usize {
        point("receiver_count");
        self.shared.state().receivers
    }

    /// How many senders there are.
    ///
    /// ```
    /// let (tx, _rx) = gosched::chan::broadcast::channel::<u32>(16);
    /// let _other = tx.clone();
    /// assert_eq!(tx.sender_count(), 2);
    /// ```
    pub fn sender_count(&self) -> usize {
        point("sender_count");
        self.shared.state().senders
    }

    /// How many values are kept for receivers: those that some receiver hasn't seen.
    ///
    /// ```
    /// let (tx, mut rx) = gosched::chan::broadcast::channel(2);
    /// let _slow = tx.subscribe();
    /// (0..3).for_each(|n| assert_eq!(tx.send(n), Ok(2)));
    /// assert_eq!(tx.len(), 2);
    /// assert!(rx.recv().is_err() && rx.recv() == Ok(1));
    /// assert_eq!(tx.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        point("len");
        let mut state = self.shared.state();
        (state.next - state.oldest_unseen()) as usize
    }

    /// Whether all receivers have seen all values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until there is no receiver.
    ///
    /// ```
    /// use gosched::chan::broadcast;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = broadcast::channel(16);
    ///     gosched::go(move || drop(rx));
    ///     tx.closed();
    ///     assert!(tx.send("nobody hears it").is_err());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn closed(&self) {
        while self.receiver_count() > 0 {
            // It has no value, so this returns when it is closed.
            let _ = self.c().recv();
        }
    }

    /// [`closed`](Self::closed) for `async` code. The future may be dropped at any time.
    ///
    /// ```
    /// use gosched::chan::broadcast;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = broadcast::channel::<u32>(16);
    ///     gosched::go(move || drop(rx));
    ///     gosched::block_on(tx.closed_async());
    /// });
    /// ```
    pub async fn closed_async(&self) {
        while self.receiver_count() > 0 {
            let _ = self.c().recv_async().await;
        }
    }

    /// A channel that is closed when there is no receiver. It is for a [`select!`](crate::select),
    /// a limit of time, or a context. If there is none at the time of the call, it is closed
    /// already.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::{RecvTimeoutError, broadcast};
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = broadcast::channel::<u32>(16);
    ///     let late = tx.c().recv_timeout(Duration::from_millis(1));
    ///     assert_eq!(late, Err(RecvTimeoutError::Timeout));
    ///     drop(rx);
    ///     assert!(tx.c().recv().is_err());
    /// });
    /// ```
    pub fn c(&self) -> chan::Receiver<()> {
        channel_of(&self.shared.0, |state| (state.receivers > 0).then_some(&mut state.gone))
    }

    /// Whether both are handles of one channel.
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

fn subscribe<T>(shared: &Arc<Shared<T>>) -> Receiver<T> {
    let position = {
        let mut state = shared.state();
        state.receivers += 1;
        state.next
    };
    Receiver { shared: shared.clone(), position }
}

impl<T> Receiver<T> {
    /// How many values were sent that this receiver hasn't received, with those that it has missed.
    /// If there are more than the capacity, the next receive says how many it has missed.
    ///
    /// ```
    /// let (tx, mut rx) = gosched::chan::broadcast::channel(2);
    /// (0..3).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
    /// assert_eq!(rx.len(), 3);
    /// assert!(rx.recv().is_err());
    /// assert_eq!(rx.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        (self.shared.state().next - self.position) as usize
    }

    /// Whether this receiver has received all values that were sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no sender. Values that are kept can still be received.
    ///
    /// ```
    /// let (tx, mut rx) = gosched::chan::broadcast::channel(16);
    /// tx.send(7).unwrap();
    /// drop(tx);
    /// assert!(rx.is_closed() && !rx.is_empty());
    /// assert_eq!(rx.recv(), Ok(7));
    /// ```
    pub fn is_closed(&self) -> bool {
        self.sender_count() == 0
    }

    /// How many senders there are.
    ///
    /// ```
    /// let (tx, rx) = gosched::chan::broadcast::channel::<u32>(16);
    /// assert_eq!(rx.sender_count(), 1);
    /// drop(tx);
    /// assert_eq!(rx.sender_count(), 0);
    /// ```
    pub fn sender_count(&self) -> usize {
        point("sender_count");
        self.shared.state().senders
    }

    /// Makes a receiver of the same channel, which gets the values that are sent from now on.
    ///
    /// ```
    /// use gosched::chan::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// tx.send(1).unwrap();
    /// let mut other = rx.resubscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!((rx.recv(), other.recv()), (Ok(1), Ok(2)));
    /// ```
    pub fn resubscribe(&self) -> Self {
        subscribe(&self.shared)
    }

    /// A channel that is closed when a receive has a result. It is for a
    /// [`select!`](crate::select) beside other channels. If there is a result at the time of the
    /// call, the channel is closed already.
    ///
    /// ```
    /// use gosched::chan::{bounded, broadcast};
    /// use gosched::select;
    ///
    /// gosched::run(|| {
    ///     let (tx, mut rx) = broadcast::channel(16);
    ///     let (_stop, stopped) = bounded::<()>(0);
    ///     gosched::go(move || tx.send(7));
    ///     select! {
    ///         recv(rx.c()) -> _ => assert_eq!(rx.try_recv(), Ok(7)),
    ///         recv(stopped) -> _ => panic!("nobody stops it"),
    ///     }
    /// });
    /// ```
    pub fn c(&self) -> chan::Receiver<()> {
        channel_of(&self.shared.0, |state| {
            let waits = state.next == self.position && state.senders > 0;
            waits.then_some(&mut state.waiters)
        })
    }

    /// Whether both are handles of one channel.
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T: Clone> Receiver<T> {
    /// Receives the next value, if a receive has a result.
    fn look(&mut self) -> Option<Result<T, RecvError>> {
        point("receive");
        let received = self.shared.state().receive(&mut self.position);
        // The lock isn't held: a clone, or the drop of a value, may run any code.
        received.map(|result| result.map(Arc::unwrap_or_clone))
    }

    /// Receives the next value; waits until there is one. If the clone of a value panics, this
    /// receiver has received the value.
    ///
    /// ```
    /// use gosched::chan::broadcast::{self, RecvError};
    ///
    /// gosched::run(|| {
    ///     let (tx, mut rx) = broadcast::channel(16);
    ///     gosched::go(move || (0..3).for_each(|n| assert_eq!(tx.send(n), Ok(1))));
    ///     let mut sum = 0;
    ///     loop {
    ///         match rx.recv() {
    ///             Ok(n) => sum += n,
    ///             Err(RecvError::Lagged(missed)) => println!("{missed} values are lost"),
    ///             Err(RecvError::Closed) => break,
    ///         }
    ///     }
    ///     assert_eq!(sum, 3);
    /// });
    /// ```
    ///
    /// # Errors
    /// If it has missed values; and if it has received all, and there is no sender.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn recv(&mut self) -> Result<T, RecvError> {
        loop {
            if let Some(result) = self.look() {
                return result;
            }
            // It has no value, so this returns when it is closed.
            let _ = self.c().recv();
        }
    }

    /// Receives the next value if there is one.
    ///
    /// ```
    /// use gosched::chan::broadcast::{self, TryRecvError};
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(7).unwrap();
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// ```
    ///
    /// # Errors
    /// As [`recv`](Self::recv), or if there is none.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.look() {
            None => Err(TryRecvError::Empty),
            Some(result) => result.map_err(|error| match error {
                RecvError::Closed => TryRecvError::Closed,
                RecvError::Lagged(missed) => TryRecvError::Lagged(missed),
            }),
        }
    }

    /// Receives the next value; waits for it until `timeout` is over.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::broadcast::{self, RecvTimeoutError};
    ///
    /// gosched::run(|| {
    ///     let (tx, mut rx) = broadcast::channel(16);
    ///     let late = Err(RecvTimeoutError::Timeout);
    ///     assert_eq!(rx.recv_timeout(Duration::from_millis(1)), late);
    ///     tx.send(7).unwrap();
    ///     assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Ok(7));
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`recv`](Self::recv), or if there was none in time.
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        // The channel is closed when there is a result.
        if self.c().recv_timeout(timeout) == Err(Over::Timeout) {
            return Err(RecvTimeoutError::Timeout);
        }
        self.recv().map_err(|error| match error {
            RecvError::Closed => RecvTimeoutError::Closed,
            RecvError::Lagged(missed) => RecvTimeoutError::Lagged(missed),
        })
    }

    /// [`recv`](Self::recv) for `async` code. The future may be dropped at any time: then it has
    /// received nothing.
    ///
    /// ```
    /// use gosched::chan::broadcast;
    ///
    /// gosched::run(|| {
    ///     let (tx, mut rx) = broadcast::channel(16);
    ///     gosched::go(move || tx.send(7));
    ///     assert_eq!(gosched::block_on(rx.recv_async()), Ok(7));
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn recv_async(&mut self) -> Result<T, RecvError> {
        loop {
            if let Some(result) = self.look() {
                return result;
            }
            let _ = self.c().recv_async().await;
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.state().senders += 1;
        Sender { shared: self.shared.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // Dropped without the lock.
        let _waiters = {
            let mut state = self.shared.state();
            state.senders -= 1;
            (state.senders == 0).then(|| state.waiters.take())
        };
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Dropped without the lock, the waiters first. If the drop of a value panics, the others
        // are dropped, too.
        let _dropped: (Option<Waiters>, Vec<Arc<T>>) = {
            let mut state = self.shared.state();
            state.receivers -= 1;
            let gone = (state.receivers == 0).then(|| state.gone.take());
            let unseen = self.position.max(state.oldest())..state.next;
            (gone, unseen.filter_map(|position| state.see(position)).collect())
        };
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Receiver { .. }")
    }
}

/// Why a receive has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvError {
    /// All values were received, and there is no sender.
    Closed,
    /// The receiver has missed this many values. The next receive returns the oldest value that is
    /// kept.
    Lagged(u64),
}

/// Why a [`try_recv`](Receiver::try_recv) has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// All values were received, and more may come.
    Empty,
    /// As [`RecvError::Closed`].
    Closed,
    /// As [`RecvError::Lagged`].
    Lagged(u64),
}

/// Why a [`recv_timeout`](Receiver::recv_timeout) has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// There was no value until the time was over.
    Timeout,
    /// As [`RecvError::Closed`].
    Closed,
    /// As [`RecvError::Lagged`].
    Lagged(u64),
}

/// Why a receive [under a context](crate::context::WithMut) has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvContextError {
    /// The context has ended.
    Ended(ContextError),
    /// As [`RecvError::Closed`].
    Closed,
    /// As [`RecvError::Lagged`].
    Lagged(u64),
}

const CLOSED: &str = "receiving on a closed channel";

fn lagged(missed: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "the receiver has missed {missed} values")
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            RecvError::Closed => f.pad(CLOSED),
            RecvError::Lagged(missed) => lagged(missed, f),
        }
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TryRecvError::Empty => f.pad("receiving on an empty channel"),
            TryRecvError::Closed => f.pad(CLOSED),
            TryRecvError::Lagged(missed) => lagged(missed, f),
        }
    }
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            RecvTimeoutError::Timeout => f.pad("timed out waiting on channel"),
            RecvTimeoutError::Closed => f.pad(CLOSED),
            RecvTimeoutError::Lagged(missed) => lagged(missed, f),
        }
    }
}

impl fmt::Display for RecvContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvContextError::Ended(error) => error.fmt(f),
            RecvContextError::Closed => f.pad(CLOSED),
            RecvContextError::Lagged(missed) => lagged(*missed, f),
        }
    }
}

impl Error for RecvError {}
impl Error for TryRecvError {}
impl Error for RecvTimeoutError {}

impl Error for RecvContextError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RecvContextError::Ended(error) => Some(error),
            RecvContextError::Closed | RecvContextError::Lagged(_) => None,
        }
    }
}

impl From<RecvError> for RecvContextError {
    fn from(error: RecvError) -> Self {
        match error {
            RecvError::Closed => RecvContextError::Closed,
            RecvError::Lagged(missed) => RecvContextError::Lagged(missed),
        }
    }
}

impl From<ContextError> for RecvContextError {
    fn from(error: ContextError) -> Self {
        RecvContextError::Ended(error)
    }
}
