//! [`Pool`].

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::io;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::runtime::{nanos, now, run_is_over};
use crate::sync::Semaphore;
use crate::sync::short_mutex::{ShortMutex, ShortMutexGuard};

/// A number of objects that are made when they are needed, and used again: connections, for
/// example. At most `max` exist at a time. It is like r2d2 and deadpool, and in Go like the pool
/// inside `database/sql`. (Go's `sync.Pool` is a cache that any collection may empty.)
///
/// A `Pool` is a handle: a clone is of the same pool. `E` is the error of the function that makes
/// an object.
///
/// ```
/// use std::io::{self, Write};
/// use std::net::SocketAddr;
/// use std::time::Duration;
/// use gosched::net::{TcpListener, TcpStream};
/// use gosched::sync::Pool;
///
/// fn connections(to: SocketAddr) -> Pool<TcpStream> {
///     Pool::new(10, move || TcpStream::connect(to))
///         .with_check(|stream| stream.take_error().is_ok_and(|error| error.is_none()))
///         .with_idle_limit(Duration::from_secs(60))
/// }
///
/// fn say_hello(pool: &Pool<TcpStream>) -> io::Result<()> {
///     let mut stream = pool.get()?; // waits while ten are in use
///     stream.write_all(b"hello")
/// } // and gives it back
///
/// gosched::run(|| {
///     let server = TcpListener::bind("127.0.0.1:0")?;
///     let pool = connections(server.local_addr()?);
///     say_hello(&pool)?;
///     say_hello(&pool)?;
///     assert_eq!((pool.in_use(), pool.idle()), (0, 1));
///     Ok::<(), io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// Requests are served in order. The object that was given back last is handed out first, so that
/// the others may reach the [idle limit](Self::with_idle_limit).
///
/// No lock is held while the program's functions or a `drop` run. If one of them panics, the slot
/// of its object is free again.
pub struct Pool<T, E = io::Error> {
    shared: Arc<Shared<T>>,
    make: Arc<Make<T, E>>,
    check: Option<Arc<Check<T>>>,
    /// In nanoseconds.
    idle_limit: i64,
}

type Make<T, E> = dyn Fn() -> Result<T, E> + Send + Sync;
type Check<T> = dyn Fn(&mut T) -> bool + Send + Sync;

/// What the handles and the guards share.
struct Shared<T> {
    max: usize,
    /// A permit for each object that may be in use. An object that is made has one, too, so there
    /// are never more objects than permits.
    slots: Semaphore,
    /// The idle objects, each with the time at which it was given back; the last one is the newest.
    idle: ShortMutex<VecDeque<(i64, T)>>,
}

impl<T> Shared<T> {
    fn idle(&self) -> ShortMutexGuard<'_, VecDeque<(i64, T)>> {
        self.idle.lock()
    }

    /// Takes one idle object: the oldest if it has been idle for `limit` nanoseconds or longer,
    /// otherwise the newest. Returns whether it is too old. Never takes two, because the caller has
    /// one permit.
    fn take_idle(&self, limit: i64) -> Option<(T, bool)> {
        let mut idle = self.idle();
        let is_old = now().saturating_sub(idle.front()?.0) >= limit;
        let taken = if is_old { idle.pop_front() } else { idle.pop_back() };
        taken.map(|(_, object)| (object, is_old))
    }
}

/// An object of a [`Pool`]. Dropping it gives the object back. If it is dropped by a panic, or in a
/// [run](crate::context::Context::run) that is over, the object is dropped as well, because that
/// may have left it in the middle of something.
///
/// After another error the object goes back to the pool. A read that has failed, for instance at a
/// timeout of its own, leaves its answer in the connection, and the next caller would read that
/// answer. So [`discard`](Self::discard) a connection whose read or write has failed, or let the
/// pool's [check](Pool::with_check) find out.
///
/// It keeps the pool's objects, not the function that makes them.
///
/// ```
/// use std::convert::Infallible;
/// use gosched::sync::{Pool, Pooled};
///
/// let pool = Pool::new(1, || Ok::<_, Infallible>(String::new()));
/// let mut buffer: Pooled<String> = pool.get().unwrap();
/// buffer.push_str("kept");
/// drop(buffer);
/// assert_eq!(*pool.get().unwrap(), "kept");
/// ```
#[must_use = "dropping the guard gives the object back"]
pub struct Pooled<T> {
    shared: Arc<Shared<T>>,
    /// None while there is no object yet, and when it was taken out.
    object: Option<T>,
}

impl<T, E> Pool<T, E> {
    /// A pool of at most `max` objects, which `make` makes. None is made before it is needed.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use gosched::sync::Pool;
    ///
    /// let buffers = Pool::new(3, || Ok::<_, Infallible>(Vec::<u8>::with_capacity(1 << 16)));
    /// let mut buffer = buffers.get().unwrap();
    /// buffer.push(7);
    /// assert_eq!((buffers.max(), buffers.in_use()), (3, 1));
    /// ```
    ///
    /// # Panics
    /// If `max` is 0.
    #[track_caller]
    pub fn new(max: usize, make: impl Fn() -> Result<T, E> + Send + Sync + 'static) -> Self {
        assert!(max > 0, "gosched: a Pool has at least one object");
        let shared = Shared { max, slots: Semaphore::new(max), idle: ShortMutex::new(VecDeque::new()) };
        Pool { shared: Arc::new(shared), make: Arc::new(make), check: None, idle_limit: i64::MAX }
    }

