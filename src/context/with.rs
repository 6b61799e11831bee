//! [`With`]: waits of channels and of `sync` that end with a context. [`Waitable`]: types that have
//! such waits, and pointers to them.

use std::fmt;
use std::mem::{self, MaybeUninit};
use std::rc::Rc;
use std::sync::Arc;

use crate::chan::{Receiver, Sender, oneshot};
use crate::context::{AcquireContextError, Context, ContextError, RecvContextError, SendContextError};
use crate::net::Pollable;
use crate::runtime::{Block, EndsWaits, Limit, Received, Sent, must_wait, unwind_to_run};
use crate::sync::{
    Condvar, Mutex, MutexGuard, Notify, Pool, RateLimiter, Semaphore, SemaphorePermit, WaitGroup,
};

/// A value with waits, and the context that ends the waits: [`Context::with`] makes it. Its
/// functions have the names of the functions that wait without a limit. They return an error when
/// the context has ended, also if it ended before and they needn't have waited.
///
/// | on | what |
/// | --- | --- |
/// | [`Receiver`], [`oneshot::Receiver`] | `recv` |
/// | [`Sender`] | `send` |
/// | [`oneshot::Sender`] | `closed` |
/// | [`Mutex`] | `lock` |
/// | [`Semaphore`] | `acquire`, `acquire_many` |
/// | [`WaitGroup`] | `wait` |
/// | [`Notify`] | `notified` |
/// | [`RateLimiter`] | `wait`, `wait_n` |
/// | [`Pool`] | `get` |
/// | [`Condvar`] | `wait`, `wait_while`, which return a guard and a result |
/// | [`Pollable`](crate::net::Pollable): `TcpStream`, `UdpSocket`, ... | [`Read`](std::io::Read) and [`Write`](std::io::Write), `read_with`, `write_with`, `readable`, `writable` |
/// | [`TcpListener`](crate::net::TcpListener), [`UnixListener`](crate::net::UnixListener) | `accept` |
/// | [`TcpStream`](crate::net::TcpStream) | `finish_connect` |
///
/// [`WithMut`](crate::context::WithMut) is for what a wait changes: processes, and the receivers of
/// [`broadcast`](crate::chan::broadcast) and [`watch`](crate::chan::watch). For a value in an
/// `Arc` or behind another pointer, write `ctx.with(&arc)`: see
/// [`Waitable`](crate::context::Waitable). For each value of a channel, write
/// `while let Ok(value) = ctx.with(&rx).recv()`; for datagrams,
/// `read_with(|socket| socket.recv_from(&mut buf))`.
///
/// ```
/// use gosched::chan::bounded;
/// use gosched::context::Context;
///
/// gosched::run(|| {
///     let (ctx, _cancel) = Context::background().with_cancel();
///     let (tx, rx) = bounded(1);
///     let (tx, rx) = (ctx.with(&tx), ctx.with(&rx));
///     tx.send(7).unwrap();
///     assert_eq!(rx.recv(), Ok(7));
/// });
/// ```
pub struct With<'c, 'a, T: ?Sized> {
    pub(super) ctx: &'c Context,
    pub(super) on: &'a T,
}

impl<'c, 'a, T: ?Sized> With<'c, 'a, T> {
    pub(super) fn new(ctx: &'c Context, on: &'a T) -> Self {
        With { ctx, on }
    }

    /// The limit of a wait; none if the context never ends.
    fn limit(&self) -> Option<Limit<'c>> {
        self.ctx.scope().map(|scope| Limit::Canceled(scope.waits()))
    }

    /// Why the context has ended. Called after a wait was ended. If not the context has done that,
    /// but the run that the caller is in, unwinds to the run.
    fn ended(&self) -> ContextError {
        self.ctx.err().unwrap_or_else(|| unwind_to_run())
    }
}

impl<T: ?Sized> Clone for With<'_, '_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for With<'_, '_, T> {}

impl<T: ?Sized + fmt::Debug> fmt::Debug for With<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("With").field("on", &self.on).field("ctx", &self.ctx).finish()
    }
}

