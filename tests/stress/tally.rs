//! Counts of what the scenarios have done. They show whether the stress makes progress, and, if it
//! hangs, what it has done before.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! ops {
    ($($op:ident)*) => {
        #[derive(Clone, Copy)]
        pub enum Op { $($op),* }

        const NAMES: &[&str] = &[$(stringify!($op)),*];

        static COUNTS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
    };
}

ops! {
    Round Scenario Spawn Yield Send Receive Select Lock Wait Sleep Panic Goexit Thread Park Switch Stop Resize Syscall
    Memory Signal Compute Block Alloc Print Trace
}

pub fn count(op: Op) {
    COUNTS[op as usize].fetch_add(1, Ordering::Relaxed);
}

pub fn total() -> u64 {
    COUNTS.iter().map(|count| count.load(Ordering::Relaxed)).sum()
}

pub fn report() -> String {
    let each =
        NAMES.iter().zip(&COUNTS).map(|(name, count)| format!("{name} {}", count.load(Ordering::Relaxed)));
    each.collect::<Vec<_>>().join(", ")
}