    /// Sets a function that is called for an object before it is handed out again. If it returns
    /// false or panics, the object is dropped; after false the next one is looked at, or a new one
    /// made. It isn't called for a new object. It applies to this handle and its later clones.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use gosched::sync::Pool;
    ///
    /// let pool = Pool::new(1, || Ok::<_, Infallible>(0)).with_check(|uses| *uses < 2);
    /// for _ in 0..2 {
    ///     *pool.get().unwrap() += 1;
    /// }
    /// assert_eq!(*pool.get().unwrap(), 0); // a new one
    /// ```
    pub fn with_check(mut self, check: impl Fn(&mut T) -> bool + Send + Sync + 'static) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    /// Sets how long an object may be idle. An object that was idle for longer isn't handed out
    /// again. It is dropped when an object is next got: a pool that nobody uses keeps its objects.
    /// It applies to this handle and its later clones.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use std::time::Duration;
    /// use gosched::sync::Pool;
    /// use gosched::{synctest, time};
    ///
    /// synctest::test(|| {
    ///     let pool = Pool::new(2, || Ok::<_, Infallible>(0)).with_idle_limit(Duration::from_secs(60));
    ///     *pool.get().unwrap() += 1;
    ///     time::sleep(Duration::from_secs(59));
    ///     assert_eq!(*pool.get().unwrap(), 1);
    ///     time::sleep(Duration::from_secs(60));
    ///     assert_eq!(*pool.get().unwrap(), 0); // a new one
    /// });
    /// ```
    pub fn with_idle_limit(mut self, limit: Duration) -> Self {
        self.idle_limit = nanos(limit);
        self
    }

    /// Hands out an object: an idle one, or a new one if none is idle. Waits while `max` are in
    /// use. Under a context it is [`ctx.with(&pool).get()`](crate::context::With::get).
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use gosched::sync::Pool;
    ///
    /// gosched::run(|| {
    ///     let pool = Pool::new(3, || Ok::<_, Infallible>(Vec::new()));
    ///     gosched::scope(|s| {
    ///         for i in 0..100 {
    ///             let pool = &pool;
    ///             s.go(move || pool.get().unwrap().push(i));
    ///         }
    ///     });
    ///     assert!(pool.idle() <= 3);
    /// });
    /// ```
    ///
    /// # Errors
    /// That of the function that makes an object. The next call may try again.
    ///
    /// # Panics
    /// As the function that makes an object, and the check, do. If it must wait inside
    /// [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn get(&self) -> Result<Pooled<T>, E> {
        mem::forget(self.shared.slots.acquire());
        self.fill_slot()
    }

    /// [`get`](Self::get) with a limit of the time that it waits while `max` are in use. The
    /// functions that check and make an object have as long as they take.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use std::time::Duration;
    /// use gosched::sync::{Pool, PoolError};
    ///
    /// gosched::run(|| {
    ///     let pool = Pool::new(1, || Ok::<_, Infallible>(7));
    ///     let _held = pool.get();
    ///     let late = pool.get_timeout(Duration::from_millis(1));
    ///     assert!(matches!(late, Err(PoolError::TimedOut)));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the time is over before an object is free; and as [`get`](Self::get).
    ///
    /// # Panics
    /// As [`get`](Self::get).
    #[track_caller]
    pub fn get_timeout(&self, timeout: Duration) -> Result<Pooled<T>, PoolError<E>> {
        mem::forget(self.shared.slots.acquire_timeout(timeout).ok_or(PoolError::TimedOut)?);
        self.fill_slot().map_err(PoolError::Make)
    }

    /// [`get`](Self::get) that doesn't wait: it returns `None` while `max` are in use, or others
    /// wait.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use gosched::sync::Pool;
    ///
    /// let pool = Pool::new(1, || Ok::<_, Infallible>(7));
    /// let held = pool.try_get().unwrap();
    /// assert!(held.is_some() && pool.try_get().unwrap().is_none());
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// # Panics
    /// As the function that makes an object, and the check, do.
    pub fn try_get(&self) -> Result<Option<Pooled<T>>, E> {
        let Some(slot) = self.shared.slots.try_acquire() else { return Ok(None) };
        mem::forget(slot);
        self.fill_slot().map(Some)
    }

    /// The permits for objects in use.
    pub(crate) fn slots(&self) -> &Semaphore {
        &self.shared.slots
    }

