//! [`RecvStream`]: received values, as a `Stream` of `async` code. Feature `futures`.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::{FusedStream, Stream};

use crate::chan::Receiver;
use crate::chan::future::Wait;

/// The values of a channel, as a [`Stream`]: it ends when the channel is empty and closed.
/// [`Receiver::into_stream`] makes it.
///
/// ```
/// use std::future::poll_fn;
/// use std::pin::Pin;
///
/// use futures_core::Stream;
/// use gosched::chan::{RecvStream, bounded};
///
/// /// The next value, as `StreamExt::next` of the crate futures-util has it.
/// async fn next(stream: &mut RecvStream<u32>) -> Option<u32> {
///     poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
/// }
///
/// let (tx, rx) = bounded(2);
/// tx.send(1).unwrap();
/// tx.send(2).unwrap();
/// drop(tx);
/// let mut stream: RecvStream<u32> = rx.into_stream();
/// let all = async { [next(&mut stream).await, next(&mut stream).await, next(&mut stream).await] };
/// assert_eq!(gosched::run(|| gosched::block_on(all)), [Some(1), Some(2), None]);
/// ```
#[must_use = "streams do nothing unless they are polled"]
pub struct RecvStream<T> {
    rx: Receiver<T>,
    wait: Wait<T>,
    ended: bool,
}

// SAFETY: as for a RecvFuture, beside its receiver.
unsafe impl<T: Send> Send for RecvStream<T> {}
// SAFETY: as for Send; a shared one does nothing.
unsafe impl<T: Send> Sync for RecvStream<T> {}
// No value is in it.
impl<T> Unpin for RecvStream<T> {}

impl<T> Receiver<T> {
    /// Returns the values as a [`Stream`], for the adapters of crates like futures-util. The stream
    /// waits as [`recv_async`](Self::recv_async) does, and may be dropped at any time.
    /// [`RecvStream`] has an example.
    pub fn into_stream(self) -> RecvStream<T> {
        RecvStream { rx: self, wait: Wait::NONE, ended: false }
    }
}

impl<T> Stream for RecvStream<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let RecvStream { rx, wait, ended } = &mut *self;
        if *ended {
            return Poll::Ready(None);
        }
        let next = wait.recv(rx, context).map(Result::ok);
        *ended = matches!(next, Poll::Ready(None));
        next
    }
}

impl<T> FusedStream for RecvStream<T> {
    fn is_terminated(&self) -> bool {
        self.ended
    }
}

impl<T> Drop for RecvStream<T> {
    fn drop(&mut self) {
        self.wait.leave_recv(self.rx.c);
    }
}

impl<T> fmt::Debug for RecvStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("RecvStream { .. }")
    }
}
