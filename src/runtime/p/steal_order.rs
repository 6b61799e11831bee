//! The order in which a thief visits the P's: Go's `randomOrder`.
//!
//! If `inc` and `count` have no common divisor, then `pos`, `pos + inc`, `pos +
//! 2*inc`, ... modulo `count` visits every number below `count` once. A random start
//! and a random one of the coprimes make an order that is as good as shuffled.

/// All orders of `count` P's. Go's `randomOrder`.
pub(in crate::runtime) struct RandomOrder {
    count: u32,
    coprimes: Vec<u32>,
}

/// An order that is being walked through. Go's `randomEnum`.
pub(in crate::runtime) struct RandomEnum {
    i: u32,
    count: u32,
    pos: u32,
    inc: u32,
}

impl RandomOrder {
    /// The orders of no P's.
    pub(in crate::runtime) const fn new() -> Self {
        RandomOrder { count: 0, coprimes: Vec::new() }
    }

    /// Makes these the orders of `count` P's.
    pub(in crate::runtime) fn reset(&mut self, count: u32) {
        self.count = count;
        self.coprimes = (1..=count).filter(|&i| gcd(i, count) == 1).collect();
    }

    /// The order that the random number `i` stands for.
    pub(in crate::runtime) fn start(&self, i: u32) -> RandomEnum {
        RandomEnum {
            i: 0,
            count: self.count,
            pos: i % self.count,
            inc: self.coprimes[(i / self.count) as usize % self.coprimes.len()],
        }
    }
}

impl RandomEnum {
    /// Whether all have been visited.
    pub(in crate::runtime) fn done(&self) -> bool {
        self.i == self.count
    }

    /// Goes on to the next.
    pub(in crate::runtime) fn next(&mut self) {
        self.i += 1;
        self.pos = (self.pos + self.inc) % self.count;
    }

    /// The P to visit.
    pub(in crate::runtime) fn position(&self) -> u32 {
        self.pos
    }
}

/// The greatest common divisor.
fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_order_visits_every_p_once() {
        for count in 1..=33 {
            let mut orders = RandomOrder::new();
            orders.reset(count);
            for start in 0..500 {
                let mut seen = vec![false; count as usize];
                let mut order = orders.start(start);
                while !order.done() {
                    let visited = std::mem::replace(&mut seen[order.position() as usize], true);
                    assert!(!visited, "{count} P's, order {start}: P {} twice", order.position());
                    order.next();
                }
                assert!(seen.iter().all(|&seen| seen), "{count} P's, order {start}: {seen:?}");
            }
        }
    }
}
