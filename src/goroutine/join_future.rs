//! [`JoinFuture`]: a join for tasks.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::goroutine::future::wake_elsewhere;
use crate::goroutine::{JoinError, JoinHandle};
use crate::runtime::{EndWaker, ended, keep_waker, set_end_waker, take_end_waker};

/// The future of a [`JoinHandle`]: ready with the goroutine's result when it has ended. It may be
/// polled by any runtime, and on any thread.
///
/// If it is dropped, the goroutine goes on, as with the handle.
///
/// ```
/// use gosched::{JoinFuture, block_on, go};
///
/// gosched::run(|| {
///     let answer: JoinFuture<u32> = go(|| 6 * 7).into_future();
///     assert_eq!(block_on(answer).unwrap(), 42);
/// });
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct JoinFuture<T> {
    /// None once it was ready.
    handle: Option<JoinHandle<T>>,
}

/// Waits for the goroutine in `async` code.
///
/// ```
/// use gosched::{block_on, go};
///
/// gosched::run(|| {
///     let sum = block_on(async {
///         let (a, b) = (go(|| 6 * 7), go(|| 6 + 7));
///         a.await.unwrap() + b.await.unwrap()
///     });
///     assert_eq!(sum, 55);
/// });
/// ```
impl<T> IntoFuture for JoinHandle<T> {
    type Output = Result<T, JoinError>;
    type IntoFuture = JoinFuture<T>;

    fn into_future(self) -> JoinFuture<T> {
        JoinFuture { handle: Some(self) }
    }
}

impl<T> Future for JoinFuture<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let handle = &mut self.get_mut().handle;
        let gp = handle.as_ref().expect("a JoinFuture is polled after it was ready").goroutine();
        drop(take_end_waker(gp));
        if !ended(gp)
            && set_end_waker(gp, EndWaker { waker: keep_waker(context.waker()), wake: wake_elsewhere })
        {
            return Poll::Pending;
        }
        match handle.take() {
            Some(handle) => Poll::Ready(handle.join()),
            None => unreachable!("it was there"),
        }
    }
}

// Nothing in it is pinned.
impl<T> Unpin for JoinFuture<T> {}

impl<T> Drop for JoinFuture<T> {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            drop(take_end_waker(handle.goroutine()));
        }
    }
}

impl<T> fmt::Debug for JoinFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JoinFuture").field(&self.handle).finish()
    }
}
