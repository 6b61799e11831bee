//! Futures at channels: they wait in turn in the same queues as goroutines, and leave nothing
//! behind.
//!
//! `STRESS_TIMES` sets how often the storm is repeated.

use std::collections::BTreeSet;
use std::future::Future;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, RawWakerVTable, Waker};
use std::thread;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::select;
use gosched::chan::{
    Receiver, RecvError, RecvFuture, SendError, Sender, TryRecvError, TrySendError, bounded, never,
};
use gosched::time::{Timer, after};
use gosched::{PanicMode, block_on, blocking, go, run, scope, set_panic_mode};

use crate::harness::explored::{each, in_any_order};
use crate::harness::futures::{Task, Woken, for_a_while, waits_and_calls};
use crate::harness::goroutines::{go_until_it_waits, others_ended, wait_until};
use crate::harness::rng::{Rng, number};
use crate::harness::storm::turns;
use crate::harness::{run_with_procs, tests};

tests! {
    each_gets_a_value_in_its_turn
    each_gives_a_value_in_its_turn
    one_that_is_dropped_leaves_nothing
    a_value_that_came_goes_to_who_waits
    a_value_that_came_goes_back_into_the_buffer
    a_value_that_came_stays_where_there_is_no_room
    a_value_that_came_outlives_the_close
    what_stays_is_dropped_with_the_channel
    a_close_ends_the_wait
    values_of_each_kind
    streams
    timers
    a_time_before_a_reset
    wakers_do_what_they_like
    a_waker_that_cant_be_cloned
    forgotten
    storm_with_one_p
    storm_with_two_ps
    storm_with_eight_ps
}

pub fn each_gets_a_value_in_its_turn() {
    in_any_order(|| {
        for cap in each([0, 1, 3]) {
            let (tx, rx) = bounded(cap);
            let rx = Arc::new(rx);
            let receives = || {
                let rx = rx.clone();
                go_until_it_waits(move || rx.recv())
            };
            let first = receives();
            let mut second = Task::waits(rx.recv_async());
            let third = receives();
            let mut fourth = Task::waits(rx.recv_async());
            (1..5).for_each(|i| tx.try_send(i).unwrap());
            assert_eq!(fourth.poll(), Some(Ok(4)));
            assert_eq!(second.poll(), Some(Ok(2)));
            assert_eq!((second.times_woken(), fourth.times_woken()), (1, 1));
            assert_eq!((first.join().unwrap(), third.join().unwrap()), (Ok(1), Ok(3)));
        }
    });
}

pub fn each_gives_a_value_in_its_turn() {
    in_any_order(|| {
        for cap in each([0, 2]) {
            let (tx, rx) = bounded(cap);
            (0..cap).for_each(|i| tx.try_send(i).unwrap());
            let sender = tx.clone();
            let first = go_until_it_waits(move || sender.send(cap));
            let mut second = Task::waits(tx.send_async(cap + 1));
            let mut third = Task::waits(tx.send_async(cap + 2));
            assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)));
            assert_eq!(
                (0..cap + 3).map(|_| rx.try_recv().unwrap()).collect::<Vec<_>>(),
                Vec::from_iter(0..cap + 3)
            );
            assert_eq!((second.poll(), third.poll()), (Some(Ok(())), Some(Ok(()))));
            assert_eq!((second.times_woken(), third.times_woken()), (1, 1));
            assert_eq!(first.join().unwrap(), Ok(()));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        }
    });
}

fn one_that_is_dropped_leaves_nothing() {
    run(|| {
        let (tx, rx) = bounded(0);
        let receives = Task::waits(rx.recv_async());
        let woken = receives.woken.clone();
        drop(receives);
        assert_eq!(Arc::strong_count(&woken), 1, "the waker is gone");
        assert!(matches!(tx.try_send(Arc::new(1)), Err(TrySendError::Full(_))), "nobody receives");
        let value = Arc::new(2);
        let sends = Task::waits(tx.send_async(value.clone()));
        drop(sends);
        assert_eq!(Arc::strong_count(&value), 1, "the value is gone");
        assert!(matches!(rx.try_recv(), Err(TryRecvError::Empty)), "nobody sends");
        // The future waits between others.
        let (a, b, c) = (rx.recv_async(), rx.recv_async(), rx.recv_async());
        let (mut a, b, mut c) = (Task::waits(a), Task::waits(b), Task::waits(c));
        drop(b);
        (3..5).for_each(|i| tx.try_send(Arc::new(i)).unwrap());
        assert_eq!((a.poll(), c.poll()), (Some(Ok(Arc::new(3))), Some(Ok(Arc::new(4)))));
    });
}

