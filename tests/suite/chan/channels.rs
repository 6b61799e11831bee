//! Channels: the functions of crossbeam's, and Go's `close`.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;

use gosched::chan::{Receiver, RecvError, SendError, Sender, TryRecvError, TrySendError, bounded, never};
use gosched::{Builder, go, run, scope, yield_now};

use crate::harness::explored::{each, in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::tests;

tests! {
    an_unbuffered_send_waits_for_its_receive
    a_buffer_has_room_for_what_it_was_told
    values_come_in_order
    who_waits_is_served_in_order
    when_the_senders_are_gone_receivers_get_the_rest
    when_the_receivers_are_gone_sends_fail
    who_waits_learns_that_the_others_are_gone
    close_lets_receivers_finish_and_fails_senders
    handles_know_whether_the_channel_is_closed
    iterators_take_what_they_say
    handles_of_one_channel_know_each_other
    never_has_nothing
    a_buffer_that_cannot_be_is_a_panic
    values_of_any_size_and_alignment_travel
    values_are_dropped_once
    many_senders_and_receivers_lose_nothing
    channels_travel_through_channels
    a_plain_thread_can_do_what_needs_no_waiting
}

/// Values that count themselves, each with a counter of its own.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(alive: &'a AtomicUsize) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Counted(alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        assert!(self.0.fetch_sub(1, Ordering::Relaxed) > 0, "dropped twice");
    }
}

pub fn an_unbuffered_send_waits_for_its_receive() {
    in_any_order(|| {
        let (tx, rx) = bounded(0);
        assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));

        let sender = tx.clone();
        let sending = go_until_it_waits(move || sender.send(2));
        assert!(!sending.is_finished());
        assert_eq!(rx.recv(), Ok(2));
        assert_eq!(sending.join().unwrap(), Ok(()));

        let sender = tx.clone();
        let sending = go_until_it_waits(move || sender.send(3));
        assert_eq!(rx.try_recv(), Ok(3), "a waiting sender is there at once");
        assert_eq!(sending.join().unwrap(), Ok(()));

        let receiving = go_until_it_waits(move || rx.recv());
        assert_eq!(tx.try_send(4), Ok(()), "so is a waiting receiver");
        assert_eq!(receiving.join().unwrap(), Ok(4));
    });
}

fn a_buffer_has_room_for_what_it_was_told() {
    let (tx, rx) = bounded(3);
    assert!(rx.is_empty() && tx.is_empty() && !rx.is_full());
    for i in 0..3 {
        assert_eq!((tx.len(), rx.len()), (i, i));
        assert_eq!(tx.send(i), Ok(()));
    }
    assert!(tx.is_full() && rx.is_full() && !tx.is_empty());
    assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)));
    assert_eq!((tx.capacity(), rx.capacity()), (Some(3), Some(3)));
    assert_eq!(rx.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));

    let (tx, rx) = bounded::<u8>(0);
    assert!(tx.is_full() && rx.is_full() && rx.is_empty());
    assert_eq!(rx.capacity(), Some(0));
}

pub fn values_come_in_order() {
    in_any_order(|| {
        for cap in each([0, 1, 2, 1000]) {
            let ((tx, rx), n) = (bounded(cap), times(5000, 5));
            go(move || (0..n).for_each(|i| tx.send(i).unwrap()));
            assert!(rx.iter().eq(0..n), "with room for {cap}");
        }
    });
}

pub fn who_waits_is_served_in_order() {
    in_any_order(|| {
        let ((tx, rx), n) = (bounded(1), times(10, 4));
        tx.send(0).unwrap();
        let senders: Vec<_> = (1..n)
            .map(|i| {
                let tx = tx.clone();
                go_until_it_waits(move || tx.send(i).unwrap())
            })
            .collect();
        assert!((0..n).all(|i| rx.recv() == Ok(i)));
        senders.into_iter().for_each(|sender| sender.join().unwrap());

        let receivers: Vec<_> = (0..n)
            .map(|_| {
                let rx = rx.clone();
                go_until_it_waits(move || rx.recv())
            })
            .collect();
        (0..n).for_each(|i| tx.send(i).unwrap());
        for (i, receiver) in receivers.into_iter().enumerate() {
            assert_eq!(receiver.join().unwrap(), Ok(i));
        }
    });
}

fn when_the_senders_are_gone_receivers_get_the_rest() {
    run(|| {
        let (tx, rx) = bounded(2);
        let other = tx.clone();
        tx.send(1).unwrap();
        drop(tx);
        other.send(2).unwrap();
        drop(other);
        assert_eq!((rx.recv(), rx.try_recv()), (Ok(1), Ok(2)));
        assert_eq!(rx.recv(), Err(RecvError));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(rx.iter().next(), None);
    });
}

fn when_the_receivers_are_gone_sends_fail() {
    run(|| {
        for cap in [0, 1] {
            let (tx, rx) = bounded(cap);
            drop(rx.clone());
            assert_eq!(tx.try_send("full").is_ok(), cap == 1, "there is still one");
            drop(rx);
            assert_eq!(tx.send("value"), Err(SendError("value")));
            assert_eq!(tx.try_send("value"), Err(TrySendError::Disconnected("value")));
            assert_eq!(tx.len(), 0, "what was in there is gone");
        }
    });
}

