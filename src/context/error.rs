//! Why a wait under a context has ended without a result.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::chan::RecvError;
use crate::goroutine::{JoinError, JoinHandle};
use crate::sync::{AcquireError, BurstError};

/// The cause with which a context was [canceled](crate::context::Canceler::cancel_because).
///
/// ```
/// use gosched::context::{Cause, Context};
///
/// let (ctx, cancel) = Context::background().with_cancel();
/// cancel.cancel_because(std::io::Error::other("the disk is full"));
/// let cause: Cause = ctx.cause().unwrap();
/// assert!(cause.downcast_ref::<std::io::Error>().is_some());
/// ```
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Why a context has ended.
///
/// ```
/// use gosched::context::ContextError;
///
/// fn exit_status(error: ContextError) -> i32 {
///     match error {
///         ContextError::Canceled => 130, // as a shell says after Ctrl-C
///         ContextError::DeadlineExceeded => 124, // as timeout(1) says
///     }
/// }
///
/// assert_eq!(exit_status(ContextError::DeadlineExceeded), 124);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContextError {
    /// It was canceled. Go's `Canceled`.
    Canceled,
    /// Its deadline has passed. Go's `DeadlineExceeded`.
    DeadlineExceeded,
}

impl ContextError {
    /// If a context has made a read, a write or another operation of [`std::io`] fail, returns why
    /// the context has ended.
    ///
    /// ```
    /// use std::io;
    /// use gosched::context::ContextError;
    ///
    /// let error = io::Error::from(ContextError::Canceled);
    /// assert_eq!(ContextError::of(&error), Some(ContextError::Canceled));
    /// assert_eq!(ContextError::of(&io::ErrorKind::TimedOut.into()), None);
    /// ```
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl fmt::Display for ContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ContextError::Canceled => "context canceled",
            ContextError::DeadlineExceeded => "context deadline exceeded",
        })
    }
}

impl Error for ContextError {}

impl From<ContextError> for io::Error {
    /// An error that [`ContextError::of`] finds. Its kind is [`TimedOut`](ErrorKind::TimedOut)
    /// after a deadline, and otherwise [`Other`](ErrorKind::Other).
    fn from(error: ContextError) -> Self {
        let kind = match error {
            ContextError::DeadlineExceeded => ErrorKind::TimedOut,
            // Not Interrupted: std's loops try again then.
            ContextError::Canceled => ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

/// Why a receive under a context has failed.
///
/// ```
/// use gosched::chan::bounded;
/// use gosched::context::{Context, RecvContextError};
///
/// gosched::run(|| {
///     let (ctx, _cancel) = Context::background().with_cancel();
///     let (tx, rx) = bounded::<u32>(0);
///     drop(tx);
///     assert_eq!(ctx.with(&rx).recv(), Err(RecvContextError::Disconnected));
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvContextError {
    /// The channel is empty and closed.
    Disconnected,
    /// The context has ended.
    Ended(ContextError),
}

impl fmt::Display for RecvContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvContextError::Disconnected => f.pad("receiving on a closed channel"),
            RecvContextError::Ended(error) => error.fmt(f),
        }
    }
}

impl Error for RecvContextError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RecvContextError::Disconnected => None,
            RecvContextError::Ended(error) => Some(error),
        }
    }
}

/// [`ContextError::of`] finds the end of the context in the error.
///
/// ```
/// use std::io::{self, Write};
/// use gosched::chan::Receiver;
/// use gosched::context::Context;
/// use gosched::net::TcpStream;
///
/// /// Sends what comes.
/// fn forward(ctx: &Context, lines: &Receiver<String>, stream: &TcpStream) -> io::Result<()> {
///     loop {
///         ctx.with(stream).write_all(ctx.with(lines).recv()?.as_bytes())?;
///     }
/// }
/// ```
impl From<RecvContextError> for io::Error {
    fn from(error: RecvContextError) -> Self {
        match error {
            RecvContextError::Disconnected => io::Error::new(ErrorKind::UnexpectedEof, error),
            RecvContextError::Ended(error) => error.into(),
        }
    }
}

