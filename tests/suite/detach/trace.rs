//! The instructions that a thread executed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// An instruction, and the number of the thread's visit to it.
#[derive(Clone, Copy)]
pub struct Step {
    pub pc: usize,
    pub nth: u64,
}

/// The addresses, in order. Those that count have this bit.
static PCS: [AtomicU64; 1 << 17] = [const { AtomicU64::new(0) }; 1 << 17];
const COUNTS: u64 = 1 << 63;
static LEN: AtomicUsize = AtomicUsize::new(0);

/// Begins anew.
pub fn clear() {
    LEN.store(0, Relaxed);
}

/// Notes an instruction. Returns whether there is room for another. Called in a signal handler.
pub fn note(pc: usize, counts: bool) -> bool {
    let (at, step) = (LEN.load(Relaxed), pc as u64 | if counts { COUNTS } else { 0 });
    // A breakpoint meets a repeated instruction only once.
    if at > 0 && PCS[at - 1].load(Relaxed) == step {
        return true;
    }
    PCS[at].store(step, Relaxed);
    LEN.store(at + 1, Relaxed);
    at + 1 < PCS.len()
}

/// Returns the steps that count.
pub fn steps() -> Vec<Step> {
    let mut times = HashMap::new();
    let step = |pc: &AtomicU64| {
        let pc = pc.load(Relaxed);
        let nth = times.entry(pc & !COUNTS).or_insert(0);
        *nth += 1;
        (pc & COUNTS != 0).then_some(Step { pc: (pc & !COUNTS) as usize, nth: *nth })
    };
    PCS[..LEN.load(Relaxed)].iter().filter_map(step).collect()
}