pub fn who_waits_learns_that_the_others_are_gone() {
    in_any_order(|| {
        let (tx, rx) = bounded::<()>(0);
        let receivers = [(); 3].map(|()| {
            let rx = rx.clone();
            go_until_it_waits(move || rx.recv())
        });
        drop(tx);
        let results = receivers.map(|receiver| receiver.join().unwrap());
        assert_eq!(results, [Err(RecvError); 3]);

        let (tx, rx) = bounded(1);
        tx.send(0).unwrap();
        let senders = [1, 2, 3].map(|i| {
            let tx = tx.clone();
            go_until_it_waits(move || tx.send(i))
        });
        drop(rx);
        let results = senders.map(|sender| sender.join().unwrap());
        assert_eq!(results, [1, 2, 3].map(|i| Err(SendError(i))));
    });
}

pub fn close_lets_receivers_finish_and_fails_senders() {
    in_any_order(|| {
        let (tx, rx) = bounded(2);
        tx.send(1).unwrap();
        tx.send(2).unwrap();
        let blocked = tx.clone();
        let blocked = go_until_it_waits(move || blocked.send(3));
        tx.close();
        tx.close();
        assert_eq!(blocked.join().unwrap(), Err(SendError(3)));
        assert_eq!(tx.send(4), Err(SendError(4)));
        assert_eq!(tx.try_send(5), Err(TrySendError::Disconnected(5)));
        assert_eq!(rx.into_iter().collect::<Vec<_>>(), [1, 2]);
    });
}

fn iterators_take_what_they_say() {
    run(|| {
        let (tx, rx) = bounded(10);
        (0..6).for_each(|i| tx.send(i).unwrap());
        assert_eq!(rx.iter().take(2).collect::<Vec<_>>(), [0, 1]);
        for value in &rx {
            if value == 3 {
                break;
            }
        }
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [4, 5]);
        drop(tx);
        assert_eq!(rx.into_iter().next(), None);
    });
}

fn handles_know_whether_the_channel_is_closed() {
    let (tx, rx) = bounded(1);
    tx.send(7).unwrap();
    assert!(!tx.is_closed() && !rx.is_closed() && !never::<()>().is_closed());
    let (other_tx, other_rx) = (tx.clone(), rx.clone());
    drop((other_tx, other_rx));
    assert!(!tx.is_closed() && !rx.is_closed());
    tx.close();
    assert!(tx.is_closed() && rx.is_closed() && rx.recv() == Ok(7));
    let (tx, rx) = bounded::<u32>(1);
    drop(rx);
    assert!(tx.is_closed());
    let (tx, rx) = bounded::<u32>(1);
    drop(tx);
    assert!(rx.is_closed());
}

fn handles_of_one_channel_know_each_other() {
    let (tx, rx) = bounded::<u8>(1);
    let (other_tx, other_rx) = bounded::<u8>(1);
    assert!(tx.same_channel(&tx.clone()) && !tx.same_channel(&other_tx));
    assert!(rx.same_channel(&rx.clone()) && !rx.same_channel(&other_rx));
    assert!(!rx.same_channel(&never()) && never::<u8>().same_channel(&never()));
}

fn never_has_nothing() {
    let rx = never::<String>();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!((rx.len(), rx.capacity(), rx.is_empty(), rx.is_full()), (0, Some(0), true, true));
    assert_eq!(rx.clone().try_iter().next(), None);
}

fn a_buffer_that_cannot_be_is_a_panic() {
    assert!(catch_unwind(|| bounded::<u64>(usize::MAX)).is_err());
    let (tx, rx) = bounded::<()>(usize::MAX);
    tx.send(()).unwrap();
    assert_eq!((rx.len(), rx.recv()), (1, Ok(())));
}

/// Sends each value through a buffer, and from goroutine to goroutine. Gets one value back from a
/// closed channel.
fn travels<T: Send + Clone + PartialEq + Debug + 'static>(values: impl IntoIterator<Item = T>) {
    let (buffer_tx, buffer_rx) = bounded(2);
    let (tx, rx) = bounded(0);
    let relay = Builder::new().stack_size(4 << 20);
    let relayed = relay.go(move || buffer_rx.iter().for_each(|value| tx.send(value).unwrap())).unwrap();
    for value in values {
        buffer_tx.send(value.clone()).unwrap();
        let received = rx.recv().unwrap();
        assert!((&raw const received).addr().is_multiple_of(align_of::<T>()));
        assert!(received == value, "{} bytes", size_of::<T>());
        let (closed, _rx) = bounded(0);
        closed.close();
        assert!(closed.send(received) == Err(SendError(value)), "{} bytes", size_of::<T>());
    }
    drop(buffer_tx);
    relayed.join().unwrap();
}