impl<T> With<'_, '_, Receiver<T>> {
    /// [`Receiver::recv`] that ends with the context.
    ///
    /// ```
    /// use gosched::chan::bounded;
    /// use gosched::context::{Context, ContextError, RecvContextError};
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let (tx, rx) = bounded(1);
    ///     tx.send(1).unwrap();
    ///     assert_eq!(ctx.with(&rx).recv(), Ok(1));
    ///     cancel.cancel();
    ///     let canceled = RecvContextError::Ended(ContextError::Canceled);
    ///     assert_eq!(ctx.with(&rx).recv(), Err(canceled));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the channel is empty and closed, or the context has ended. Nothing was received then.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvContextError> {
        self.ctx.check()?;
        let mut place = MaybeUninit::<T>::uninit();
        let at = place.as_mut_ptr();
        // SAFETY: a place for a value.
        let mut received = unsafe { self.on.recv_at(at, Block::No) };
        if received == Received::Empty {
            let _guest = must_wait("recv");
            // SAFETY: `at` is a place for a value.
            received = unsafe { self.on.recv_at_unless(at, self.ctx.done()) };
        }
        match received {
            // SAFETY: Done says that there is a value, which is moved out.
            Received::Done => Ok(unsafe { at.read() }),
            Received::Closed => Err(RecvContextError::Disconnected),
            Received::Empty => Err(RecvContextError::Ended(self.ended())),
        }
    }
}

impl<T> With<'_, '_, Sender<T>> {
    /// [`Sender::send`] that ends with the context.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::bounded;
    /// use gosched::context::{Context, ContextError, SendContextError};
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
    ///     let (tx, _rx) = bounded(0);
    ///     let late = SendContextError::Ended("nobody receives", ContextError::DeadlineExceeded);
    ///     assert_eq!(ctx.with(&tx).send("nobody receives"), Err(late));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the channel is closed, or the context has ended. The value is in the error.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn send(&self, mut value: T) -> Result<(), SendContextError<T>> {
        if let Some(error) = self.ctx.err() {
            return Err(SendContextError::Ended(value, error));
        }
        let at = &raw mut value;
        // SAFETY: there is a value, which is forgotten below if it was sent.
        let mut sent = unsafe { self.on.send_at(at, Block::No) };
        if sent == Sent::Full {
            let _guest = must_wait("send");
            // SAFETY: there is a value, which is forgotten below if it was sent.
            sent = unsafe { self.on.send_at_unless(at, self.ctx.done()) };
        }
        match sent {
            Sent::Done => {
                mem::forget(value);
                Ok(())
            }
            Sent::Closed => Err(SendContextError::Disconnected(value)),
            Sent::Full => Err(SendContextError::Ended(value, self.ended())),
        }
    }
}

impl<T> With<'_, '_, oneshot::Sender<T>> {
    /// [`oneshot::Sender::closed`] that ends with the context.
    ///
    /// ```
    /// use gosched::chan::oneshot;
    /// use gosched::context::{Context, ContextError};
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let (tx, _rx) = oneshot::channel::<u32>();
    ///     gosched::go(move || cancel.cancel());
    ///     assert_eq!(ctx.with(&tx).closed(), Err(ContextError::Canceled));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the context has ended.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn closed(&self) -> Result<(), ContextError> {
        self.ctx.check()?;
        if self.on.is_closed() {
            return Ok(());
        }
        let _guest = must_wait("oneshot::Sender::closed");
        match self.ctx.with(&*self.on.end()).recv() {
            Err(RecvContextError::Ended(error)) => Err(error),
            _ => Ok(()),
        }
    }
}

impl<'a, T: ?Sized> With<'_, 'a, Mutex<T>> {
    /// [`Mutex::lock`] that ends with the context.
    ///
    /// ```
    /// use gosched::context::{Context, ContextError};
    /// use gosched::sync::Mutex;
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let count = Mutex::new(0);
    ///     *ctx.with(&count).lock().unwrap() += 1;
    ///     let held = count.lock();
    ///     gosched::scope(|s| {
    ///         let waits = s.go(|| ctx.with(&count).lock().map(|count| *count));
    ///         cancel.cancel();
    ///         assert_eq!(waits.join().unwrap(), Err(ContextError::Canceled));
    ///     });
    ///     assert_eq!(*held, 1);
    /// });
    /// ```
    ///
    /// # Errors
    /// If the context has ended: it isn't locked.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn lock(&self) -> Result<MutexGuard<'a, T>, ContextError> {
        self.ctx.check()?;
        let Some(limit) = self.limit() else { return Ok(self.on.lock()) };
        if let Some(guard) = self.on.try_lock() {
            return Ok(guard);
        }
        let _guest = must_wait("lock");
        self.on.lock_limited(Some(limit)).ok_or_else(|| self.ended())
    }
}