pub fn a_value_that_came_goes_to_who_waits() {
    in_any_order(|| {
        for cap in each([0, 2]) {
            let (tx, rx) = bounded(cap);
            let came = Task::waits(rx.recv_async());
            let mut next = Task::waits(rx.recv_async());
            let receiver = rx.clone();
            let last = go_until_it_waits(move || receiver.recv());
            tx.try_send(1).unwrap();
            assert_eq!((came.times_woken(), next.times_woken()), (1, 0));
            drop(came);
            assert_eq!(next.times_woken(), 1);
            tx.try_send(2).unwrap();
            assert_eq!(next.poll(), Some(Ok(1)));
            assert_eq!(last.join().unwrap(), Ok(2));
        }
    });
}

fn a_value_that_came_goes_back_into_the_buffer() {
    run(|| {
        for others in 0..3 {
            let (tx, rx) = bounded(3);
            // The test is repeated for each place where the ring can begin.
            (0..others).for_each(|i| assert_eq!((tx.try_send(i), rx.try_recv()), (Ok(()), Ok(i))));
            let came = Task::waits(rx.recv_async());
            (0..others + 1).for_each(|i| tx.try_send(i).unwrap());
            assert_eq!(rx.len(), others);
            drop(came);
            assert_eq!(rx.len(), others + 1);
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), Vec::from_iter(0..others + 1));
        }
    });
}

/// Returns a full channel with room for `cap` values. Futures have given its first `back` values
/// back.
fn with_values_back(cap: usize, back: usize) -> (Sender<usize>, Receiver<usize>) {
    let (tx, rx) = bounded(cap);
    let came = Vec::from_iter((0..back).map(|_| Task::waits(rx.recv_async())));
    (0..back + cap).for_each(|i| tx.try_send(i).unwrap());
    // The last value that came goes back first.
    came.into_iter().rev().for_each(drop);
    (tx, rx)
}

fn a_value_that_came_stays_where_there_is_no_room() {
    run(|| {
        for cap in 0..4 {
            let (tx, rx) = with_values_back(cap, 3);
            assert_eq!(tx.try_send(99), Err(TrySendError::Full(99)));
            let mut sends = Task::waits(tx.send_async(3 + cap));
            assert_eq!((rx.len(), rx.recv()), (cap, Ok(0)));
            assert_eq!(block_on(rx.recv_async()), Ok(1));
            assert_eq!(sends.times_woken(), 0);
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), Vec::from_iter(2..4 + cap));
            assert_eq!(sends.poll(), Some(Ok(())));
        }
    });
}

fn a_value_that_came_outlives_the_close() {
    run(|| {
        for cap in 0..4 {
            let (tx, rx) = with_values_back(cap, 2);
            let mut sends = Task::waits(tx.send_async(99));
            tx.close();
            assert_eq!(sends.poll(), Some(Err(SendError(99))));
            assert_eq!(rx.iter().collect::<Vec<_>>(), Vec::from_iter(0..2 + cap));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        }
        // A value comes back after the channel is closed.
        let (tx, rx) = bounded(0);
        let came = Task::waits(rx.recv_async());
        tx.try_send(1).unwrap();
        drop(tx);
        drop(came);
        assert_eq!((rx.recv(), rx.recv()), (Ok(1), Err(RecvError)));
    });
}

fn what_stays_is_dropped_with_the_channel() {
    run(|| {
        let value = Arc::new(());
        for cap in 0..3 {
            let (tx, rx) = bounded(cap);
            let came = [Task::waits(rx.recv_async()), Task::waits(rx.recv_async())];
            (0..2 + cap).for_each(|_| tx.try_send(value.clone()).unwrap());
            drop(came);
            assert_eq!(Arc::strong_count(&value), 3 + cap);
            drop((tx, rx));
            assert_eq!(Arc::strong_count(&value), 1);
        }
    });
}

