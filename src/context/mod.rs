//! Contexts: cancellation and deadlines from outside, and values that belong to a request. Go's
//! `context`.
//!
//! A [`Context`] is handed down, by reference or as a clone, to all code that works for a request.
//! It ends when the code that has made it [cancels](Canceler::cancel) it, or at its deadline. Then
//! all contexts that were derived from it end, too. A wait under a context ends with the context:
//! [`Context::with`] says for each wait which context it is under.
//!
//! ```
//! use std::time::Duration;
//! use gosched::chan::bounded;
//! use gosched::context::{Context, ContextError, RecvContextError};
//!
//! gosched::run(|| {
//!     let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(5));
//!     let (_tx, rx) = bounded::<u32>(0);
//!     let worker = gosched::go({
//!         let ctx = ctx.clone();
//!         move || ctx.with(&rx).recv()
//!     });
//!     let late = RecvContextError::Ended(ContextError::DeadlineExceeded);
//!     assert_eq!(worker.join().unwrap(), Err(late));
//! });
//! ```
//!
//! | in Go | here |
//! | --- | --- |
//! | `context.Background()`, `TODO()` | [`Context::background`] |
//! | `ctx, cancel := context.WithCancel(parent)`, `defer cancel()` | `let (ctx, cancel) = parent.with_cancel()`: dropping `cancel` cancels |
//! | `WithCancelCause` | [`Canceler::cancel_because`] |
//! | `WithTimeout`, `WithDeadline` | [`Context::with_timeout`], [`Context::with_deadline`] |
//! | `WithValue`, `ctx.Value(key)` | [`Context::with_value`], [`Context::value`]: a key is a type |
//! | `WithoutCancel`, `AfterFunc` | [`Context::without_cancel`], [`Context::after_func`] |
//! | `<-ctx.Done()` in a `select` | `recv(ctx.done()) -> _` in a [`select!`](crate::select) |
//! | `ctx.Err()`, `context.Cause(ctx)` | [`Context::err`], [`Context::cause`] |
//! | a `select` of `ctx.Done()` and a channel | `ctx.with(&rx).recv()`, `ctx.with(&tx).send(value)` |
//! | `sem.Acquire(ctx, 1)` | `ctx.with(&semaphore).acquire()` |
//! | `limiter.Wait(ctx)` | `ctx.with(&limiter).wait()` |
//! | `time.Sleep` in a `select` | [`Context::sleep`] |
//! | none | [`Context::run`], [`shield`], [`time::timeout`](crate::time::timeout): any code |
//! | `exec.CommandContext(ctx, ..)` | `ctx.with_mut(&mut command)`, which has `status` and `output` |
//! | `AfterFunc(ctx, func() { conn.SetDeadline(past) })` | `ctx.with(&stream)`, which reads and writes |
//!
//! A wait that names its context returns an error when the context ends, so the function that waits
//! needs that error in its type. For code that knows nothing of contexts there is
//! [`Context::run`]: all waits in it end with the context, and those that can't return an error
//! unwind.

// | file | what it holds |
// | --- | --- |
// | `context.rs` | `Context`, `Canceler`, `AfterFunc`; `Key`: values of a request |
// | `run.rs` | runs: calls whose waits end with a context; `shield` |
// | `scope.rs` | `Scope`: the tree, and its end |
// | `error.rs` | `ContextError` and its like |
// | `with.rs` | `With`: channels and locks; `Waitable`: values with waits |
// | `with_sync.rs` | the same for rates and pools |
// | `with_io.rs` | the same for values that are read and written |
// | `with_mut.rs` | `WithMut`: processes |
// | `with_chan.rs` | the same for receivers that a wait changes |

#[expect(clippy::module_inception, reason = "the file has the type of its name")]
mod context;
mod error;
mod run;
mod scope;
mod with;
mod with_chan;
mod with_io;
mod with_mut;
mod with_sync;

pub use context::{AfterFunc, Canceler, Context, Key};
pub use error::{
    AcquireContextError, Cause, ContextError, JoinContextError, PoolContextError, RateContextError,
    RecvContextError, SendContextError,
};
pub use run::shield;
pub(crate) use run::{end_of_run, error_of_run};
pub use with::{Waitable, With};
pub use with_mut::WithMut;
