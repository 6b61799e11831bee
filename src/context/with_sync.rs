//! [`With`] for limits that are made of other waits.

use std::mem;

use crate::context::{AcquireContextError, PoolContextError, RateContextError, With};
use crate::runtime::{must_wait, nanos, until};
use crate::sync::{Pool, Pooled, RateLimiter};

impl With<'_, '_, RateLimiter> {
    /// [`RateLimiter::wait`] that ends with the context. If the token will not be there before the
    /// context's deadline, it fails at once. Go's `Wait`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::context::{Context, RateContextError};
    /// use gosched::sync::RateLimiter;
    ///
    /// gosched::run(|| {
    ///     let limiter = RateLimiter::every(Duration::from_secs(3600), 1);
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_secs(60));
    ///     assert_eq!(ctx.with(&limiter).wait(), Ok(()));
    ///     assert_eq!(ctx.with(&limiter).wait(), Err(RateContextError::TooLate)); // at once
    /// });
    /// ```
    ///
    /// # Errors
    /// If the context has ended, or will have ended before the token is there. No token was taken
    /// then, but for those that waiters behind it were counted on: see
    /// [`Reservation::cancel`](crate::sync::Reservation::cancel).
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn wait(&self) -> Result<(), RateContextError> {
        self.wait_n(1)
    }

    /// [`RateLimiter::wait_n`] that ends with the context, as [`wait`](Self::wait). Go's `WaitN`.
    ///
    /// ```
    /// use gosched::context::{Context, RateContextError};
    /// use gosched::sync::RateLimiter;
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_cancel();
    ///     let bytes = RateLimiter::new(1e6, 1024);
    ///     assert_eq!(ctx.with(&bytes).wait_n(512), Ok(()));
    ///     assert!(matches!(ctx.with(&bytes).wait_n(2000), Err(RateContextError::Burst(_))));
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`wait`](Self::wait), and if `n` is more than the burst.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_n(&self, n: u32) -> Result<(), RateContextError> {
        self.ctx.check()?;
        self.on.check(n)?;
        if self.on.allow_n(n) {
            return Ok(());
        }
        let _guest = must_wait("RateLimiter::wait");
        let most = self.ctx.deadline().map_or(i64::MAX, |deadline| nanos(until(deadline)));
        let reservation = self.on.reserve_within(n, most)?.ok_or(RateContextError::TooLate)?;
        Ok(reservation.wait(|delay| self.ctx.sleep(delay))?)
    }
}

impl<T, E> With<'_, '_, Pool<T, E>> {
    /// [`Pool::get`] that ends with the context while it waits. The functions that check and make
    /// an object don't end with it.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use std::time::Duration;
    /// use gosched::context::{Context, ContextError, PoolContextError};
    /// use gosched::sync::Pool;
    ///
    /// gosched::run(|| {
    ///     let pool = Pool::new(1, || Ok::<_, Infallible>(7));
    ///     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
    ///     let _held = pool.get();
    ///     let late = PoolContextError::Ended(ContextError::DeadlineExceeded);
    ///     assert_eq!(ctx.with(&pool).get().unwrap_err(), late);
    /// });
    /// ```
    ///
    /// # Errors
    /// If the context has ended before an object was free; and that of the function that makes an
    /// object.
    ///
    /// # Panics
    /// As [`Pool::get`].
    #[track_caller]
    pub fn get(&self) -> Result<Pooled<T>, PoolContextError<E>> {
        match self.ctx.with(self.on.slots()).acquire() {
            Ok(slot) => mem::forget(slot),
            Err(AcquireContextError::Ended(error)) => return Err(PoolContextError::Ended(error)),
            Err(AcquireContextError::Closed) => unreachable!("a pool isn't closed"),
        }
        self.on.fill_slot().map_err(PoolContextError::Make)
    }
}
