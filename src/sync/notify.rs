//! [`Notify`], and its future for `async` code.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::goroutine::wake;
use crate::runtime::runtime2::Mutex;
use crate::runtime::{
    Limit, end_with_run, lock, must_wait, nanos, on_goroutine, point, semacquire, semrelease, tsan, unlock,
    unwind_to_run, when, with_limit_in_run,
};
use crate::sync::WaitTimeoutResult;
use crate::sync::wait_queue::{WaitQueue, Waiter, wake_each};

/// Tells goroutines that something has happened, without a value. tokio's `Notify`; in Go it is a
/// channel of capacity 1 to which `struct{}{}` is sent in a `select` with a `default`.
///
/// [`notify_one`](Self::notify_one) wakes the goroutine that has waited longest. If none waits, the
/// notification is kept, and the next wait returns at once. At most one notification is kept.
/// [`notify_last`](Self::notify_last) wakes the one that has waited shortest.
/// [`notify_waiters`](Self::notify_waiters) wakes all that wait now, and keeps nothing.
///
/// A goroutine that waits for a condition checks it after each wait, because several notifications
/// may have become one:
///
/// ```
/// use gosched::sync::{Mutex, Notify};
///
/// static JOBS: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// static ADDED: Notify = Notify::new();
///
/// gosched::run(|| {
///     let worker = gosched::go(|| loop {
///         if let Some(job) = JOBS.lock().pop() {
///             return job;
///         }
///         ADDED.notified(); // a notification that came since is kept
///     });
///     JOBS.lock().push(7);
///     ADDED.notify_one();
///     assert_eq!(worker.join().unwrap(), 7);
/// });
/// ```
///
/// For `notify_waiters` there is nothing to keep: a goroutine that checks a condition, and only
/// then begins to wait, misses a call in between. [`notified_async`](Self::notified_async) has an
/// example that doesn't. A [`Condvar`](crate::sync::Condvar) has no such gap either.
pub struct Notify {
    /// Protects the other fields, and the waiters. A runtime lock, so that any thread can notify.
    lock: Mutex,
    /// Whether a notification is kept.
    kept: Cell<bool>,
    /// How often `notify_waiters` was called.
    calls: Cell<u64>,
    /// Waiters that a call of `notify_waiters` has notified, but not woken yet, stand before all
    /// others.
    queue: WaitQueue<Wait>,
}

/// What a waiter waits for.
struct Wait {
    /// What `calls` was when the wait began. If it is another number now, the waiter is notified,
    /// even if it is on the queue still.
    calls: Cell<u64>,
    /// The end from which it was taken, if a notification for one waiter has taken it off the
    /// queue.
    taken: Cell<Option<End>>,
}

/// The end of the queue from which a notification for one waiter takes the waiter.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// Makes a goroutine's waiter, or a future's if `waker` is given.
fn new_waiter(waker: Option<Waker>) -> Waiter<Wait> {
    Waiter::new(Wait { calls: Cell::new(0), taken: Cell::new(None) }, waker)
}

// SAFETY: the queue belongs to no thread, and a waiter on it may be woken from any.
unsafe impl Send for Notify {}
// SAFETY: the fields and the waiters on the queue are accessed with the lock held.
unsafe impl Sync for Notify {}
// Nothing panics while the queue is changed.
impl UnwindSafe for Notify {}
impl RefUnwindSafe for Notify {}

impl Notify {
    /// Makes one without waiters, and without a notification.
    ///
    /// ```
    /// use gosched::sync::Notify;
    ///
    /// static RELOAD: Notify = Notify::new();
    /// RELOAD.notify_one(); // kept
    /// RELOAD.notified();
    /// ```
    pub const fn new() -> Self {
        Notify { lock: Mutex::new(), kept: Cell::new(false), calls: Cell::new(0), queue: WaitQueue::new() }
    }

    /// Whether a call of `notify_waiters` has notified a waiter that is on the queue. The lock is
    /// held.
    fn is_notified(&self, waiter: &Waiter<Wait>) -> bool {
        waiter.request.calls.get() != self.calls.get()
    }

