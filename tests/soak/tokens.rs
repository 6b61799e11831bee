//! Semaphores, at which waits have no limits: a wake that is lost leaves a waiter for ever.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use crate::futex::{ANY_BIT, Until, wait, wake, wake_bits};
use crate::ledger::{Count, count};
use crate::random::Rng;

const N: usize = 16;

static SEMAPHORES: [AtomicU32; N] = [const { AtomicU32::new(0) }; N];

/// Puts a token in each.
pub fn put() {
    SEMAPHORES.iter().for_each(|semaphore| semaphore.store(1, Ordering::Relaxed));
}

/// All of them are there.
pub fn count_all() {
    for semaphore in &SEMAPHORES {
        assert_eq!(semaphore.load(Ordering::Relaxed), 1, "tokens of a semaphore");
    }
}

/// Takes tokens, and gives each back.
pub fn work(mut rng: Rng, end: Instant) {
    while Instant::now() < end {
        let semaphore = &SEMAPHORES[rng.below(N)];
        take(&mut rng, semaphore);
        count(Count::Tokens, 1);
        if rng.below(8) == 0 {
            thread::yield_now();
        }
        give(&mut rng, semaphore);
    }
}

fn take(rng: &mut Rng, semaphore: &AtomicU32) {
    let taken = |tokens: u32| tokens.checked_sub(1);
    while semaphore.fetch_update(Ordering::Acquire, Ordering::Relaxed, taken).is_err() {
        wait(semaphore, 0, Until::Woken, [ANY_BIT, 1][rng.below(2)]);
    }
}

/// The wake orders the change before the search for waiters.
fn give(rng: &mut Rng, semaphore: &AtomicU32) {
    semaphore.fetch_add(1, Ordering::Release);
    match rng.below(2) {
        0 => wake(semaphore, 1),
        _ => wake_bits(semaphore, 1, 1),
    }
}
