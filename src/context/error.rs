//! Why a wait under a context has ended without what was waited for.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// What somebody has said why a context was [canceled](crate::context::Canceler::cancel_because).
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Why a context has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContextError {
    /// Somebody has canceled it. Go's `Canceled`.
    Canceled,
    /// Its deadline has passed. Go's `DeadlineExceeded`.
    DeadlineExceeded,
}

impl ContextError {
    /// Whether it is because of a context that a read, a write or another operation of [`std::io`] has failed.
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
    /// An error that [`ContextError::of`] finds. Its kind is [`TimedOut`](ErrorKind::TimedOut) after a deadline, and
    /// otherwise [`Other`](ErrorKind::Other).
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

impl From<ContextError> for RecvContextError {
    fn from(error: ContextError) -> Self {
        RecvContextError::Ended(error)
    }
}

/// Why a send under a context has failed; the value is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendContextError<T> {
    /// The channel is closed.
    Disconnected(T),
    /// The context has ended.
    Ended(T, ContextError),
}

impl<T> SendContextError<T> {
    /// The value that wasn't sent.
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

impl<T> Error for SendContextError<T> {}
