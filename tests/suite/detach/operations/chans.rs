//! Channels: with and without a buffer, with and without a goroutine that waits.

use std::time::Duration;

use gosched::chan::{RecvError, RecvTimeoutError, Select, TryRecvError, TrySendError, bounded};
use gosched::{go, select};

use super::{Operation, operations};
use crate::detach::stepper::operation;
use crate::harness::goroutines::go_until_it_waits;

const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_nanos(1);

pub fn all() -> Vec<Operation> {
    operations! {
        "make and drop a channel" => || operation(|| drop(bounded::<u32>(3)));
        "send into a buffer" => || {
            let (tx, rx) = bounded(1);
            operation(|| tx.send(7)).unwrap();
            assert_eq!(rx.recv(), Ok(7));
        };
        "receive from a buffer" => || {
            let (tx, rx) = bounded(1);
            tx.send(7).unwrap();
            assert_eq!(operation(|| rx.recv()), Ok(7));
        };
        "send into a full buffer" => || {
            let (tx, rx) = bounded(1);
            tx.send(1).unwrap();
            let other = go(move || [rx.recv(), rx.recv()]);
            operation(|| tx.send(2)).unwrap();
            assert_eq!(other.join().unwrap(), [Ok(1), Ok(2)]);
        };
        "receive from a full buffer that a sender waits at" => || {
            let (tx, rx) = bounded(1);
            tx.send(1).unwrap();
            let other = go_until_it_waits(move || tx.send(2));
            assert_eq!(operation(|| rx.recv()), Ok(1));
            other.join().unwrap().unwrap();
            assert_eq!(rx.recv(), Ok(2));
        };
        "send to one that waits" => || {
            let (tx, rx) = bounded(0);
            let other = go_until_it_waits(move || rx.recv());
            operation(|| tx.send(7)).unwrap();
            assert_eq!(other.join().unwrap(), Ok(7));
        };
        "receive from one that waits" => || {
            let (tx, rx) = bounded(0);
            let other = go_until_it_waits(move || tx.send([7; 20]));
            assert_eq!(operation(|| rx.recv()), Ok([7; 20]));
            other.join().unwrap().unwrap();
        };
        "send, and wait" => || {
            let (tx, rx) = bounded(0);
            let other = go(move || rx.recv());
            operation(|| tx.send([7; 20])).unwrap();
            assert_eq!(other.join().unwrap(), Ok([7; 20]));
        };
        "receive, and wait" => || {
            let (tx, rx) = bounded(0);
            let other = go(move || tx.send(7));
            assert_eq!(operation(|| rx.recv()), Ok(7));
            other.join().unwrap().unwrap();
        };
        "ping and pong" => || {
            let (to, at_other) = bounded(0);
            let (back, from_other) = bounded(0);
            let other = go(move || at_other.iter().for_each(|i: u32| back.send(i + 1).unwrap()));
            let answer = operation(|| {
                to.send(1).unwrap();
                from_other.recv()
            });
            assert_eq!(answer, Ok(2));
            drop(to);
            other.join().unwrap();
        };
        "try to send" => || {
            let (tx, rx) = bounded(1);
            assert_eq!(operation(|| (tx.try_send(1), tx.try_send(2))), (Ok(()), Err(TrySendError::Full(2))));
            assert_eq!(rx.recv(), Ok(1));
        };
        "try to receive" => || {
            let (tx, rx) = bounded(1);
            tx.send(1).unwrap();
            assert_eq!(operation(|| (rx.try_recv(), rx.try_recv())), (Ok(1), Err(TryRecvError::Empty)));
        };
        "close, and who waits hears it" => || {
            let (tx, rx) = bounded::<u32>(0);
            let other = rx.clone();
            let others = [go_until_it_waits(move || other.recv()), go_until_it_waits(move || rx.recv())];
            operation(|| tx.close());
            others.into_iter().for_each(|other| assert_eq!(other.join().unwrap(), Err(RecvError)));
        };
        "drop the last sender" => || {
            let (tx, rx) = bounded::<u32>(0);
            let other = go_until_it_waits(move || rx.recv());
            operation(|| drop(tx));
            assert_eq!(other.join().unwrap(), Err(RecvError));
        };
        "receive until it is late" => || {
            let (_tx, rx) = bounded::<u32>(0);
            assert_eq!(operation(|| rx.recv_timeout(SOON)), Err(RecvTimeoutError::Timeout));
        };
        "receive before it is late" => || {
            let (tx, rx) = bounded(0);
            let other = go(move || tx.send(7));
            assert_eq!(operation(|| rx.recv_timeout(HOUR)), Ok(7));
            other.join().unwrap().unwrap();
        };
        "select what is there" => || {
            let (tx, rx) = bounded(1);
            let (never, _rx) = bounded(0);
            tx.send(7).unwrap();
            let chosen = operation(|| select! {
                recv(rx) -> value => value,
                send(never, 1) -> _ => unreachable!(),
            });
            assert_eq!(chosen, Ok(7));
        };
        "select, and nothing is there" => || {
            let (tx, rx) = bounded::<u32>(0);
            let chosen = operation(|| select! {
                recv(rx) -> _ => 1,
                send(tx, 1) -> _ => 2,
                default => 3,
            });
            assert_eq!(chosen, 3);
        };
        "select, and wait to receive" => || {
            let (tx, rx) = bounded(0);
            let (_never, empty) = bounded(0);
            let other = go(move || tx.send(7));
            let chosen = operation(|| select! {
                recv(rx) -> value => value,
                recv(empty) -> value => value,
            });
            assert_eq!(chosen, Ok(7));
            other.join().unwrap().unwrap();
        };
        "select, and wait to send" => || {
            let (tx, rx) = bounded(0);
            let (_never, empty) = bounded::<u32>(0);
            let other = go(move || rx.recv());
            operation(|| select! {
                send(tx, 7) -> sent => sent.unwrap(),
                recv(empty) -> _ => unreachable!(),
            });
            assert_eq!(other.join().unwrap(), Ok(7));
        };
        "select until it is late" => || {
            let (_tx, rx) = bounded::<u32>(0);
            let late = operation(|| select! {
                recv(rx) -> _ => false,
                default(SOON) => true,
            });
            assert!(late);
        };
        "select from a set" => || {
            let (tx, rx) = bounded(0);
            let (_never, empty) = bounded::<u32>(0);
            let other = go(move || tx.send(7));
            let mut set = Select::new();
            let (first, _) = (set.recv(&rx), set.recv(&empty));
            let value = operation(|| {
                let selected = set.select();
                assert_eq!(selected.index(), first);
                selected.recv(&rx)
            });
            assert_eq!(value, Ok(7));
            other.join().unwrap().unwrap();
        };
    }
}
