//! Generators, and raw coroutines.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gosched::chan::bounded;
use gosched::iter::{Pull, Yielder, pull};
use gosched::proc::{self, Coro};
use gosched::{lock_os_thread, morestack_check, scope, yield_now};

use super::channels::room;
use super::ledger::{Ledger, Token};
use super::rng::Rng;
use super::tally::{Op, count};

/// Returns a generator of `n` tokens, some of which it takes from another generator. It yields now
/// and then, and may be locked to its thread.
fn tokens(mut rng: Rng, n: usize, ledger: &Arc<Ledger>) -> Pull<Token> {
    let ledger = ledger.clone();
    pull(move |out| {
        let _locked = rng.one_in(10).then(lock_os_thread);
        let _one_more = ledger.token();
        let inner = if rng.one_in(3) { rng.below(n) } else { 0 };
        tokens_of_another(rng.fork(), inner, &ledger, out);
        for _ in inner..n {
            rng.pause();
            pass(ledger.token(), &ledger, out);
        }
    })
}

fn tokens_of_another(rng: Rng, n: usize, ledger: &Arc<Ledger>, out: &Yielder<Token>) {
    if n > 0 {
        tokens(rng, n, ledger).for_each(|token| out.yield_(token));
    }
}

fn pass(token: Token, ledger: &Ledger, out: &Yielder<Token>) {
    ledger.sent();
    count(Op::Switch);
    out.yield_(token);
    assert!(!thread::panicking());
}

/// Returns a bound of the number of tokens. Each generator has one token that it doesn't yield.
/// Some of the others come from an inner generator, which has one more in turn.
fn at_most(n: usize) -> usize {
    4 * n + 2
}

/// A generator that goes from goroutine to goroutine, until it ends or is dropped.
pub fn wanders(rng: &mut Rng) {
    let (n, stop) = (rng.up_to(60), rng.below(60));
    let ledger = Ledger::new(at_most(n));
    let (tx, rx) = bounded(room(rng).max(1));
    tx.send((tokens(rng.fork(), n, &ledger), 0)).unwrap();
    scope(|s| {
        for _ in 0..rng.up_to(4) {
            let (tx, rx, ledger, mut rng) = (tx.clone(), rx.clone(), &ledger, rng.fork());
            s.go(move || {
                let _locked = rng.one_in(10).then(lock_os_thread);
                // The goroutine that comes to the end closes the channel.
                while let Ok((mut values, seen)) = rx.recv() {
                    let Some(token) = values.next().filter(|_| seen < stop) else {
                        tx.close();
                        break;
                    };
                    ledger.received(token);
                    rng.pause();
                    if tx.send((values, seen + 1)).is_err() {
                        break;
                    }
                }
            });
        }
    });
    ledger.close();
}

/// A generator that ends by a panic: by its own, or because a panic of the goroutine that uses it
/// drops it.
pub fn failing(rng: &mut Rng) {
    let (n, taken, own) = (rng.below(20), rng.below(20), rng.one_in(2));
    let ledger = Ledger::new(at_most(n) + 1);
    let shared = ledger.clone();
    let mut inner = rng.fork();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut values = pull(move |out| {
            tokens_of_another(inner.fork(), n, &shared, out);
            let _last = shared.token();
            if own {
                count(Op::Panic);
                resume_unwind(Box::new(()))
            }
        });
        values.by_ref().take(taken).for_each(|token| ledger.received(token));
        if !own {
            // The panic drops `values`.
            count(Op::Panic);
            resume_unwind(Box::new(()))
        }
        values.for_each(|token| ledger.received(token));
    }));
    assert!(outcome.is_err() && !thread::panicking());
    ledger.close();
}

/// A coroutine on a copying stack, with the depths that it goes down to, and the number of wrong
/// sums that it has found.
#[derive(Default)]
struct Diver {
    coro: Coro,
    depths: Vec<usize>,
    wrong: AtomicUsize,
}

/// A bound of the size of a frame of `dive`.
const FRAME: usize = if cfg!(debug_assertions) { 1024 } else { 256 };

/// Goes down `n` frames, switches there, and returns the sum of the frames' numbers.
fn dive(n: usize, c: *mut Coro) -> usize {
    if n == 0 {
        // SAFETY: `c` is the coroutine that runs this.
        unsafe { proc::coroswitch(c) };
        return 0;
    }
    let mine = n;
    let sum = morestack_check!(FRAME, dive, n - 1, c);
    sum + *std::hint::black_box(&mine)
}

unsafe extern "C" fn dives(c: *mut Coro, diver: *mut c_void) {
    // SAFETY: `divers` passes a diver, which stays until the coroutine has ended.
    let diver = unsafe { &*diver.cast::<Diver>() };
    for &depth in &diver.depths {
        if dive(depth, c) != depth * (depth + 1) / 2 {
            diver.wrong.fetch_add(1, Ordering::Relaxed);
        }
        count(Op::Switch);
    }
}

/// Coroutines on copying stacks. A goroutine switches to them in a random order.
pub fn divers(rng: &mut Rng) {
    let mut divers: Vec<Diver> = (0..rng.up_to(5))
        .map(|_| Diver { depths: (0..rng.up_to(5)).map(|_| rng.below(100)).collect(), ..Diver::default() })
        .collect();
    let c = |diver: &Diver| (&raw const diver.coro).cast_mut();
    for diver in &divers {
        // SAFETY: `dives` checks before each frame, and the divers stay until all have ended.
        unsafe { proc::newcoro(c(diver), dives, ptr::from_ref(diver).cast_mut().cast()) };
    }
    let mut left: Vec<(&Diver, usize)> = divers.iter().map(|diver| (diver, diver.depths.len() + 1)).collect();
    while !left.is_empty() {
        let i = rng.below(left.len());
        let (diver, switches) = &mut left[i];
        // SAFETY: the coroutine hasn't ended. It switches back once for each depth, and once more
        // when it ends, and `switches` counts these.
        unsafe { proc::coroswitch(c(diver)) };
        *switches -= 1;
        if *switches == 0 {
            left.swap_remove(i);
        }
        rng.pause();
    }
    yield_now();
    assert!(divers.iter_mut().all(|diver| *diver.wrong.get_mut() == 0));
}