    /// Notifies the waiter at an end of the queue, or keeps the notification.
    fn notify(&self, end: End) {
        let mut given = false;
        let next = || {
            if given {
                return None;
            }
            lock(&self.lock);
            let waiter = match end {
                // Waiters that stand before because of `notify_waiters` are woken on the way.
                End::First => self.queue.iter().next(),
                // If it is one of those, all are.
                End::Last => self.queue.last().filter(|last| !self.is_notified(last)),
            };
            let notified = waiter.map(|waiter| {
                given = !self.is_notified(waiter);
                waiter.request.taken.set(given.then_some(end));
                self.queue.take_off(waiter)
            });
            if notified.is_none() {
                self.kept.set(true);
            }
            unlock(&self.lock);
            notified
        };
        wake_each(next, wake);
    }

    /// Wakes the goroutine or the future that has waited longest. If none waits, the next wait
    /// returns at once. A second call before that wait adds nothing.
    ///
    /// A notification that was given to a future, and that the future was dropped without seeing,
    /// goes to the next waiter, or is kept.
    ///
    /// ```
    /// use gosched::sync::Notify;
    ///
    /// gosched::run(|| {
    ///     let full = Notify::new();
    ///     gosched::scope(|s| {
    ///         let flusher = s.go(|| full.notified());
    ///         full.notify_one(); // whether the flusher waits yet or not
    ///         flusher.join().unwrap();
    ///     });
    /// });
    /// ```
    pub fn notify_one(&self) {
        point("notify_one");
        self.notify(End::First);
    }

    /// [`notify_one`](Self::notify_one) that wakes the goroutine or the future that has waited
    /// shortest, whose memory is more likely in the processor's cache. The others may wait for
    /// ever. tokio's `notify_last`.
    ///
    /// ```
    /// use std::pin::pin;
    /// use gosched::sync::Notify;
    ///
    /// let free = Notify::new();
    /// let (mut one, mut other) = (pin!(free.notified_async()), pin!(free.notified_async()));
    /// assert!(!one.as_mut().enable() && !other.as_mut().enable());
    /// free.notify_last();
    /// assert!(!one.enable() && other.enable());
    /// ```
    pub fn notify_last(&self) {
        point("notify_last");
        self.notify(End::Last);
    }

    /// Wakes all goroutines and futures that wait at this moment. No notification is kept: a wait
    /// that begins later waits. A future waits from the moment on in which
    /// [`notified_async`](Self::notified_async) has returned it.
    ///
    /// ```
    /// use gosched::sync::Notify;
    ///
    /// gosched::run(|| {
    ///     let changed = Notify::new();
    ///     let (one, other) = (changed.notified_async(), changed.notified_async());
    ///     changed.notify_waiters();
    ///     gosched::block_on(async { (one.await, other.await) });
    /// });
    /// ```
    pub fn notify_waiters(&self) {
        point("notify_waiters");
        lock(&self.lock);
        self.calls.set(self.calls.get() + 1);
        unlock(&self.lock);
        let next = || {
            lock(&self.lock);
            let first = self.queue.iter().next().filter(|first| self.is_notified(first));
            let notified = first.map(|first| self.queue.take_off(first));
            unlock(&self.lock);
            notified
        };
        wake_each(next, wake);
    }

    /// Waits for a notification. Returns at once if one is kept, and uses it up. Under a context it
    /// is [`ctx.with(&notify).notified()`](crate::context::With::notified).
    ///
    /// ```
    /// use gosched::sync::Notify;
    ///
    /// gosched::run(|| {
    ///     let (request, done) = (Notify::new(), Notify::new());
    ///     gosched::scope(|s| {
    ///         s.go(|| {
    ///             request.notified();
    ///             done.notify_one();
    ///         });
    ///         request.notify_one();
    ///         done.notified();
    ///     });
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn notified(&self) {
        if !on_goroutine() && self.take_kept() {
            return;
        }
        let _guest = must_wait("Notify::notified");
        if !self.notified_limited(None) {
            unwind_to_run();
        }
    }

