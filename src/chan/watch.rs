//! A value that changes, such as a configuration: receivers see the newest value, and may wait for
//! a change. The names and meanings are those of tokio's `watch`.
//!
//! A receiver that is slow misses values in between, and never the last one. Go has no such type:
//! programs have a mutex, and a channel that they close and replace.
//!
//! ```
//! use gosched::chan::watch;
//! use gosched::go;
//!
//! gosched::run(|| {
//!     let (tx, mut rx) = watch::channel("starting");
//!     let watcher = go(move || {
//!         let mut seen = vec![*rx.borrow()];
//!         while rx.changed().is_ok() {
//!             seen.push(*rx.borrow_and_update());
//!         }
//!         seen // the sender is gone
//!     });
//!     tx.send("ready").unwrap();
//!     drop(tx);
//!     assert_eq!(watcher.join().unwrap().last(), Some(&"ready"));
//! });
//! ```
//!
//! # The value is locked while it is borrowed
//!
//! A [`Ref`] is the guard of a read lock. As long as there is one, a send waits; and as long as a
//! send waits, so does [`borrow`](Receiver::borrow). So a goroutine that borrows the value mustn't
//! send before it has dropped the `Ref`, nor borrow it a second time. Hold it for a moment only, or
//! clone the value. As a lock of [`sync`](crate::sync), it may be held while the goroutine waits.
//!
//! # With `select!`, limits of time, contexts and `async` code
//!
//! [`Receiver::c`] is a channel that is closed when there is a change. So it can be waited for in a
//! [`select!`](crate::select), beside other channels. There are
//! [`changed_timeout`](Receiver::changed_timeout), [`changed_async`](Receiver::changed_async), and
//! [`ctx.with_mut(&mut rx).changed()`](crate::context::WithMut), and the same for
//! [`wait_for`](Receiver::wait_for).

use std::fmt;
use std::mem;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::chan::waiters::{Waiters, channel_of};
use crate::chan::{self, RecvError, RecvTimeoutError, SendError};
use crate::runtime::{instant_now, must_wait, point};
use crate::sync::short_mutex::{ShortMutex, ShortMutexGuard};
use crate::sync::{RwLock, RwLockReadGuard};

/// Makes a channel with a value, which the receiver has seen.
///
/// ```
/// use gosched::chan::watch;
///
/// let (tx, rx) = watch::channel(1);
/// assert_eq!((*rx.borrow(), rx.has_changed()), (1, Ok(false)));
/// tx.send(2).unwrap();
/// assert_eq!((*rx.borrow(), rx.has_changed()), (2, Ok(true)));
/// ```
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let tx = Sender::new(value);
    let rx = tx.subscribe();
    (tx, rx)
}

/// The value, and those who have to do with it.
struct Shared<T> {
    value: RwLock<T>,
    /// Locked for moments, in which no code of the program's runs.
    state: ShortMutex<State>,
}

struct State {
    /// How often the value was changed. It is changed with the value locked: so to a reader of the
    /// value, it is the value's number.
    version: u64,
    senders: usize,
    receivers: usize,
    /// Wait for the next version, or the end of the last sender.
    changes: Waiters,
    /// Wait for the end of the last receiver.
    gone: Waiters,
}

impl<T> Shared<T> {
    fn state(&self) -> ShortMutexGuard<'_, State> {
        self.state.lock()
    }

    /// Locks the value, and marks it as seen.
    #[track_caller]
    fn read(&self, seen: &mut u64) -> Ref<'_, T> {
        let value = self.value.read();
        let before = mem::replace(seen, self.state().version);
        Ref { value, has_changed: *seen != before }
    }

    /// If a version is there that isn't `seen`, marks it as seen. If none is there, and none will
    /// be, returns an error.
    fn look(&self, seen: &mut u64) -> Option<Result<(), RecvError>> {
        point("changed");
        let state = self.state();
        if mem::replace(seen, state.version) != state.version {
            return Some(Ok(()));
        }
        (state.senders == 0).then_some(Err(RecvError))
    }

    /// Returns the value if `condition` is true for it, and marks it as seen. Returns an error if
    /// it isn't, and no other value will come.
    #[track_caller]
    fn look_for(
        &self,
        seen: &mut u64,
        condition: impl FnOnce(&T) -> bool,
    ) -> Option<Result<Ref<'_, T>, RecvError>> {
        // Looked at first: if the senders were gone before, the value is the last one.
        let is_last = self.state().senders == 0;
        let value = self.read(seen);
        if condition(&value) {
            return Some(Ok(value));
        }
        is_last.then_some(Err(RecvError))
    }

    /// Returns a channel that is closed as soon as [`look`](Self::look) has a result.
    fn changes(&self, seen: u64) -> chan::Receiver<()> {
        channel_of(&self.state, |state| {
            (state.version == seen && state.senders > 0).then_some(&mut state.changes)
        })
    }
}