impl From<RecvError> for RecvContextError {
    fn from(RecvError: RecvError) -> Self {
        RecvContextError::Disconnected
    }
}

impl From<ContextError> for RecvContextError {
    fn from(error: ContextError) -> Self {
        RecvContextError::Ended(error)
    }
}

/// Why permits of a [`Semaphore`](crate::sync::Semaphore) were not taken under a context.
///
/// ```
/// use gosched::context::{AcquireContextError, Context};
/// use gosched::sync::Semaphore;
///
/// gosched::run(|| {
///     let (ctx, _cancel) = Context::background().with_cancel();
///     let slots = Semaphore::new(1);
///     slots.close();
///     assert_eq!(ctx.with(&slots).acquire().unwrap_err(), AcquireContextError::Closed);
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireContextError {
    /// The semaphore is [closed](crate::sync::Semaphore::close).
    Closed,
    /// The context has ended.
    Ended(ContextError),
}

impl fmt::Display for AcquireContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AcquireContextError::Closed => f.pad("the semaphore is closed"),
            AcquireContextError::Ended(error) => error.fmt(f),
        }
    }
}

impl Error for AcquireContextError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            AcquireContextError::Closed => None,
            AcquireContextError::Ended(error) => Some(error),
        }
    }
}

/// [`ContextError::of`] finds the end of the context in the error.
impl From<AcquireContextError> for io::Error {
    fn from(error: AcquireContextError) -> Self {
        match error {
            AcquireContextError::Closed => io::Error::other(error),
            AcquireContextError::Ended(error) => error.into(),
        }
    }
}

impl From<ContextError> for AcquireContextError {
    fn from(error: ContextError) -> Self {
        AcquireContextError::Ended(error)
    }
}

impl From<AcquireError> for AcquireContextError {
    fn from(_: AcquireError) -> Self {
        AcquireContextError::Closed
    }
}

/// Why a wait for a [`RateLimiter`](crate::sync::RateLimiter) under a context has failed.
///
/// ```
/// use std::time::Duration;
/// use gosched::context::{Context, RateContextError};
/// use gosched::sync::RateLimiter;
///
/// gosched::run(|| {
///     let limiter = RateLimiter::every(Duration::from_secs(3600), 1);
///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_secs(60));
///     assert!(limiter.allow());
///     assert_eq!(ctx.with(&limiter).wait(), Err(RateContextError::TooLate));
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateContextError {
    /// The request is for more tokens than the bucket holds.
    Burst(BurstError),
    /// The context's deadline comes before the tokens do.
    TooLate,
    /// The context has ended.
    Ended(ContextError),
}

impl fmt::Display for RateContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateContextError::Burst(error) => error.fmt(f),
            RateContextError::TooLate => f.pad("the wait would exceed the context's deadline"),
            RateContextError::Ended(error) => error.fmt(f),
        }
    }
}

impl Error for RateContextError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RateContextError::Burst(error) => Some(error),
            RateContextError::TooLate => None,
            RateContextError::Ended(error) => Some(error),
        }
    }
}

/// [`ContextError::of`] finds the end of the context in the error.
impl From<RateContextError> for io::Error {
    fn from(error: RateContextError) -> Self {
        match error {
            RateContextError::Burst(_) => io::Error::new(ErrorKind::InvalidInput, error),
            RateContextError::TooLate => io::Error::new(ErrorKind::TimedOut, error),
            RateContextError::Ended(error) => error.into(),
        }
    }
}

impl From<ContextError> for RateContextError {
    fn from(error: ContextError) -> Self {
        RateContextError::Ended(error)
    }
}

impl From<BurstError> for RateContextError {
    fn from(error: BurstError) -> Self {
        RateContextError::Burst(error)
    }
}

