//! Runs futures of crates that need tokio. Their timers, sockets and tasks belong to a tokio
//! runtime, which runs beside this one.
//!
//! A goroutine waits for such a future by [`block_on`]. tokio's threads handle the timers and
//! sockets that the future waits for, and the code of the future itself runs on the goroutine. This
//! module needs the feature `tokio`.
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
//! tokio's timers, sockets and tasks find their runtime in a thread-local when they are made: the
//! *context*. Here a future is in the context while it is polled, and while it is dropped. A
//! goroutine that waits isn't in it, so the next goroutine on its thread finds no context.
//!
//! - **Make it inside**: `block_on(async { sleep(time).await })`. In `block_on(sleep(time))` the
//!   sleep is made before there is a context, and panics, as with tokio's own `block_on`.
//! - **A result is outside.** Some types need the context when they are dropped, such as a
//!   connection of sqlx's pool. Drop them inside, or after `let _entered = handle().enter();`. A
//!   goroutine with [thread-locals of its own](crate#thread-locals) may wait while it has
//!   `_entered`.
//! - **A future that waits often is better a task**: `block_on(handle().spawn(future))`. If it is
//!   polled here, each socket that it waits for wakes the goroutine on a thread of this crate. A
//!   task stays on tokio's threads, and only its end wakes the goroutine. A task has to be `Send`
//!   and `'static`.
//! - **Goroutines that wait for a task** are no deadlock as long as [this crate's runtime](handle)
//!   has tasks. This crate doesn't see the tasks of other runtimes. If those may take more than two
//!   seconds, set a [`DeadlockMode`](crate::DeadlockMode).
//! - The future may wait as goroutines do, for example for a channel. Then the goroutine waits in
//!   the middle of a poll, and is in the context meanwhile. A goroutine that [shares
//!   thread-locals](crate::Builder::shared_locals) keeps its thread for that time.

use std::pin::{Pin, pin};
use std::sync::OnceLock;
use std::task::{Context, Poll};

use ::tokio::runtime::{Builder, Handle, Runtime};

use crate::goroutine::{self, stay};
use crate::runtime::no_deadlock_while;

/// Runs a future to its end on this goroutine, in the context of a tokio runtime: the runtime whose
/// context the caller is in, or else [that of this crate](handle). Apart from that it works like
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
/// In a task of tokio's it blocks the worker that runs the task: use `.await` there.
///
/// # Panics
/// As [`block_on`](crate::block_on) and [`handle`]; and in the destructor of a thread-local, if
/// tokio's thread-locals are gone.
#[track_caller]
pub fn block_on<F: IntoFuture>(future: F) -> F::Output {
    match current() {
        Some(handle) => block_on_in(&handle, future),
        None => block_on_in(handle(), future),
    }
}

/// Runs a future to its end on this goroutine, in the context of the given runtime.
///
/// The runtime has to run elsewhere. A runtime with threads runs by itself. A `current_thread`
/// runtime runs only while a thread is in its `block_on`.
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
/// As [`block_on`](crate::block_on); and in the destructor of a thread-local, if tokio's
/// thread-locals are gone. If the runtime lacks a thing that the future needs, or has been shut
/// down, the future panics or fails, as tokio documents.
#[track_caller]
pub fn block_on_in<F: IntoFuture>(handle: &Handle, future: F) -> F::Output {
    let future = pin!(Some(in_context(handle, || future.into_future())));
    goroutine::block_on(InContext { handle, future })
}

/// The runtime of this crate, for programs that have none. It has the worker threads, timers and
/// sockets that tokio gives a `Runtime::new()`. It is made on the first call, and exists until the
/// process ends.
///
/// ```
/// use gosched::tokio::{block_on, handle};
///
/// let task = handle().spawn(async { 6 * 7 });
/// gosched::run(|| assert_eq!(block_on(task).unwrap(), 42));
/// ```
///
/// # Panics
/// With the system's error, if it can't be made because no thread or descriptor is left. The next
/// call tries again.
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

/// The runtime whose context the caller is in. Not inlined, so that a caller that waits afterwards
/// keeps no address of the thread-local.
#[inline(never)]
fn current() -> Option<Handle> {
    Handle::try_current().ok()
}

/// Calls `f` in a runtime's context, and leaves the context before the goroutine can go on on
/// another thread. Not inlined, like `current`.
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
