//! Channels with several senders and receivers.

use std::sync::Arc;

use gosched::chan::{
    Receiver, RecvError, Select, SendError, Sender, TryRecvError, TrySendError, bounded, never,
};
use gosched::{scope, select, yield_now};

use super::ledger::{Ledger, Token};
use super::rng::Rng;
use super::tally::{Op, count};

/// Returns a random capacity for a channel, most often 0 or small.
pub fn room(rng: &mut Rng) -> usize {
    rng.pick(&[0, 0, 1, 2, 5, 100])
}

/// Sends a token in a random way. Returns false if the channel is closed.
pub fn send(rng: &mut Rng, tx: &Sender<Token>, ledger: &Arc<Ledger>) -> bool {
    let token = ledger.token();
    let sent = match rng.below(4) {
        0 => tx.send(token),
        1 => select! {
            send(tx, token) -> sent => sent,
            recv(never::<Token>()) -> _ => unreachable!(),
        },
        2 => {
            let mut set = Select::new();
            set.send(tx, token);
            set.select().send(tx)
        }
        _ => try_to_send(tx, token),
    };
    count(Op::Send);
    if sent.is_ok() {
        ledger.sent();
    }
    sent.is_ok()
}

/// Tries three times to send without waiting, and then waits. A sender that never waited would
/// never meet a receiver that doesn't wait either.
fn try_to_send(tx: &Sender<Token>, mut token: Token) -> Result<(), SendError<Token>> {
    for _ in 0..3 {
        match tx.try_send(token) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Disconnected(token)) => return Err(SendError(token)),
            Err(TrySendError::Full(back)) => token = back,
        }
        yield_now();
    }
    tx.send(token)
}

/// Receives a token in a random way. Returns None if the channel is closed.
pub fn receive(rng: &mut Rng, rx: &Receiver<Token>) -> Option<Token> {
    count(Op::Receive);
    match rng.below(5) {
        0 => rx.recv().ok(),
        1 => rx.iter().next(),
        2 => select! {
            recv(rx) -> token => token.ok(),
            recv(never::<Token>()) -> _ => unreachable!(),
        },
        3 => {
            let mut set = Select::new();
            set.recv(rx);
            set.select().recv(rx).ok()
        }
        _ => {
            for _ in 0..3 {
                match rx.try_recv() {
                    Ok(token) => return Some(token),
                    Err(TryRecvError::Disconnected) => return None,
                    Err(TryRecvError::Empty) => yield_now(),
                }
            }
            rx.recv().ok()
        }
    }
}

/// What ends a crowd.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// The senders have sent all their tokens.
    SendersGo,
    /// The receivers have received enough.
    ReceiversGo,
    /// The channel is closed while it is used.
    Close,
}

pub fn crowd(rng: &mut Rng) {
    let end = rng.pick(&[End::SendersGo, End::SendersGo, End::ReceiversGo, End::Close]);
    let (senders, receivers, each) = (rng.up_to(6), rng.up_to(6), rng.up_to(100));
    let ledger = Ledger::new(senders * each);
    let (tx, rx) = bounded(room(rng));
    scope(|s| {
        let ledger = &ledger;
        for _ in 0..senders {
            let (tx, mut rng) = (tx.clone(), rng.fork());
            s.go(move || {
                for _ in 0..each {
                    if !send(&mut rng, &tx, ledger) {
                        assert!(end != End::SendersGo);
                        break;
                    }
                    rng.pause();
                }
            });
        }
        for _ in 0..receivers {
            let (rx, mut rng) = (rx.clone(), rng.fork());
            let enough = if end == End::ReceiversGo { rng.below(2 * each) } else { usize::MAX };
            s.go(move || {
                for _ in 0..enough {
                    let Some(token) = receive(&mut rng, &rx) else { break };
                    ledger.received(token);
                    rng.pause();
                }
            });
        }
        drop(rx);
        if end == End::Close {
            (0..rng.below(50)).for_each(|_| yield_now());
            tx.close();
        }
        drop(tx);
    });
    match end {
        End::ReceiversGo => ledger.close(),
        _ => ledger.settle(),
    }
}

/// Goroutines ask questions, and send with each a channel of its own for the answer.
pub fn requests(rng: &mut Rng) {
    let (tx, rx) = bounded::<(usize, Sender<usize>)>(room(rng));
    scope(|s| {
        for _ in 0..rng.up_to(3) {
            let rx = rx.clone();
            s.go(move || rx.iter().for_each(|(question, answer)| answer.send(question + 1).unwrap()));
        }
        for _ in 0..rng.up_to(8) {
            let (tx, mut rng) = (tx.clone(), rng.fork());
            s.go(move || {
                for question in 0..rng.up_to(50) {
                    let (answer, answered) = bounded(rng.below(2));
                    tx.send((question, answer)).unwrap();
                    assert_eq!(answered.recv(), Ok(question + 1));
                    assert_eq!(answered.recv(), Err(RecvError));
                    count(Op::Send);
                }
            });
        }
        drop(tx);
    });
}

/// A value goes around a ring of goroutines, each of which adds 1.
pub fn ring(rng: &mut Rng) {
    let (nodes, laps) = (rng.up_to(20), rng.up_to(50));
    let (first, mut last) = bounded(0);
    scope(|s| {
        for _ in 0..nodes {
            let (tx, rx) = bounded(room(rng));
            let before = std::mem::replace(&mut last, rx);
            s.go(move || {
                before.iter().for_each(|value: usize| {
                    tx.send(value + 1).unwrap();
                    count(Op::Send);
                });
            });
        }
        let mut value = 0;
        for _ in 0..laps {
            first.send(value).unwrap();
            value = last.recv().unwrap();
        }
        assert_eq!(value, nodes * laps);
        drop(first);
    });
}