fn values_of_any_size_and_alignment_travel() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(256))]
    struct Aligned(u8);
    run(|| {
        travels([(), ()]);
        travels(0..200u8);
        travels([[1u16; 3], [2; 3]]);
        travels([u128::MAX, 1]);
        travels(["one".to_owned(), "two".to_owned()]);
        travels((0..50).map(Aligned));
        travels([[1u8; 1000], [2; 1000]]);
        travels([[3u8; 65_535], [4; 65_535]]);
        travels([[5u8; 65_536], [6; 65_536]]);
        travels([[7u64; 10_000], [8; 10_000]]);
    });
}

/// Sends values of `T` in every way through a channel.
fn drops_each_once<T: Send>(make: impl Fn() -> T + Copy + Send + Sync, alive: &AtomicUsize) {
    let roomy = Builder::new().stack_size(4 << 20);
    let left = |count: usize, what: &str| {
        assert_eq!(alive.load(Ordering::Relaxed), count, "{what}, {} bytes", size_of::<T>());
    };
    let (tx, rx) = bounded(3);
    (0..3).for_each(|_| tx.send(make()).unwrap());
    left(3, "in the buffer");
    drop(tx.try_send(make()));
    left(3, "full");
    drop(rx.recv());
    left(2, "received");
    tx.send(make()).unwrap();
    drop(rx);
    left(0, "no receiver");
    drop(tx.send(make()));
    drop(tx.try_send(make()));
    left(0, "failed");

    let (tx, rx) = bounded(3);
    tx.send(make()).unwrap();
    drop(tx);
    left(1, "no sender");
    drop(rx);
    left(0, "no sender and no receiver");

    let (tx, rx) = bounded(1);
    scope(|s| {
        tx.send(make()).unwrap();
        let waiting = roomy.go_scoped(s, || tx.send(make()).is_err()).unwrap();
        // Whether the goroutine already waits or not.
        yield_now();
        drop(rx);
        assert!(waiting.join().unwrap());
    });
    left(0, "sent in vain");

    let (tx, rx) = bounded(0);
    scope(|s| {
        roomy.go_scoped(s, || tx.send(make()).unwrap()).unwrap();
        drop(rx.recv());
    });
    left(0, "handed over");

    let (tx, rx) = bounded(1);
    tx.send(make()).unwrap();
    let thrown = catch_unwind(AssertUnwindSafe(move || {
        let _rx: Receiver<T> = rx;
        let _value = make();
        resume_unwind(Box::new(()))
    }));
    assert!(thrown.is_err());
    left(0, "unwound");
}

fn values_are_dropped_once() {
    #[repr(align(64))]
    struct Boxed<'a>(#[expect(dead_code, reason = "dropped")] Counted<'a>);
    let alive = &AtomicUsize::new(0);
    run(|| {
        drops_each_once(|| Counted::new(alive), alive);
        drops_each_once(|| (Counted::new(alive), [0u8; 100]), alive);
        drops_each_once(|| Boxed(Counted::new(alive)), alive);
        drops_each_once(|| (Counted::new(alive), [0u8; 70_000]), alive);
    });
}

pub fn many_senders_and_receivers_lose_nothing() {
    in_any_order(|| {
        let (crowd, values) = (times(8, 3), times(2000, 2));
        for cap in each([0, 1, 7, 100]) {
            let (tx, rx) = bounded::<usize>(cap);
            let seen: Vec<AtomicU8> = (0..crowd * values).map(|_| AtomicU8::new(0)).collect();
            scope(|s| {
                for sender in 0..crowd {
                    let tx = tx.clone();
                    s.go(move || (0..values).for_each(|i| tx.send(sender * values + i).unwrap()));
                }
                drop(tx);
                for _ in 0..crowd {
                    s.go(|| rx.iter().for_each(|i| _ = seen[i].fetch_add(1, Ordering::Relaxed)));
                }
            });
            assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1), "with room for {cap}");
        }
    });
}

pub fn channels_travel_through_channels() {
    in_any_order(|| {
        let (questions, asked) = bounded::<(usize, Sender<usize>)>(0);
        go(move || asked.iter().for_each(|(number, answer)| answer.send(number * 2).unwrap()));
        for number in 0..times(1000, 4) {
            let (answer, answered) = bounded(number % 2);
            questions.send((number, answer)).unwrap();
            assert_eq!(answered.recv(), Ok(number * 2));
            assert_eq!(answered.recv(), Err(RecvError));
        }
    });
}

fn a_plain_thread_can_do_what_needs_no_waiting() {
    let (tx, rx) = bounded(1);
    let (back_tx, back_rx) = bounded(0);
    let echo = run(move || go_until_it_waits(move || rx.iter().for_each(|i| back_tx.send(i).unwrap())));
    for i in 0..100 {
        tx.send(i).unwrap();
        let echoed = loop {
            match back_rx.try_recv() {
                Err(TryRecvError::Empty) => thread::yield_now(),
                received => break received,
            }
        };
        assert_eq!(echoed, Ok(i));
    }
    drop(tx);
    while !echo.is_finished() {
        thread::yield_now();
    }
    assert_eq!(back_rx.recv(), Err(RecvError), "nothing to wait for");
}
