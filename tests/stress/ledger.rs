//! A ledger of values: each value must be dropped once, and received at most once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gosched::yield_now;

pub struct Ledger {
    /// For each token's number, whether the token has been dropped.
    dropped: Box<[AtomicBool]>,
    made: AtomicUsize,
    alive: AtomicUsize,
    sent: AtomicUsize,
    received: AtomicUsize,
}

/// A value with a number of its own.
pub struct Token {
    ledger: Arc<Ledger>,
    number: usize,
}

impl Ledger {
    /// Makes a ledger for at most `tokens` tokens.
    pub fn new(tokens: usize) -> Arc<Ledger> {
        Arc::new(Ledger {
            dropped: (0..tokens).map(|_| AtomicBool::new(false)).collect(),
            made: AtomicUsize::new(0),
            alive: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            received: AtomicUsize::new(0),
        })
    }

    pub fn token(self: &Arc<Ledger>) -> Token {
        self.alive.fetch_add(1, Ordering::Relaxed);
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        assert!(number < self.dropped.len(), "more tokens than there should be");
        Token { ledger: self.clone(), number }
    }

    /// Counts a token that was sent.
    pub fn sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a token that was received, and drops it.
    pub fn received(&self, token: Token) {
        assert!(std::ptr::eq(self, &*token.ledger), "a value of another channel");
        self.received.fetch_add(1, Ordering::Relaxed);
    }

    /// Asserts that every token that was sent was received, and that none is left.
    pub fn settle(&self) {
        let (sent, received) = (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed));
        assert_eq!(sent, received, "sent and received");
        self.close();
    }

    /// Asserts that no token is left.
    pub fn close(&self) {
        assert_eq!(self.alive.load(Ordering::Relaxed), 0, "values that are not dropped");
        let made = self.made.load(Ordering::Relaxed);
        assert!(self.dropped[..made].iter().all(|dropped| dropped.load(Ordering::Relaxed)));
        let (sent, received) = (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed));
        assert!(received <= sent, "received {received} of {sent}");
    }

    /// Waits until no token is left.
    pub fn wait(&self) {
        while self.alive.load(Ordering::Acquire) > 0 {
            yield_now();
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        let twice = self.ledger.dropped[self.number].swap(true, Ordering::Relaxed);
        assert!(!twice, "value {} is dropped twice", self.number);
        // Release: pairs with the load in `wait`.
        self.ledger.alive.fetch_sub(1, Ordering::Release);
    }
}
