//! Goroutines, safely: starting the runtime, making one from a closure, getting its result, asking
//! about oneself.
//!
//! A closure runs on a fixed stack, which never moves: it may keep pointers to its locals anywhere.
//! It waits for its start, and its result for the handle, in the slot of the goroutine's home page,
//! or in a box if it is too large for that.
//!
//! - A panic unwinds to the base of its goroutine and is what `join` returns; `run` resumes its
//!   main's in the caller. `goexit` unwinds, too.
//! - It has thread-locals of its own, so it may do what a thread may, and nothing here is `unsafe`
//!   but what has goroutines share those of their threads, and `labels_of`, which is for tracers.
//! - What waits does so on a goroutine. A thread that isn't one is made one for the time of the
//!   wait, in which nothing of the program's is called; inside of `blocking`, and before the first
//!   `run`, it panics and says so.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `run.rs` | `run`: where a program enters |
//! | `spawn.rs` | `go`, `Builder`, `set_default_stack_size` |
//! | `body.rs` | what such a goroutine runs, and how the closure gets there |
//! | `local.rs` | `goroutine_local!`, `GoroutineLocal` |
//! | `locals.rs` | `set_default_shared_locals`, and a builder's `own_locals` and `shared_locals` |
//! | `join_future.rs` | `JoinFuture`: a join for tasks |
//! | `join_handle.rs` | `JoinHandle`, `JoinError` |
//! | `outcome.rs` | `Outcome`, `catch_into`, `discard`: results, by their address |
//! | `panic_mode.rs` | `set_panic_mode`: what becomes of a panic that nobody takes |
//! | `scope.rs` | `scope`, `Scope`, `ScopedJoinHandle`: goroutines that borrow |
//! | `current.rs` | `yield_now`, `goexit`, `goid`, `try_goid`, `num_goroutine`, `gomaxprocs`, `lock_os_thread` |
//! | `check.rs` | `check`, `set_max_detached`: goroutines that compute for long |
//! | `blocking.rs` | `blocking`: what Go's compiler puts around a system call |
//! | `future.rs` | `block_on`, `stay`, `wake` |
//! | `labels.rs` | what Go has in `runtime/pprof`: `WithLabels`, and labels for the time of a call |

mod blocking;
mod body;
mod check;
mod current;
mod future;
mod join_future;
mod join_handle;
pub mod labels;
mod local;
mod locals;
mod outcome;
mod panic_mode;
mod run;
mod scope;
mod spawn;

pub use blocking::blocking;
pub(crate) use blocking::{close, ignoring_eintr};
pub(crate) use body::move_out;
pub use check::{check, set_max_detached};
pub(crate) use current::{Goexit, not_a_goroutine};
pub use current::{
    OsThreadLock, goexit, goid, gomaxprocs, lock_os_thread, num_goroutine, set_default_gomaxprocs,
    set_gomaxprocs, try_goid, yield_now,
};
pub use future::block_on;
#[cfg(feature = "tokio")]
pub(crate) use future::stay;
pub(crate) use future::{wake, wake_elsewhere};
pub use join_future::JoinFuture;
pub use join_handle::{JoinError, JoinHandle};
pub use local::{AccessError, GoroutineLocal};
pub use locals::set_default_shared_locals;
pub(crate) use outcome::message;
pub use panic_mode::{PanicMode, set_panic_mode};
pub use run::run;
pub use scope::{Scope, ScopedJoinHandle, scope};
pub(crate) use spawn::cannot;
pub use spawn::{Builder, go, set_default_stack_size};