/// The sending side. When the last one is dropped, receivers keep the value, and their waits fail.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// The receiving side. A clone has seen the same value.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version of the last value that it has seen.
    seen: u64,
}

/// A reference to the value, which [is locked](self#the-value-is-locked-while-it-is-borrowed) as
/// long as there is one.
///
/// ```
/// use gosched::chan::watch::{self, Ref};
///
/// let (tx, mut rx) = watch::channel(String::from("one"));
/// tx.send_modify(|text| text.push_str(", two"));
/// let text: Ref<'_, String> = rx.borrow_and_update();
/// assert!(text.has_changed());
/// assert_eq!(*text, "one, two");
/// ```
#[must_use = "it locks the value"]
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
    has_changed: bool,
}

impl<T> Sender<T> {
    /// Makes a sender without a receiver: [`subscribe`](Self::subscribe) makes some.
    ///
    /// ```
    /// use gosched::chan::watch;
    ///
    /// let level = watch::Sender::new(3);
    /// assert_eq!(level.receiver_count(), 0);
    /// assert_eq!(*level.subscribe().borrow(), 3);
    /// ```
    pub fn new(value: T) -> Self {
        let state = State {
            version: 0,
            senders: 1,
            receivers: 0,
            changes: Waiters::default(),
            gone: Waiters::default(),
        };
        Sender { shared: Arc::new(Shared { value: RwLock::new(value), state: ShortMutex::new(state) }) }
    }