    /// [`notified`](Self::notified) with a time limit. The result says whether the time was over
    /// before a notification came. If so, the wait has used up none.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::Notify;
    ///
    /// gosched::run(|| {
    ///     let changed = Notify::new();
    ///     assert!(changed.notified_timeout(Duration::from_millis(1)).timed_out());
    ///     changed.notify_one();
    ///     assert!(!changed.notified_timeout(Duration::from_millis(1)).timed_out());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn notified_timeout(&self, timeout: Duration) -> WaitTimeoutResult {
        if self.take_kept() {
            return WaitTimeoutResult(false);
        }
        let _guest = must_wait("Notify::notified_timeout");
        let notified = self.notified_limited(Some(Limit::Time(when(nanos(timeout)))));
        if !notified {
            end_with_run();
        }
        WaitTimeoutResult(!notified)
    }

    /// [`notified`](Self::notified) with a limit, on a goroutine. Returns whether a notification
    /// came before the limit.
    pub(crate) fn notified_limited(&self, limit: Option<Limit<'_>>) -> bool {
        let waiter = new_waiter(None);
        if self.begin(&waiter, None) {
            return true;
        }
        let gave_up = Cell::new(false);
        let give_up = || {
            lock(&self.lock);
            let notified = self.is_notified(&waiter);
            let queued = self.queue.remove(&waiter);
            unlock(&self.lock);
            // If both a limit and the end of a run come, only one of them finds the waiter.
            if queued && !notified {
                gave_up.set(true);
            }
            // Done last: after this the waiter may be gone.
            queued.then_some(|| semrelease(&waiter.woken))
        };
        // SAFETY: the waiter is accessed with the lock held, and the flag is read later. Only the
        // caller that takes the waiter off the queue wakes it, so the waiter stays until then.
        unsafe { with_limit_in_run(limit, &give_up, || semacquire(&waiter.woken)) };
        !gave_up.get()
    }

    /// Uses up a notification that is kept, and returns whether there was one.
    pub(crate) fn take_kept(&self) -> bool {
        point("notified");
        lock(&self.lock);
        let kept = self.kept.replace(false);
        unlock(&self.lock);
        kept
    }

    /// Begins a wait, or returns true if there is a notification for it: a call of `notify_waiters`
    /// since `calls` was the given number, or one that is kept.
    fn begin(&self, waiter: &Waiter<Wait>, calls: Option<u64>) -> bool {
        point("notified");
        lock(&self.lock);
        waiter.request.calls.set(calls.unwrap_or(self.calls.get()));
        let notified = self.is_notified(waiter) || self.kept.replace(false);
        if !notified {
            // SAFETY: the caller's waiter is new, and stays until it is off the queue, which needs
            // the lock.
            unsafe { self.queue.push_back(waiter) };
        }
        unlock(&self.lock);
        notified
    }

    /// [`notified`](Self::notified) for `async` code, and for goroutines that have to begin the
    /// wait before they check a condition. The future waits in the same queue as goroutines. No
    /// thread and no goroutine waits for it. It may be dropped at any time: a notification of
    /// [`notify_one`](Self::notify_one) that it has got goes to the next waiter.
    ///
    /// For `notify_waiters` it waits from now on, for `notify_one` from its first poll or
    /// [`enable`](NotifiedFuture::enable) on.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use gosched::sync::Notify;
    ///
    /// static OPEN: AtomicBool = AtomicBool::new(false);
    /// static CHANGED: Notify = Notify::new();
    ///
    /// fn wait_until_open() {
    ///     loop {
    ///         let notified = CHANGED.notified_async(); // before the look
    ///         if OPEN.load(Ordering::Acquire) {
    ///             return;
    ///         }
    ///         gosched::block_on(notified);
    ///     }
    /// }
    ///
    /// gosched::run(|| {
    ///     gosched::scope(|s| {
    ///         for _ in 0..3 {
    ///             s.go(wait_until_open);
    ///         }
    ///         OPEN.store(true, Ordering::Release);
    ///         CHANGED.notify_waiters();
    ///     });
    /// });
    /// ```
    pub fn notified_async(&self) -> NotifiedFuture<'_> {
        lock(&self.lock);
        let calls = self.calls.get();
        unlock(&self.lock);
        NotifiedFuture { notify: self, state: State::Made { calls } }
    }
}

impl Default for Notify {
    fn default() -> Self {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Notify { .. }")
    }
}