fn a_close_ends_the_wait() {
    run(|| {
        let (tx, rx) = bounded::<u32>(0);
        let mut receives = [Task::waits(rx.recv_async()), Task::waits(rx.recv_async())];
        tx.close();
        for task in &mut receives {
            assert_eq!((task.times_woken(), task.poll()), (1, Some(Err(RecvError))));
        }
        assert_eq!(block_on(tx.send_async(1)), Err(SendError(1)));
        let (tx, rx) = bounded(0);
        let mut sends = Task::waits(tx.send_async(2));
        drop(rx);
        assert_eq!((sends.times_woken(), sends.poll()), (1, Some(Err(SendError(2)))));
        let never = never::<u32>();
        Task::waits(never.recv_async());
    });
}

fn values_of_each_kind() {
    fn there_and_back<T: Clone + PartialEq + Send + std::fmt::Debug + 'static>(value: T) {
        let (tx, rx) = bounded(0);
        let mut receives = Task::waits(rx.recv_async());
        tx.try_send(value.clone()).unwrap();
        assert_eq!(receives.poll(), Some(Ok(value.clone())));
        drop(receives);
        let came = Task::waits(rx.recv_async());
        tx.try_send(value.clone()).unwrap();
        drop(came);
        assert_eq!(rx.recv(), Ok(value.clone()));
        let mut sends = Task::waits(tx.send_async(value.clone()));
        assert_eq!(rx.recv(), Ok(value.clone()));
        assert_eq!(sends.poll(), Some(Ok(())));
        let mut sends = Task::waits(tx.send_async(value.clone()));
        drop(rx);
        assert_eq!(sends.poll(), Some(Err(SendError(value))));
    }

    #[derive(Clone, Debug, PartialEq)]
    #[repr(align(64))]
    struct Aligned(Box<u64>);

    run(|| {
        there_and_back(());
        there_and_back(3_u8);
        there_and_back(String::from("text"));
        there_and_back([7_u16; 300]);
        there_and_back(Aligned(Box::new(5)));
        there_and_back(vec![Box::new([1_u64; 10_000])]);
        there_and_back([Some(Box::new(1)); 1].map(|b| (b, [2_u8; 70_000])));
    });
}

fn streams() {
    run(|| {
        let (tx, rx) = bounded(1);
        let mut stream = rx.clone().into_stream();
        let mut next = Task::waits(stream.next());
        tx.try_send(1).unwrap();
        assert_eq!((next.times_woken(), next.poll()), (1, Some(Some(1))));
        drop(next);
        // A stream that isn't polled still waits. When the stream is dropped, a value that has come
        // for it goes back.
        drop(Task::waits(stream.next()));
        (2..4).for_each(|i| tx.try_send(i).unwrap());
        assert_eq!(rx.len(), 1);
        drop(stream);
        assert_eq!((rx.recv(), rx.recv()), (Ok(2), Ok(3)));
        // Two streams together.
        let (a, b) = (rx.clone().into_stream(), rx.into_stream());
        let both = go(move || block_on(select(a, b).collect::<BTreeSet<_>>()));
        (0..100).for_each(|i| tx.send(i).unwrap());
        drop(tx);
        assert_eq!(both.join().unwrap(), (0..100).collect());
    });
}

fn timers() {
    run(|| {
        let moment = Duration::from_millis(1);
        assert!(block_on(after(moment).recv_async()).is_ok());
        // No goroutine waits for it.
        let rx = after(moment);
        let mut waits = pin!(rx.recv_async());
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        // On a slow machine the moment may have come already.
        if waits.as_mut().poll(&mut context).is_pending() {
            while woken.0.load(Ordering::SeqCst) == 0 {
                gosched::time::sleep(moment);
            }
            assert!(waits.as_mut().poll(&mut context).is_ready());
        }
        // The same on a thread that isn't a goroutine's.
        let thread = thread::spawn(move || block_on(after(moment).recv_async()).is_ok());
        assert!(blocking(|| thread.join().unwrap()));
    });
}