    /// Replaces the value, and wakes the receivers that wait for a change. It waits while the value
    /// is borrowed.
    ///
    /// ```
    /// use gosched::chan::watch;
    ///
    /// let (tx, rx) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// drop(rx);
    /// assert_eq!(tx.send(3).unwrap_err().0, 3);
    /// assert_eq!(*tx.borrow(), 2);
    /// ```
    ///
    /// # Errors
    /// If there is no receiver: then the value stays as it is.
    /// [`send_replace`](Self::send_replace) doesn't fail.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.is_closed() {
            return Err(SendError(value));
        }
        drop(self.send_replace(value));
        Ok(())
    }

    /// [`send`](Self::send) that returns the old value, and needs no receiver.
    ///
    /// ```
    /// let level = gosched::chan::watch::Sender::new(1);
    /// assert_eq!(level.send_replace(2), 1);
    /// assert_eq!(*level.borrow(), 2);
    /// ```
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|old| mem::swap(old, &mut value));
        value
    }

    /// Changes the value where it is. If `modify` panics, receivers aren't woken, and the value
    /// stays as the panic has left it, as with a lock of [`sync`](crate::sync). The value is locked
    /// meanwhile: `modify` mustn't use the channel.
    ///
    /// ```
    /// let names = gosched::chan::watch::Sender::new(vec!["one"]);
    /// names.send_modify(|names| names.push("two"));
    /// assert_eq!(*names.borrow(), ["one", "two"]);
    /// ```
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// [`send_modify`](Self::send_modify) that wakes receivers only if `modify` returns true.
    /// Returns what it returns.
    ///
    /// ```
    /// use gosched::chan::watch;
    ///
    /// let (highest, rx) = watch::channel(3);
    /// let rise_to = |n: u32| {
    ///     highest.send_if_modified(|highest| {
    ///         let rises = n > *highest;
    ///         *highest = n.max(*highest);
    ///         rises
    ///     })
    /// };
    /// assert!(!rise_to(2) && rx.has_changed() == Ok(false));
    /// assert!(rise_to(4) && rx.has_changed() == Ok(true));
    /// ```
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        let mut value = self.shared.value.write();
        if !modify(&mut value) {
            return false;
        }
        let waiters = {
            let mut state = self.shared.state();
            state.version += 1;
            state.changes.take()
        };
        drop(value);
        drop(waiters);
        true
    }

    /// Borrows the value. Waits while it is changed, or a send waits.
    ///
    /// # Panics
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref { value: self.shared.value.read(), has_changed: false }
    }

    /// Makes a receiver, which has seen the value.
    ///
    /// ```
    /// let level = gosched::chan::watch::Sender::new(1);
    /// level.send_replace(2);
    /// assert_eq!(level.subscribe().has_changed(), Ok(false));
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        let seen = {
            let mut state = self.shared.state();
            state.receivers += 1;
            state.version
        };
        Receiver { shared: self.shared.clone(), seen }
    }

    /// Whether there is no receiver. [`subscribe`](Self::subscribe) may make one.
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// How many receivers there are.
    ///
    /// ```
    /// let (tx, rx) = gosched::chan::watch::channel(1);
    /// let other = rx.clone();
    /// assert_eq!((tx.receiver_count(), tx.sender_count()), (2, 1));
    /// drop((rx, other));
    /// assert!(tx.is_closed());
    /// ```
    pub fn receiver_count(&self) -> usize {
        point("receiver_count");
        self.shared.state().receivers
    }

    /// How many senders there are.
    pub fn sender_count(&self) -> usize {
        point("sender_count");
        self.shared.state().senders
    }

    /// Waits until there is no receiver.
    ///
    /// ```
    /// use gosched::chan::watch;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = watch::channel(1);
    ///     gosched::go(move || drop(rx));
    ///     tx.closed();
    ///     assert!(tx.send(2).is_err());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn closed(&self) {
        while !self.is_closed() {
            // It has no value, so this returns when it is closed.
            let _ = self.c().recv();
        }
    }

    /// [`closed`](Self::closed) for `async` code. The future may be dropped at any time.
    ///
    /// ```
    /// use gosched::chan::watch;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = watch::channel(1);
    ///     gosched::go(move || drop(rx));
    ///     gosched::block_on(tx.closed_async());
    /// });
    /// ```
    pub async fn closed_async(&self) {
        while !self.is_closed() {
            let _ = self.c().recv_async().await;
        }
    }

    /// A channel that is closed when there is no receiver. It is for a [`select!`](crate::select),
    /// a limit of time, or a context. If there is none at the time of the call, it is closed
    /// already.
    ///
    /// ```
    /// use gosched::chan::{bounded, watch};
    /// use gosched::select;
    ///
    /// gosched::run(|| {
    ///     let (progress, shown) = watch::channel(0);
    ///     let (_work, steps) = bounded::<u32>(1);
    ///     drop(shown);
    ///     select! {
    ///         recv(steps) -> step => progress.send_modify(|done| *done += step.unwrap()),
    ///         recv(progress.c()) -> _ => (), // nobody looks any more
    ///     }
    /// });
    /// ```
    pub fn c(&self) -> chan::Receiver<()> {
        channel_of(&self.shared.state, |state| (state.receivers > 0).then_some(&mut state.gone))
    }

    /// Whether both are handles of one channel.
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Receiver<T> {
    /// Borrows the value, and doesn't mark it as seen. Waits while it is changed, or a send waits.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        let mut seen = self.seen;
        self.shared.read(&mut seen)
    }

    /// Borrows the value, and marks it as seen. In a loop that waits for changes it is better than
    /// [`borrow`](Self::borrow): a value that comes between the wait and the borrow doesn't end the
    /// next wait.
    ///
    /// ```
    /// let (tx, mut rx) = gosched::chan::watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.borrow_and_update(), 2);
    /// assert_eq!(rx.has_changed(), Ok(false));
    /// ```
    ///
    /// # Panics
    /// As [`borrow`](Self::borrow).
    #[track_caller]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        self.shared.read(&mut self.seen)
    }

    /// Whether there is a value that this receiver hasn't seen. Values aren't compared: a send of
    /// an equal value is a change.
    ///
    /// ```
    /// let (tx, rx) = gosched::chan::watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.has_changed(), Ok(true));
    /// drop(tx);
    /// assert!(rx.is_closed() && rx.has_changed().is_err());
    /// ```
    ///
    /// # Errors
    /// If there is no sender, even if the last value is one that it hasn't seen.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        point("has_changed");
        let state = self.shared.state();
        if state.senders == 0 { Err(RecvError) } else { Ok(state.version != self.seen) }
    }

    /// Whether there is no sender, so that no other value will come.
    pub fn is_closed(&self) -> bool {
        point("is_closed");
        self.shared.state().senders == 0
    }

    /// Marks the value as not seen, so that the next wait for a change ends at once.
    ///
    /// ```
    /// let (_tx, mut rx) = gosched::chan::watch::channel(1);
    /// rx.mark_changed();
    /// assert_eq!(rx.changed(), Ok(()));
    /// ```
    pub fn mark_changed(&mut self) {
        self.seen = self.shared.state().version.wrapping_sub(1);
    }

    /// Marks the value as seen.
    ///
    /// ```
    /// let (tx, mut rx) = gosched::chan::watch::channel(1);
    /// tx.send(2).unwrap();
    /// rx.mark_unchanged();
    /// assert_eq!(rx.has_changed(), Ok(false));
    /// ```
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.state().version;
    }

    /// Waits until there is a value that this receiver hasn't seen, and marks it as seen. If there
    /// is one already, it returns at once.
    ///
    /// ```
    /// use gosched::chan::watch;
    ///
    /// gosched::run(|| {
    ///     let (tx, mut rx) = watch::channel(1);
    ///     gosched::go(move || tx.send(2));
    ///     rx.changed().unwrap();
    ///     assert_eq!(*rx.borrow(), 2);
    ///     assert!(rx.changed().is_err()); // the sender is gone
    /// });
    /// ```
    ///
    /// # Errors
    /// If this receiver has seen the value, and there is no sender.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn changed(&mut self) -> Result<(), RecvError> {
        loop {
            if let Some(result) = self.shared.look(&mut self.seen) {
                return result;
            }
            // It has no value, so this returns when it is closed.
            let _ = self.c().recv();
        }
    }

    /// [`changed`](Self::changed) that waits until `timeout` is over.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::{RecvTimeoutError, watch};
    ///
    /// gosched::run(|| {
    ///     let (tx, mut rx) = watch::channel(1);
    ///     let late = Err(RecvTimeoutError::Timeout);
    ///     assert_eq!(rx.changed_timeout(Duration::from_millis(1)), late);
    ///     tx.send(2).unwrap();
    ///     assert_eq!(rx.changed_timeout(Duration::from_millis(1)), Ok(()));
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`changed`](Self::changed), or if the time is over.
    ///
    /// # Panics
    /// As [`changed`](Self::changed).
    #[track_caller]
    pub fn changed_timeout(&mut self, timeout: Duration) -> Result<(), RecvTimeoutError> {
        let c = self.c();
        // The channel is closed when there is a result.
        if c.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout) {
            return Err(RecvTimeoutError::Timeout);
        }
        self.changed().map_err(|RecvError| RecvTimeoutError::Disconnected)
    }

    /// [`changed`](Self::changed) for `async` code. The future may be dropped at any time: then no
    /// change was marked as seen.
    ///
    /// ```
    /// use gosched::chan::watch;
    ///
    /// gosched::run(|| {
    ///     let (tx, mut rx) = watch::channel(1);
    ///     gosched::go(move || tx.send(2));
    ///     gosched::block_on(rx.changed_async()).unwrap();
    ///     assert_eq!(*rx.borrow(), 2);
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`changed`](Self::changed).
    pub async fn changed_async(&mut self) -> Result<(), RecvError> {
        loop {
            if let Some(result) = self.shared.look(&mut self.seen) {
                return result;
            }
            let _ = self.c().recv_async().await;
        }
    }

    /// Waits until `condition` is true for the value, which is marked as seen. `condition` is first
    /// called for the value that is there, seen or not. The value is locked meanwhile: `condition`
    /// mustn't use the channel.
    ///
    /// ```
    /// use gosched::chan::watch;
    ///
    /// gosched::run(|| {
    ///     let (tx, mut rx) = watch::channel(0);
    ///     gosched::go(move || (1..=5).for_each(|n| tx.send_modify(|level| *level = n)));
    ///     assert_eq!(*rx.wait_for(|&level| level >= 5).unwrap(), 5);
    /// });
    /// ```
    ///
    /// # Errors
    /// If it isn't true for the last value, and there is no sender.
    ///
    /// # Panics
    /// As [`changed`](Self::changed), and if `condition` does.
    #[track_caller]
    pub fn wait_for(&mut self, condition: impl FnMut(&T) -> bool) -> Result<Ref<'_, T>, RecvError> {
        // It has no value, so the receive returns when it is closed.
        self.wait_for_by(condition, |c| Ok(_ = c.recv()))
    }

    /// [`wait_for`](Self::wait_for) that waits until `timeout` is over.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::{RecvTimeoutError, watch};
    ///
    /// gosched::run(|| {
    ///     let (tx, mut rx) = watch::channel(1);
    ///     let high = rx.wait_for_timeout(Duration::from_millis(1), |&level| level >= 5);
    ///     assert_eq!(high.err(), Some(RecvTimeoutError::Timeout));
    ///     tx.send(5).unwrap();
    ///     let high = rx.wait_for_timeout(Duration::from_millis(1), |&level| level >= 5);
    ///     assert_eq!(*high.unwrap(), 5);
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`wait_for`](Self::wait_for), or if the time is over.
    ///
    /// # Panics
    /// As [`wait_for`](Self::wait_for).
    #[track_caller]
    pub fn wait_for_timeout(
        &mut self,
        timeout: Duration,
        condition: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvTimeoutError> {
        let start = instant_now();
        self.wait_for_by(condition, |c| {
            let late = c.recv_timeout(timeout.saturating_sub(instant_now() - start));
            // Otherwise it is closed: there may be a result.
            late.or_else(|error| if error == RecvTimeoutError::Timeout { Err(error) } else { Ok(()) })
        })
    }

    /// [`wait_for`](Self::wait_for) that calls `wait` to wait until a channel is closed.
    #[track_caller]
    pub(crate) fn wait_for_by<E: From<RecvError>>(
        &mut self,
        mut condition: impl FnMut(&T) -> bool,
        wait: impl Fn(&chan::Receiver<()>) -> Result<(), E>,
    ) -> Result<Ref<'_, T>, E> {
        loop {
            if let Some(result) = self.shared.look_for(&mut self.seen, &mut condition) {
                return result.map_err(E::from);
            }
            // Here, because `#[track_caller]` ends at a closure.
            let _guest = must_wait("watch::Receiver::wait_for");
            wait(&self.c())?;
        }
    }

    /// [`wait_for`](Self::wait_for) for `async` code. The future may be dropped at any time: values
    /// that `condition` was called for are seen.
    ///
    /// ```
    /// use gosched::chan::watch;
    ///
    /// gosched::run(|| {
    ///     let (tx, mut rx) = watch::channel(0);
    ///     gosched::go(move || tx.send(5));
    ///     let level = gosched::block_on(rx.wait_for_async(|&level| level >= 5));
    ///     assert_eq!(*level.unwrap(), 5);
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`wait_for`](Self::wait_for).
    ///
    /// # Panics
    /// As [`borrow`](Self::borrow), and if `condition` does.
    pub async fn wait_for_async(
        &mut self,
        mut condition: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        loop {
            if let Some(result) = self.shared.look_for(&mut self.seen, &mut condition) {
                return result;
            }
            let _ = self.shared.changes(self.seen).recv_async().await;
        }
    }

    /// A channel that is closed when there is a value that this receiver hasn't seen, or no sender.
    /// It is for a [`select!`](crate::select) beside other channels. If there is such a value at
    /// the time of the call, it is closed already.
    ///
    /// ```
    /// use gosched::chan::{Receiver, watch};
    /// use gosched::select;
    ///
    /// /// Works with the level that is set at the time.
    /// fn work(jobs: Receiver<u32>, mut level: watch::Receiver<u32>) -> Vec<u32> {
    ///     let (mut factor, mut done) = (*level.borrow_and_update(), Vec::new());
    ///     loop {
    ///         select! {
    ///             recv(level.c()) -> _ => match level.changed() {
    ///                 Ok(()) => factor = *level.borrow(),
    ///                 Err(_) => return done, // no sender any more
    ///             },
    ///             recv(jobs) -> job => match job {
    ///                 Ok(job) => done.push(factor * job),
    ///                 Err(_) => return done,
    ///             },
    ///         }
    ///     }
    /// }
    ///
    /// gosched::run(|| {
    ///     let (set, level) = watch::channel(1);
    ///     let (jobs, queue) = gosched::chan::bounded(0);
    ///     let worker = gosched::go(move || work(queue, level));
    ///     jobs.send(7).unwrap();
    ///     set.send(2).unwrap();
    ///     drop(jobs);
    ///     assert_eq!(worker.join().unwrap(), [7]);
    /// });
    /// ```
    pub fn c(&self) -> chan::Receiver<()> {
        self.shared.changes(self.seen)
    }

    /// Whether both are handles of one channel.
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.state().senders += 1;
        Sender { shared: self.shared.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // Dropped without the lock.
        let _waiters = {
            let mut state = self.shared.state();
            state.senders -= 1;
            (state.senders == 0).then(|| state.changes.take())
        };
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.state().receivers += 1;
        Receiver { shared: self.shared.clone(), seen: self.seen }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Dropped without the lock.
        let _waiters = {
            let mut state = self.shared.state();
            state.receivers -= 1;
            (state.receivers == 0).then(|| state.gone.take())
        };
    }
}

impl<T> Ref<'_, T> {
    /// Whether the receiver that has borrowed the value hadn't seen it before. Always false if a
    /// sender has borrowed it.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Receiver { .. }")
    }
}
