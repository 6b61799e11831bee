//! [`GoschedExecutor`]: tasks of hyper's on goroutines.

use gosched::go;
use hyper::rt::Executor;

use crate::drive::block_on;

/// Runs each task on a goroutine of its own. hyper has tasks for the requests of HTTP/2, and
/// hyper-util for the connections of a client.
///
/// A task may wait as goroutines do, also in the middle of `async` code. Its goroutine waits for
/// the first [`GoschedIo`](crate::GoschedIo) that the task reads, so no other goroutine is needed.
///
/// ```
/// use gosched::chan::bounded;
/// use gosched_hyper::GoschedExecutor;
/// use hyper::rt::Executor;
///
/// gosched::run(|| {
///     let (tx, rx) = bounded(0);
///     GoschedExecutor::new().execute(async move { tx.send("hello").unwrap() });
///     assert_eq!(rx.recv(), Ok("hello"));
/// });
/// ```
///
/// # Panics
/// `execute` panics if there is no memory for a goroutine, and before the first [`gosched::run`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct GoschedExecutor;

impl GoschedExecutor {
    /// Makes an executor. All are alike.
    pub fn new() -> Self {
        GoschedExecutor
    }
}

impl<F> Executor<F> for GoschedExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        go(|| block_on(task));
    }
}
