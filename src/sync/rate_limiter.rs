//! [`RateLimiter`]: Go's `golang.org/x/time/rate`.

use std::cell::Cell;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

use crate::runtime::runtime2::Mutex;
use crate::runtime::{lock, must_wait, nanos, now, on_goroutine, point, unlock};
use crate::sync::WaitTimeoutResult;
use crate::time::sleep;

/// A limit on how often something happens: a token bucket. Go's `rate.Limiter`, of
/// `golang.org/x/time/rate`.
///
/// The bucket gets `rate` tokens a second, and holds at most `burst`. It is full at first. Each
/// event takes a token. [`allow`](Self::allow) takes one if there is one, [`wait`](Self::wait)
/// waits for one, and [`reserve`](Self::reserve) says how long the caller has to wait. Waiters go
/// on in the order in which they came, at the times at which their tokens are there.
///
/// ```
/// use std::time::Duration;
/// use gosched::sync::RateLimiter;
/// use gosched::{synctest, time};
///
/// synctest::test(|| {
///     let limiter = RateLimiter::new(10.0, 3); // 10 a second, at most 3 at once
///     let start = time::now();
///     for _ in 0..5 {
///         limiter.wait();
///     }
///     // Three at once, and two a tenth of a second apart.
///     assert_eq!(time::now() - start, Duration::from_millis(200));
/// });
/// ```
///
/// Its clock is that of [`time::now`](crate::time::now): in an [exploration](crate::explore) and in
/// a [`synctest`](crate::synctest) it stands still while a goroutine can run.
///
/// | in Go | here |
/// | --- | --- |
/// | `rate.NewLimiter(10, 3)` | `RateLimiter::new(10.0, 3)` |
/// | `rate.NewLimiter(rate.Every(d), 3)` | `RateLimiter::every(d, 3)` |
/// | `rate.Inf` | `f64::INFINITY` |
/// | `Allow`, `AllowN(time.Now(), n)` | `allow`, `allow_n` |
/// | `Wait(ctx)`, `WaitN(ctx, n)` | [`ctx.with(&limiter).wait()`](crate::context::With::wait_n), `wait_n` |
/// | `Reserve`, `ReserveN(time.Now(), n)` | `reserve`, `reserve_n` |
/// | `Delay`, `Cancel` of a reservation | `delay`, `cancel` |
/// | `Limit`, `SetLimit`, `Burst`, `SetBurst`, `Tokens` | `rate`, `set_rate`, `burst`, `set_burst`, `tokens` |
pub struct RateLimiter {
    /// Protects the other fields.
    lock: Mutex,
    /// Tokens a second.
    rate: Cell<f64>,
    burst: Cell<u32>,
    /// How many tokens there were at the time `last`; negative if that many are reserved and not
    /// there yet.
    tokens: Cell<f64>,
    last: Cell<i64>,
    /// The latest time for which tokens are reserved.
    last_event: Cell<i64>,
}

// SAFETY: the fields belong to no thread.
unsafe impl Send for RateLimiter {}
// SAFETY: the fields are accessed with the lock held.
unsafe impl Sync for RateLimiter {}
// Nothing panics while the fields are changed.
impl UnwindSafe for RateLimiter {}
impl RefUnwindSafe for RateLimiter {}

/// How many tokens come in `ns` nanoseconds.
fn tokens_in(rate: f64, ns: i64) -> f64 {
    rate * ns as f64 / 1e9
}

/// How many nanoseconds it takes until `tokens` tokens have come: at most 292 years.
fn nanos_for(rate: f64, tokens: f64) -> i64 {
    // Rounded up, so that the tokens are there after that time. The cast saturates.
    (tokens * 1e9 / rate).ceil() as i64
}

impl RateLimiter {
    /// A limiter with a full bucket of `burst` tokens, that gets `rate` tokens a second. With
    /// `f64::INFINITY` it limits nothing.
    ///
    /// ```
    /// use gosched::sync::RateLimiter;
    ///
    /// static LOGINS: RateLimiter = RateLimiter::new(0.001, 3);
    /// assert!(LOGINS.allow() && LOGINS.allow() && LOGINS.allow());
    /// assert!(!LOGINS.allow());
    /// ```
    ///
    /// # Panics
    /// If `rate` isn't positive, or `burst` is 0: nothing would ever be allowed.
    pub const fn new(rate: f64, burst: u32) -> Self {
        assert!(rate > 0.0, "gosched: the rate of a RateLimiter is positive");
        assert!(burst > 0, "gosched: the burst of a RateLimiter isn't 0");
        RateLimiter {
            lock: Mutex::new(),
            rate: Cell::new(rate),
            burst: Cell::new(burst),
            tokens: Cell::new(burst as f64),
            last: Cell::new(0),
            last_event: Cell::new(0),
        }
    }

