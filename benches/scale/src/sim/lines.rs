//! Cache lines: which cores have a copy, which core wrote last, and when the line is free for the
//! next access.

use std::collections::HashMap;

use crate::sim::costs::Costs;
use crate::variants::variant;

/// The way in which a core touches a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It reads.
    Load,
    /// It will read, and doesn't wait for the line.
    Prefetch,
    /// It writes, and doesn't wait for the line.
    Store,
    /// It reads and writes, and waits until all its earlier stores are done.
    Rmw,
}

/// The owner of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Of {
    /// The scheduler's struct: its lock, its counts and its lists.
    Sched,
    /// The masks of idle P's and of those with timers.
    Masks,
    /// A P, with its queue.
    P,
    /// All else: G's, M's, channels.
    Else,
}

/// The largest number of cores.
const MAX_CORES: usize = 512;

struct Line {
    of: Of,
    owner: usize,
    sharers: [u64; MAX_CORES / 64],
    /// The number of sharers.
    shared: usize,
    free_at: u64,
}

/// All lines that were touched.
#[derive(Default)]
pub(crate) struct Lines {
    lines: HashMap<usize, Line, std::hash::BuildHasherDefault<Place>>,
    /// The time at which a line arrives, by the core that has asked for it (the first number) and
    /// the line.
    coming: HashMap<(usize, usize), u64>,
    /// The owner of the lines that are touched now.
    pub(crate) naming: Option<Of>,
}

/// Hashes a line's number; nothing depends on the order.
#[derive(Default)]
struct Place(u64);

impl std::hash::Hasher for Place {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a number is hashed")
    }

    fn write_usize(&mut self, n: usize) {
        self.0 = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(20);
    }
}

/// The cost of an access.
pub(crate) struct Paid {
    /// When the core continues.
    pub(crate) until: u64,
    /// When its store is visible, which is later than `until` for a store that doesn't wait.
    pub(crate) written: u64,
    /// How long it waited for the line.
    pub(crate) stall: u64,
    /// Whose line it was.
    pub(crate) of: Of,
}

impl Lines {
    /// Sets the owner of the lines of `size` bytes from `place` on.
    pub(crate) fn name(&mut self, place: usize, size: usize, of: Of) {
        for line in place / 64..=(place + size - 1) / 64 {
            self.line(line).of = of;
        }
    }

    fn line(&mut self, line: usize) -> &mut Line {
        self.lines.entry(line).or_insert_with(|| Line {
            of: Of::Else,
            owner: usize::MAX,
            sharers: [0; MAX_CORES / 64],
            shared: 0,
            free_at: 0,
        })
    }

    /// `core` touches the word at `place`, at `now`; all its earlier stores are visible at
    /// `drained`.
    pub(crate) fn access(
        &mut self,
        costs: &Costs,
        core: usize,
        place: usize,
        how: Access,
        now: u64,
        drained: u64,
    ) -> Paid {
        if let Some(of) = self.naming {
            self.line(place / 64).of = of;
        }
        let asked = (core, place / 64);
        // An access to a line that is on its way waits until the line arrives.
        let called = now;
        let now = match how {
            Access::Prefetch => now,
            _ => self.coming.remove(&asked).map_or(now, |there| there.max(now)),
        };
        let mut line = self.line(place / 64);
        let of = line.of;
        if variant().padded && of == Of::Sched {
            // No line has so large a number.
            line = self.line(usize::MAX - place / 4);
        }
        let (word, bit) = (core / 64, 1 << (core % 64));
        let mine = line.sharers[word] & bit != 0;
        let alone = mine && line.shared == 1;
        let owner = line.owner;
        let fresh = owner == usize::MAX;
        let wait = if how == Access::Rmw { drained.max(now) - now } else { 0 };
        let local = match how {
            Access::Load | Access::Prefetch | Access::Store => costs.hit,
            Access::Rmw => costs.rmw,
        };
        let reads = matches!(how, Access::Load | Access::Prefetch);
        if fresh || alone || mine && reads {
            if fresh {
                (line.owner, line.shared) = (core, 1);
                line.sharers[word] |= bit;
            }
            if !reads {
                line.owner = core;
            }
            let until = now + wait + local;
            return Paid { until, written: drained.max(until), stall: now + wait - called, of };
        }
        // An access to a line that other cores have asked for waits until they have had it.
        let start = (now + wait).max(line.free_at);
        let transfer =
            if owner == core { costs.far_sharer(core, &line.sharers) } else { costs.transfer(owner, core) };
        let there = start + transfer;
        if reads {
            line.sharers[word] |= bit;
            line.shared += 1;
            // A line that is only read goes to many cores at once.
            line.free_at = start + transfer / 4;
            if how == Access::Prefetch {
                self.coming.insert(asked, there);
                return Paid { until: now + local, written: drained, stall: 0, of };
            }
            return Paid { until: there + local, written: drained, stall: there - called, of };
        }
        line.sharers = [0; MAX_CORES / 64];
        line.sharers[word] = bit;
        (line.shared, line.owner, line.free_at) = (1, core, there);
        if how == Access::Store {
            return Paid { until: now + local, written: drained.max(there), stall: now - called, of };
        }
        Paid { until: there + local, written: there + local, stall: there - called, of }
    }
}

impl Costs {
    fn transfer(&self, from: usize, to: usize) -> u64 {
        if from / self.group == to / self.group {
            self.near
        } else if from / self.socket == to / self.socket {
            self.far
        } else {
            self.remote
        }
    }

    /// Returns the cost of telling the farthest core that has a copy.
    fn far_sharer(&self, core: usize, sharers: &[u64]) -> u64 {
        let each = sharers.iter().enumerate().filter(|(_, bits)| **bits != 0);
        each.map(|(i, bits)| {
            let (first, last) =
                (i * 64 + bits.trailing_zeros() as usize, i * 64 + 63 - bits.leading_zeros() as usize);
            self.transfer(first, core).max(self.transfer(last, core))
        })
        .max()
        .unwrap_or(self.near)
    }
}
