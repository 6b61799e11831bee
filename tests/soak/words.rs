//! Waits with limits at a hundred words, and each operation that ends or moves them.

use std::array;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::futex::{ANY_BIT, Until, requeue_none, requeue_only, wait, wake, wake_bits, wake_op};
use crate::random::Rng;

const N: usize = 100;

static WORDS: [AtomicU32; N] = [const { AtomicU32::new(0) }; N];

/// How many are woken or moved at most.
const AT_MOST: [u32; 4] = [1, 1, 2, i32::MAX as u32];

pub fn work(mut rng: Rng, end: Instant) {
    let rng = &mut rng;
    while Instant::now() < end {
        let word = often_the_first(rng);
        let n = AT_MOST[rng.below(AT_MOST.len())];
        match rng.below(100) {
            0..43 => wait_a_while(rng, word),
            // A goroutine in `blocking` waits as a thread does.
            43..45 => gosched::blocking(|| wait_a_while(rng, word)),
            45..80 => {
                if rng.below(2) == 0 {
                    word.fetch_add(1, Ordering::SeqCst);
                }
                wake(word, n);
            }
            80..87 => wake_bits(word, n, 1 + rng.below(3) as u32),
            87..90 => requeue_none(word, n, any(rng), some_value(rng, word)),
            90..94 => requeue_only(word, any(rng), n, some_value(rng, word)),
            94..97 => wake_op(word, n, any(rng), 1, code(rng)),
            _ => thread::yield_now(),
        }
    }
}

fn any(rng: &mut Rng) -> &'static AtomicU32 {
    &WORDS[rng.below(N)]
}

/// One of the words, at the first of which there are always waiters.
fn often_the_first(rng: &mut Rng) -> &'static AtomicU32 {
    let tries: [usize; 3] = array::from_fn(|_| rng.below(N));
    &WORDS[tries.into_iter().min().expect("three")]
}

fn wait_a_while(rng: &mut Rng, word: &AtomicU32) {
    // One wait in ten is for another value.
    let value = word.load(Ordering::SeqCst).wrapping_add(u32::from(rng.below(10) == 0));
    let microseconds = [0, 1, 50, 200, 2000][rng.below(5)];
    let span = Duration::from_micros(microseconds) + Duration::from_nanos(rng.below(1000) as u64);
    let until = match rng.below(3) {
        0 => Until::After(span),
        1 => Until::At(libc::CLOCK_MONOTONIC, span),
        _ => Until::At(libc::CLOCK_REALTIME, span),
    };
    wait(word, value, until, [ANY_BIT, 1, 2, 3][rng.below(4)]);
}

/// A value to compare with, or none.
fn some_value(rng: &mut Rng, word: &AtomicU32) -> Option<u32> {
    (rng.below(2) == 0).then(|| word.load(Ordering::SeqCst))
}

/// Any operation, with any comparison, as `futex(2)` encodes them.
fn code(rng: &mut Rng) -> u32 {
    let [op, shift, comparison] = [5, 2, 6].map(|n| rng.below(n) as u32);
    let [arg, other] = [(); 2].map(|()| rng.below(1 << 12) as u32);
    // The kernel refuses to shift by more.
    let arg = if shift == 1 { arg % 32 } else { arg };
    (op | shift << 3) << 28 | comparison << 24 | arg << 12 | other
}
