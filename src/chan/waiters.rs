//! How receivers of `broadcast` and `watch` wait: [`Waiters`], and [`channel_of`].

use std::mem;

use crate::chan::{Receiver, Sender, bounded};
use crate::sync::short_mutex::ShortMutex;

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
    /// Takes the waiters of an event. The caller drops them without the lock: that closes their
    /// channel, and wakers of futures are unknown code.
    #[must_use = "dropping it wakes them"]
    pub(super) fn take(&mut self) -> Waiters {
        mem::take(self)
    }
}

/// Returns a channel that the next event closes. `waiters` looks at the state with the lock held,
/// and returns none if the event has come: then the channel is closed already.
pub(super) fn channel_of<S>(
    state: &ShortMutex<S>,
    waiters: impl Fn(&mut S) -> Option<&mut Waiters>,
) -> Receiver<()> {
    let mut made = None;
    loop {
        {
            let mut state = state.lock();
            let Some(Waiters(kept)) = waiters(&mut state) else { break };
            if kept.is_none() {
                *kept = made.take();
            }
            if let Some((_, channel)) = kept {
                return channel.clone();
            }
        }
        // Made without the lock, because this takes locks of its own.
        made = Some(bounded(0));
    }
    // The sender is dropped without the lock, because a close is a point of an exploration.
    made.unwrap_or_else(|| bounded(0)).1
}
