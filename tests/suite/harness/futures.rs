//! Futures that a test polls itself.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// How often a waker was called.
#[derive(Default)]
pub struct Woken(pub AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns a future that was polled once, and waits. Its waker calls `f`, once.
pub fn waits_and_calls<F: Future>(future: F, f: impl FnOnce() + Send + 'static) -> Pin<Box<F>> {
    struct Calls(Mutex<Option<Box<dyn FnOnce() + Send>>>);
    impl Wake for Calls {
        fn wake(self: Arc<Self>) {
            let f = self.0.lock().unwrap().take();
            f.expect("called once")();
        }
    }

    let waker = Waker::from(Arc::new(Calls(Mutex::new(Some(Box::new(f))))));
    let mut future = Box::pin(future);
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    future
}

/// A future that the test polls itself.
pub struct Task<F> {
    future: Pin<Box<F>>,
    pub woken: Arc<Woken>,
}

impl<F: Future> Task<F> {
    /// Returns a future that was polled once, and waits.
    pub fn waits(future: F) -> Self {
        let mut task = Task { future: Box::pin(future), woken: Arc::default() };
        assert!(task.poll().is_none());
        task
    }

    pub fn poll(&mut self) -> Option<F::Output> {
        let waker = Waker::from(self.woken.clone());
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    pub fn times_woken(&self) -> usize {
        self.woken.0.load(Ordering::SeqCst)
    }
}

/// Polls a future until it is ready, and gives it up if it isn't after `polls` more polls.
pub async fn for_a_while<F: Future + Unpin>(mut future: F, mut polls: usize) -> Option<F::Output> {
    poll_fn(|context| match Pin::new(&mut future).poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if polls == 0 => Poll::Ready(None),
        Poll::Pending => {
            polls -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}
