//! The counts of both sides.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counts {
    ($($count:ident)*) => {
        #[derive(Clone, Copy)]
        pub enum Count { $($count),* }

        const NAMES: &[&str] = &[$(stringify!($count)),*];

        static COUNTS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
    };
}

// What calls of wakes have returned, and how many waits have returned 0; how the other waits have
// ended; how many waiters were moved, tokens taken, children made, conversations held, programs
// run, and signals waited for.
counts! { Wakes Woken TimedOut Changed Interrupted Moved Tokens Forks Talks Children Signals }

pub fn count(what: Count, n: u64) {
    COUNTS[what as usize].fetch_add(n, Ordering::Relaxed);
}

pub fn report() -> String {
    let counts = NAMES.iter().zip(&COUNTS);
    let each = counts.map(|(name, count)| format!("{name} {}", count.load(Ordering::Relaxed)));
    each.collect::<Vec<_>>().join(", ")
}

/// When no wait is left, checks that each woken wait was counted by one wake.
pub fn settle() {
    let [wakes, woken] =
        [Count::Wakes, Count::Woken].map(|count| COUNTS[count as usize].load(Ordering::Relaxed));
    assert_eq!(wakes, woken, "wakes that were counted, and waits that were woken");
    assert!(woken > 0, "nothing was woken");
}
