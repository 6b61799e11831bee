//! `Select`: a set of channel operations put together at run time.

use std::sync::Arc;

use gosched::chan::{RecvError, Select, SendError, bounded};

use gosched::run;

use crate::harness::explored::in_any_order;
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    a_set_does_one_operation
    a_set_that_waits_is_woken
    a_set_reports_closed_channels
    a_set_drops_each_value_once
    a_set_knows_its_handles
    an_operation_that_is_removed
}

fn a_set_does_one_operation() {
    run(|| {
        let channels: Vec<_> = (0..100).map(|_| bounded(1)).collect();
        let (full_tx, _full_rx) = bounded(0);
        for i in (0..100).rev() {
            channels[i].0.send(i).unwrap();
            let mut set = Select::new();
            assert_eq!(set.send(&full_tx, "unsent"), 0);
            for (j, (_, rx)) in channels.iter().enumerate() {
                assert_eq!(set.recv(rx), j + 1);
            }
            let selected = set.select();
            assert_eq!(selected.index(), i + 1);
            assert_eq!(selected.recv(&channels[i].1.clone()), Ok(i));
            assert!(set.try_select().is_none());
        }
        assert!(Select::new().try_select().is_none());
    });
}

pub fn a_set_that_waits_is_woken() {
    in_any_order(|| {
        let (tx, rx) = bounded(0);
        let (out_tx, out_rx) = bounded(0);
        let waiting = go_until_it_waits(move || {
            let mut set = Select::new();
            let out = set.send(&out_tx, "sent".to_owned());
            let input = set.recv(&rx);
            let mut events = Vec::new();
            loop {
                let selected = set.select();
                match selected.index() {
                    i if i == out => selected.send(&out_tx).unwrap(),
                    i if i == input => match selected.recv(&rx) {
                        Ok(value) => events.push(value),
                        Err(RecvError) => return events,
                    },
                    _ => unreachable!(),
                }
            }
        });
        tx.send(1).unwrap();
        assert_eq!(out_rx.recv().as_deref(), Ok("sent"));
        tx.send(2).unwrap();
        assert!(out_rx.try_recv().is_err(), "a send is done once");
        drop(tx);
        assert_eq!(waiting.join().unwrap(), [1, 2]);
    });
}

fn a_set_reports_closed_channels() {
    run(|| {
        let (tx, rx) = bounded(0);
        tx.close();
        let mut set = Select::new();
        set.send(&tx, 7);
        let selected = set.select();
        assert_eq!(selected.send(&tx), Err(SendError(7)));
        assert!(set.try_select().is_none(), "the send has failed, and is done");
        set.recv(&rx);
        assert_eq!(set.select().recv(&rx), Err(RecvError));
        assert_eq!(set.select().recv(&rx), Err(RecvError), "again and again");
    });
}

fn a_set_drops_each_value_once() {
    run(|| {
        let value = Arc::new(());
        let (tx, rx) = bounded(1);
        let (full_tx, _full_rx) = bounded(0);

        let mut set = Select::new();
        set.send(&full_tx, value.clone());
        set.send(&tx, value.clone());
        assert_eq!(Arc::strong_count(&value), 3);
        set.select().send(&tx).unwrap();
        drop(set);
        assert_eq!(Arc::strong_count(&value), 2, "the unsent one is gone");

        let mut set = Select::new();
        set.recv(&rx);
        assert_eq!(set.select().index(), 0);
        tx.send(value.clone()).unwrap();
        assert_eq!(set.select().index(), 0);
        drop(set);
        assert_eq!(Arc::strong_count(&value), 1, "received, and taken by nobody");

        tx.close();
        let mut set = Select::new();
        set.send(&tx, value.clone());
        assert_eq!(set.select().index(), 0);
        drop(set);
        assert_eq!(Arc::strong_count(&value), 1, "not sent, and taken by nobody");
    });
}

fn a_set_knows_its_handles() {
    let (tx, rx) = bounded(1);
    let (other_tx, other_rx) = bounded::<i32>(1);
    let mut set = Select::new();
    set.send(&tx, 1);
    assert!(panics(|| set.select().send(&other_tx)).contains("another operation"));
    let mut set = Select::new();
    set.recv(&rx);
    assert!(panics(|| set.select().recv(&other_rx)).contains("another operation"));
}

fn an_operation_that_is_removed() {
    run(|| {
        let value = Arc::new(());
        let (tx, rx) = bounded(1);
        let (other_tx, other) = bounded(2);
        let mut set = Select::new_biased();
        let (sends, receives) = (set.send(&tx, value.clone()), set.recv(&other));
        other_tx.send(1).unwrap();
        set.remove(sends);
        assert_eq!(Arc::strong_count(&value), 1, "its value is dropped");
        assert_eq!(set.select().recv(&other), Ok(1));
        assert!(set.try_select().is_none() && rx.is_empty(), "the send isn't done");
        // The index isn't used again.
        let other_sends = set.send(&other_tx, 2);
        assert_eq!((sends, receives, other_sends), (0, 1, 2));
        assert_eq!(set.select().send(&other_tx), Ok(()));
        for index in [sends, 3, usize::MAX] {
            let text = panics(|| set.remove(index));
            assert_eq!(text, "gosched: a select has no operation with this index");
        }
        // One that is chosen again and again, one whose value nobody has taken, and one that is
        // done.
        other_tx.close();
        assert_eq!(set.select().recv(&other), Ok(2));
        assert_eq!(set.select().recv(&other), Err(RecvError));
        set.remove(receives);
        set.remove(other_sends);
        tx.send(value.clone()).unwrap();
        let receives = set.recv(&rx);
        std::mem::forget(set.select());
        set.remove(receives);
        assert_eq!(Arc::strong_count(&value), 1);
        assert!(set.try_select().is_none());
    });
}