impl<'a> With<'_, 'a, Semaphore> {
    /// [`Semaphore::acquire`] that ends with the context.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::{AcquireContextError, Context, ContextError};
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let slots = Semaphore::new(1);
    ///     let _slot = slots.acquire();
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
    ///     let late = AcquireContextError::Ended(ContextError::DeadlineExceeded);
    ///     assert_eq!(ctx.with(&slots).acquire().unwrap_err(), late);
    /// });
    /// ```
    ///
    /// # Errors
    /// If the context has ended, or the semaphore is [closed](Semaphore::close): no permit was
    /// taken.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn acquire(&self) -> Result<SemaphorePermit<'a>, AcquireContextError> {
        self.acquire_many(1)
    }

    /// [`Semaphore::acquire_many`] that ends with the context.
    ///
    /// ```
    /// use gosched::context::Context;
    /// use gosched::sync::Semaphore;
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_cancel();
    ///     let slots = Semaphore::new(3);
    ///     let _two = ctx.with(&slots).acquire_many(2).unwrap();
    ///     assert_eq!(slots.available_permits(), 1);
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    #[track_caller]
    pub fn acquire_many(&self, n: usize) -> Result<SemaphorePermit<'a>, AcquireContextError> {
        self.ctx.check()?;
        let Some(limit) = self.limit() else { return Ok(self.on.acquire_many_unless_closed(n)?) };
        if let Some(result) = self.on.acquire_now(n) {
            return Ok(result?);
        }
        let _guest = must_wait("acquire");
        match self.on.acquire_limited(n, Some(limit)) {
            Some(result) => Ok(result?),
            None => Err(self.ended().into()),
        }
    }
}

impl With<'_, '_, WaitGroup> {
    /// [`WaitGroup::wait`] that ends with the context.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::{Context, ContextError};
    /// use gosched::sync::WaitGroup;
    ///
    /// gosched::run(|| {
    ///     let group = WaitGroup::new();
    ///     let _running = group.guard();
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
    ///     assert_eq!(ctx.with(&group).wait(), Err(ContextError::DeadlineExceeded));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the context has ended, and the count isn't 0.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait(&self) -> Result<(), ContextError> {
        self.ctx.check()?;
        let Some(limit) = self.limit() else {
            self.on.wait();
            return Ok(());
        };
        if self.on.is_done() {
            return Ok(());
        }
        let _guest = must_wait("WaitGroup::wait");
        if self.on.wait_limited(Some(limit)) { Ok(()) } else { Err(self.ended()) }
    }
}

impl With<'_, '_, Notify> {
    /// [`Notify::notified`] that ends with the context.
    ///
    /// ```
    /// use gosched::context::{Context, ContextError};
    /// use gosched::sync::Notify;
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let changed = Notify::new();
    ///     changed.notify_one();
    ///     assert_eq!(ctx.with(&changed).notified(), Ok(()));
    ///     gosched::go(move || cancel.cancel());
    ///     assert_eq!(ctx.with(&changed).notified(), Err(ContextError::Canceled));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the context has ended. No notification was used up then.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn notified(&self) -> Result<(), ContextError> {
        self.ctx.check()?;
        let Some(limit) = self.limit() else {
            self.on.notified();
            return Ok(());
        };
        if self.on.take_kept() {
            return Ok(());
        }
        let _guest = must_wait("Notify::notified");
        if self.on.notified_limited(Some(limit)) { Ok(()) } else { Err(self.ended()) }
    }
}