    /// A limiter that gets a token each `interval`. With an interval of 0 it limits nothing. Go's
    /// `rate.Every`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::RateLimiter;
    ///
    /// let limiter = RateLimiter::every(Duration::from_millis(20), 1);
    /// assert_eq!(limiter.rate(), 50.0);
    /// ```
    ///
    /// # Panics
    /// If `burst` is 0.
    pub const fn every(interval: Duration, burst: u32) -> Self {
        RateLimiter::new(1.0 / interval.as_secs_f64(), burst)
    }

    /// Calls `f` with the lock held.
    fn locked<R>(&self, what: &'static str, f: impl FnOnce() -> R) -> R {
        point(what);
        lock(&self.lock);
        let result = f();
        unlock(&self.lock);
        result
    }

    /// The time, and how many tokens there are then. The lock is held.
    fn advance(&self) -> (i64, f64) {
        // Another thread's look at the clock may have been later.
        let now = now().max(self.last.get());
        let tokens = self.tokens.get() + tokens_in(self.rate.get(), now - self.last.get());
        (now, tokens.min(f64::from(self.burst.get())))
    }

    /// Reserves `n` tokens if they are there in at most `most` nanoseconds. The lock isn't held.
    pub(crate) fn reserve_within(&self, n: u32, most: i64) -> Result<Option<Reservation<'_>>, BurstError> {
        self.locked("reserve", || {
            let (rate, burst) = (self.rate.get(), self.burst.get());
            let reservation = |at| Reservation { limiter: self, n, at, rate };
            if rate.is_infinite() {
                return Ok(Some(reservation(now())));
            }
            if n > burst {
                return Err(BurstError { n, burst });
            }
            let (now, tokens) = self.advance();
            let tokens = tokens - f64::from(n);
            let delay = if tokens < 0.0 { nanos_for(rate, -tokens) } else { 0 };
            if delay > most {
                return Ok(None);
            }
            let at = now.saturating_add(delay);
            self.last.set(now);
            self.tokens.set(tokens);
            self.last_event.set(at);
            Ok(Some(reservation(at)))
        })
    }

    /// Takes a token if there is one. Go's `Allow`.
    ///
    /// ```
    /// use gosched::sync::RateLimiter;
    ///
    /// let limiter = RateLimiter::new(1.0, 1);
    /// assert!(limiter.allow());
    /// if !limiter.allow() {
    ///     println!("too many requests");
    /// }
    /// ```
    #[must_use = "it says whether the event is allowed"]
    pub fn allow(&self) -> bool {
        self.allow_n(1)
    }

    /// Takes `n` tokens if there are `n`; otherwise takes none. Go's `AllowN`.
    ///
    /// ```
    /// let limiter = gosched::sync::RateLimiter::new(0.001, 3);
    /// assert!(limiter.allow_n(2) && !limiter.allow_n(2));
    /// ```
    #[must_use = "it says whether the events are allowed"]
    pub fn allow_n(&self, n: u32) -> bool {
        matches!(self.reserve_within(n, 0), Ok(Some(_)))
    }

    /// Takes a token. Waits until there is one. Go's `Wait`.
    ///
    /// ```
    /// use gosched::sync::RateLimiter;
    ///
    /// static PAGES: RateLimiter = RateLimiter::new(1000.0, 10);
    ///
    /// gosched::run(|| {
    ///     for page in 0..20 {
    ///         PAGES.wait(); // a thousand pages a second, ten of them at once
    ///         println!("page {page}");
    ///     }
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait(&self) {
        self.wait_limited(1, i64::MAX).expect("a bucket holds one token");
    }

    /// Takes `n` tokens. Waits until there are `n`. Go's `WaitN`.
    ///
    /// ```
    /// use gosched::sync::RateLimiter;
    ///
    /// gosched::run(|| {
    ///     let bytes = RateLimiter::new(1e6, 1024);
    ///     bytes.wait_n(512).unwrap();
    ///     assert!(bytes.wait_n(2000).is_err());
    /// });
    /// ```
    ///
    /// # Errors
    /// If `n` is more than the burst: the bucket never holds `n`. Nothing was taken then.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait_n(&self, n: u32) -> Result<(), BurstError> {
        self.wait_limited(n, i64::MAX).map(drop)
    }

    /// [`wait`](Self::wait) with a time limit. If the token will not be there in time, it returns
    /// at once, and takes nothing. The result says whether that was so.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::RateLimiter;
    ///
    /// let limiter = RateLimiter::every(Duration::from_secs(3600), 1);
    /// assert!(!limiter.wait_timeout(Duration::ZERO).timed_out());
    /// assert!(limiter.wait_timeout(Duration::from_secs(60)).timed_out()); // at once
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait_timeout(&self, timeout: Duration) -> WaitTimeoutResult {
        WaitTimeoutResult(!self.wait_limited(1, nanos(timeout)).expect("a bucket holds one token"))
    }

    /// Takes `n` tokens if they are there in at most `most` nanoseconds, and waits for them.
    /// Returns whether it has.
    #[track_caller]
    fn wait_limited(&self, n: u32, most: i64) -> Result<bool, BurstError> {
        if !on_goroutine() {
            // What needs no wait works everywhere, and a panic of must_wait takes no tokens.
            if self.allow_n(n) {
                return Ok(true);
            }
            self.check(n)?;
            if most < self.delay_of(n) {
                return Ok(false);
            }
        }
        let _guest = must_wait("RateLimiter::wait");
        let Some(reservation) = self.reserve_within(n, most)? else { return Ok(false) };
        let Ok(()) = reservation.wait(|delay| {
            sleep(delay);
            Ok::<_, Infallible>(())
        });
        Ok(true)
    }

    /// Returns an error if the bucket never holds `n` tokens.
    pub(crate) fn check(&self, n: u32) -> Result<(), BurstError> {
        let burst = self.burst();
        if n > burst && self.rate().is_finite() { Err(BurstError { n, burst }) } else { Ok(()) }
    }

    /// In how many nanoseconds `n` tokens are there.
    fn delay_of(&self, n: u32) -> i64 {
        self.locked("delay", || nanos_for(self.rate.get(), f64::from(n) - self.advance().1))
    }

    /// Takes a token that may only be there in the future, and says when. Go's `Reserve`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::RateLimiter;
    /// use gosched::synctest;
    ///
    /// synctest::test(|| {
    ///     let limiter = RateLimiter::new(10.0, 1);
    ///     assert_eq!(limiter.reserve().delay(), Duration::ZERO);
    ///     assert_eq!(limiter.reserve().delay(), Duration::from_millis(100));
    ///     assert_eq!(limiter.reserve().delay(), Duration::from_millis(200));
    /// });
    /// ```
    pub fn reserve(&self) -> Reservation<'_> {
        self.reserve_n(1).expect("a bucket holds one token")
    }

    /// [`reserve`](Self::reserve) for `n` tokens. Go's `ReserveN`.
    ///
    /// ```
    /// let limiter = gosched::sync::RateLimiter::new(10.0, 3);
    /// assert!(limiter.reserve_n(4).is_err());
    /// let later = limiter.reserve_n(3).unwrap();
    /// later.cancel();
    /// ```
    ///
    /// # Errors
    /// If `n` is more than the burst. Nothing was taken then.
    pub fn reserve_n(&self, n: u32) -> Result<Reservation<'_>, BurstError> {
        Ok(self.reserve_within(n, i64::MAX)?.expect("no delay is longer"))
    }

    /// How many tokens come in a second. Go's `Limit`.
    ///
    /// ```
    /// assert_eq!(gosched::sync::RateLimiter::new(10.0, 1).rate(), 10.0);
    /// ```
    pub fn rate(&self) -> f64 {
        self.locked("rate", || self.rate.get())
    }

    /// Sets how many tokens come in a second from now on. The times of tokens that are reserved
    /// already, or waited for, stay, as in Go. Go's `SetLimit`.
    ///
    /// ```
    /// let limiter = gosched::sync::RateLimiter::new(10.0, 1);
    /// limiter.set_rate(f64::INFINITY);
    /// assert!(limiter.allow() && limiter.allow());
    /// ```
    ///
    /// # Panics
    /// If `rate` isn't positive.
    #[track_caller]
    pub fn set_rate(&self, rate: f64) {
        assert!(rate > 0.0, "gosched: the rate of a RateLimiter is positive");
        self.locked("set_rate", || {
            self.settle();
            self.rate.set(rate);
        });
    }

    /// How many tokens the bucket holds when it is full. Go's `Burst`.
    ///
    /// ```
    /// assert_eq!(gosched::sync::RateLimiter::new(10.0, 3).burst(), 3);
    /// ```
    pub fn burst(&self) -> u32 {
        self.locked("burst", || self.burst.get())
    }

    /// Sets how many tokens the bucket holds at most, from now on. A larger bucket isn't full at
    /// once. Go's `SetBurst`.
    ///
    /// ```
    /// let limiter = gosched::sync::RateLimiter::new(0.001, 3);
    /// limiter.set_burst(1);
    /// assert!(limiter.allow() && !limiter.allow());
    /// ```
    ///
    /// # Panics
    /// If `burst` is 0.
    #[track_caller]
    pub fn set_burst(&self, burst: u32) {
        assert!(burst > 0, "gosched: the burst of a RateLimiter isn't 0");
        self.locked("set_burst", || {
            self.settle();
            self.burst.set(burst);
        });
    }

    /// Counts the tokens that have come until now, by the rate and the burst until now. The lock is
    /// held.
    fn settle(&self) {
        let (now, tokens) = self.advance();
        self.last.set(now);
        self.tokens.set(tokens);
    }

    /// How many tokens there are now. Less than 0 if that many are reserved and not there yet. Go's
    /// `Tokens`.
    ///
    /// ```
    /// let limiter = gosched::sync::RateLimiter::new(10.0, 3);
    /// assert_eq!(limiter.tokens(), 3.0);
    /// ```
    pub fn tokens(&self) -> f64 {
        self.locked("tokens", || self.advance().1)
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RateLimiter");
        out.field("rate", &self.rate()).field("burst", &self.burst()).field("tokens", &self.tokens()).finish()
    }
}

