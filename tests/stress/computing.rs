//! Goroutines that compute for long without a check. Others get the P only when such a goroutine
//! ends, or loses it.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::bounded;
use gosched::iter::pull;
use gosched::{go, goexit, scope, yield_now};

use crate::ledger::Ledger;
use crate::rng::Rng;
use crate::tally::{Op, count};

/// Returns a random duration: most often less than a time slice, and at most three of them.
pub fn a_while(rng: &mut Rng) -> Duration {
    let most = if rng.one_in(4) { 30_000 } else { 2000 };
    Duration::from_micros(rng.below(most) as u64)
}

/// Computes for `length`.
#[inline(never)]
pub fn compute(length: Duration) {
    let (since, mut n) = (Instant::now(), 1_u64);
    while since.elapsed() < length {
        for _ in 0..1000 {
            n = black_box(n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7));
        }
    }
    count(Op::Compute);
}

/// Goroutines that compute between their messages. Another goroutine only passes these on, to one
/// that computes between some of them.
pub fn messages(rng: &mut Rng) {
    let (hogs, each) = (rng.up_to(4), rng.up_to(4));
    let ledger = Ledger::new(hogs * each);
    let (tx, passes) = bounded(rng.below(3));
    let (passed, rx) = bounded(rng.below(3));
    scope(|s| {
        for _ in 0..hogs {
            let (ledger, tx, mut rng) = (&ledger, tx.clone(), rng.fork());
            s.go(move || {
                for _ in 0..each {
                    compute(a_while(&mut rng));
                    assert!(tx.send(ledger.token()).is_ok());
                    ledger.sent();
                }
            });
        }
        drop(tx);
        s.go(move || passes.iter().for_each(|token| assert!(passed.send(token).is_ok())));
        let mut rng = rng.fork();
        for token in rx.iter() {
            if rng.one_in(4) {
                compute(a_while(&mut rng));
            }
            ledger.received(token);
        }
    });
    ledger.settle();
}

/// Generators that compute between their values. The goroutines that take the values compute, too,
/// and may take only some of them.
pub fn generators(rng: &mut Rng) {
    let (generators, each) = (rng.up_to(4), rng.up_to(4));
    let ledger = Ledger::new(generators * each);
    scope(|s| {
        for _ in 0..generators {
            let (mut own, ledger, mut rng) = (rng.fork(), ledger.clone(), rng.fork());
            s.go(move || {
                let makes = ledger.clone();
                let values = pull(move |out| {
                    for _ in 0..each {
                        compute(a_while(&mut own));
                        makes.sent();
                        out.yield_(makes.token());
                    }
                });
                for token in values.take(rng.up_to(each)) {
                    if rng.one_in(3) {
                        compute(a_while(&mut rng));
                    }
                    ledger.received(token);
                    count(Op::Switch);
                }
            });
        }
    });
    ledger.settle();
}

/// Computes when it is dropped.
struct Slow(Duration);

impl Drop for Slow {
    fn drop(&mut self) {
        compute(self.0);
    }
}

/// Each goroutine computes and then ends in a random way: it returns, panics, catches a panic, or
/// calls `goexit`. While it unwinds, a destructor computes.
pub fn ends(rng: &mut Rng) {
    let n = rng.up_to(8);
    let ledger = Ledger::new(n);
    let handles: Vec<_> = (0..n)
        .map(|i| {
            let (mut rng, token, end) = (rng.fork(), ledger.token(), rng.below(4));
            let handle = go(move || {
                let _token = token;
                let _slow = Slow(a_while(&mut rng));
                compute(a_while(&mut rng));
                match end {
                    0 => i,
                    1 => {
                        count(Op::Panic);
                        resume_unwind(Box::new(i))
                    }
                    2 => {
                        let caught = catch_unwind(AssertUnwindSafe(|| {
                            let _slow = Slow(a_while(&mut rng));
                            count(Op::Panic);
                            resume_unwind(Box::new(()))
                        }));
                        assert!(caught.is_err() && !thread::panicking());
                        yield_now();
                        i
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
            (0 | 2, Ok(result)) => assert_eq!(result, i),
            (1, Err(error)) => assert_eq!(error.into_panic().downcast_ref(), Some(&i)),
            (3, Err(error)) => assert!(error.is_goexit()),
            (end, outcome) => panic!("{end} ended with {outcome:?}"),
        }
    }
    ledger.wait();
    ledger.close();
}
