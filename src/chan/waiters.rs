//! [`Waiters`]: how receivers of `broadcast` and `watch` wait.

use std::mem;

use crate::chan::{Receiver, Sender, bounded};

/// The waiters for the next event of a kind: goroutines, selects and futures. They all receive from
/// one channel, which never has a value. The event closes that channel, and those who come later
/// get another one. So any number of waiters is woken by one close, and an event for which nobody
/// waits costs nothing.
///
/// A lock protects this together with the state that the event changes. A waiter looks at the state
/// and gets its channel in one section, so it misses no event.
#[derive(Default)]
pub(super) struct Waiters(Option<(Sender<()>, Receiver<()>)>);

impl Waiters {
    /// Returns a channel that the next event closes.
    pub(super) fn channel(&mut self) -> Receiver<()> {
        self.0.get_or_insert_with(|| bounded(0)).1.clone()
    }

    /// Returns a channel that an event has closed. Not called with the lock held, as the close is a
    /// point of an exploration.
    pub(super) fn closed() -> Receiver<()> {
        bounded(0).1
    }

    /// Takes the waiters of an event. The caller drops them without the lock: that closes their
    /// channel, and wakers of futures are unknown code.
    #[must_use = "dropping it wakes them"]
    pub(super) fn take(&mut self) -> Waiters {
        mem::take(self)
    }
}
