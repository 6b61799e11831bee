//! Models of observers of channels. No observer misses what it waits for, at whichever channel, and
//! none is left in the table.
//!
//! A value that nobody takes makes each observer return. If an observer misses it, the model has
//! threads that wait for ever, which loom reports.

use std::ptr;
use std::task::Waker;

use loom::thread;

use crate::runtime::base::this::set_m;
use crate::runtime::chan::future::{enqueue_future, release_future};
use crate::runtime::chan::models_future::{Shared, channel, node, try_recv};
use crate::runtime::chan::observe::{
    Awaited, observedparkcommit, ready_all, ready_any, selectready, take_all_observers, take_any_observers,
};
use crate::runtime::chan::ops::buffer;
use crate::runtime::chan::select::{Scase, WAIT, selparkcommit};
use crate::runtime::data::atomic::{Ordering, check};
use crate::runtime::data::gqueue::GList;
use crate::runtime::data::hchan::{CLOSED, Hchan};
use crate::runtime::data::runtime2::{G, M, Sudog, TraceBlockReason, Unlockf, WaitReason};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::made::zeroed;
use crate::runtime::sched::park::gopark;
use crate::runtime::sched::ready::goready;

/// Gives this thread a goroutine, and an M.
fn become_goroutine() {
    let mp = M::without_p();
    mp.curg.set(Some(G::this()));
    set_m(mp);
}

/// Waits until one of the channels has something to receive; returns its number.
fn wait_to_receive(channels: &[&Shared<Hchan>]) -> usize {
    let scases: Vec<Scase> = channels.iter().map(|c| Scase { c: Some(c.get()) }).collect();
    // SAFETY: channels aren't freed here.
    unsafe { selectready(&scases, &mut vec![0; 2 * scases.len()], 0, Awaited::Send, WAIT) }.unwrap()
}

/// Waits until there is room in the channel, or until it is closed.
fn wait_for(first: Awaited, c: &Shared<Hchan>) {
    // SAFETY: channels aren't freed here.
    assert_eq!(unsafe { selectready(&[Scase { c: Some(c.get()) }], &mut [0; 2], 1, first, WAIT) }, Some(0));
}

/// Puts a value into the buffer, which has room. (`send_locked`.)
fn send(c: &Shared<Hchan>, value: u32) {
    // SAFETY: channels aren't freed here.
    let c = unsafe { c.get().as_ref() };
    lock(&c.lock);
    buffer(c).set(value);
    assert_eq!(c.qcount.swap(1, Ordering::Relaxed), 0);
    let observers = take_any_observers(c, false);
    unlock(&c.lock);
    ready_any(observers);
}

/// Takes the value out of the buffer, if there is one. (`recv_locked`.)
fn recv(c: &Shared<Hchan>) -> Option<u32> {
    // SAFETY: channels aren't freed here.
    let c = unsafe { c.get().as_ref() };
    lock(&c.lock);
    let value = (c.qcount.swap(0, Ordering::Relaxed) == 1).then(|| buffer(c).get());
    let observers = value.and_then(|_| take_any_observers(c, true));
    unlock(&c.lock);
    ready_any(observers);
    value
}

/// Asserts that the channel has no observers.
fn nobody_is_left(c: &Shared<Hchan>) {
    // SAFETY: channels aren't freed here.
    let c = unsafe { c.get().as_ref() };
    lock(&c.lock);
    assert!(!c.is_observed());
    unlock(&c.lock);
}

/// Two values come to two channels, and each is found.
#[test]
fn each_channel_is_seen() {
    check(Some(3), || {
        become_goroutine();
        let (a, b) = (Shared(channel(1)), Shared(channel(1)));
        let senders =
            [(a.clone(), 1), (b.clone(), 2)].map(|(c, value)| thread::spawn(move || send(&c, value)));
        let both = [&a, &b];
        let mut sum = 0;
        for _ in both {
            sum += recv(both[wait_to_receive(&both)]).unwrap();
        }
        assert_eq!(sum, 3);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        both.into_iter().for_each(nobody_is_left);
    });
}

/// Two observers of a channel see the same value, and nobody takes it.
#[test]
fn all_observers_are_woken() {
    check(Some(3), || {
        become_goroutine();
        let c = Shared(channel(1));
        let other = thread::spawn({
            let c = c.clone();
            move || {
                become_goroutine();
                wait_to_receive(&[&c])
            }
        });
        let sender = thread::spawn({
            let c = c.clone();
            move || send(&c, 7)
        });
        assert_eq!(wait_to_receive(&[&c]), 0);
        assert_eq!(other.join().unwrap(), 0);
        sender.join().unwrap();
        nobody_is_left(&c);
    });
}

