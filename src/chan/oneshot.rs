//! A channel for one value: an answer, the result of a job. The names are tokio's.
//!
//! A [`Sender`] is used up by its send, which never waits. It is [`bounded(1)`](chan::bounded) with
//! types that say so. In Go a result comes by `make(chan T, 1)`, too. For the result of a goroutine
//! there is its handle, [`JoinHandle`](crate::JoinHandle).
//!
//! ```
//! use gosched::chan::{Sender, bounded, oneshot};
//! use gosched::go;
//!
//! /// A number, and where its square goes.
//! type Request = (u64, oneshot::Sender<u64>);
//!
//! fn square(requests: &Sender<Request>, n: u64) -> u64 {
//!     let (answer, answered) = oneshot::channel();
//!     requests.send((n, answer)).expect("the server is there");
//!     answered.recv().expect("it answers each request")
//! }
//!
//! gosched::run(|| {
//!     let (tx, rx) = bounded::<Request>(8);
//!     go(move || {
//!         for (n, answer) in rx {
//!             answer.send(n * n).ok(); // it fails if nobody wants the answer any more
//!         }
//!     });
//!     assert_eq!(square(&tx, 7), 49);
//! });
//! ```

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::chan::future::Wait;
use crate::chan::{self, AsReceiver, RecvError, RecvTimeoutError, TryRecvError, TrySendError, bounded};
use crate::runtime::must_wait;

/// Makes a channel for one value.
///
/// ```
/// use gosched::chan::oneshot;
///
/// let (tx, rx) = oneshot::channel();
/// tx.send("done").unwrap();
/// assert_eq!(rx.recv(), Ok("done"));
/// ```
///
/// # Panics
/// If there is no memory for it.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = bounded(1);
    (Sender { tx }, Receiver { rx })
}

/// The sending side. If it is dropped without a send, the receive fails.
///
/// It can't send twice:
///
/// ```compile_fail,E0382
/// let (tx, _rx) = gosched::chan::oneshot::channel();
/// tx.send(1).ok();
/// tx.send(2).ok();
/// ```
pub struct Sender<T> {
    tx: chan::Sender<T>,
}

/// The receiving side. If it is dropped, the send fails. It can be awaited, with `.await` as it is.
///
/// In a [`select!`](crate::select) it is a receiver like any other:
///
/// ```
/// use std::time::Duration;
/// use gosched::chan::oneshot;
/// use gosched::{go, select, time};
///
/// gosched::run(|| {
///     let (tx, rx) = oneshot::channel();
///     go(move || tx.send(7));
///     let late = time::after(Duration::from_secs(60));
///     select! {
///         recv(rx) -> value => assert_eq!(value, Ok(7)),
///         recv(late) -> _ => panic!("a minute is over"),
///     }
/// });
/// ```
pub struct Receiver<T> {
    rx: chan::Receiver<T>,
}

/// The future of a [`Receiver`]. It may be dropped at any time, as the receiver.
///
/// ```
/// use std::future::IntoFuture;
/// use gosched::chan::oneshot::{self, RecvFuture};
///
/// gosched::run(|| {
///     let (tx, rx) = oneshot::channel();
///     let answer: RecvFuture<u32> = rx.into_future();
///     gosched::go(move || tx.send(7));
///     assert_eq!(gosched::block_on(answer), Ok(7));
/// });
/// ```
#[must_use = "futures do nothing unless they are polled"]
pub struct RecvFuture<T> {
    rx: chan::Receiver<T>,
    wait: Wait<T>,
}

// SAFETY: as for a `chan::RecvFuture`, beside its receiver.
unsafe impl<T: Send> Send for RecvFuture<T> {}
// SAFETY: as for Send; a shared one does nothing.
unsafe impl<T: Send> Sync for RecvFuture<T> {}
// No value is in it.
impl<T> Unpin for RecvFuture<T> {}

impl<T> Sender<T> {
    /// Sends the value. It never waits. A value that was sent may still be lost, if the receiver is
    /// dropped before it receives.
    ///
    /// ```
    /// use gosched::chan::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// drop(rx);
    /// assert_eq!(tx.send(7), Err(7));
    /// ```
    ///
    /// # Errors
    /// If the receiver is dropped, or [closed](Receiver::close): the value is the error.
    pub fn send(self, value: T) -> Result<(), T> {
        match self.tx.try_send(value) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(value)) => Err(value),
            Err(TrySendError::Full(_)) => unreachable!("it is the first value"),
        }
    }

    /// Whether the receiver is dropped or [closed](Receiver::close), so that a send would fail.
    ///
    /// ```
    /// use gosched::chan::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel::<u32>();
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed()); // nobody wants the value: there is no need to compute it
    /// ```
    pub fn is_closed(&self) -> bool {
        self.tx.is_closed()
    }

    /// Waits until the receiver is dropped or [closed](Receiver::close), so that a send would fail:
    /// nobody wants the value. Under a context it is
    /// [`ctx.with(&tx).closed()`](crate::context::With::closed).
    ///
    /// ```
    /// use gosched::chan::oneshot;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = oneshot::channel::<u32>();
    ///     gosched::go(move || drop(rx));
    ///     tx.closed();
    ///     assert_eq!(tx.send(7), Err(7));
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn closed(&self) {
        if !self.is_closed() {
            let _guest = must_wait("oneshot::Sender::closed");
            let _ = self.end().recv();
        }
    }

    /// [`closed`](Self::closed) for `async` code. The future may be dropped at any time.
    ///
    /// ```
    /// use gosched::chan::oneshot;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = oneshot::channel::<u32>();
    ///     gosched::go(move || drop(rx));
    ///     gosched::block_on(tx.closed_async());
    /// });
    /// ```
    pub async fn closed_async(&self) {
        let _ = self.end().recv_async().await;
    }

    /// A receiver of the channel, which gets no value, but the channel's end. It isn't counted, and
    /// so isn't dropped: the sender, which it doesn't outlive, keeps the channel.
    ///
    /// The only value is sent by the end of the sender, which is borrowed as long as there is a
    /// wait.
    pub(crate) fn end(&self) -> ManuallyDrop<chan::Receiver<T>> {
        ManuallyDrop::new(chan::Receiver { c: Some(self.tx.c), values: PhantomData })
    }
}