/// Tokens that a [`RateLimiter`] has promised. They count as used, also if this is dropped, unless
/// it is [canceled](Self::cancel). Go's `rate.Reservation`.
///
/// ```
/// use gosched::sync::{RateLimiter, Reservation};
/// use gosched::{synctest, time};
///
/// synctest::test(|| {
///     let limiter = RateLimiter::new(10.0, 1);
///     assert!(limiter.allow());
///     let next: Reservation<'_> = limiter.reserve();
///     time::sleep(next.delay());
///     // Now it may happen.
/// });
/// ```
#[must_use = "its tokens are used, unless it is canceled"]
pub struct Reservation<'a> {
    limiter: &'a RateLimiter,
    n: u32,
    /// The time at which the tokens are there.
    at: i64,
    /// The limiter's rate when they were reserved.
    rate: f64,
}

impl Reservation<'_> {
    /// How long it is until the tokens are there. Go's `Delay`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let limiter = gosched::sync::RateLimiter::new(10.0, 1);
    /// assert_eq!(limiter.reserve().delay(), Duration::ZERO);
    /// assert!(limiter.reserve().delay() <= Duration::from_millis(100));
    /// ```
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(self.at.saturating_sub(now()).max(0).cast_unsigned())
    }

    /// Gives the tokens back, unless their time has passed. Tokens on which later reservations have
    /// been counted aren't given back: these reservations keep their times. Go's `Cancel`.
    ///
    /// ```
    /// use gosched::sync::RateLimiter;
    /// use gosched::synctest;
    ///
    /// synctest::test(|| {
    ///     let limiter = RateLimiter::new(10.0, 1);
    ///     assert!(limiter.allow());
    ///     let next = limiter.reserve();
    ///     assert_eq!(limiter.tokens(), -1.0);
    ///     next.cancel();
    ///     assert_eq!(limiter.tokens(), 0.0);
    /// });
    /// ```
    pub fn cancel(self) {
        let limiter = self.limiter;
        limiter.locked("cancel", || {
            let (now, tokens) = limiter.advance();
            if limiter.rate.get().is_infinite() || self.rate.is_infinite() || self.at < now {
                return;
            }
            let n = f64::from(self.n);
            // Not negative: another cancel may have moved the last event before this one.
            let later = (limiter.last_event.get() - self.at).max(0);
            let unused = n - tokens_in(self.rate, later);
            if unused <= 0.0 {
                return;
            }
            limiter.last.set(now);
            limiter.tokens.set((tokens + unused).min(f64::from(limiter.burst.get())));
            if self.at == limiter.last_event.get() {
                let before = self.at.saturating_sub(nanos_for(self.rate, n));
                if before >= now {
                    limiter.last_event.set(before);
                }
            }
        });
    }
}