    /// Returns an object. The caller has taken a permit, and forgotten it.
    pub(crate) fn fill_slot(&self) -> Result<Pooled<T>, E> {
        // Gives the permit back if anything below fails.
        let mut pooled = Pooled { shared: self.shared.clone(), object: None };
        // Not in the guard yet: if the check panics, the object is dropped.
        while let Some((mut object, is_old)) = self.shared.take_idle(self.idle_limit) {
            if !is_old && self.check.as_ref().is_none_or(|check| check(&mut object)) {
                pooled.object = Some(object);
                return Ok(pooled);
            }
        }
        pooled.object = Some((self.make)()?);
        Ok(pooled)
    }

    /// How many objects there may be.
    ///
    /// ```
    /// use gosched::sync::Pool;
    ///
    /// let pool: Pool<u32> = Pool::new(3, || Ok(7));
    /// assert_eq!(pool.max(), 3);
    /// ```
    pub fn max(&self) -> usize {
        self.shared.max
    }

    /// How many objects are in use at this moment, or are being made.
    ///
    /// ```
    /// use gosched::sync::Pool;
    ///
    /// let pool: Pool<u32> = Pool::new(3, || Ok(7));
    /// let _held = pool.get();
    /// assert_eq!(pool.in_use(), 1);
    /// ```
    pub fn in_use(&self) -> usize {
        self.shared.max - self.shared.slots.available_permits()
    }

    /// How many objects are there and not in use at this moment.
    ///
    /// ```
    /// use gosched::sync::Pool;
    ///
    /// let pool: Pool<u32> = Pool::new(3, || Ok(7));
    /// assert_eq!(pool.idle(), 0);
    /// drop(pool.get());
    /// assert_eq!(pool.idle(), 1);
    /// ```
    pub fn idle(&self) -> usize {
        self.shared.idle().len()
    }
}

impl<T> Pooled<T> {
    /// Takes the object out of the pool for good. A new one may be made in its place.
    ///
    /// ```
    /// use gosched::sync::{Pool, Pooled};
    ///
    /// let pool: Pool<u32> = Pool::new(1, || Ok(7));
    /// let object: u32 = Pooled::detach(pool.get().unwrap());
    /// assert_eq!((object, pool.in_use(), pool.idle()), (7, 0, 0));
    /// ```
    pub fn detach(mut guard: Self) -> T {
        guard.object.take().expect(THERE)
    }

    /// Drops the object, and doesn't give it back: for one that is known to be broken. A new one
    /// may be made in its place after that.
    ///
    /// ```
    /// use gosched::sync::{Pool, Pooled};
    ///
    /// let pool: Pool<u32> = Pool::new(1, || Ok(7));
    /// Pooled::discard(pool.get().unwrap());
    /// assert_eq!((pool.in_use(), pool.idle()), (0, 0));
    /// ```
    pub fn discard(mut guard: Self) {
        drop(guard.object.take());
    }
}

/// What the options of guards are expected to be.
const THERE: &str = "a guard has an object until it is consumed";

impl<T> Deref for Pooled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.object.as_ref().expect(THERE)
    }
}

impl<T> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.object.as_mut().expect(THERE)
    }
}

impl<T> Drop for Pooled<T> {
    fn drop(&mut self) {
        /// Gives the permit back, also if the object's drop panics.
        struct Slot<'a>(&'a Semaphore);
        impl Drop for Slot<'_> {
            fn drop(&mut self) {
                self.0.give_back(1);
            }
        }

        let _slot = Slot(&self.shared.slots);
        let Some(object) = self.object.take() else { return };
        // A read that its run has ended may have left an answer in a connection.
        if thread::panicking() || run_is_over() {
            drop(object);
        } else {
            let now = now();
            self.shared.idle().push_back((now, object));
        }
    }
}

impl<T, E> Clone for Pool<T, E> {
    fn clone(&self) -> Self {
        Pool {
            shared: self.shared.clone(),
            make: self.make.clone(),
            check: self.check.clone(),
            idle_limit: self.idle_limit,
        }
    }
}

impl<T, E> fmt::Debug for Pool<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Pool");
        out.field("max", &self.max()).field("in_use", &self.in_use()).field("idle", &self.idle()).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for Pooled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: fmt::Display> fmt::Display for Pooled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

/// Why a [`Pool`] has handed out no object in time.
///
/// ```
/// use std::time::Duration;
/// use gosched::sync::{Pool, PoolError};
///
/// let pool: Pool<u32, &str> = Pool::new(1, || Err("refused"));
/// let error = pool.get_timeout(Duration::from_secs(1)).unwrap_err();
/// assert_eq!(error, PoolError::Make("refused"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError<E> {
    /// The function that makes an object has failed.
    Make(E),
    /// The time was over before an object was free.
    TimedOut,
}

impl<E: fmt::Display> fmt::Display for PoolError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolError::Make(error) => error.fmt(f),
            PoolError::TimedOut => f.pad("timed out waiting for an object of a pool"),
        }
    }
}

impl<E: Error + 'static> Error for PoolError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            PoolError::Make(error) => Some(error),
            PoolError::TimedOut => None,
        }
    }
}