/// Why a [`Pool`](crate::sync::Pool) has handed out no object under a context.
///
/// ```
/// use gosched::context::{Context, PoolContextError};
/// use gosched::sync::Pool;
///
/// gosched::run(|| {
///     let (ctx, _cancel) = Context::background().with_cancel();
///     let pool: Pool<u32, &str> = Pool::new(1, || Err("refused"));
///     assert_eq!(ctx.with(&pool).get().unwrap_err(), PoolContextError::Make("refused"));
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolContextError<E> {
    /// The function that makes an object has failed.
    Make(E),
    /// The context has ended before an object was free.
    Ended(ContextError),
}

impl<E: fmt::Display> fmt::Display for PoolContextError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolContextError::Make(error) => error.fmt(f),
            PoolContextError::Ended(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for PoolContextError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PoolContextError::Make(error) => Some(error),
            PoolContextError::Ended(error) => Some(error),
        }
    }
}

/// Why a send under a context has failed, with the value.
///
/// ```
/// use gosched::chan::bounded;
/// use gosched::context::{Context, SendContextError};
///
/// gosched::run(|| {
///     let (ctx, _cancel) = Context::background().with_cancel();
///     let (tx, rx) = bounded(0);
///     drop(rx);
///     assert_eq!(ctx.with(&tx).send(7), Err(SendContextError::Disconnected(7)));
/// });
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendContextError<T> {
    /// The channel is closed.
    Disconnected(T),
    /// The context has ended.
    Ended(T, ContextError),
}

impl<T> SendContextError<T> {
    /// The value that wasn't sent.
    ///
    /// ```
    /// use gosched::chan::bounded;
    /// use gosched::context::Context;
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let (tx, _rx) = bounded(0);
    ///     cancel.cancel();
    ///     assert_eq!(ctx.with(&tx).send("kept").unwrap_err().into_inner(), "kept");
    /// });
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            SendContextError::Disconnected(value) | SendContextError::Ended(value, _) => value,
        }
    }
}

impl<T> fmt::Debug for SendContextError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendContextError::Disconnected(_) => f.pad("Disconnected(..)"),
            SendContextError::Ended(_, error) => write!(f, "Ended(.., {error:?})"),
        }
    }
}

impl<T> fmt::Display for SendContextError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendContextError::Disconnected(_) => f.pad("sending on a closed channel"),
            SendContextError::Ended(_, error) => error.fmt(f),
        }
    }
}

impl<T> Error for SendContextError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            SendContextError::Disconnected(_) => None,
            SendContextError::Ended(_, error) => Some(error),
        }
    }
}

/// The value is lost.
impl<T> From<SendContextError<T>> for io::Error {
    fn from(error: SendContextError<T>) -> Self {
        match error {
            SendContextError::Disconnected(_) => io::Error::new(ErrorKind::BrokenPipe, error.to_string()),
            SendContextError::Ended(_, error) => error.into(),
        }
    }
}

/// Why a join under a context has failed.
///
/// ```
/// use gosched::context::{Context, JoinContextError};
///
/// gosched::run(|| {
///     let (ctx, _cancel) = Context::background().with_cancel();
///     let failed = gosched::go(|| assert_eq!(6 * 9, 42));
///     match ctx.join(failed) {
///         Err(JoinContextError::Failed(error)) => assert!(error.is_panic()),
///         other => panic!("{other:?}"),
///     }
/// });
/// ```
pub enum JoinContextError<T> {
    /// The goroutine has no result.
    Failed(JoinError),
    /// The context has ended; the goroutine goes on.
    Ended(JoinHandle<T>, ContextError),
}

impl<T> fmt::Debug for JoinContextError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinContextError::Failed(error) => f.debug_tuple("Failed").field(error).finish(),
            JoinContextError::Ended(handle, error) => {
                f.debug_tuple("Ended").field(handle).field(error).finish()
            }
        }
    }
}

impl<T> fmt::Display for JoinContextError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinContextError::Failed(error) => error.fmt(f),
            JoinContextError::Ended(_, error) => error.fmt(f),
        }
    }
}

impl<T> Error for JoinContextError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            JoinContextError::Failed(error) => Some(error),
            JoinContextError::Ended(_, error) => Some(error),
        }
    }
}