/// One of two observers of a channel leaves it for a while, as a value has come to another channel.
#[test]
fn one_leaves_and_the_other_is_woken() {
    check(Some(3), || {
        become_goroutine();
        let (a, b) = (Shared(channel(1)), Shared(channel(1)));
        let other = thread::spawn({
            let (a, b) = (a.clone(), b.clone());
            move || {
                become_goroutine();
                assert_eq!(wait_to_receive(&[&b, &a]), 0);
                assert_eq!(recv(&b), Some(1));
                assert_eq!(wait_to_receive(&[&b, &a]), 1);
            }
        });
        let sender = thread::spawn({
            let (a, b) = (a.clone(), b.clone());
            move || {
                send(&b, 1);
                send(&a, 2);
            }
        });
        assert_eq!(wait_to_receive(&[&a]), 0);
        other.join().unwrap();
        sender.join().unwrap();
        [a, b].iter().for_each(nobody_is_left);
    });
}

/// An observer waits for a value, and another one for room.
#[test]
fn values_and_room_are_seen() {
    check(Some(3), || {
        become_goroutine();
        let c = Shared(channel(1));
        send(&c, 1);
        let sender = thread::spawn({
            let c = c.clone();
            move || {
                become_goroutine();
                wait_for(Awaited::Send, &c);
                send(&c, 2);
            }
        });
        for value in [1, 2] {
            wait_to_receive(&[&c]);
            assert_eq!(recv(&c), Some(value));
        }
        sender.join().unwrap();
        nobody_is_left(&c);
    });
}

/// One observer waits for the close, while a value comes, and another one takes it.
#[test]
fn the_close_is_seen() {
    check(Some(3), || {
        become_goroutine();
        let c = Shared(channel(1));
        let other = thread::spawn({
            let c = c.clone();
            move || {
                become_goroutine();
                wait_for(Awaited::Close, &c);
            }
        });
        let sender = thread::spawn({
            let c = c.clone();
            move || send(&c, 7)
        });
        wait_to_receive(&[&c]);
        assert_eq!(recv(&c), Some(7));
        close(&c);
        other.join().unwrap();
        sender.join().unwrap();
        nobody_is_left(&c);
    });
}

/// Closes the channel, where nobody waits in the queues. (`closechan`.)
fn close(c: &Shared<Hchan>) {
    // SAFETY: channels aren't freed here.
    let c = unsafe { c.get().as_ref() };
    let list = GList::default();
    lock(&c.lock);
    c.closed.fetch_or(CLOSED, Ordering::Relaxed);
    if c.is_observed() {
        take_all_observers(c, &list);
    }
    unlock(&c.lock);
    ready_all(&list);
}

/// Parks until a receiver has taken this goroutine out of the send queue. (`send_locked`.)
fn park_to_send(c: &Shared<Hchan>) {
    // SAFETY: channels aren't freed here.
    let c = unsafe { c.get().as_ref() };
    let (gp, sg) = (G::this(), zeroed::<Sudog>());
    sg.g.set(Some(gp));
    sg.c.set(c);
    gp.waiting.set(Some(sg));
    lock(&c.lock);
    c.sendq.enqueue(sg);
    let observers = take_any_observers(c, false);
    let (commit, list) = match &observers {
        Some(observers) => (observedparkcommit as Unlockf, ptr::from_ref(observers).cast_mut().cast()),
        None => (selparkcommit as Unlockf, ptr::null_mut()),
    };
    // SAFETY: the sudog is in a queue, and the lock is held, which the functions release.
    unsafe { gopark(Some(commit), list, WaitReason::ChanSend, TraceBlockReason::ChanSend, 1) };
    gp.waiting.set(None);
}

/// The observer sees a goroutine that parks to send.
#[test]
fn a_sender_that_parks_is_seen() {
    check(Some(3), || {
        become_goroutine();
        let c = Shared(channel(0));
        let sender = thread::spawn({
            let c = c.clone();
            move || {
                become_goroutine();
                park_to_send(&c);
            }
        });
        assert_eq!(wait_to_receive(&[&c]), 0);
        nobody_is_left(&c);
        // SAFETY: channels aren't freed here.
        let queue = unsafe { c.get().as_ref() };
        lock(&queue.lock);
        let sg = queue.sendq.dequeue().unwrap();
        unlock(&queue.lock);
        goready(sg.g.get().unwrap());
        sender.join().unwrap();
    });
}

/// The observer sees a future that begins to wait.
#[test]
fn a_future_that_waits_is_seen() {
    check(Some(3), || {
        become_goroutine();
        let c = Shared(channel(0));
        let sender = thread::spawn({
            let c = c.clone();
            move || {
                let w = node(7);
                // SAFETY: w is new; this thread has its share.
                let back = unsafe { enqueue_future(c.get(), w, true, Waker::noop().clone()) };
                assert!(back.is_none());
                Shared(w)
            }
        });
        assert_eq!(wait_to_receive(&[&c]), 0);
        assert_eq!(try_recv(&c), Some(7));
        // SAFETY: the thread had the future's share, and its wait is over.
        unsafe { release_future(sender.join().unwrap().get()) };
        nobody_is_left(&c);
    });
}
