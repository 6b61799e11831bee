//! The ledger of a storm: the wakes' counts of woken waits, and the waits' own counts.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::{blocking, go};

use super::futexes::{WAIT, WAKE, cmp_requeue, wait, wait_bits, wait_op, wake, wake_bits};
use super::{live_with_one_p_and_several, parks};
use crate::harness::rng::Rng;
use crate::harness::{Test, tests};

tests! {
    each_wake_ends_one_wait
    who_is_lost_would_wait_for_ever
}

static WORDS: [AtomicU32; 8] = [const { AtomicU32::new(0) }; 8];
static WOKEN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// Waits and wakes at random.
fn work(seed: u64) {
    let mut rng = Rng::new(seed);
    for _ in 0..2_000 {
        let word = &WORDS[rng.below(WORDS.len())];
        let value = word.load(Ordering::SeqCst);
        let limit = Some(Duration::from_micros(rng.below(200) as u64));
        match rng.below(7) {
            0 | 1 => ENDED.fetch_add(wait_op(WAIT, word, value, limit, 0).is_ok().into(), Ordering::Relaxed),
            // The driver wakes all waiters until none is left.
            2 => ENDED.fetch_add(wait_bits(word, value, 1 << rng.below(3)).is_ok().into(), Ordering::Relaxed),
            3 => {
                let to = &WORDS[rng.below(WORDS.len())];
                // Its result counts both: the woken waiters are those that it hasn't moved.
                let _moved = cmp_requeue(word, 0, 2, to, value);
                0
            }
            4 => {
                word.fetch_add(1, Ordering::SeqCst);
                WOKEN.fetch_add(wake_bits(word, 2, 1 << rng.below(3)).into(), Ordering::Relaxed)
            }
            _ => {
                word.fetch_add(1, Ordering::SeqCst);
                let n = [1, 2, i32::MAX as u32][rng.below(3)];
                WOKEN.fetch_add(wake(WAKE, word, n).into(), Ordering::Relaxed)
            }
        };
    }
    AT_WORK.fetch_sub(1, Ordering::SeqCst);
}

/// Returns whether another goroutine or thread may still wake.
fn others_work() -> bool {
    AT_WORK.load(Ordering::SeqCst) > 0
}

fn each_wake_ends_one_wait(test: Test) {
    live_with_one_p_and_several(test, || {
        AT_WORK.store(6, Ordering::SeqCst);
        let goroutines: Vec<_> = (0..4).map(|i| go(move || work(i))).collect();
        let threads: Vec<_> = (4..6).map(|i| thread::spawn(move || work(i))).collect();
        // Waiters without a limit are woken until none is left.
        while others_work() {
            for word in &WORDS {
                word.fetch_add(1, Ordering::SeqCst);
                WOKEN.fetch_add(wake(WAKE, word, i32::MAX as u32).into(), Ordering::Relaxed);
            }
            thread::sleep(Duration::from_micros(100));
        }
        goroutines.into_iter().for_each(|goroutine| goroutine.join().unwrap());
        threads.into_iter().for_each(|thread| blocking(|| thread.join()).unwrap());
        let (woken, ended) = (WOKEN.load(Ordering::SeqCst), ENDED.load(Ordering::SeqCst));
        assert_eq!(woken, ended);
        assert!(parks() > 0 && woken > 0);
    });
}

/// Goroutines and threads pass tokens on, without a time limit.
fn who_is_lost_would_wait_for_ever(test: Test) {
    const TOKENS: u32 = 3;

    fn pass(times: usize) {
        static TOKEN: AtomicU32 = AtomicU32::new(TOKENS);
        for _ in 0..times {
            loop {
                let there = TOKEN.load(Ordering::SeqCst);
                if there == 0 {
                    let _woken = wait(&TOKEN, 0);
                } else if TOKEN.compare_exchange(there, there - 1, Ordering::SeqCst, Ordering::SeqCst).is_ok()
                {
                    break;
                }
            }
            thread::yield_now();
            TOKEN.fetch_add(1, Ordering::SeqCst);
            wake(WAKE, &TOKEN, 1);
        }
    }

    live_with_one_p_and_several(test, || {
        let goroutines: Vec<_> = (0..12).map(|_| go(|| pass(500))).collect();
        let threads: Vec<_> = (0..2).map(|_| thread::spawn(|| pass(500))).collect();
        goroutines.into_iter().for_each(|goroutine| goroutine.join().unwrap());
        threads.into_iter().for_each(|thread| blocking(|| thread.join()).unwrap());
    });
}
