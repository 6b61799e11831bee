//! Runs: calls of any code, whose waits end with a context. `runtime/g/extent.rs` says how a
//! wait takes part.

use std::any::Any;
use std::io;
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::sync::Arc;

use crate::chan::Receiver;
use crate::context::scope::Scope;
use crate::context::{Context, ContextError};
use crate::goroutine::catch_into;
use crate::runtime::{Ended, current_run, enter_run, is_aborted_here, outside_of_run};

impl Context {
    /// Calls `f`, whose waits end when this context does, at any depth of calls, also in code that
    /// knows nothing of contexts.
    ///
    /// When the context ends, the wait in progress ends. A read, a write or an accept returns an
    /// error, which [`ContextError::of`] recognizes. All other waits, and each wait that begins
    /// after the end, unwind to this call, as a panic does but without a message: destructors run,
    /// and the panic hook isn't called.
    ///
    /// ```
    /// use gosched::chan::{Receiver, bounded};
    /// use gosched::context::{Context, ContextError};
    ///
    /// /// Knows nothing of contexts.
    /// fn sum(numbers: &Receiver<u32>) -> u32 {
    ///     numbers.iter().sum()
    /// }
    ///
    /// gosched::run(|| {
    ///     let (ctx, cancel) = Context::background().with_cancel();
    ///     let (tx, rx) = bounded(1);
    ///     tx.send(1).unwrap(); // and no end
    ///     gosched::go(move || cancel.cancel());
    ///     assert_eq!(ctx.run(|| sum(&rx)), Err(ContextError::Canceled));
    /// });
    /// ```
    ///
    /// | what waits in `f` | when the context ends |
    /// | --- | --- |
    /// | channels, `select!`, `Select::ready`, `Mutex`, `RwLock`, `Condvar`, `Semaphore`, `Notify`, `WaitGroup`, `Barrier`, `Pool`, `RateLimiter`, `Once`, `sleep`, `join`, `block_on` | unwinds |
    /// | sockets, pipes, children, `Pollable` | an error, if the wait had begun before the end |
    /// | std's sockets, pipes and children after `park_std_waits`, without `poll` and `epoll_wait` | the error `ECANCELED`, in later waits of these, too |
    /// | [`blocking`](crate::blocking), std's other waits, computation | goes on; the next wait unwinds |
    /// | functions of the raw and the C API | go on |
    ///
    /// - Goroutines of a [`scope`](crate::scope) in `f` are in the same run. The scope waits for
    ///   them as always. Goroutines of [`go`](crate::go) aren't in the run.
    /// - [`shield`] holds the end back. A goroutine that unwinds is shielded, and so are
    ///   destructors of thread-locals: they may wait. A run that begins there doesn't end, either.
    /// - A generator of [`iter::pull`](crate::iter::pull) isn't in the run of the code that asks
    ///   it for values.
    /// - A receive from a closed channel unwinds, too, once the context has ended: its end may have
    ///   ended the senders first.
    /// - A `catch_unwind` in `f` sees the unwinding; the next wait begins it again.
    /// - Runs may be nested. Then a wait ends with the first of their contexts, and unwinds to the
    ///   innermost run whose context has ended.
    /// - With `panic = "abort"` there is no unwinding, and the process ends.
    ///
    /// It is Trio's `CancelScope`, Kotlin's `withContext` and Java's `StructuredTaskScope`, as far
    /// as they cancel. Go has none: a goroutine has to look at its context.
    ///
    /// # Errors
    /// If the context had ended before, and `f` wasn't called; or if its end has made `f` unwind.
    /// If `f` returns, its value counts, also after the end.
    ///
    /// # Panics
    /// As `f` does.
    #[track_caller]
    pub fn run<T>(&self, f: impl FnOnce() -> T) -> Result<T, ContextError> {
        self.check()?;
        let Some(scope) = self.scope() else { return Ok(f()) };
        let (run, place) = match scope_of_run() {
            Some(outer) if !scope.ends_with(&outer) => Scope::of_two(scope, &outer),
            _ => (scope.clone(), None),
        };
        let mut value = MaybeUninit::uninit();
        let payload = {
            let _entered = enter_run(Some(run));
            catch_into(&mut value, f)
        };
        if let Some(place) = place {
            place.remove();
        }
        match payload {
            // SAFETY: `f` has returned, so its value is there.
            None => Ok(unsafe { value.assume_init() }),
            Some(payload) => match self.err() {
                Some(error) if payload.is::<Ended>() => Err(error),
                // A panic, or the end of an outer run.
                _ => resume_unwind(payload),
            },
        }
    }
}

/// Calls `f`, whose waits don't end with the [runs](Context::run) that the caller is in. For work
/// that must not be left half done. The end takes effect at the first wait after `f`.
///
/// ```
/// use std::time::Duration;
/// use gosched::context::Context;
/// use gosched::{shield, time};
///
/// gosched::run(|| {
///     let (ctx, cancel) = Context::background().with_cancel();
///     let mut balances = [10, 0];
///     let result = ctx.run(|| {
///         cancel.cancel();
///         shield(|| {
///             balances[0] -= 1;
///             time::sleep(Duration::from_millis(1)); // doesn't end here
///             balances[1] += 1;
///         });
///         time::sleep(Duration::from_millis(1));
///         unreachable!("the sleep unwinds");
///     });
///     assert!(result.is_err());
///     assert_eq!(balances, [9, 1]);
/// });
/// ```
///
/// A run inside of `f` ends with its own context.
///
/// # Panics
/// As `f` does.
pub fn shield<T>(f: impl FnOnce() -> T) -> T {
    outside_of_run(f)
}

/// The scope of the run that the caller is in.
fn scope_of_run() -> Option<Arc<Scope>> {
    let run: Arc<dyn Any + Send + Sync> = current_run()?;
    run.downcast().ok()
}

/// A channel that is closed when the run is over that the caller is in.
pub(crate) fn end_of_run() -> Option<Receiver<()>> {
    Some(scope_of_run()?.done().clone())
}

/// Why the run is over that the caller is in, if it is, or the goroutine was aborted.
pub(crate) fn error_of_run() -> Option<io::Error> {
    if is_aborted_here() {
        return Some(ContextError::Canceled.into());
    }
    Some(scope_of_run()?.ended()?.error.into())
}
