//! Threads that aren't the runtime's.

use std::sync::Arc;
use std::thread;

use gosched::chan::{TryRecvError, TrySendError, bounded};
use gosched::sync::WaitGroup;
use gosched::{go, scope, yield_now};

use crate::ledger::Ledger;
use crate::rng::Rng;
use crate::tally::{Op, count};

/// A thread sends to goroutines, receives from them, makes one, and wakes one that waits.
pub fn outsiders(rng: &mut Rng) {
    let each = rng.up_to(50);
    let ledger = Ledger::new(2 * each);
    let (to_thread, from_goroutine) = bounded(rng.below(3));
    let (to_goroutine, from_thread) = bounded(rng.below(3));
    let group = Arc::new(WaitGroup::new());
    group.add(1);
    let thread = {
        let (ledger, group) = (ledger.clone(), group.clone());
        thread::spawn(move || {
            for _ in 0..each {
                let mut token = ledger.token();
                while let Err(TrySendError::Full(back)) = to_goroutine.try_send(token) {
                    token = back;
                    thread::yield_now();
                }
                ledger.sent();
                count(Op::Thread);
            }
            drop(to_goroutine);
            loop {
                match from_goroutine.try_recv() {
                    Ok(token) => ledger.received(token),
                    Err(TryRecvError::Disconnected) => break,
                    Err(TryRecvError::Empty) => thread::yield_now(),
                }
            }
            let handle = go(|| 7);
            group.done();
            handle
        })
    };
    scope(|s| {
        s.go(|| from_thread.iter().for_each(|token| ledger.received(token)));
        s.go(|| {
            for _ in 0..each {
                assert!(to_thread.send(ledger.token()).is_ok());
                ledger.sent();
            }
            to_thread.close();
        });
        s.go(|| group.wait());
    });
    while !thread.is_finished() {
        yield_now();
    }
    assert_eq!(thread.join().unwrap().join().unwrap(), 7);
    ledger.settle();
}
