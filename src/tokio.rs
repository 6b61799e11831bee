//! Futures of crates that need tokio: their timers, sockets and tasks are a tokio runtime's, which
//! is beside this one.
//!
//! A goroutine waits for such a future by [`block_on`]. What the future waits for, tokio's threads
//! see to; the code of the future itself runs on the goroutine. It takes the feature `tokio`.
//!
//! ```
//! use std::io;
//!
//! use gosched::go;
//! use gosched::tokio::block_on;
//! use tokio::net::{TcpListener, TcpStream};
//!
//! gosched::run(|| {
//!     let listener = block_on(async { TcpListener::bind("127.0.0.1:0").await })?;
//!     let address = listener.local_addr()?;
//!     let client = go(move || block_on(async move { TcpStream::connect(address).await?.local_addr() }));
//!     let (_, from) = block_on(listener.accept())?;
//!     assert_eq!(client.join().unwrap()?, from);
//!     Ok::<(), io::Error>(())
//! })
//! .unwrap();
//! ```
//!
//! # tokio's context
//!
//! Whatever of tokio's is made looks for a runtime in a thread-local: its *context*. Here a future
//! is in that while it is polled, and while it is dropped, and a goroutine isn't while it waits:
//! the next one on its thread finds none.
//!
//! - **Make it inside**: `block_on(async { sleep(time).await })`. In `block_on(sleep(time))` the
//!   sleep is made before there is a context, and panics, as with tokio's own `block_on`.
//! - **What comes out is outside.** Some types want the context when they are dropped, as a
//!   connection of sqlx's pool does: drop them inside, or have `let _entered = handle().enter();`
//!   around them. A goroutine with [thread-locals of its own](crate#thread-locals) may wait while
//!   it has that.
//! - **A future that waits often is better a task**: `block_on(handle().spawn(future))`. Polled
//!   here, each socket that it waits for wakes the goroutine on a thread of this crate's; as a task
//!   it stays with tokio's threads, and only its end does. It has to be `Send` and `'static` then.
//! - **Goroutines that wait for what a task sends** are no deadlock as long as [this crate's
//!   runtime](handle) has tasks. Of other runtimes' tasks nobody knows here: where they may take
//!   more than two seconds, set a [`DeadlockMode`](crate::DeadlockMode).
//! - The future may wait as goroutines do, for a channel, say: then the goroutine waits in the
//!   middle of a poll, and is in the context meanwhile. One that [shares
//!   thread-locals](crate::Builder::shared_locals) keeps its thread for that time.

use std::pin::{Pin, pin};
use std::sync::OnceLock;
use std::task::{Context, Poll};

use ::tokio::runtime::{Builder, Handle, Runtime};

use crate::goroutine::{self, stay};
use crate::runtime::no_deadlock_while;

/// Runs a future to its end on this goroutine, in the context of a tokio runtime: the one in whose
/// context the caller is already, or else [that of this crate](handle). Otherwise it is as
/// [`block_on`](crate::block_on).
///
/// ```
/// use std::time::Duration;
/// use gosched::go;
/// use gosched::tokio::block_on;
/// use tokio::time::sleep;
///
/// gosched::run(|| {
///     let sleepers = (0..100).map(|n| {
///         go(move || {
///             block_on(async move {
///                 sleep(Duration::from_millis(10)).await;
///                 tokio::spawn(async move { n * n }).await.unwrap()
///             })
///         })
///     });
///     let sleepers: Vec<_> = sleepers.collect();
///     let sum: u32 = sleepers.into_iter().map(|sleeper| sleeper.join().unwrap()).sum();
///     assert_eq!(sum, 328_350);
/// });
/// ```
///
/// In a task of tokio's it blocks the worker that runs the task: there, `.await` the future.
///
/// # Panics
/// As [`block_on`](crate::block_on) and [`handle`]; and in the destructor of a thread-local, if
/// tokio's are gone.
#[track_caller]
pub fn block_on<F: IntoFuture>(future: F) -> F::Output {
    match current() {
        Some(handle) => block_on_in(&handle, future),
        None => block_on_in(handle(), future),
    }
}

/// Runs a future to its end on this goroutine, in the context of the runtime that is given.
///
/// Somebody else has to run that. One with threads does so itself; one that is `current_thread`
/// does nothing but while a thread is in its `block_on`.
///
/// ```
/// use std::time::Duration;
/// use gosched::tokio::block_on_in;
/// use tokio::runtime::Builder;
/// use tokio::time::{Instant, sleep};
///
/// let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
/// gosched::run(|| {
///     let begin = Instant::now();
///     block_on_in(runtime.handle(), async { sleep(Duration::from_millis(10)).await });
///     assert!(begin.elapsed() >= Duration::from_millis(10));
/// });
/// ```
///
/// # Panics
/// As [`block_on`](crate::block_on); and in the destructor of a thread-local, if tokio's are gone.
/// What the future wants of a runtime that lacks it, or has been shut down, panics or fails in the
/// future, as tokio says there.
#[track_caller]
pub fn block_on_in<F: IntoFuture>(handle: &Handle, future: F) -> F::Output {
    let future = pin!(Some(in_context(handle, || future.into_future())));
    goroutine::block_on(InContext { handle, future })
}

/// The runtime of this crate, for those who have none: it has as many worker threads, timers and
/// sockets as tokio gives a `Runtime::new()`, is made when it is first asked for, and is there
/// until the process ends.
///
/// ```
/// use gosched::tokio::{block_on, handle};
///
/// let task = handle().spawn(async { 6 * 7 });
/// gosched::run(|| assert_eq!(block_on(task).unwrap(), 42));
/// ```
///
/// # Panics
/// If it can't be made, as there is no thread or no descriptor left: with the system's error. The
/// next call tries again.
#[track_caller]
pub fn handle() -> &'static Handle {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let make = || Builder::new_multi_thread().thread_name("gosched-tokio").enable_all().build();
    let has_tasks = || RUNTIME.get().is_some_and(|runtime| runtime.metrics().num_alive_tasks() > 0);
    let runtime = RUNTIME.get_or_init(|| match make() {
        Ok(runtime) => {
            no_deadlock_while(has_tasks);
            runtime
        }
        Err(error) => panic!(
            "gosched::tokio: a runtime of tokio's can't be made: {error}; \
             make one earlier, or with fewer threads, and use block_on_in"
        ),
    });
    runtime.handle()
}

/// The runtime in whose context the caller is. Not inlined, so that who waits afterwards has
/// nothing of its thread-local.
#[inline(never)]
fn current() -> Option<Handle> {
    Handle::try_current().ok()
}

/// Calls `f` in a runtime's context, which is left before the goroutine can go on elsewhere. Not
/// inlined, as `current` isn't.
#[inline(never)]
fn in_context<R>(handle: &Handle, f: impl FnOnce() -> R) -> R {
    let _stays = stay();
    let _entered = handle.enter();
    f()
}

/// A future that is polled and dropped in a runtime's context.
struct InContext<'a, F> {
    handle: &'a Handle,
    /// None once it has ended.
    future: Pin<&'a mut Option<F>>,
}

impl<F: Future> Future for InContext<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let InContext { handle, future } = &mut *self;
        in_context(handle, || {
            let polled = future.as_mut().as_pin_mut().expect("it hasn't ended").poll(context);
            if polled.is_ready() {
                future.set(None);
            }
            polled
        })
    }
}

impl<F> Drop for InContext<'_, F> {
    fn drop(&mut self) {
        if self.future.is_some() {
            in_context(self.handle, || self.future.set(None));
        }
    }
}