fn a_time_before_a_reset() {
    run(|| {
        let (moment, hour) = (Duration::from_millis(1), Duration::from_secs(3600));
        let timer = Timer::new(moment);
        let mut future = pin!(timer.c().recv_async());
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            wait_until(|| woken.0.load(Ordering::SeqCst) == 1);
        }
        assert!(!timer.reset(hour), "it has fired");
        let came = Task::waits(timer.c().recv_async());
        timer.reset(moment);
        wait_until(|| came.times_woken() == 1);
        timer.reset(hour);
        drop(came);
        let earlier = timer.c().try_recv();
        assert_eq!(earlier, Err(TryRecvError::Empty), "its earlier setting does nothing any more");
        // A value that came back before the timer was reset is still there.
        let came = Task::waits(timer.c().recv_async());
        timer.reset(moment);
        wait_until(|| came.times_woken() == 1);
        drop(came);
        assert!(timer.c().try_recv().is_ok());
    });
}

/// The value stays with the future. The next poll sends it.
fn a_waker_that_cant_be_cloned() {
    static PANICS: RawWakerVTable =
        RawWakerVTable::new(|_| resume_unwind(Box::new("the waker's")), drop, drop, drop);
    run(|| {
        let (tx, rx) = bounded(0);
        let value = Arc::new(7);
        let mut sends = Box::pin(tx.send_async(value.clone()));
        // SAFETY: the waker's functions use no data.
        let waker = unsafe { Waker::new(ptr::null(), &PANICS) };
        let polled = || sends.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(catch_unwind(AssertUnwindSafe(polled)).is_err());
        assert_eq!(Arc::strong_count(&value), 2);
        let receives = go_until_it_waits(move || rx.recv());
        block_on(sends).unwrap();
        assert_eq!(receives.join().unwrap(), Ok(value));
    });
}

fn wakers_do_what_they_like() {
    /// Returns a future that waits at a channel, and whose waker calls `f`.
    fn waits(rx: &Receiver<u32>, f: impl FnOnce() + Send + 'static) -> Pin<Box<RecvFuture<'_, u32>>> {
        waits_and_calls(rx.recv_async(), f)
    }

    run(|| {
        // The waker uses the channel that wakes it, and waits there.
        let (tx, rx) = bounded(0);
        let sender = tx.clone();
        let future = waits(&rx, move || sender.send(2).unwrap());
        let receiver = rx.clone();
        let second = go(move || receiver.recv());
        tx.send(1).unwrap();
        assert_eq!((second.join().unwrap(), block_on(future)), (Ok(2), Ok(1)));

        // The waker panics. The send has succeeded all the same.
        let future = waits(&rx, || resume_unwind(Box::new("gone")));
        assert_eq!(tx.try_send(3), Ok(()));
        assert_eq!(block_on(future), Ok(3));

        // The same where a goroutine of the crate's calls the waker, and such a panic ends the
        // process.
        set_panic_mode(PanicMode::Die);
        let future = waits(&rx, || resume_unwind(Box::new("gone")));
        blocking(|| tx.try_send(3).unwrap());
        others_ended();
        assert_eq!(block_on(future), Ok(3));

        // The waker drops the last handle of the side that wakes it.
        let other = Arc::new(Mutex::new(None));
        let slot = other.clone();
        let future = waits(&rx, move || drop(slot.lock().unwrap().take()));
        *other.lock().unwrap() = Some(tx.clone());
        let sent = tx.try_send(4);
        drop(tx);
        assert_eq!((sent, block_on(future), rx.recv()), (Ok(()), Ok(4), Err(RecvError)));

        // The waker closes another channel, when this one is closed.
        let (tx, rx) = bounded(0);
        let (other_tx, other_rx) = bounded::<u32>(0);
        let future = waits(&rx, move || drop(other_tx));
        let mut also = Task::waits(rx.recv_async());
        drop(tx);
        assert_eq!((other_rx.recv(), also.poll()), (Err(RecvError), Some(Err(RecvError))));
        assert_eq!(block_on(future), Err(RecvError));
    });
}

fn forgotten() {
    run(|| {
        let value = Arc::new(());
        let (tx, rx) = bounded(0);
        let (first, mut second) = (Task::waits(rx.recv_async()), Task::waits(rx.recv_async()));
        forget(first);
        (0..2).for_each(|_| tx.try_send(value.clone()).unwrap());
        assert!(second.poll().is_some_and(|received| received.is_ok()));
        forget(Task::waits(rx.recv_async()));
        drop(second);
        drop((tx, rx));
        let (tx, rx) = bounded(0);
        forget(Task::waits(tx.send_async(value.clone())));
        drop((tx, rx));
        assert_eq!(Arc::strong_count(&value), 3, "what was given to who is forgotten, or by such a one");
    });
}

/// A value of the storm.
struct Value<'a> {
    id: usize,
    /// The values that are under way.
    on_their_way: &'a Mutex<BTreeSet<usize>>,
}