impl Reservation<'_> {
    /// Calls `sleep` with the delay. If that fails or unwinds, gives the tokens back.
    pub(crate) fn wait<E>(self, sleep: impl FnOnce(Duration) -> Result<(), E>) -> Result<(), E> {
        let delay = self.delay();
        let mut given_back = GivenBack(Some(self));
        let slept = sleep(delay);
        if slept.is_ok() {
            given_back.0 = None;
        }
        slept
    }
}

/// A reservation that is canceled when this is dropped.
struct GivenBack<'a>(Option<Reservation<'a>>);

impl Drop for GivenBack<'_> {
    fn drop(&mut self) {
        if let Some(reservation) = self.0.take() {
            reservation.cancel();
        }
    }
}

impl fmt::Debug for Reservation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("n", &self.n).field("delay", &self.delay()).finish()
    }
}

/// The error of a request for more tokens than the bucket of a [`RateLimiter`] holds.
///
/// ```
/// use gosched::sync::{BurstError, RateLimiter};
///
/// let error: BurstError = RateLimiter::new(10.0, 3).wait_n(4).unwrap_err();
/// assert_eq!(error.to_string(), "4 tokens are more than the burst, which is 3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstError {
    n: u32,
    burst: u32,
}

impl fmt::Display for BurstError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens are more than the burst, which is {}", self.n, self.burst)
    }
}

impl Error for BurstError {}
