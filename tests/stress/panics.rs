//! Goroutines that end by a panic or by `goexit`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use gosched::chan::{Receiver, Sender, bounded};
use gosched::{go, goexit, proc, scope, yield_now};

use crate::lean;
use crate::ledger::{Ledger, Token};
use crate::rng::Rng;
use crate::tally::{Op, count};

/// Each goroutine returns, panics, or calls `goexit`. What it owns is dropped, and its handle
/// reports how it ended.
pub fn joined(rng: &mut Rng) {
    let n = rng.up_to(60);
    let ledger = Ledger::new(n);
    let handles: Vec<_> = (0..n)
        .map(|i| {
            let (mut rng, token, end) = (rng.fork(), ledger.token(), rng.below(3));
            let handle = go(move || {
                let _token = token;
                rng.pause();
                match end {
                    0 => i,
                    1 => {
                        count(Op::Panic);
                        resume_unwind(Box::new(i))
                    }
                    _ => {
                        count(Op::Goexit);
                        goexit()
                    }
                }
            });
            (end, handle)
        })
        .collect();
    for (i, (end, handle)) in handles.into_iter().enumerate() {
        match (end, handle.join()) {
            (0, Ok(result)) => assert_eq!(result, i),
            (1, Err(error)) => assert_eq!(error.into_panic().downcast_ref(), Some(&i)),
            (2, Err(error)) => assert!(error.is_goexit()),
            (end, outcome) => panic!("{end} ended with {outcome:?}"),
        }
    }
    ledger.wait();
    ledger.close();
}

/// A value whose destructor parks.
struct Parks<'a> {
    wake: &'a Receiver<Token>,
    asleep: &'a Sender<()>,
    ledger: &'a Ledger,
}

impl Drop for Parks<'_> {
    fn drop(&mut self) {
        assert!(thread::panicking());
        let here = proc::getm().addr();
        self.asleep.send(()).unwrap();
        yield_now();
        self.ledger.received(self.wake.recv().unwrap());
        assert!(thread::panicking());
        // With shared thread-locals, std's count of panics is the thread's. So a goroutine that
        // unwinds stays on its thread.
        assert!(!lean() || proc::getm().addr() == here);
        count(Op::Park);
    }
}

/// Goroutines park while they unwind. `thread::panicking` must stay false in the others.
pub fn parking_destructors(rng: &mut Rng) {
    let n = rng.up_to(4);
    let ledger = Ledger::new(n);
    let (tx, rx) = bounded(rng.below(2));
    let (asleep, seen) = bounded(rng.below(2));
    scope(|s| {
        for _ in 0..n {
            let (rx, asleep, ledger, catch) = (&rx, &asleep, &ledger, rng.one_in(2));
            let unwind = move || {
                let _parks = Parks { wake: rx, asleep, ledger };
                resume_unwind(Box::new(()))
            };
            let handle = s.go(move || {
                if catch {
                    assert!(catch_unwind(AssertUnwindSafe(unwind)).is_err());
                    yield_now();
                    assert!(!thread::panicking());
                    resume_unwind(Box::new(()))
                }
                unwind()
            });
            s.go(move || assert!(handle.join().is_err()));
        }
        for _ in 0..n {
            seen.recv().unwrap();
            assert!(!thread::panicking(), "that is another one's panic");
        }
        for _ in 0..n {
            tx.send(ledger.token()).unwrap();
            ledger.sent();
        }
    });
    ledger.settle();
}

/// A scope that ends with a panic: its own, or that of a goroutine that wasn't joined.
pub fn failing_scopes(rng: &mut Rng) {
    let (n, own) = (rng.up_to(8), rng.one_in(2));
    let ledger = Ledger::new(n);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        scope(|s| {
            for i in 0..n {
                let (token, mut rng) = (ledger.token(), rng.fork());
                s.go(move || {
                    let _token = token;
                    rng.pause();
                    if i == 0 && !own {
                        count(Op::Panic);
                        resume_unwind(Box::new(()))
                    }
                });
            }
            if own {
                count(Op::Panic);
                resume_unwind(Box::new(()))
            }
        })
    }));
    assert!(caught.is_err());
    ledger.close();
}