impl<'a> Value<'a> {
    fn new(id: usize, on_their_way: &'a Mutex<BTreeSet<usize>>) -> Self {
        assert!(on_their_way.lock().unwrap().insert(id));
        Value { id, on_their_way }
    }
}

impl Drop for Value<'_> {
    fn drop(&mut self) {
        assert!(self.on_their_way.lock().unwrap().remove(&self.id), "twice");
    }
}

/// Sends `count` values, in various ways. Returns how many were sent.
fn sends<'a>(
    tx: &Sender<Value<'a>>,
    set: &'a Mutex<BTreeSet<usize>>,
    first: usize,
    count: usize,
    rng: &mut Rng,
) -> usize {
    let mut sent = 0;
    for id in first..first + count {
        let value = || Value::new(id, set);
        sent += usize::from(match rng.below(5) {
            0 => tx.send(value()).is_ok(),
            1 => tx.try_send(value()).is_ok(),
            2 => block_on(tx.send_async(value())).is_ok(),
            3 => tx.send_timeout(value(), Duration::from_micros(rng.next() % 100)).is_ok(),
            _ => {
                // A send that was given up may still have sent its value.
                block_on(for_a_while(tx.send_async(value()), rng.below(4)));
                false
            }
        });
    }
    sent
}

/// Receives until the channel is closed, in various ways. Returns how many values came.
fn receives(rx: &Receiver<Value<'_>>, rng: &mut Rng) -> usize {
    let mut received = 0;
    loop {
        let one = match rng.below(6) {
            0 => rx.recv().map(Some),
            1 => block_on(rx.recv_async()).map(Some),
            2 => rx.try_recv().map_or_else(
                |why| if why == TryRecvError::Empty { Ok(None) } else { Err(RecvError) },
                |value| Ok(Some(value)),
            ),
            3 => gosched::select! {
                recv(rx) -> value => value.map(Some),
                default => Ok(None),
            },
            _ => block_on(for_a_while(rx.recv_async(), rng.below(4))).transpose(),
        };
        match one {
            Ok(value) => received += usize::from(value.is_some()),
            Err(RecvError) => return received,
        }
    }
}

fn storm(procs: usize) {
    let mut rng = Rng::seeded();
    run_with_procs(procs, || {
        for _ in turns(number("STRESS_TIMES").unwrap_or(20) as usize, || true) {
            let set = Mutex::new(BTreeSet::new());
            let (received, sent) = (AtomicUsize::new(0), AtomicUsize::new(0));
            {
                let (tx, rx) = bounded(rng.below(4));
                thread::scope(|threads| {
                    scope(|s| {
                        for i in 0..8 {
                            let (tx, rx, mut rng) = (tx.clone(), rx.clone(), rng.fork());
                            let (set, received, sent) = (&set, &received, &sent);
                            let mut receiver = rng.fork();
                            let receives =
                                move || received.fetch_add(receives(&rx, &mut receiver), Ordering::Relaxed);
                            let sends = move || {
                                sent.fetch_add(sends(&tx, set, i * 100, 100, &mut rng), Ordering::Relaxed)
                            };
                            if i < 6 {
                                s.go(receives);
                                s.go(sends);
                            } else {
                                threads.spawn(receives);
                                threads.spawn(sends);
                            }
                        }
                        drop((tx, rx));
                    });
                });
            }
            let (received, sent) = (received.into_inner(), sent.into_inner());
            assert!(received >= sent, "{sent} were sent, and {received} received");
            assert!(set.into_inner().unwrap().is_empty(), "values are gone, and weren't dropped");
        }
        others_ended();
    });
}

fn storm_with_one_p() {
    storm(1);
}

fn storm_with_two_ps() {
    storm(2);
}

fn storm_with_eight_ps() {
    storm(8);
}
