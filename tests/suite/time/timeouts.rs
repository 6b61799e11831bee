//! Limits of the time of futures.

use std::future::{Future, pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::explore::explore;
use gosched::time::{Elapsed, after, now, sleep, timeout_async};
use gosched::{block_on, blocking, go, run};

use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    the_time_or_the_future_comes_first
    the_time_begins_with_the_call
    what_has_come_counts
    the_future_is_dropped_at_the_end
    an_executor_of_its_own
    where_no_timer_can_be_set
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn the_time_or_the_future_comes_first() {
    explore(|| {
        let start = now();
        assert_eq!(block_on(timeout_async(HOUR, pending::<()>())), Err(Elapsed));
        assert_eq!(now() - start, HOUR);
        let in_a_minute = async || after(MINUTE).recv_async().await.is_ok();
        assert_eq!(block_on(timeout_async(HOUR, in_a_minute())), Ok(true));
        assert_eq!(now() - start, HOUR + MINUTE);
        let nested = timeout_async(HOUR, timeout_async(MINUTE, pending::<()>()));
        assert_eq!(block_on(nested), Ok(Err(Elapsed)));
        let nested = timeout_async(MINUTE, timeout_async(HOUR, pending::<()>()));
        assert_eq!(block_on(nested), Err(Elapsed));
        assert_eq!(now() - start, HOUR + 3 * MINUTE);
    });
}

fn the_time_begins_with_the_call() {
    explore(|| {
        let start = now();
        let limited = timeout_async(HOUR, pending::<()>());
        sleep(MINUTE);
        assert_eq!(block_on(limited), Err(Elapsed));
        assert_eq!(now() - start, HOUR);
    });
}

fn what_has_come_counts() {
    explore(|| {
        assert_eq!(block_on(timeout_async(Duration::ZERO, ready(7))), Ok(7));
        let limited = timeout_async(MINUTE, ready(7));
        sleep(HOUR);
        assert_eq!(block_on(limited), Ok(7));
        assert_eq!(block_on(timeout_async(Duration::ZERO, pending::<()>())), Err(Elapsed));
    });
}

fn the_future_is_dropped_at_the_end() {
    explore(|| {
        let ((tx, rx), kept) = (bounded(0), Arc::new(()));
        let keeps = kept.clone();
        let receives = async {
            let _keeps = keeps;
            rx.recv_async().await
        };
        let mut limited = pin!(timeout_async(MINUTE, receives));
        assert_eq!(block_on(limited.as_mut()), Err(Elapsed));
        assert_eq!(Arc::strong_count(&kept), 1);
        assert!(tx.try_send(1).is_err(), "nobody receives any more");
        let sends = go(move || tx.send(2));
        assert_eq!(rx.recv(), Ok(2));
        sends.join().unwrap().unwrap();
    });
}

/// Wakes a thread.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls on a thread, which nothing makes a goroutine.
fn polls_on_thread<T>(future: impl Future<Output = T> + Send) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

fn an_executor_of_its_own() {
    run(|| {
        let made_here = timeout_async(Duration::from_millis(1), pending::<()>());
        let (tx, rx) = bounded(0);
        let polls = blocking(|| {
            thread::scope(|s| {
                s.spawn(move || {
                    assert_eq!(polls_on_thread(made_here), Err(Elapsed));
                    let late = timeout_async(Duration::from_millis(1), pending::<()>());
                    assert_eq!(polls_on_thread(late), Err(Elapsed));
                    go(move || tx.send(7));
                    polls_on_thread(timeout_async(HOUR, rx.recv_async()))
                })
                .join()
            })
        });
        assert_eq!(polls.unwrap(), Ok(Ok(7)));
    });
}

fn where_no_timer_can_be_set() {
    run(|| {
        let message = panics(|| blocking(|| drop(timeout_async(HOUR, pending::<()>()))));
        assert!(message.contains("time::timeout_async would have to wait"), "{message}");
    });
}