impl With<'_, '_, Condvar> {
    /// [`Condvar::wait`] that ends with the context. The mutex is locked again in any case.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::{Context, ContextError};
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// gosched::run(|| {
    ///     let (value, changed) = (Mutex::new(7), Condvar::new());
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
    ///     let (guard, result) = ctx.with(&changed).wait(value.lock());
    ///     assert_eq!((*guard, result), (7, Err(ContextError::DeadlineExceeded)));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the context has ended before a notification came. The error stands beside the guard.
    ///
    /// # Panics
    /// If it is called inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait<'g, T: ?Sized>(
        &self,
        guard: MutexGuard<'g, T>,
    ) -> (MutexGuard<'g, T>, Result<(), ContextError>) {
        if let Some(error) = self.ctx.err() {
            return (guard, Err(error));
        }
        let Some(limit) = self.limit() else { return (self.on.wait(guard), Ok(())) };
        let _guest = must_wait("Condvar::wait");
        let (guard, notified) = self.on.wait_limited(guard, Some(limit));
        (guard, if notified { Ok(()) } else { Err(self.ended()) })
    }

    /// Waits as long as `condition` is true for the value, and the context hasn't ended.
    ///
    /// ```
    /// use gosched::context::Context;
    /// use gosched::sync::{Condvar, Mutex};
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_cancel();
    ///     let (ready, changed) = (Mutex::new(false), Condvar::new());
    ///     gosched::scope(|s| {
    ///         s.go(|| {
    ///             *ready.lock() = true;
    ///             changed.notify_all();
    ///         });
    ///         let (guard, result) = ctx.with(&changed).wait_while(ready.lock(), |ready| !*ready);
    ///         assert!(*guard && result.is_ok());
    ///     });
    /// });
    /// ```
    ///
    /// # Errors
    /// If the context had ended before, or ended while `condition` was true. The error stands
    /// beside the guard.
    ///
    /// # Panics
    /// If it has to wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait_while<'g, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'g, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'g, T>, Result<(), ContextError>) {
        if let Some(error) = self.ctx.err() {
            return (guard, Err(error));
        }
        while condition(&mut *guard) {
            // Checked after the condition: if the condition became false while the context ended,
            // the wait has succeeded.
            if let Some(error) = self.ctx.err() {
                return (guard, Err(error));
            }
            guard = self.wait(guard).0;
        }
        (guard, Ok(()))
    }
}

/// A value on which [`Context::with`](crate::context::Context::with) waits, or a pointer to one.
///
/// ```
/// use std::io::{Read, Write};
/// use std::sync::Arc;
///
/// use gosched::context::Context;
/// use gosched::net::UnixStream;
///
/// gosched::run(|| {
///     let (ctx, _cancel) = Context::background().with_cancel();
///     let (here, mut there) = UnixStream::pair()?;
///     let here = Arc::new(here);
///     there.write_all(b"hello")?;
///     let mut buf = [0; 5];
///     ctx.with(&here).read_exact(&mut buf)?;
///     assert_eq!(&buf, b"hello");
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// A type that has such a value may implement it:
///
/// ```
/// use gosched::chan::{Receiver, bounded};
/// use gosched::context::{Context, Waitable};
///
/// struct Jobs {
///     queue: Receiver<u32>,
/// }
///
/// impl Waitable for Jobs {
///     type On = Receiver<u32>;
///
///     fn waits_on(&self) -> &Receiver<u32> {
///         &self.queue
///     }
/// }
///
/// gosched::run(|| {
///     let (tx, queue) = bounded(1);
///     tx.send(7).unwrap();
///     assert_eq!(Context::background().with(&Jobs { queue }).recv(), Ok(7));
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "no wait of `{Self}` ends with a context",
    label = "not a channel, a lock or a socket of gosched",
    note = "`Context::with` takes a `Receiver`, a `Sender` of a channel or a `oneshot`, a `Mutex`, a `Semaphore`, a `WaitGroup`, a `Notify`, a \
            `RateLimiter`, a `Pool`, a `Condvar` or a `Pollable`, such as `gosched::net::TcpStream`, and a pointer to one, such as an `Arc`",
    note = "`Context::with_mut` takes a `Child` or a `Command` of `gosched::process`, and a `Receiver` of \
            `gosched::chan::broadcast` or `gosched::chan::watch`"
)]
pub trait Waitable {
    /// The type that has the waits. [`With`](crate::context::With) has functions for it.
    type On: ?Sized;

    /// The value that has the waits.
    fn waits_on(&self) -> &Self::On;
}

macro_rules! themselves {
    ($([$($params:tt)*] $type:ty;)*) => {
        $(
            impl<$($params)*> Waitable for $type {
                type On = Self;

                fn waits_on(&self) -> &Self {
                    self
                }
            }
        )*
    };
}

themselves! {
    [T] Receiver<T>;
    [T] Sender<T>;
    [T] oneshot::Sender<T>;
    [T: ?Sized] Mutex<T>;
    [] Semaphore;
    [] WaitGroup;
    [] Notify;
    [] RateLimiter;
    [T, E] Pool<T, E>;
    [] Condvar;
    [T] Pollable<T>;
}

impl<T> Waitable for oneshot::Receiver<T> {
    type On = Receiver<T>;

    fn waits_on(&self) -> &Receiver<T> {
        self.c()
    }
}

macro_rules! pointers {
    ($($pointer:ty),*) => {
        $(
            impl<T: Waitable + ?Sized> Waitable for $pointer {
                type On = T::On;

                fn waits_on(&self) -> &T::On {
                    (**self).waits_on()
                }
            }
        )*
    };
}

pointers!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);
