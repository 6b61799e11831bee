//! Barriers.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use gosched::go;

use super::objects::{Barrier, Mapped};
use super::{MANY, all_end, live_with_one_p_and_several, on_goroutines_and_threads, times, without_threads};
use crate::harness::{Test, tests};

tests! {
    many_meet
    rounds_of_goroutines_and_threads
    one_that_is_destroyed_at_once
    the_positions_begin_anew
}

fn many_meet(test: Test) {
    without_threads(test, || {
        static BARRIER: Barrier = Barrier::new();
        static LAST: AtomicUsize = AtomicUsize::new(0);
        BARRIER.init(MANY);
        let meet = || {
            for _ in 0..3 {
                if BARRIER.wait() {
                    LAST.fetch_add(1, Relaxed);
                }
            }
        };
        all_end((0..MANY).map(|_| go(meet)).collect());
        assert_eq!(LAST.load(Relaxed), 3);
        BARRIER.destroy();
    });
}

/// Nobody is a round ahead of another.
fn rounds_of_goroutines_and_threads(test: Test) {
    const N: usize = 5;
    static BARRIER: Barrier = Barrier::new();
    static COME: AtomicUsize = AtomicUsize::new(0);
    static LAST: AtomicUsize = AtomicUsize::new(0);

    fn meet(_: usize) {
        static MADE: std::sync::Once = std::sync::Once::new();
        MADE.call_once(|| BARRIER.init(N));
        for round in 1..=times(300) {
            COME.fetch_add(1, Relaxed);
            if BARRIER.wait() {
                LAST.fetch_add(1, Relaxed);
            }
            let come = COME.load(Relaxed);
            assert!((round * N..(round + 1) * N).contains(&come), "{come} in round {round}");
        }
    }

    on_goroutines_and_threads(test, 3, 2, meet, || assert_eq!(LAST.load(Relaxed), times(300)));
}

/// One that has left destroys it while others may be about to leave.
fn one_that_is_destroyed_at_once(test: Test) {
    const N: usize = 3;
    live_with_one_p_and_several(test, || {
        for _ in 0..times(500) {
            let barrier = Mapped::new(Barrier::new());
            barrier.init(N);
            let meet = |barrier: Mapped<Barrier>| {
                if barrier.wait() {
                    barrier.destroy();
                    barrier.unmap();
                }
            };
            let others = (1..N).map(|_| {
                let barrier = barrier.share();
                go(move || meet(barrier))
            });
            let others: Vec<_> = others.collect();
            meet(barrier);
            all_end(others);
        }
    });
}

/// The barrier is made as it is after two billion rounds.
fn the_positions_begin_anew(test: Test) {
    const N: u32 = 3;
    live_with_one_p_and_several(test, || {
        static BARRIER: Barrier = Barrier::new();
        static LAST: AtomicUsize = AtomicUsize::new(0);
        BARRIER.init(N as usize);
        let end = u32::MAX / 2 - u32::MAX / 2 % N;
        // Threads that have entered, the last round, the count, and threads that have gone.
        let words = [end - N, end - N, N, 0, end - N];
        // SAFETY: the words of a barrier that nobody uses yet.
        unsafe { BARRIER.get().cast::<[u32; 5]>().write(words) };
        let meet = || {
            for _ in 0..times(100) {
                if BARRIER.wait() {
                    LAST.fetch_add(1, Relaxed);
                }
            }
        };
        all_end((0..N).map(|_| go(meet)).collect());
        assert_eq!(LAST.load(Relaxed), times(100));
        // SAFETY: nobody uses it any more.
        let [entered, round, ..] = unsafe { BARRIER.get().cast::<[u32; 5]>().read() };
        assert_eq!((entered as usize, round), ((times(100) - 1) * N as usize, entered));
        BARRIER.destroy();
    });
}