/// The future that [`Notify::notified_async`] returns.
///
/// ```
/// use gosched::sync::{NotifiedFuture, Notify};
///
/// gosched::run(|| {
///     let changed = Notify::new();
///     let future: NotifiedFuture<'_> = changed.notified_async();
///     changed.notify_waiters();
///     gosched::block_on(future);
/// });
/// ```
#[must_use = "futures do nothing unless they are polled"]
pub struct NotifiedFuture<'a> {
    notify: &'a Notify,
    state: State,
}

enum State {
    /// It isn't on the queue. The number is of the calls of `notify_waiters` at its making.
    Made { calls: u64 },
    /// Its waiter is on the queue, or was taken off it: a box.
    Waits(NonNull<Waiter<Wait>>),
    /// It is ready.
    Notified,
}

// SAFETY: the waiter belongs to no thread, and the lock of its `Notify` protects it.
unsafe impl Send for NotifiedFuture<'_> {}
// SAFETY: a shared NotifiedFuture does nothing.
unsafe impl Sync for NotifiedFuture<'_> {}

impl NotifiedFuture<'_> {
    /// Waits for `notify_one`, too, from now on, as if the future was polled. Returns whether it is
    /// ready. Several goroutines that wait for several calls of `notify_one`, of which only one is
    /// kept, call this before they look whether they have to wait.
    ///
    /// ```
    /// use std::pin::pin;
    /// use gosched::sync::Notify;
    ///
    /// let added = Notify::new();
    /// let (mut one, mut other) = (pin!(added.notified_async()), pin!(added.notified_async()));
    /// assert!(!one.as_mut().enable() && !other.as_mut().enable());
    /// added.notify_one();
    /// added.notify_one();
    /// assert!(one.enable() && other.enable());
    /// ```
    pub fn enable(self: Pin<&mut Self>) -> bool {
        self.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }
}

impl Future for NotifiedFuture<'_> {
    type Output = ();

    /// Ready again if it is polled after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let notify = self.notify;
        let (waiter, notified) = match self.state {
            State::Notified => return Poll::Ready(()),
            State::Made { calls } => {
                let waker = tsan::clone_waker(context.waker());
                let waiter = NonNull::from(Box::leak(Box::new(new_waiter(Some(waker)))));
                // SAFETY: the waiter stays until it is taken off the queue: by drop, or before it
                // is notified.
                (waiter, notify.begin(unsafe { waiter.as_ref() }, Some(calls)))
            }
            State::Waits(waiter) => {
                let mut waker = Some(tsan::clone_waker(context.waker()));
                lock(&notify.lock);
                // SAFETY: the waiter is this future's, and stays until the future drops it.
                let this = unsafe { waiter.as_ref() };
                let notified = !notify.queue.contains(this) || notify.is_notified(this);
                if notified {
                    notify.queue.remove(this);
                } else {
                    waker = this.waker.replace(waker);
                }
                unlock(&notify.lock);
                // The waker's code may be anything, so it isn't dropped with the lock held.
                drop(waker);
                (waiter, notified)
            }
        };
        if !notified {
            self.state = State::Waits(waiter);
            return Poll::Pending;
        }
        self.state = State::Notified;
        // SAFETY: the waiter has left the queue, and nobody else has it.
        drop(unsafe { Box::from_raw(waiter.as_ptr()) });
        Poll::Ready(())
    }
}

impl Drop for NotifiedFuture<'_> {
    fn drop(&mut self) {
        let State::Waits(waiter) = self.state else { return };
        let notify = self.notify;
        lock(&notify.lock);
        // SAFETY: the waiter is this future's, and stays until the end of this function.
        let this = unsafe { waiter.as_ref() };
        let unseen = if notify.queue.remove(this) { None } else { this.request.taken.get() };
        unlock(&notify.lock);
        // Dropped at the end, because the waker's drop may panic, and others wait for the
        // notification.
        // SAFETY: the waiter has left the queue, and nobody else has it.
        let _waiter = unsafe { Box::from_raw(waiter.as_ptr()) };
        if let Some(end) = unseen {
            point("notify");
            notify.notify(end);
        }
    }
}

impl fmt::Debug for NotifiedFuture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("NotifiedFuture { .. }")
    }
}
