//! Waits under a context for the receivers that a wait changes.

use crate::chan::{broadcast, watch};
use crate::context::{RecvContextError, WithMut};

impl<T> WithMut<'_, watch::Receiver<T>> {
    /// [`changed`](watch::Receiver::changed) that ends with the context.
    ///
    /// ```
    /// use gosched::chan::watch;
    /// use gosched::context::{Context, ContextError, RecvContextError};
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let (tx, mut rx) = watch::channel(1);
    ///     tx.send(2).unwrap();
    ///     assert_eq!(ctx.with_mut(&mut rx).changed(), Ok(()));
    ///     gosched::go(move || cancel.cancel());
    ///     let canceled = RecvContextError::Ended(ContextError::Canceled);
    ///     assert_eq!(ctx.with_mut(&mut rx).changed(), Err(canceled));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the receiver has seen the value and there is no sender, or the context has ended.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn changed(&mut self) -> Result<(), RecvContextError> {
        let ended = self.ctx.with(&self.on.c()).recv();
        // Otherwise the channel is closed, and there is a result.
        if let Err(error @ RecvContextError::Ended(_)) = ended {
            return Err(error);
        }
        self.on.changed().map_err(|_| RecvContextError::Disconnected)
    }

    /// [`wait_for`](watch::Receiver::wait_for) that ends with the context.
    ///
    /// ```
    /// use gosched::chan::watch;
    /// use gosched::context::Context;
    ///
    /// gosched::run(|| {
    ///     let (ctx, _cancel) = Context::background().with_cancel();
    ///     let (tx, mut rx) = watch::channel(1);
    ///     gosched::go(move || tx.send(5));
    ///     assert_eq!(*ctx.with_mut(&mut rx).wait_for(|&level| level >= 5).unwrap(), 5);
    /// });
    /// ```
    ///
    /// # Errors
    /// If the condition isn't true for the last value and there is no sender, or the context has
    /// ended.
    ///
    /// # Panics
    /// As [`changed`](Self::changed), and if `condition` does.
    #[track_caller]
    pub fn wait_for(
        &mut self,
        condition: impl FnMut(&T) -> bool,
    ) -> Result<watch::Ref<'_, T>, RecvContextError> {
        self.ctx.check()?;
        let ctx = self.ctx;
        self.on.wait_for_by(condition, |c| match ctx.with(c).recv() {
            Err(error @ RecvContextError::Ended(_)) => Err(error),
            // It is closed: there may be a result.
            _ => Ok(()),
        })
    }
}

impl<T: Clone> WithMut<'_, broadcast::Receiver<T>> {
    /// [`recv`](broadcast::Receiver::recv) that ends with the context.
    ///
    /// ```
    /// use gosched::chan::broadcast::{self, RecvContextError};
    /// use gosched::context::{Context, ContextError};
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let (tx, mut rx) = broadcast::channel(16);
    ///     tx.send(7).unwrap();
    ///     assert_eq!(ctx.with_mut(&mut rx).recv(), Ok(7));
    ///     gosched::go(move || cancel.cancel());
    ///     let canceled = RecvContextError::Ended(ContextError::Canceled);
    ///     assert_eq!(ctx.with_mut(&mut rx).recv(), Err(canceled));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the receiver has missed values, if it has received all and there is no sender, or if the
    /// context has ended. Nothing was received then.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn recv(&mut self) -> Result<T, broadcast::RecvContextError> {
        if let Err(RecvContextError::Ended(error)) = self.ctx.with(&self.on.c()).recv() {
            return Err(error.into());
        }
        // The channel is closed, so there is a result.
        Ok(self.on.recv()?)
    }
}