impl<T> Receiver<T> {
    /// Receives the value; waits until it is there.
    ///
    /// # Errors
    /// If the sender was dropped without a send.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn recv(self) -> Result<T, RecvError> {
        self.rx.recv()
    }

    /// Receives the value if it is there.
    ///
    /// ```
    /// use gosched::chan::{TryRecvError, oneshot};
    ///
    /// let (tx, rx) = oneshot::channel();
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(7).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    /// ```
    ///
    /// # Errors
    /// If it isn't there yet; and if it never comes, as it was received, or the sender was dropped
    /// without a send.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.rx.try_recv()
    }

    /// Receives the value; waits for it until `timeout` is over. After that, a later call may
    /// receive it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::{RecvTimeoutError, oneshot};
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = oneshot::channel();
    ///     assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
    ///     tx.send(7).unwrap();
    ///     assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Ok(7));
    /// });
    /// ```
    ///
    /// # Errors
    /// If it wasn't there in time, or never comes.
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.rx.recv_timeout(timeout)
    }

    /// [`recv`](Self::recv) for `async` code, which may go on to use the receiver if the future is
    /// dropped. As for [`chan::Receiver::recv_async`], a value that came meanwhile isn't lost.
    ///
    /// ```
    /// use gosched::chan::oneshot;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = oneshot::channel();
    ///     gosched::go(move || tx.send(7));
    ///     assert_eq!(gosched::block_on(rx.recv_async()), Ok(7));
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_async(&self) -> chan::RecvFuture<'_, T> {
        self.rx.recv_async()
    }

    /// Makes a send fail from now on. A value that was sent before can still be received.
    ///
    /// ```
    /// use gosched::chan::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// rx.close();
    /// assert_eq!(tx.send(7), Err(7));
    /// ```
    pub fn close(&self) {
        self.rx.close();
    }

    /// Whether the value isn't there: because it wasn't sent, was received, or never comes.
    ///
    /// ```
    /// let (tx, rx) = gosched::chan::oneshot::channel();
    /// assert!(rx.is_empty());
    /// tx.send(7).unwrap();
    /// assert!(!rx.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.rx.is_empty()
    }

    /// The receiver of the channel beneath, for [`Select`](chan::Select).
    ///
    /// ```
    /// use gosched::chan::{Select, oneshot};
    ///
    /// gosched::run(|| {
    ///     let (senders, receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| oneshot::channel()).unzip();
    ///     senders.into_iter().nth(1).unwrap().send("hello").unwrap();
    ///     let mut select = Select::new_biased();
    ///     select.recv(receivers[1].c());
    ///     assert_eq!(select.select().recv(receivers[1].c()), Ok("hello"));
    /// });
    /// ```
    pub fn c(&self) -> &chan::Receiver<T> {
        &self.rx
    }
}

impl<T> IntoFuture for Receiver<T> {
    type Output = Result<T, RecvError>;
    type IntoFuture = RecvFuture<T>;

    fn into_future(self) -> RecvFuture<T> {
        RecvFuture { rx: self.rx, wait: Wait::NONE }
    }
}

impl<T> Future for RecvFuture<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let RecvFuture { rx, wait } = &mut *self;
        wait.recv(rx, context)
    }
}

impl<T> Drop for RecvFuture<T> {
    fn drop(&mut self) {
        self.wait.leave_recv(self.rx.c);
    }
}

impl<T> AsReceiver for Receiver<T> {
    type Value = T;

    fn __receiver(&self) -> Option<&chan::Receiver<T>> {
        Some(&self.rx)
    }
}

impl<T> AsReceiver for Option<Receiver<T>> {
    type Value = T;

    fn __receiver(&self) -> Option<&chan::Receiver<T>> {
        self.as_ref().map(Receiver::c)
    }
}

impl<T> AsReceiver for Option<&Receiver<T>> {
    type Value = T;

    fn __receiver(&self) -> Option<&chan::Receiver<T>> {
        self.map(Receiver::c)
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

impl<T> fmt::Debug for RecvFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("RecvFuture { .. }")
    }
}
