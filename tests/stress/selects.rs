//! Selects: several channels at once, sending and receiving.

use gosched::chan::{Receiver, Select, bounded, never};
use gosched::{scope, select, yield_now};

use super::channels::{room, send};
use super::ledger::{Ledger, Token};
use super::rng::Rng;
use super::tally::{Op, count};

/// Goroutines that send to each other. Each also receives, in the same select, while its sends
/// would have to wait.
pub fn mesh(rng: &mut Rng) {
    let (nodes, each) = (1 + rng.up_to(5), rng.up_to(60));
    // Each turn makes two tokens, and sends or receives one.
    let ledger = Ledger::new(4 * nodes * each);
    let (txs, rxs): (Vec<_>, Vec<_>) = (0..nodes).map(|_| bounded(room(rng))).unzip();
    scope(|s| {
        for (me, rx) in rxs.into_iter().enumerate() {
            let (txs, mut rng, ledger) = (txs.clone(), rng.fork(), &ledger);
            s.go(move || {
                let mut left = each;
                while left > 0 {
                    // `one` may be the goroutine itself, and `other` never is. Both may be the
                    // same.
                    let (one, other) = (rng.below(nodes), (me + rng.up_to(nodes - 1)) % nodes);
                    let sent = select! {
                        send(txs[one], ledger.token()) -> sent => sent.is_ok(),
                        recv(rx) -> token => { ledger.received(token.unwrap()); false }
                        send(txs[other], ledger.token()) -> sent => sent.is_ok(),
                    };
                    if sent {
                        ledger.sent();
                        left -= 1;
                    }
                    count(Op::Select);
                    rng.pause();
                }
                drop(txs);
                rx.iter().for_each(|token| ledger.received(token));
            });
        }
        drop(txs);
    });
    ledger.settle();
}

/// A select over many channels. A channel that is closed leaves the set.
pub fn fan_in(rng: &mut Rng) {
    let (senders, each) = (rng.up_to(8), rng.up_to(60));
    let ledger = Ledger::new(senders * each);
    scope(|s| {
        let mut open: Vec<Receiver<Token>> = Vec::new();
        for _ in 0..senders {
            let (tx, rx) = bounded(room(rng));
            let (mut rng, ledger) = (rng.fork(), &ledger);
            s.go(move || (0..each).for_each(|_| assert!(send(&mut rng, &tx, ledger))));
            open.push(rx);
        }
        while !open.is_empty() {
            let mut set = Select::new();
            for rx in &open {
                set.recv(rx);
            }
            let closed = loop {
                let selected = if rng.one_in(4) {
                    let Some(selected) = set.try_select() else {
                        yield_now();
                        continue;
                    };
                    selected
                } else {
                    set.select()
                };
                count(Op::Select);
                let index = selected.index();
                match selected.recv(&open[index]) {
                    Ok(token) => ledger.received(token),
                    Err(_) => break index,
                }
            };
            drop(set);
            open.swap_remove(closed);
        }
    });
    ledger.settle();
}

/// A select that doesn't wait, over two channels and a request to stop. An arm whose channel is
/// closed is switched off.
pub fn poll(rng: &mut Rng) {
    let each = rng.up_to(100);
    let ledger = Ledger::new(2 * each);
    let (a_tx, mut a) = bounded(room(rng));
    let (b_tx, mut b) = bounded(room(rng));
    let (stop, stopped) = bounded::<()>(0);
    let stop_early = rng.one_in(3);
    scope(|s| {
        for tx in [a_tx, b_tx] {
            let (mut rng, ledger) = (rng.fork(), &ledger);
            s.go(move || while_open(each, || send(&mut rng, &tx, ledger)));
        }
        let mut turns = rng.below(200);
        s.go(move || {
            if stop_early {
                while turns > 0 {
                    turns -= 1;
                    yield_now();
                }
                drop(stop);
            } else {
                std::mem::forget(stop);
            }
        });
        let mut open = 2;
        while open > 0 {
            count(Op::Select);
            select! {
                recv(a) -> token => match token {
                    Ok(token) => ledger.received(token),
                    Err(_) => { a = never(); open -= 1 }
                },
                recv(b) -> token => match token {
                    Ok(token) => ledger.received(token),
                    Err(_) => { b = never(); open -= 1 }
                },
                recv(stopped) -> _ => break,
                default => yield_now(),
            }
        }
        drop((a, b));
    });
    ledger.close();
}

/// Calls `f` `times` times, or until it returns false.
fn while_open(times: usize, mut f: impl FnMut() -> bool) {
    let _ = (0..times).all(|_| f());
}
